"""The points in the plane, with the links between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize
from sklearn.utils import check_array

from .._arrays import sound
from .._text import in_digits
from .._typing import FloatArray, IntArray, Matrix
from ..constraints import CannotLink, ConstraintSet, MustLink
from ..constraints.clusters import read_cluster_names
from ..constraints.collection import rules_for
from ._style import (
    BROKEN,
    FIGURE,
    GREY,
    INK,
    LEGEND_CLUSTERS,
    MISSED,
    checked_labels,
    colour,
    feature_names,
    inches,
    marker,
    one_axes,
    plain,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Least and largest area of a point, in square points; many points are smaller than few.
DOTS = (1.5, 26.0)
#: Height of a line of the legend, in inches.
LEGEND_LINE = 0.17
#: Part of a figure that its Axes fill, about.
FILLED = 0.59
#: Least width of a degree of longitude in a map, in degrees of latitude; at the poles it is less.
LEAST_WIDTH = 0.2
#: Columns that are named beside a principal component, and characters of a name.
MOST_MIXED, LONGEST_NAME = 3, 24
#: Points from which a vector format holds them as one image: they would make it large and slow.
RASTER_FROM = 3_000
MINUS = "\N{MINUS SIGN}"
#: Area from which points have a white edge.  Edges of many small points would hide the clusters
#: below them.
EDGED = 12.0
#: Area below which all points are discs: other markers vanish or cannot be told apart.
MARKED = 5.0
#: The frames of numbers and of names of clusters.
ROUND, BOX = "circle,pad=0.25", "round,pad=0.2"


def plot_clusters(
    X: Any,
    labels: ArrayLike,
    constraints: Any = None,
    *,
    centers: ArrayLike | None = None,
    features: Sequence[str] | None = None,
    sizes: ArrayLike | None = None,
    ax: Axes | None = None,
    metric: str = "euclidean",
    names: Sequence[str] | None = None,
) -> Axes:
    """Draw the clusters in two dimensions, with the links between their points.

    Must-links are solid lines and cannot-links dashed ones, grey if obeyed and red if broken.  Soft
    ones that are not obeyed are blue.
    Each cluster has a colour and a marker, and its number at its centre.

    Parameters
    ----------
    X : array-like, data frame or CSR of shape (n_samples, n_features)
        More than two features are projected on their first two principal components; a single
        one is drawn against the number of the cluster.
    labels : (n_samples,) int array
    constraints : Constraint, iterable of them, or None
        Only :class:`~corral.MustLink` and :class:`~corral.CannotLink` are shown.
    centers : (n_clusters, n_features) array, optional
        The means of the clusters unless given.
    features : sequence of str, optional
        Names of the features; the columns of a data frame unless given.
    sizes : (n_clusters,) int array, optional
        Sizes of the clusters for the title and the legend, if X is only a sample of the points.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    metric : {"euclidean", "cosine", "haversine"}, default="euclidean"
        By "cosine", rows are drawn with their lengths made one.  By "haversine", latitude and
        longitude are drawn as a map.
    names : sequence of str, optional
        Names of the clusters, shown in place of their numbers.

    Returns
    -------
    Axes
        Its artists have a ``gid`` that says what they show, such as "cluster 0", "centre 0",
        "must-link", "broken must-link" and "missed must-link".

    Examples
    --------
    >>> from corral import MustLink
    >>> from corral.plots import plot_clusters
    >>> X = [[0, 0], [0, 1], [5, 5]]
    >>> ax = plot_clusters(X, [0, 0, 1], MustLink([(0, 1)]))  # doctest: +SKIP
    """
    points: Matrix = check_array(sound(X), accept_sparse="csr", dtype=np.float64, input_name="X")
    label, k = checked_labels(labels, None if centers is None else len(np.asarray(centers)))
    if len(label) != points.shape[0]:
        raise ValueError(f"`labels` has {len(label)} entries, but X has {points.shape[0]} samples.")
    called = read_cluster_names(names, k) or tuple(map(str, range(k)))
    rules, _ = rules_for(X, constraints, None, names)
    present = np.unique(label)
    if centers is None:
        middle = np.zeros((k, points.shape[1]))
        for cluster in present:
            middle[cluster] = points[label == cluster].mean(axis=0)
    else:
        # Clusters without points may have no centre; theirs is not drawn.
        middle = np.where(np.isin(np.arange(k), present)[:, None], np.asarray(centers, float), 0.0)
    given = feature_names(X) if features is None else features
    named = [f"feature {j}" for j in range(points.shape[1])] if given is None else given
    axes = one_axes(ax)
    flat: FloatArray
    flat_middle: FloatArray
    sides: tuple[str, str]
    if metric == "haversine":
        flat, flat_middle = np.asarray(points)[:, ::-1], middle[:, ::-1]
        sides = ("longitude", "latitude") if given is None else (named[1], named[0])
        _map(axes, flat[:, 1])
    else:
        if metric == "cosine":
            points, middle = normalize(points), normalize(middle)
        flat, flat_middle, sides = _flatten(points, middle, label, named)
    counts = _draw_links(axes, flat, label, rules)
    dot = min(DOTS[1], DOTS[1] * np.sqrt(600.0 / len(label)))
    dot = float(max(DOTS[0], dot * min(1.0, np.prod(inches(axes)) / np.prod(FIGURE) / FILLED)))
    for cluster in present:
        places = flat[label == cluster], flat_middle[cluster]
        _draw_cluster(axes, *places, int(cluster), dot, called[cluster])
    if len(label) > RASTER_FROM:
        for points_drawn in axes.collections:
            points_drawn.set_rasterized(True)
    count = np.bincount(label, minlength=k) if sizes is None else np.asarray(sizes, np.int64)
    own = called if names is not None else tuple(f"cluster {j}" for j in called)
    _finish(axes, sides, count, counts, own, marked=dot >= MARKED)
    return axes


def _map(ax: Axes, latitude: FloatArray) -> None:
    """Degrees of both axes of about the same length in kilometres, in the middle of the map."""
    middle = np.radians((latitude.min() + latitude.max()) / 2.0)
    ax.set_aspect(1.0 / max(float(np.cos(middle)), LEAST_WIDTH), adjustable="datalim")


def _flatten(
    points: Matrix, centers: FloatArray, label: IntArray, features: Sequence[str]
) -> tuple[FloatArray, FloatArray, tuple[str, str]]:
    """Points and centres in the plane, and the names of its axes."""
    n, d = points.shape
    if d > 2 and n > 2:
        kind = "arpack" if sparse.issparse(points) else "auto"
        pca = PCA(n_components=2, svd_solver=kind, random_state=0)
        flat = pca.fit_transform(points)
        part = np.nan_to_num(pca.explained_variance_ratio_)
        first, second = (f"principal component ({share:.0%})" for share in part)
        mixed = [_mixture(row, features) for row in pca.components_]
        axes = f"first {first}{mixed[0]}", f"second {second}{mixed[1]}"
        return flat, pca.transform(centers), axes
    dense = points if isinstance(points, np.ndarray) else points.toarray()
    if d == 1:
        flat_centers = np.column_stack([centers[:, 0], np.arange(len(centers))])
        return np.column_stack([dense[:, 0], label]), flat_centers, (features[0], "cluster")
    # Two points have no two components: their first two features are shown.
    return dense[:, :2], centers[:, :2], (features[0], features[1])


def _mixture(component: FloatArray, features: Sequence[str]) -> str:
    """The columns that a principal component is mostly made of, with a minus where it falls."""
    if all(name == f"feature {j}" for j, name in enumerate(features)):
        return ""
    most = np.argsort(-np.abs(component), kind="stable")[:MOST_MIXED]
    named = (f"{'' if component[j] >= 0 else MINUS}{features[j]}" for j in most)
    return ": " + ", ".join(
        name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..." for name in named
    )


def _draw_links(
    ax: Axes, flat: FloatArray, label: IntArray, rules: ConstraintSet
) -> dict[str, tuple[int, int, int]]:
    """Draw all pairs as lines; give how many of each kind are obeyed, broken, and soft wishes."""
    counts: dict[str, tuple[int, int, int]] = {}
    for kind, name, style in (
        (MustLink, "must-link", "solid"),
        (CannotLink, "cannot-link", (0, (4, 2.5))),
    ):
        links = rules.of_kind(kind)
        if not links:
            continue
        pairs = np.concatenate([link.pairs for link in links])
        wrong = np.concatenate(
            [np.isin(np.arange(len(link.pairs)), link.violations(label).where) for link in links]
        )
        soft = np.isfinite(np.concatenate([link.weight for link in links]))
        counted = []
        for hue, those in ((GREY, ~wrong), (BROKEN, wrong & ~soft), (MISSED, wrong & soft)):
            _draw_lines(ax, flat[pairs[those]], name, style, hue)
            counted.append(int(those.sum()))
        counts[name] = counted[0], counted[1], counted[2]
    return counts


def _draw_lines(ax: Axes, segments: FloatArray, name: str, style: Any, hue: str) -> None:
    from matplotlib.collections import LineCollection

    # Thousands of lines would hide the points, so many lines are drawn fainter.
    obeyed = hue == GREY
    faint = 1.0 if not obeyed else float(np.clip(300.0 / max(len(segments), 1), 0.15, 1.0))
    lines = LineCollection(
        list(segments),
        colors=hue,
        linewidths=0.9 if obeyed else 2.0,
        linestyles=[style],
        alpha=faint,
        zorder=1 if obeyed else 4,
    )
    lines.set_gid({GREY: name, BROKEN: f"broken {name}", MISSED: f"missed {name}"}[hue])
    ax.add_collection(lines, autolim=False)


def _draw_cluster(
    ax: Axes, points: FloatArray, centre: FloatArray, cluster: int, dot: float, name: str
) -> None:
    ax.scatter(
        points[:, 0],
        points[:, 1],
        s=dot,
        c=colour(cluster),
        marker=marker(cluster) if dot >= MARKED else "o",
        edgecolors="white",
        linewidths=0.4 if dot >= EDGED else 0.0,
        zorder=3,
        gid=f"cluster {cluster}",
    )
    ax.annotate(
        name,
        (float(centre[0]), float(centre[1])),
        ha="center",
        va="center",
        fontsize=9,
        fontweight="bold",
        color=INK,
        zorder=5,
        gid=f"centre {cluster}",
        bbox={
            "boxstyle": ROUND if name.isdecimal() else BOX,
            "fc": "white",
            "ec": colour(cluster),
            "lw": 2.0,
        },
    )


def _finish(
    ax: Axes,
    names: tuple[str, str],
    sizes: IntArray,
    counts: dict[str, tuple[int, int, int]],
    called: Sequence[str],
    *,
    marked: bool,
) -> None:
    """Title, names of the axes, legend."""
    links = sum(map(sum, counts.values()))
    broken = sum(count[1] for count in counts.values())
    title = f"{in_digits(sizes.sum())} points in {np.count_nonzero(sizes)} clusters"
    missed = sum(count[2] for count in counts.values())
    if links and (broken or not missed):
        title += f", {broken} of {links} links broken" if broken else f", all {links} links obeyed"
    if missed:
        title += f", {missed} of {links} links are wishes that are not met"
    plain(ax, title, x=names[0], y=names[1])
    ax.locator_params(axis="x", nbins=5)  # long numbers side by side need room
    # The legend is beside the Axes only where the layout of the figure makes room for it.
    alone = ax.figure.axes == [ax] and ax.figure.get_layout_engine() is not None
    most = LEGEND_CLUSTERS if alone else min(LEGEND_CLUSTERS, int(inches(ax)[1] / 2 / LEGEND_LINE))
    look: Any = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
    handles = _legend(sizes, counts, most, called, marked=marked)
    if handles:
        look = look if alone else {"loc": "upper right", "framealpha": 0.7}
        ax.legend(handles=handles, fontsize=8, **look)


def _legend(
    sizes: IntArray,
    counts: dict[str, tuple[int, int, int]],
    most: int,
    called: Sequence[str],
    *,
    marked: bool,
) -> list[Any]:
    """Lines of the legend; those of the clusters, which are numbered, only if they are few."""
    from matplotlib.lines import Line2D

    present = np.flatnonzero(sizes).tolist()
    handles = []
    for j in present if len(present) <= most else ():
        text = f"{called[j]} ({in_digits(sizes[j])})"
        shape = marker(j) if marked else "o"
        handles.append(Line2D([], [], color=colour(j), marker=shape, ls="none", label=text))
    for name, (obeyed, broken, missed) in counts.items():
        style = "solid" if name == "must-link" else "dashed"
        if obeyed:
            handles.append(Line2D([], [], color=GREY, ls=style, label=f"{name} ({obeyed})"))
        if broken:
            text = f"broken {name} ({broken})"
            handles.append(Line2D([], [], color=BROKEN, ls=style, lw=2.0, label=text))
        if missed:
            text = f"{name} not met ({missed})"
            handles.append(Line2D([], [], color=MISSED, ls=style, lw=2.0, label=text))
    return handles
