"""Batches of a stream: bounds hold for all rows so far, centres are the means of all of them."""

from __future__ import annotations

import numpy as np
import pytest

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    GroupShares,
    MustLink,
    Pin,
)
from corral.exceptions import InfeasibleConstraintsError

K, EACH, BATCHES = 4, 60, 5
RNG = np.random.default_rng(0)
X = RNG.normal(size=(EACH * BATCHES, 3)) + 3.0 * RNG.integers(0, K, EACH * BATCHES)[:, None]
VALUES = RNG.lognormal(0.0, 0.5, len(X))
PARTY = RNG.random(len(X)) < 0.4


def batches():
    return [slice(start, start + EACH) for start in range(0, len(X), EACH)]


def streamed(make, **parameters):
    """The model after all batches, and the labels of all rows."""
    model, labels = ConstrainedKMeans(K, random_state=0, **parameters), []
    for part in batches():
        model.partial_fit(X[part], constraints=make(part))
        labels.append(np.asarray(model.labels_))
        yield model, np.concatenate(labels)


RULES = {
    "sizes": lambda part: ClusterSizes([EACH // K] * K),
    "unordered sizes": lambda part: ClusterSizes([25, 20, 10, 5]),
    "maximum": lambda part: ClusterSizes(maximum=18),
    "totals": lambda part: ClusterTotals(VALUES[part], maximum=0.3 * VALUES[part].sum()),
    "shares": lambda part: GroupShares(PARTY[part], minimum={True: 0.2}, maximum={True: 0.6}),
}


def held(kind, labels):
    """Whether labels of all rows so far keep the rules with the bounds of all batches together."""
    n = len(labels)
    times = n // EACH
    sizes = np.bincount(labels, minlength=K)
    if kind == "sizes":
        return bool(np.all(sizes == times * EACH // K))
    if kind == "unordered sizes":
        return sorted(sizes.tolist()) == sorted(times * each for each in (25, 20, 10, 5))
    if kind == "maximum":
        return sizes.max() <= times * 18
    if kind == "totals":
        sums = np.bincount(labels, VALUES[:n], K)
        return bool(sums.max() <= 0.3 * VALUES[:n].sum() * (1 + 1e-9))
    inside = np.bincount(labels, PARTY[:n], K)
    return bool(np.all((inside >= 0.2 * sizes - 1e-9) & (inside <= 0.6 * sizes + 1e-9)))


@pytest.mark.parametrize("kind", RULES)
def test_bounds_hold_for_all_rows_so_far(kind):
    for model, labels in streamed(RULES[kind]):
        assert held(kind, labels)
        assert model.report_.feasible
    assert model.stream_.rows == len(X)


@pytest.mark.parametrize("kind", ["maximum", "shares"])
def test_centres_are_the_means_of_all_rows(kind):
    for model, labels in streamed(RULES[kind]):
        means = [X[: len(labels)][labels == j].mean(axis=0) for j in range(K)]
        np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-9)


def test_a_fit_from_the_stream_is_no_worse_and_ends_it():
    *_, (model, labels) = streamed(RULES["maximum"])
    inertia = sum(((X[labels == j] - X[labels == j].mean(0)) ** 2).sum() for j in range(K))
    whole = ClusterSizes(maximum=18 * BATCHES)
    found = ConstrainedKMeans(K, random_state=0).fit(X, constraints=whole, init=model)
    assert found.report_.feasible
    assert found.inertia_ <= inertia * (1 + 1e-9)
    model.fit(X, constraints=whole)
    assert not hasattr(model, "stream_")


def test_links_and_pins_are_those_of_a_batch():
    rules = [MustLink([(0, 1)]), CannotLink([(1, 2)]), Pin({3: 2}), ClusterSizes(minimum=5)]
    for model, _ in streamed(lambda part: rules):
        own = model.labels_
        assert own[0] == own[1] != own[2]
        assert own[3] == 2


def test_weights_and_cosine():
    model = ConstrainedKMeans(K, random_state=0, metric="cosine")
    weight, labels = RNG.uniform(0.5, 2.0, len(X)), []
    for part in batches():
        model.partial_fit(X[part], sample_weight=weight[part])
        labels.append(model.labels_)
    labels, units = np.concatenate(labels), X / np.linalg.norm(X, axis=1, keepdims=True)
    sums = np.array([weight[labels == j] @ units[labels == j] for j in range(K)])
    np.testing.assert_allclose(
        model.cluster_centers_, sums / np.linalg.norm(sums, axis=1, keepdims=True), rtol=1e-9
    )


def test_what_a_stream_refuses():
    model = ConstrainedKMeans(K, random_state=0).partial_fit(
        X[:EACH], constraints=ClusterSizes(minimum=1)
    )
    with pytest.raises(ValueError, match="the batch has 0 bounds"):
        model.partial_fit(X[EACH : 2 * EACH])
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.partial_fit(X[:EACH, :2], constraints=ClusterSizes(minimum=1))
    before = model.stream_
    with pytest.raises(InfeasibleConstraintsError):
        model.partial_fit(
            X[:EACH],
            constraints=[ClusterSizes(minimum=1), MustLink([(0, 1)]), CannotLink([(0, 1)])],
        )
    assert model.stream_ is before
    with pytest.raises(ValueError, match="haversine"):
        ConstrainedKMeans(2, metric="haversine").partial_fit(X[:, :2])
