"""Figures 2, 4, 5 and 6: x and the objective over the iterations."""

from __future__ import annotations

from collections.abc import Sequence

from .. import audit
from .cells import Record
from .experiment import Experiment, Results
from .markdown import picture
from .pictures import draw_assignments, draw_objectives
from .plans import free_traces, mix_traces, trace_data, traces
from .sources import points
from .traces import Trace


def _runs(results: Results, wanted: Sequence[Trace]) -> dict[str, Record]:
    return {trace.solver: results.select(key=trace.key)[0] for trace in wanted}


def render_figure2(results: Results) -> str:
    """X with sizes and links."""
    data = trace_data(results.scale)
    runs = _runs(results, mix_traces(results.scale))
    draw_assignments(results.folder / "x_mix.png", runs, points(data)[1])
    return (
        f"{data.capitalize()} with the sizes of its classes, 20 must-links and 20 cannot-links, "
        "from a random binary assignment that has the sizes; x before any repair. `projected` "
        "mixes its start with the uniform assignment and becomes binary bit by bit; what it lacks "
        "at the end, here a few points of the sizes, is mended by exact assignment, which is not "
        "shown. `algorithm1` with rho = 20 leaves its start just so far as the rules demand: it "
        "comes to obey all or nearly all of them, as the paper says, but its pieces stay mixed "
        "over the classes. Iteration 1 is x after the first update.\n\n"
        + picture(
            "x_mix.png", f"x at some iterations, {data}, Mix: top projected, below algorithm1."
        )
    )


def render_figure5(results: Results) -> str:
    """X without rules."""
    data = trace_data(results.scale)
    runs = _runs(results, free_traces(results.scale))
    draw_assignments(results.folder / "x_free.png", runs, points(data)[1])
    return (
        "From the same random start without rules; the last panel of each row is the last "
        "iteration. The paper's run took 6530 iterations and came to three clean pieces. Ours of "
        "`projected` does so too, in fewer; `algorithm1` with rho = 20 stays where it started. "
        "With rho = 1 it leaves it, by way of an x far outside of [0, 1], and becomes binary after "
        "hundreds of iterations; how good a clustering it comes to depends on the start (table "
        "2).\n\n" + picture("x_free.png", f"x at some iterations, {data}, no rules.")
    )


def _objectives(results: Results, name: str, title: str, wanted: Sequence[Trace]) -> None:
    """Draw the curves that are sums of squares in one panel, and the others beside it."""
    data = trace_data(results.scale)
    X, y, k = points(data)
    panels: dict[str, dict[str, Sequence[float]]] = {}
    for solver, run in _runs(results, wanted).items():
        sound = min(run["objective"]) >= 0.0
        panel = panels.setdefault(title if sound else f"{title}: {solver}", {})
        panel[solver] = run["objective"]
    level = audit(X, y, None, k).inertia
    draw_objectives(results.folder / name, panels, level, "the classes themselves")


def render_figure4(results: Results) -> str:
    """Objective without rules."""
    data = trace_data(results.scale)
    _objectives(results, "objective_free.png", f"{data}, no rules", free_traces(results.scale))
    return (
        "The objective of the relaxed x, which may be lower than that of any clustering as long as "
        "x does not obey everything. The paper's curve falls for about 6000 iterations; that of "
        "`projected` for a hundred. With rho = 20 `algorithm1` stays at the objective of its "
        "start. With rho = 1 its x has negative entries for hundreds of iterations, so its "
        "objective is no sum of squares and swings wildly until it settles; mind the scale.\n\n"
        + picture("objective_free.png", f"Objective over the iterations, {data}, no rules.")
    )


def render_figure6(results: Results) -> str:
    """Objective with sizes and links."""
    data = trace_data(results.scale)
    title = f"{data}, sizes and 20 + 20 links"
    _objectives(results, "objective_mix.png", title, mix_traces(results.scale))
    return (
        "The paper notes that with rules the objective rises after the first few iterations, as "
        "x is driven to obey them. Here `algorithm1` rises in the first iterations and then stays "
        "at about the objective of its random start; `projected` falls, and where it stops x is "
        "still relaxed, so that its objective may be lower than that of any clustering.\n\n"
        + picture("objective_mix.png", f"Objective over the iterations, {data}, Mix.")
    )


FIGURE2 = Experiment(
    "figure2", "Figure 2: x with sizes and links", "traces", traces, render_figure2
)
FIGURE4 = Experiment(
    "figure4", "Figure 4: the objective without rules", "traces", traces, render_figure4
)
FIGURE5 = Experiment("figure5", "Figure 5: x without rules", "traces", traces, render_figure5)
FIGURE6 = Experiment(
    "figure6", "Figure 6: the objective with sizes and links", "traces", traces, render_figure6
)
