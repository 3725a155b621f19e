"""Figure 3, ARI as links grow, and how many links ionosphere takes."""

from __future__ import annotations

import numpy as np

from . import paper
from .cells import Record
from .experiment import Experiment, Results
from .markdown import ours, picture, spread, table
from .pictures import Curve, draw_growth
from .plans import growth, growth_rows, ionosphere, ionosphere_counts

KINDS = {"must": "must-links", "cannot": "cannot-links"}
VARIANTS = {"mix": "sizes and links (Mix)", "pair": "links alone (Pair)"}


def _curve(counts: list[int], runs: list[list[Record]]) -> Curve:
    cells = [spread(records, "ari") or (np.nan, np.nan) for records in runs]
    means, deviations = zip(*cells, strict=True)
    return Curve(counts, means, deviations)


def render_figure3(results: Results) -> str:
    """Four panels: two data sets, two kinds of link."""
    panels = []
    rows = growth_rows(results.scale)
    for data, kind in dict.fromkeys((data, kind) for data, kind, _ in rows):
        counts = [count for row in rows if row[:2] == (data, kind) for count in row[2:]]
        other = "cannot" if kind == "must" else "must"
        curves = {
            text: _curve(
                counts,
                [
                    results.select(data=data, variant=variant, **{kind: count, other: 0})
                    for count in counts
                ],
            )
            for variant, text in VARIANTS.items()
        }
        plain = spread(results.select(data=data, method="K-means"), "ari") or (np.nan, np.nan)
        levels = {"K-means": plain[0]}
        panels.append((f"{data}, {KINDS[kind]}", f"number of {KINDS[kind]}", curves, levels))
    draw_growth(results.folder / "growth.png", panels)
    caption = (
        "ARI of `projected` as must-links or cannot-links grow, mean and deviation over the draws."
    )
    return (
        "Every draw has more links added to the same ones. As in the paper, more links are better; "
        "K-means does not use them. On ImBalanced the sizes alone solve the problem before the "
        "first link (the paper's set was a little harder: 99.46), and without them links of one "
        "kind help slowly.\n\n" + picture("growth.png", caption)
    )


def render_ionosphere(results: Results) -> str:
    """How many pairs it takes to reach the paper's figures."""
    counts = list(ionosphere_counts(results.scale))
    curves = {
        text: _curve(counts, [results.select(must=count, variant=variant) for count in counts])
        for variant, text in VARIANTS.items()
    }
    cells = paper.TABLE6["ari"]["ionosphere"][1:]
    levels = {
        f"the paper's {name} with 20 + 20: {cell[0]}": cell[0]
        for name, cell in zip(("Pair", "Mix"), cells, strict=True)
        if cell is not None
    }
    panel = ("ionosphere", "must-links, and as many cannot-links", curves, levels)
    draw_growth(results.folder / "ionosphere.png", [panel], columns=1)
    rows = [
        [str(count), *(ours(results.select(must=count, variant=v), "ari") for v in VARIANTS)]
        for count in counts
    ]
    return (
        "With 20 + 20 random links the optimum of K-means under the links has a low ARI, since the "
        "bad returns are no compact cluster: they lie around the good ones. The links move the few "
        "points they name and not the centres. "
        + _reached(curves, levels)
        + "\n\n"
        + table(["links of each kind", *_heads()], rows)
        + "\n"
        + picture("ionosphere.png", "ARI on ionosphere as both kinds of links grow.")
    )


def _reached(curves: dict[str, Curve], levels: dict[str, float]) -> str:
    """Fewest links with which the mean is at least a figure of the paper."""
    named = zip(("pair", "mix"), ("Pair", "Mix"), levels.values(), strict=True)
    texts = []
    for variant, name, level in named:
        curve = curves[VARIANTS[variant]]
        enough = [n for n, mean in zip(curve.counts, curve.means, strict=True) if mean >= level]
        found = f"with {enough[0]} of each kind" if enough else "with none of these numbers"
        texts.append(f"the paper's figure for {name} is reached {found}")
    return f"Of the numbers tried, {' and '.join(texts)}."


def _heads() -> list[str]:
    return [f"{text}, ARI (%)" for text in VARIANTS.values()]


FIGURE3 = Experiment("figure3", "Figure 3: more and more links", "growth", growth, render_figure3)
IONOSPHERE = Experiment(
    "ionosphere",
    "Beyond the paper: how many links ionosphere takes",
    "ionosphere",
    ionosphere,
    render_ionosphere,
)
