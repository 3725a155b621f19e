"""Pictures show the right data; the tests look at matplotlib artists, not at pixels."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    GroupShares,
    MustLink,
    audit,
)
from corral.plots import (
    plot_assignment,
    plot_clusters,
    plot_convergence,
    plot_sizes,
    plot_totals,
)
from corral.plots._style import BROKEN, COLOURS, GREY, colour, marker, plain
from corral.report import pictures

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
Axes = mpl.axes.Axes
to_hex, to_rgb = mpl.colors.to_hex, mpl.colors.to_rgb

LABELS = np.array([0, 0, 0, 1, 1, 2])


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(6, 4))


@pytest.fixture(scope="module")
def history():
    points = np.random.default_rng(1).normal(size=(30, 2))
    rules = [CannotLink([(0, 1), (2, 3)]), ClusterSizes([10, 20])]
    model = ConstrainedKMeans(2, random_state=0, n_init=1, record_x=(1, 3, 5))
    return model.fit(points, constraints=rules).history_


def by_gid(ax):
    return {artist.get_gid(): artist for artist in ax.get_children() if artist.get_gid()}


def bars(ax):
    return {
        round(bar.get_x() + bar.get_width() / 2): bar
        for container in ax.containers
        for bar in container
    }


def marks(ax):
    """Bounds as {name: {cluster: height}}."""
    return {
        lines.get_label(): {
            round(segment[:, 0].mean()): segment[0, 1] for segment in lines.get_segments()
        }
        for lines in ax.collections
    }


def test_more_than_two_features_are_flattened_by_pca(X):
    ax = plot_clusters(X, LABELS)
    assert isinstance(ax, Axes)
    flat = PCA(2).fit_transform(X)
    shown = by_gid(ax)
    for j in range(3):
        np.testing.assert_allclose(shown[f"cluster {j}"].get_offsets(), flat[j == LABELS])


def test_two_features_are_shown_as_they_are(X):
    shown = by_gid(plot_clusters(X[:, :2], LABELS))
    np.testing.assert_allclose(shown["cluster 0"].get_offsets(), X[LABELS == 0, :2])


def test_centres_are_the_means_or_as_given(X):
    flat = X[:, :2]
    shown = by_gid(plot_clusters(flat, LABELS))
    np.testing.assert_allclose(shown["centre 0"].xy, flat[:3].mean(axis=0))
    assert shown["centre 0"].get_text() == "0"
    given = by_gid(plot_clusters(flat, LABELS, centers=np.eye(3)[:, :2]))
    np.testing.assert_allclose(given["centre 1"].xy, [0.0, 1.0])


def test_links_are_solid_or_dashed_and_broken_ones_stand_out(X):
    rules = [MustLink([(0, 1), (0, 5)]), CannotLink([(0, 3), (1, 3), (3, 4)]), MustLink([(1, 2)])]
    ax = plot_clusters(X[:, :2], LABELS, rules)
    shown = by_gid(ax)
    counts = {"must-link": 2, "broken must-link": 1, "cannot-link": 2, "broken cannot-link": 1}
    for name, count in counts.items():
        lines = shown[name]
        assert len(lines.get_segments()) == count
        assert (to_hex(lines.get_color()[0]).upper() == BROKEN) == name.startswith("broken")
        dashes = lines.get_linestyle()[0][1]
        assert (dashes is None) == name.endswith("must-link")
    np.testing.assert_allclose(shown["broken must-link"].get_segments()[0], X[[0, 5], :2])
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"must-link (2)", "broken cannot-link (1)", "cluster 0 (3)"} <= set(legend)
    assert "2 of 6 links broken" in ax.get_title("left")


def test_soft_links_that_are_not_obeyed_are_wishes_in_another_colour(X):
    rules = [MustLink([(0, 1), (0, 5)], weight=[np.inf, 2]), CannotLink([(0, 1)], weight=3)]
    ax = plot_clusters(X[:, :2], LABELS, rules)
    shown = by_gid(ax)
    assert len(shown["missed must-link"].get_segments()) == 1
    assert len(shown["missed cannot-link"].get_segments()) == 1
    assert len(shown["broken must-link"].get_segments()) == 0
    assert to_hex(shown["missed must-link"].get_color()[0]).upper() not in (BROKEN, GREY)
    assert "2 of 3 links are wishes that are not met" in ax.get_title("left")
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"must-link (1)", "must-link not met (1)", "cannot-link not met (1)"} <= set(legend)


@pytest.mark.parametrize("shape", [(6, 1), (2, 5), (1, 3), (1, 1), (3, 3)])
def test_small_data_can_be_drawn(shape):
    n = shape[0]
    ax = plot_clusters(np.arange(np.prod(shape), dtype=float).reshape(shape), np.arange(n) % 2)
    ax.figure.canvas.draw()


def test_sparse_points_look_like_dense_ones(X):
    dense = by_gid(plot_clusters(X, LABELS))["cluster 0"].get_offsets()
    thin = by_gid(plot_clusters(sparse.csr_array(X), LABELS))["cluster 0"].get_offsets()
    np.testing.assert_allclose(np.abs(dense), np.abs(thin), atol=1e-8)


def test_many_clusters_are_named_at_their_centres_alone():
    points = np.arange(48.0).reshape(24, 2)
    ax = plot_clusters(points, np.arange(24))
    assert ax.get_legend() is None
    assert sum(name.startswith("centre") for name in by_gid(ax)) == 24


def test_many_points_are_all_discs_and_a_sample_tells_the_true_numbers():
    """Small crosses would vanish, and with them whole clusters."""
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(20_000, 2)), np.arange(20_000) % 7
    ax = plot_clusters(points, labels, sizes=np.full(7, 1_000_000))
    drawn = [by_gid(ax)[f"cluster {j}"] for j in range(7)]
    paths = [found.get_paths()[0].vertices for found in drawn]
    assert all(np.array_equal(path, paths[0]) for path in paths)
    assert all(found.get_rasterized() for found in drawn)
    assert ax.get_title(loc="left") == "7,000,000 points in 7 clusters"
    assert "cluster 0 (1,000,000)" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_principal_components_name_their_columns(X):
    names = ["a", "b", "the long one", "d"]
    ax = plot_clusters(X * [1.0, 1.0, 100.0, 1.0], LABELS, features=names)
    assert ax.get_xlabel().split(": ")[1].split(", ")[0].endswith("the long one")


def test_labels_must_fit(X):
    with pytest.raises(ValueError, match="`labels` has 5 entries, but X has 6 samples"):
        plot_clusters(X, LABELS[:5])
    with pytest.raises(ValueError, match=r"`labels` holds -1; labels must lie in \[0, 2\]"):
        plot_clusters(X, LABELS - 3 * (LABELS == 2), centers=np.zeros((3, 4)))
    with pytest.raises(ValueError, match="one integer a sample"):
        plot_sizes([0.5, 1.0])


def test_sizes_against_bounds():
    ax = plot_sizes(LABELS, ClusterSizes(minimum=2, maximum=3), n_clusters=4)
    assert isinstance(ax, Axes)
    found = bars(ax)
    assert [found[j].get_height() for j in range(4)] == [3, 2, 1, 0]
    broken = {j: bool(found[j].get_hatch()) for j in range(4)}
    assert broken == {0: False, 1: False, 2: True, 3: True}
    assert marks(ax) == {
        "minimum": dict.fromkeys(range(4), 2),
        "maximum": dict.fromkeys(range(4), 3),
    }


def test_exact_sizes_go_where_they_break_least():
    ax = plot_sizes(LABELS, ClusterSizes([1, 2, 3]))
    assert marks(ax) == {"exactly this": {0: 3, 1: 2, 2: 1}}
    assert not any(bar.get_hatch() for bar in bars(ax).values())
    tied = plot_sizes(LABELS, ClusterSizes([1, 2, 3], ordered=True), ax=plt.figure().subplots())
    assert marks(tied) == {"exactly this": {0: 1, 1: 2, 2: 3}}


def test_sizes_without_bounds():
    assert marks(plot_sizes(LABELS)) == {}


def test_totals_and_shares_have_a_panel_each():
    rules = [
        ClusterTotals([1, 2, 3, 4, 5, 6], maximum=7),
        ClusterSizes([3, 2, 1]),
        GroupShares(["a", "b"] * 3, minimum={"a": 0.5}, maximum={"b": 0.5, "a": 0.9}),
    ]
    axes = plot_totals(LABELS, rules)
    assert [ax.get_title("left") for ax in axes] == [
        "cluster totals of at most 7",
        "share of 'a'",
        "share of 'b'",
    ]
    totals = bars(axes[0])
    assert [totals[j].get_height() for j in range(3)] == [6, 9, 6]
    assert [bool(totals[j].get_hatch()) for j in range(3)] == [False, True, False]
    shares = bars(axes[1])
    np.testing.assert_allclose([shares[j].get_height() for j in range(3)], [2 / 3, 1 / 2, 0])
    assert marks(axes[1]) == {
        "minimum": dict.fromkeys(range(3), 0.5),
        "maximum": dict.fromkeys(range(3), 0.9),
    }
    assert bool(shares[2].get_hatch())


def test_totals_need_a_rule_about_them():
    with pytest.raises(ValueError, match="no ClusterTotals and no GroupShares"):
        plot_totals(LABELS, ClusterSizes([3, 2, 1]))


def test_convergence_shows_the_history(history):
    axes = plot_convergence(history)
    assert all(isinstance(ax, Axes) for ax in axes)
    (objective,) = axes[0].lines
    np.testing.assert_array_equal(objective.get_ydata(), history.objective)
    assert objective.get_xdata()[0] == 1
    shown = {line.get_label(): line.get_ydata() for line in axes[1].lines}
    for name, values in history.residuals.items():
        if values.max() > 1e-9:
            big = values > 1e-9
            np.testing.assert_array_equal(shown[name][big], values[big])
    assert axes[1].get_yscale() == "log"
    broken = {line.get_label(): line.get_ydata() for line in axes[2].lines}
    np.testing.assert_array_equal(broken["cannot-links"], history.cannot_link_violations)
    np.testing.assert_array_equal(broken["sizes (points to move)"], history.card_violations)


def test_assignment_shows_x(history):
    axes = plot_assignment(history)
    assert [ax.get_title("left") for ax in axes] == [f"x at iteration {t}" for t in (1, 3, 5)]
    for ax, iteration in zip(axes, (1, 3, 5), strict=True):
        drawn = np.column_stack([line.get_ydata() for line in ax.lines])
        np.testing.assert_array_equal(drawn, history.x[iteration])


def test_assignment_sorted(history):
    order = np.arange(30) % 2
    ax = plot_assignment(history, order=order)[0]
    rows = [*range(0, 30, 2), *range(1, 30, 2)]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), history.x[1][rows, 0])
    with pytest.raises(ValueError, match=r"`order` has shape \(3,\)"):
        plot_assignment(history, order=[0, 1, 2])


def test_nothing_recorded_says_how_to(history):
    model = ConstrainedKMeans(2, random_state=0).fit([[0.0], [1.0], [2.0]])
    with pytest.raises(ValueError, match="fit with record_x="):
        plot_assignment(model.history_)


def test_axes_given_are_used(X, history):
    figure, grid = plt.subplots(2, 3)
    assert plot_clusters(X, LABELS, ax=grid[0, 0]) is grid[0, 0]
    assert plot_sizes(LABELS, ax=grid[0, 1]) is grid[0, 1]
    assert list(plot_convergence(history, ax=grid[1])) == list(grid[1])
    divided = plot_convergence(history, ax=grid[0, 2])
    assert len(divided) == 3
    assert all(ax.figure is figure for ax in divided)
    assert not grid[0, 2].axison
    box = grid[0, 2].get_position()
    assert all(box.x0 - 1e-9 <= ax.get_position().x0 <= box.x1 for ax in divided)


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (4, 4)])
def test_a_picture_on_given_axes_stays_inside_of_them(X, shape):
    """Legends do not cover the Axes beside them, and points are no larger than in a figure."""
    figure, grid = plt.subplots(*shape, squeeze=False, figsize=(8, 6))
    rules = [MustLink([(0, 1)]), CannotLink([(0, 5)])]
    plot_clusters(X, LABELS, rules, ax=grid[0, 0])
    plot_sizes(LABELS, ClusterSizes(minimum=2, maximum=3), n_clusters=4, ax=grid[-1, -1])
    figure.canvas.draw()
    for ax in (grid[0, 0], grid[-1, -1]):
        box, legend = ax.get_window_extent(), ax.get_legend().get_window_extent()
        assert box.x0 - 1 <= legend.x0
        assert legend.x1 <= box.x1 + 1
        assert legend.height <= 0.75 * box.height
    alone = by_gid(plot_clusters(X, LABELS))["cluster 0"].get_sizes()[0]
    given = by_gid(grid[0, 0])["cluster 0"].get_sizes()[0]
    fewer = shape[0] * shape[1] > 1
    assert (given < alone) if fewer else (given == alone)


def test_a_wrong_number_of_axes_is_refused(history):
    figure = plt.figure()
    with pytest.raises(ValueError, match="has 2 Axes, but 3 panels are needed"):
        plot_convergence(history, ax=figure.subplots(1, 2))
    with pytest.raises(ValueError, match="has 1 Axes, but 3 panels are needed"):
        plot_convergence(history, ax=figure.add_axes((0, 0, 1, 1)))


def test_without_matplotlib_one_sentence(monkeypatch, X):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'corral-clustering\[plot\]'"):
        plot_clusters(X, LABELS)


def test_clusters_look_different():
    looks = {(colour(j), marker(j)) for j in range(280)}
    assert len(looks) == 280


# How a person without one kind of cone sees linear RGB (Machado, Oliveira, Fernandes 2009).
VISION = {
    "full": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
               [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                 [-0.011820, 0.042940, 0.968881]],
}  # fmt: skip


@pytest.mark.parametrize("eye", VISION)
def test_colours_differ_to_every_eye(eye):
    seen = np.array([to_rgb(c) for c in (*COLOURS[:6], BROKEN)]) ** 2.2 @ np.array(VISION[eye]).T
    seen = np.clip(seen, 0, 1) ** (1 / 2.2)
    gap = np.linalg.norm(seen[:, None] - seen, axis=2) + 9 * np.eye(len(seen))
    assert gap.min() > 0.15


def lightness_and_hue(colours):
    """CIELAB coordinates, in which distances are about those that people see."""
    rgb = np.array([to_rgb(c) for c in colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]]
    )
    part = linear @ to_xyz.T / to_xyz.sum(axis=1)
    x, y, z = np.where(part > 0.008856, np.cbrt(part), 7.787 * part + 16 / 116).T
    return np.column_stack([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_forty_clusters_have_colours_that_differ():
    """From each other, from what is broken and from the paper; 2.3 is just noticeable."""
    seen = lightness_and_hue([*(colour(j) for j in range(40)), BROKEN, "#FFFFFF"])
    gap = np.linalg.norm(seen[:, None] - seen, axis=2) + 1e3 * np.eye(len(seen))
    assert gap.min() > 20.0


@pytest.mark.parametrize(("n_points", "edged"), [(100, True), (200_000, False)])
def test_many_points_have_no_edges(n_points, edged):
    points = np.random.default_rng(0).normal(size=(n_points, 2))
    shown = by_gid(plot_clusters(points, np.arange(n_points) % 2))
    for j in range(2):
        assert (shown[f"cluster {j}"].get_linewidths()[0] > 0) == edged


@pytest.mark.parametrize("names", [["age", "income"], ["age"]])
def test_axes_have_the_names_of_the_columns(X, names):
    frame = pd.DataFrame(X[:, : len(names)], columns=names)
    for ax in (
        plot_clusters(frame, LABELS),
        plot_clusters(frame.to_numpy(), LABELS, features=names),
    ):
        assert [ax.get_xlabel(), ax.get_ylabel()] == [*names, "cluster"][:2]


def test_the_picture_of_a_report_has_the_names_of_the_columns(X, monkeypatch):
    named, real = [], pictures.plot_clusters

    def noted(*given, features, **options):
        named.append(features)
        return real(*given, features=features, **options)

    monkeypatch.setattr(pictures, "plot_clusters", noted)
    frame = pd.DataFrame(X[:, :2], columns=["age", "income"])
    ConstrainedKMeans(2, random_state=0).fit(frame).report_.to_html()
    audit(frame, LABELS, None, 3).to_html()
    audit(frame.to_numpy(), LABELS, None, 3).to_html()
    assert list(map(list, named[:2])) == [["age", "income"]] * 2
    assert named[2] is None


def test_ticks_that_have_names_keep_them():
    _, ax = plt.subplots()
    ax.set_xticks([0, 1], ["wine", "iris"])
    plain(ax, "title")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["wine", "iris"]


@pytest.mark.parametrize("scale", [1.0, 1e4, 4e6])
def test_axes_write_numbers_in_full(scale):
    values = scale * np.arange(1, 7)
    totals = plot_totals(LABELS, ClusterTotals(values, maximum=9 * scale))[0]
    clusters = plot_clusters(np.column_stack([values, -values]), LABELS)
    for ax in (totals, clusters):
        ax.figure.canvas.draw()
        assert ax.yaxis.get_offset_text().get_text() == ""
        for axis in (ax.xaxis, ax.yaxis):
            ticks = axis.get_majorticklocs()
            texts = [label.get_text() for label in axis.get_majorticklabels()]
            read = [float(text.replace(",", "").replace("\N{MINUS SIGN}", "-")) for text in texts]
            np.testing.assert_allclose(read, ticks, rtol=1e-9, atol=1e-9 * scale)
            assert not any("e" in text for text in texts)


def test_a_fitted_model_stands_for_its_history():
    model = ConstrainedKMeans(2, random_state=0, n_init=1, record_x=(1,))
    for draw in (plot_convergence, plot_assignment):
        with pytest.raises(TypeError, match="ConstrainedKMeans has no history; give a fitted"):
            draw(model)
    model.fit([[0.0], [1.0], [5.0], [6.0]])
    for draw in (plot_convergence, plot_assignment):
        pairs = zip(draw(model), draw(model.history_), strict=True)
        for own, other in pairs:
            for one, two in zip(own.lines, other.lines, strict=True):
                np.testing.assert_array_equal(one.get_xydata(), two.get_xydata())
