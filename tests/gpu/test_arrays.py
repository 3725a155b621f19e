"""Arrays of all kinds on their way to a device and back, and what is said of those that cannot."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context

torch = pytest.importorskip("torch")

from corral import ClusterSizes, ConstrainedKMeans  # noqa: E402
from corral.backends.gpu import give_back, hold, tensors  # noqa: E402

ROWS = np.arange(12.0).reshape(6, 2)
CUDA = torch.cuda.is_available()
on_a_gpu = pytest.mark.skipif(not CUDA, reason="needs an NVIDIA GPU")


# --- in ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        (ROWS, np.float64),
        (ROWS.astype(np.float32), np.float32),
        (ROWS.astype(np.int32), np.float64),
        (ROWS.astype(np.float16), np.float32),
        (ROWS > 3.0, np.float64),
        (ROWS.tolist(), np.float64),
        (ROWS.astype(object), np.float64),
        (np.asfortranarray(ROWS), np.float64),
        (ROWS.astype(">f8"), np.float64),
        (pd.DataFrame(ROWS, columns=["a", "b"]), np.float64),
        (torch.as_tensor(ROWS), np.float64),
        (torch.as_tensor(ROWS, dtype=torch.bfloat16), np.float32),
        (torch.as_tensor(ROWS, dtype=torch.int64), np.float64),
        (torch.as_tensor(ROWS).T.contiguous().T, np.float64),
        (torch.as_tensor(ROWS).requires_grad_(), np.float64),
    ],
    ids=str,
)
def test_what_can_be_held(given, dtype):
    shards = hold(given, "cpu")
    assert shards.dtype == dtype
    assert shards.shard.points.is_contiguous()
    wanted = np.asarray(given.detach().float() if torch.is_tensor(given) else given, np.float64)
    np.testing.assert_array_equal(shards.shard.points, wanted)


def test_what_lies_right_is_not_copied():
    points = torch.as_tensor(ROWS)
    assert hold(points).shard.points.data_ptr() == points.data_ptr()
    assert hold(ROWS, "cpu").shard.points.data_ptr() == ROWS.ctypes.data


@pytest.mark.filterwarnings("error")
def test_what_may_only_be_read():
    points = ROWS.copy()
    points.setflags(write=False)
    np.testing.assert_array_equal(hold(points, "cpu").shard.points, ROWS)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (sparse.csr_array(ROWS), "Sparse X is solved in memory alone: leave out `device`, or make"),
        (ROWS + 1j, "Complex data not supported: X must hold real numbers"),
        (torch.as_tensor(ROWS + 1j), "Complex data not supported: X must hold real numbers"),
        (np.array([["a", "b"]]), "could not convert string to float"),
        (ROWS.ravel(), "Expected 2D array, got 1D array instead"),
        (torch.zeros((2, 3, 4)), "Expected 2D array, got 3D array instead"),
        (np.empty((0, 2)), r"Found array with 0 sample\(s\) \(shape=\(0, 2\)\)"),
        (torch.empty((3, 0)), r"Found array with 0 feature\(s\) \(shape=\(3, 0\)\)"),
        (np.where(ROWS == 7.0, np.nan, ROWS), "Input X contains NaN or infinity in row 3;"),
        (torch.as_tensor(np.where(ROWS == 10.0, np.inf, ROWS)), "NaN or infinity in row 5;"),
    ],
    ids=str,
)
def test_what_cannot_be_held(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        hold(given, "cpu")


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "mps", ""])
def test_devices_that_nobody_knows(device):
    with pytest.raises(ValueError, match="it must be None, 'cpu', 'cuda' or 'cuda:N'"):
        hold(ROWS, device)


def test_without_a_device(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    sentence = "device='cuda' needs an NVIDIA GPU that PyTorch can use, and there is none"
    with pytest.raises(RuntimeError, match=sentence):
        hold(ROWS, "cuda")
    with pytest.raises(RuntimeError, match=sentence):
        ConstrainedKMeans(2, device="cuda").fit(ROWS)


def test_fewer_devices_than_asked_for(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(RuntimeError, match="'cuda:2', but GPUs are numbered from 0 to 1"):
        hold(ROWS, "cuda:2")


def test_without_pytorch(monkeypatch):
    monkeypatch.setattr(tensors, "find_spec", lambda name: None)
    with pytest.raises(
        ImportError, match=r"device='cuda' needs PyTorch: pip install 'corral-clustering\[gpu\]'"
    ):
        hold(ROWS, "cuda")
    with pytest.raises(ImportError, match="X is a CuPy array, which needs PyTorch"):
        hold(ROWS)


# --- and back ------------------------------------------------------------------------------------


def test_answers_are_of_the_kind_of_the_question():
    labels = np.array([1, 0, 2], np.int32)
    assert give_back(labels, like=ROWS) is labels
    assert isinstance(give_back(torch.as_tensor(labels), like=ROWS), np.ndarray)
    assert isinstance(give_back(labels, like=pd.DataFrame(ROWS)), np.ndarray)
    given = give_back(labels, like=torch.as_tensor(ROWS))
    assert given.dtype == torch.int32
    np.testing.assert_array_equal(given, labels)


def test_a_model_of_tensors_speaks_tensors(monkeypatch):
    # Tensors on the CPU stand for those on a GPU.
    monkeypatch.setattr("corral.backends.gpu.on_gpu", torch.is_tensor)
    points = np.random.default_rng(0).normal(size=(90, 3))
    X, rules = torch.as_tensor(points), ClusterSizes([30, 30, 30])
    model = ConstrainedKMeans(3, random_state=0).fit(X, constraints=rules)
    at_home = ConstrainedKMeans(3, random_state=0).fit(points, constraints=rules)
    for got, wanted in (
        (model.labels_, at_home.labels_),
        (model.cluster_centers_, at_home.cluster_centers_),
        (model.predict(X), at_home.predict(points)),
        (model.transform(X), at_home.transform(points)),
        (model.assign(X, constraints=rules), at_home.assign(points, constraints=rules)),
    ):
        assert torch.is_tensor(got)
        np.testing.assert_allclose(got, wanted)
    assert model.score(X) == pytest.approx(at_home.score(points))
    # What it was fitted to does not bind it to a kind.
    assert isinstance(model.predict(points), np.ndarray)


@on_a_gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tensors_stay_on_their_gpu(dtype):
    X = torch.randn((500, 3), dtype=dtype, device="cuda")
    model = ConstrainedKMeans(3, random_state=0).fit(X)
    for a in (model.labels_, model.cluster_centers_, model.predict(X), model.transform(X)):
        assert a.device == X.device
    assert model.cluster_centers_.dtype == dtype


@on_a_gpu
def test_numpy_is_answered_in_numpy():
    model = ConstrainedKMeans(2, device="cuda", random_state=0).fit(ROWS)
    assert isinstance(model.labels_, np.ndarray)
    assert isinstance(model.predict(ROWS), np.ndarray)


@on_a_gpu
def test_cupy_goes_through_without_a_copy():
    cupy = pytest.importorskip("cupy")
    X = cupy.asarray(ROWS)
    assert hold(X).shard.points.data_ptr() == X.data.ptr
    model = ConstrainedKMeans(2, random_state=0).fit(X)
    assert isinstance(model.labels_, cupy.ndarray)
    assert isinstance(model.cluster_centers_, cupy.ndarray)


def test_a_tensor_in_memory_is_answered_in_kind_where_dispatch_is_on(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # which scikit-learn asks for
    rules = ClusterSizes([3, 3])
    expected = ConstrainedKMeans(2, random_state=0).fit(ROWS, constraints=rules)
    with config_context(array_api_dispatch=True):
        found = ConstrainedKMeans(2, random_state=0).fit(torch.as_tensor(ROWS), constraints=rules)
        nearest = found.predict(torch.as_tensor(ROWS))
    for given in (found.labels_, found.cluster_centers_, nearest):
        assert isinstance(given, torch.Tensor)
    np.testing.assert_array_equal(found.labels_.numpy(), expected.labels_)
    np.testing.assert_array_equal(nearest.numpy(), expected.predict(ROWS))
    plain = ConstrainedKMeans(2, random_state=0).fit(torch.as_tensor(ROWS), constraints=rules)
    assert isinstance(plain.labels_, np.ndarray)
