from __future__ import annotations

from importlib import resources

import numpy as np
import pytest

from corral import datasets
from corral.datasets import load_glass, load_hepatitis, load_ionosphere, load_wine, random_links

# The paper's table 1; glass has six of its seven types, see the README of the data.
TABLE_1 = {
    "wine": (178, 13, [59, 71, 48]),
    "iris": (150, 4, [50, 50, 50]),
    "glass": (214, 9, [70, 76, 17, 13, 9, 29]),
    "ionosphere": (351, 33, [126, 225]),
    "hepatitis": (142, 14, [27, 115]),
    "hepatitis1": (80, 19, [13, 67]),
    "breast_cancer": (569, 30, [212, 357]),
}


def loader(name):
    return getattr(datasets, f"load_{name}")


@pytest.mark.parametrize("name", TABLE_1)
def test_counts_are_those_of_the_paper(name):
    n, d, counts = TABLE_1[name]
    bunch = loader(name)()
    assert bunch.data.shape == (n, d)
    assert np.bincount(bunch.target).tolist() == counts
    assert len(bunch.feature_names) == d
    assert len(bunch.target_names) == len(counts)
    assert bunch.DESCR


@pytest.mark.parametrize("name", TABLE_1)
def test_scaling_maps_each_feature_linearly_onto_minus_one_to_one(name):
    raw, scaled = loader(name)(scaled=False).data, loader(name)().data
    assert loader(name)().DESCR.startswith("Every feature is scaled to [-1, 1] by its minimum")
    assert loader(name)(scaled=False).DESCR.startswith("The values are as measured, not scaled")
    assert "scaled" in loader(name).__doc__.splitlines()[0]
    assert np.isfinite(raw).all()
    np.testing.assert_array_equal(scaled.min(axis=0), -1)
    np.testing.assert_array_equal(scaled.max(axis=0), 1)
    for before, after in zip(raw.T, scaled.T, strict=True):
        assert np.corrcoef(before, after)[0, 1] == pytest.approx(1)


@pytest.mark.parametrize("name", TABLE_1)
def test_return_X_y_gives_the_same_arrays(name):
    X, y = loader(name)(return_X_y=True)
    np.testing.assert_array_equal(X, loader(name)().data)
    np.testing.assert_array_equal(y, loader(name)().target)


def test_loaders_hand_out_arrays_of_their_own():
    load_wine().data[:] = 7
    assert load_wine().data.max() == 1


def test_raw_values_are_those_of_the_files():
    assert load_glass(scaled=False).data[0, 0] == 1.52101
    assert load_ionosphere(scaled=False).data[0, 1] == 0.99539
    hepatitis = load_hepatitis(scaled=False)
    assert hepatitis.feature_names[0] == "AGE"
    assert hepatitis.data[:2, 0].tolist() == [30, 50]
    assert hepatitis.target_names[hepatitis.target[0]] == "live"


@pytest.mark.parametrize("name", ["glass.csv", "ionosphere.csv", "hepatitis.csv", "README.md"])
def test_files_are_package_resources(name):
    assert resources.files("corral.datasets").joinpath("data", name).is_file()


@pytest.mark.parametrize("seed", range(5))
def test_links_agree_with_the_classes_and_are_distinct(seed):
    y = np.random.default_rng(seed).choice(["a", "b", "c"], size=40, p=[0.6, 0.3, 0.1])
    must_link, cannot_link = random_links(y, 60, 80, random_state=seed)
    for pairs, same, count in [(must_link.pairs, True, 60), (cannot_link.pairs, False, 80)]:
        assert ((y[pairs[:, 0]] == y[pairs[:, 1]]) == same).all()
        assert (pairs[:, 0] < pairs[:, 1]).all()
        assert len(np.unique(pairs, axis=0)) == len(pairs) == count


def test_all_links_can_be_drawn_and_not_one_more():
    y = np.array([0, 1, 0, 2, 1, 0])
    inside = [(0, 2), (0, 5), (1, 4), (2, 5)]
    must_link, cannot_link = random_links(y, 4, 11, random_state=0)
    assert sorted(map(tuple, must_link.pairs.tolist())) == inside
    every = {(i, j) for j in range(6) for i in range(j)}
    assert set(map(tuple, cannot_link.pairs.tolist())) == every - set(inside)
    with pytest.raises(ValueError, match=r"`n_must_link` is 5, but `y` allows 0 to 4"):
        random_links(y, 5, 0)
    with pytest.raises(ValueError, match=r"`n_cannot_link` is 12, but `y` allows 0 to 11"):
        random_links(y, 0, 12)


def test_every_link_is_equally_likely():
    y = [0, 0, 0, 1, 1]
    rng = np.random.RandomState(0)
    draws = [random_links(y, 1, 1, random_state=rng) for _ in range(3000)]
    for links, pairs in [([m for m, _ in draws], 4), ([c for _, c in draws], 6)]:
        _, counts = np.unique([link.pairs[0] for link in links], axis=0, return_counts=True)
        assert len(counts) == pairs
        # Six standard deviations of a binomial count around its mean.
        expected = 3000 / pairs
        assert abs(counts - expected).max() < 6 * np.sqrt(expected)


def test_same_seed_same_links():
    y = load_wine().target
    first, second = (random_links(y, 20, 20, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first[0].pairs, second[0].pairs)
    np.testing.assert_array_equal(first[1].pairs, second[1].pairs)


def test_no_links_is_fine_and_two_columns_are_not():
    must_link, cannot_link = random_links([0, 1], 0, 0)
    assert len(must_link.pairs) == len(cannot_link.pairs) == 0
    with pytest.raises(ValueError, match=r"`y` has shape \(2, 1\)"):
        random_links([[0], [1]], 0, 0)
