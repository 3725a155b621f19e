"""Table 6: sizes, links, and both."""

from __future__ import annotations

from . import paper
from .cells import Record
from .experiment import Demand, Experiment, Results
from .markdown import NAMES, mean, ours, shown, table
from .plans import MIX_METHODS, mix_data, table6

VARIANTS = ("car", "pair", "mix")
HEADS = ("Car", "Pair", "Mix")
#: Rows that are out of reach: see the figure of ionosphere.
OUT_OF_REACH = (("ionosphere", "pair"), ("ionosphere", "mix"))


def _runs(results: Results, data: str, method: str, variant: str) -> list[Record]:
    return results.select(data=data, method=method, variant=variant)


def render_table6(results: Results) -> str:
    """One table a measure, then violations and seconds."""
    head = ["data set (links of each kind)", *(f"{name}, paper" for name in HEADS)]
    head += [f"{m.split(',')[0]}, {name}" for m in MIX_METHODS for name in HEADS]
    pairs = [(method, variant) for method in MIX_METHODS for variant in VARIANTS]
    parts = [
        "Ten draws of links and as many starts; one start a run. The paper's pairs are its own, "
        "drawn once.\n"
    ]
    names = {data: f"{data} ({paper.TABLE6_PAIRS[data]})" for data in mix_data(results.scale)}
    for measure, printed in paper.TABLE6.items():
        rows = [
            [
                name,
                *(shown(cell, measure) for cell in printed[data]),
                *(ours(_runs(results, data, *pair), measure) for pair in pairs),
            ]
            for data, name in names.items()
        ]
        parts.append(f"**{NAMES[measure]}**\n\n{table(head, rows)}")
    rows = [
        [
            name,
            *(f"{seconds:.2f}" for seconds in paper.TABLE6_SECONDS[data]),
            *(mean(_runs(results, data, *pair), "seconds") for pair in pairs),
        ]
        for data, name in names.items()
    ]
    parts.append(f"**Seconds**\n\n{table(head, rows)}")
    parts.append(_broken(results, names))
    return "\n".join(parts)


def _broken(results: Results, names: dict[str, str]) -> str:
    head = ["data set (links of each kind)"]
    head += [f"{m.split(',')[0]}, {name}" for m in MIX_METHODS for name in HEADS]
    rows = [
        [
            name,
            *(
                " / ".join(
                    mean(_runs(results, data, method, variant), kind)
                    for kind in ("cardv", "mlv", "clv")
                )
                for method in MIX_METHODS
                for variant in VARIANTS
            ),
        ]
        for data, name in names.items()
    ]
    return f"**Mean CardV / MLV / CLV**\n\n{table(head, rows)}"


def demands_table6(results: Results) -> list[Demand]:
    """Every row and variant."""
    return [
        Demand(
            f"table 6, {data}, lpKm-{name}",
            printed[0],
            _runs(results, data, "projected, one start", variant),
            expected=(data, variant) not in OUT_OF_REACH,
        )
        for data in mix_data(results.scale)
        for name, variant, printed in zip(HEADS, VARIANTS, paper.TABLE6["ari"][data], strict=True)
        if printed is not None
    ]


TABLE6 = Experiment(
    "table6", "Table 6: sizes, links, and both", "table6", table6, render_table6, demands_table6
)
