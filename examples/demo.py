"""Cluster the wine data under must-links, cannot-links and sizes, and draw the result.

Run it with ``make demo``.  The rules use only partial knowledge of the wines: thirty pairs of wines
from the same grower, thirty pairs from different growers, and the number of wines of each grower.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

from corral import ClusterSizes, ConstrainedKMeans
from corral.datasets import load_wine, random_links

PICTURE = Path("build") / "demo.png"
# Colours of Okabe and Ito, safe for colour-blind readers, and one marker for each cluster.
COLOURS, MARKERS = ("#0072B2", "#E69F00", "#009E73"), ("o", "s", "^")
INK, GREY, RED = "#333333", "#B0B0B0", "#D55E00"


def main() -> None:
    wine = load_wine()
    must_link, cannot_link = random_links(wine.target, 30, 30, random_state=0)
    rules = [must_link, cannot_link, ClusterSizes([59, 71, 48])]

    model = ConstrainedKMeans(n_clusters=3, random_state=0).fit(wine.data, constraints=rules)
    free = KMeans(n_clusters=3, n_init=10, random_state=0).fit(wine.data)

    print(f"Wine: {len(wine.data)} wines of three growers, {wine.data.shape[1]} measurements each")
    print()
    print(model.report_)
    print()
    print("agreement with the growers (adjusted Rand index, 1 is perfect)")
    print(f"  k-means without rules  {adjusted_rand_score(wine.target, free.labels_):.3f}")
    print(f"  corral with rules      {adjusted_rand_score(wine.target, model.labels_):.3f}")

    PICTURE.parent.mkdir(exist_ok=True)
    figure = draw(wine.data, free.labels_, model.labels_, must_link.pairs, cannot_link.pairs)
    figure.savefig(PICTURE, dpi=150)
    print(f"\npicture: {PICTURE}")


def draw(X, free_labels, own_labels, must_link, cannot_link):
    """Draw both clusterings side by side on the first two principal components."""
    flat = PCA(n_components=2).fit_transform(X)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), sharex=True, sharey=True)
    panels = [
        ("k-means, no rules", in_same_colours(free_labels, own_labels)),
        ("corral, with rules", own_labels),
    ]
    for ax, (title, labels) in zip(axes, panels, strict=True):
        broken = draw_links(ax, flat, labels, must_link, together=True)
        broken += draw_links(ax, flat, labels, cannot_link, together=False)
        for j, (colour, marker) in enumerate(zip(COLOURS, MARKERS, strict=True)):
            x, y = flat[labels == j].T
            ax.scatter(x, y, s=26, c=colour, marker=marker, ec="white", lw=0.5, zorder=3)
        sizes = " / ".join(str((labels == j).sum()) for j in range(len(COLOURS)))
        ax.set_title(f"{title}\nsizes {sizes}, {broken} links broken", fontsize=11, color=INK)
        ax.set_axis_off()
    figure.legend(handles=legend_handles(), loc="lower center", ncols=6, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    return figure


def draw_links(ax, flat, labels, pairs, *, together):
    """Draw must-links solid, cannot-links dashed, broken links red; return the number broken."""
    broken = (labels[pairs[:, 0]] == labels[pairs[:, 1]]) != together
    style = "solid" if together else (0, (4, 3))
    for rows, colour, width, layer in [(~broken, GREY, 0.8, 1), (broken, RED, 1.8, 2)]:
        segments = flat[pairs[rows]]
        ax.add_collection(
            LineCollection(segments, colors=colour, lw=width, linestyles=[style], zorder=layer)
        )
    return int(broken.sum())


def in_same_colours(labels, reference):
    """Renumber clusters so that clusters with the most common points get the same colour."""
    table = contingency_matrix(labels, reference)
    _, number = linear_sum_assignment(table, maximize=True)
    return number[labels]


def legend_handles():
    clusters = [
        Line2D([], [], color=colour, marker=marker, linestyle="none", label=f"cluster {j}")
        for j, (colour, marker) in enumerate(zip(COLOURS, MARKERS, strict=True))
    ]
    return [
        *clusters,
        Line2D([], [], color=GREY, linestyle="solid", label="must-link"),
        Line2D([], [], color=GREY, linestyle="dashed", label="cannot-link"),
        Line2D([], [], color=RED, lw=1.8, label="broken"),
    ]


if __name__ == "__main__":
    main()
