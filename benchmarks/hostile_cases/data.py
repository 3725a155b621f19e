"""Bad rows to every estimator and function, and odd but sound rows, whose answers are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from .case import RULES, Case, D, K, N, made, needs, obeys, points, refused, same

INF, NAN = float("inf"), float("nan")


def model(kind: str, **options: Any) -> Any:
    """An estimator of that kind with three clusters."""
    import corral

    return getattr(corral, ESTIMATORS[kind])(K, random_state=0, **options)


ESTIMATORS = {
    "kmeans": "ConstrainedKMeans",
    "medoids": "ConstrainedKMedoids",
    "kernel": "ConstrainedKernelKMeans",
    "gaussian": "ConstrainedGaussianMixture",
}


def _spoiled(value: Any) -> Any:
    X = points()
    X[4, 1] = value
    return X


def _holed() -> Any:
    X = points().astype(object)
    X[3, 1] = None
    return X


def _days() -> Any:
    return np.datetime64("2020-01-01") + np.arange(N)


def _masked() -> Any:
    X = np.ma.array(points())
    X[1] = np.ma.masked
    return X


def _csr(indices: Any = None, indptr: Any = None) -> Any:
    """A CSR array of ones, some of whose indices are replaced."""
    array = sparse.csr_array(np.ones((N, D)))
    if indices is not None:
        array.indices[-1] = indices
    if indptr is not None:
        array.indptr[-1] = indptr
    return array


def _frame(**columns: Any) -> Any:
    X = points()
    return needs("pandas").DataFrame({"a": X[:, 0], "b": X[:, 1]} | columns)


def _dask(*chunks: int) -> Any:
    """A Dask array whose chunks are said to have other lengths than they have."""
    needs("distributed")
    array = needs("dask.array").from_array(points(), chunks=(4, D))
    array._chunks = (chunks, (D,))
    return array


#: Rows that cannot be clustered, and words of the error.
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "nan": (lambda: _spoiled(NAN), "NaN"),
    "inf": (lambda: _spoiled(INF), "infinity"),
    "minus-inf": (lambda: _spoiled(-INF), "infinity"),
    "float32-inf": (lambda: _spoiled(INF).astype(np.float32), "infinity"),
    "masked": (_masked, "masked"),
    "objects": (_holed, ""),
    "nothing": (lambda: None, "2D"),
    "text": (lambda: [["a", "b"]] * N, "could not convert"),
    "words": (lambda: "points", "could not convert"),
    "complex": (lambda: points() + 1j, "complex"),
    "no-rows": (lambda: points()[:0], "0 sample"),
    "one-row": (lambda: points()[:1], "1"),
    "two-rows": (lambda: points()[:2], "2"),
    "no-features": (lambda: points()[:, :0], "0 feature"),
    "one-dimension": (lambda: points()[:, 0], "2D"),
    "three-dimensions": (lambda: points()[None], "dim"),
    "ragged": (lambda: [[1.0, 2.0], [3.0]] * N, ""),
    "csr-index": (lambda: _csr(indices=10**6), "indices"),
    "csr-negative": (lambda: _csr(indices=-7), "indices"),
    "csr-pointer": (lambda: _csr(indptr=10**6), "indices"),
    "csr-nan": (lambda: sparse.csr_array(_spoiled(NAN)), ""),
    "dates": (lambda: np.array([["2020-01-01"] * D] * N, dtype="M8[D]"), "dates"),
    "frame-of-dates": (lambda: needs("pandas").DataFrame({"a": _days(), "b": _days()}), "dates"),
    "polars-dates": (lambda: needs("polars").DataFrame({"a": _days(), "b": _days()}), ""),
    "record": (lambda: np.zeros(N, dtype=[("a", float), ("b", float)]), ""),
    "huge-integer": (lambda: [[10**400, 0]] * N, "float"),
    "frame-of-words": (lambda: _frame(b=["w"] * N), "could not convert"),
    "frame-missing": (lambda: _frame(b=[None] + [1.0] * (N - 1)), "NaN"),
    "frame-names-twice": (
        lambda: needs("pandas").DataFrame(points(), columns=["a", "a"]),
        "unique",
    ),
    "frame-mixed-names": (lambda: _frame(**{"c": 1.0}).rename(columns={"c": 3}), "names"),
}
#: What only k-means, which reads Dask arrays, is asked.
BAD_DASK = {
    "dask-more": (lambda: _dask(4, 4, 40), "chunk"),
    "dask-fewer": (lambda: _dask(4, 4, 1), "chunk"),
    "dask-nan": (lambda: needs("dask.array").from_array(_spoiled(NAN), chunks=(5, D)), "NaN"),
}


def _ask(kind: str, X: Any) -> Any:
    """What a user does with rows, by name."""
    import corral
    from corral import baselines
    from corral.active import next_pairs

    if kind in ESTIMATORS:
        return model(kind).fit(X).labels_
    fitted = model("kmeans").fit(points())
    asked: dict[str, Callable[[], Any]] = {
        "predict": lambda: fitted.predict(X),
        "transform": lambda: fitted.transform(X),
        "score": lambda: fitted.score(X),
        "audit": lambda: corral.audit(X, np.arange(N) % K, [], K),
        "choose": lambda: corral.choose_n_clusters(X, [2, 3]),
        "bound": lambda: corral.lower_bound(X, K, time_limit=1),
        "propagation": lambda: corral.LinkPropagation(2).fit(X),
        "next-pairs": lambda: next_pairs(fitted, X),
        "cop": lambda: baselines.COPKMeans(K).fit(X),
        "pck": lambda: baselines.PCKMeans(K).fit(X),
        "ncut": lambda: baselines.ConstrainedNCut(K).fit(X),
        "min-size": lambda: baselines.MinSizeKMeans(K).fit(X),
    }
    return asked[kind]()


#: Bad rows that functions other than estimators are asked, too.
SOME = ("nan", "inf", "masked", "objects", "text", "one-dimension", "csr-index", "no-rows")
OTHERS = (
    *("predict", "transform", "score", "audit", "choose", "bound", "propagation"),
    *("next-pairs", "cop", "pck", "ncut", "min-size"),
)


def _memmap() -> Any:
    np.save("rows.npy", points())
    return np.load("rows.npy", mmap_mode="r")


def _locked(X: Any) -> Any:
    X.flags.writeable = False
    return X


#: Odd rows that can be clustered; integers and booleans have blobs of their own.
ODD: dict[str, Callable[[], Any]] = {
    "float32": lambda: points().astype(np.float32),
    "float16": lambda: points().astype(np.float16),
    "longdouble": lambda: points().astype(np.longdouble),
    "big-endian": lambda: points().astype(">f8"),
    "int8": lambda: np.round(points()).astype(np.int8),
    "uint64": lambda: np.round(points() + 9).astype(np.uint64),
    "bool": lambda: points() > 6,
    "fortran": lambda: np.asfortranarray(points()),
    "strided": lambda: np.repeat(np.repeat(points(), 2, 0), 3, 1)[::2, ::3],
    "reversed": lambda: points()[::-1][:, ::-1],
    "read-only": lambda: _locked(points()),
    "memmap": _memmap,
    "object-numbers": lambda: points().astype(object),
    "fractions": lambda: [[int(v) for v in row] for row in points()],
    "masked-nothing": lambda: np.ma.array(points(), mask=np.zeros((N, D), bool)),
    "matrix-csr": lambda: sparse.csr_matrix(points()),
    "csc": lambda: sparse.csc_array(points()),
    "coo": lambda: sparse.coo_array(points()),
    "csr-unsorted": lambda: sparse.csr_array(
        (np.ones(2 * N), np.tile([1, 0], N), np.arange(0, 2 * N + 1, 2)), shape=(N, D)
    ),
    "csr-doubled": lambda: sparse.csr_array(
        (np.arange(2.0 * N), np.zeros(2 * N, int), np.arange(0, 2 * N + 1, 2)), shape=(N, D)
    ),
    "csr-empty": lambda: sparse.csr_array((N, D)),
    "all-equal": lambda: np.ones((N, D)),
    "two-places": lambda: np.repeat([[0.0, 0.0], [1.0, 1.0]], N // 2, 0),
    "one-feature": lambda: points()[:, :1],
    "wide": lambda: points(d=200),
    "pandas": lambda: _frame(),
    "pandas-index-twice": lambda: needs("pandas").DataFrame(points(), index=[7] * N),
    "pandas-nullable": lambda: _frame().convert_dtypes(),
    "polars": lambda: needs("polars").DataFrame(points(), schema=["a", "b"]),
    "torch": lambda: needs("torch").tensor(points()),
    "torch-grad": lambda: needs("torch").tensor(points(), requires_grad=True),
    "torch-half": lambda: needs("torch").tensor(points()).half(),
    "array-interface": lambda: memoryview(points()),
}


#: Odd rows that are sparse, and estimators that refuse them.
SPARSE = ("matrix-csr", "csc", "coo", "csr-unsorted", "csr-doubled", "csr-empty")
DENSE = ("kernel", "gaussian")


def _answered(kind: str, make: Callable[[], Any]) -> None:
    X = make()
    before = repr(X)
    fitted = model(kind).fit(X, constraints=made(RULES))
    obeys(fitted.labels_, RULES)
    obeys(fitted.predict(X), [])
    if repr(X) != before:
        raise AssertionError("the fit changed the data")
    again = model(kind).fit(X, constraints=made(RULES))
    same(fitted.labels_, again.labels_, "labels of the same seed")


def _dask_answered(*chunks: int) -> None:
    needs("distributed")
    X = needs("dask.array").from_array(points(), chunks=(chunks, D))
    obeys(model("kmeans").fit(X, constraints=made(RULES)).labels_, RULES)


def _bad(kind: str, make: Callable[[], Any], word: str) -> None:
    X = make()
    refused(lambda: _ask(kind, X), word)


def cases() -> Iterator[Case]:
    """Each kind of rows for each estimator."""
    for kind in ESTIMATORS:
        for what, (make, word) in BAD.items():
            yield Case("bad-rows", f"{kind}-{what}", partial(_bad, kind, make, word))
    for what, (make, word) in BAD_DASK.items():
        yield Case("bad-rows", f"kmeans-{what}", partial(_bad, "kmeans", make, word))
    for kind in OTHERS:
        for what in SOME:
            make, word = BAD[what]
            yield Case("bad-rows", f"{kind}-{what}", partial(_bad, kind, make, word))
    for kind in ESTIMATORS:
        for what, make in ODD.items():
            run = partial(_answered, kind, make)
            if kind in DENSE and what in SPARSE:
                run = partial(_bad, kind, make, "sparse")
            yield Case("odd-rows", f"{kind}-{what}", run)
    for chunks in ((4, 4, 4), (1,) * N, (12,), (5, 0, 7)):
        what = "kmeans-dask-" + "-".join(map(str, chunks))
        yield Case("odd-rows", what, partial(_dask_answered, *chunks))
