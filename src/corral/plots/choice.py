"""What speaks for each number of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._style import BROKEN, GREY, colour, panels, plain, whole_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_choice(
    numbers: Sequence[int],
    curves: Mapping[str, Sequence[float | None]],
    spread: Sequence[float],
    infeasible: Sequence[int],
    chosen: int | None,
    *,
    ax: Axes | Sequence[Axes] | NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Draw a curve in each panel over the number of clusters.

    Parameters
    ----------
    numbers : numbers of clusters, in increasing order
    curves : mapping of name to values, None where one is not known
    spread : standard deviations of the last curve
    infeasible : numbers of clusters that cannot obey the rules; they are shaded
    chosen : the number that is suggested, marked in all panels; None for none
    ax : Axes, one for each curve, optional

    Returns
    -------
    array of Axes
    """
    axes = panels(ax, len(curves), columns=len(curves), sharex=True)
    for number, (place, (name, values)) in enumerate(zip(axes, curves.items(), strict=True)):
        known = [i for i, value in enumerate(values) if value is not None]
        x = [numbers[i] for i in known]
        y = [float(values[i] or 0.0) for i in known]
        last = number == len(curves) - 1
        bars = [spread[i] for i in known] if last else None
        place.errorbar(
            x, y, yerr=bars, color=colour(number), marker="o", markersize=5, capsize=3, zorder=3
        )
        for k in infeasible:
            place.axvspan(k - 0.5, k + 0.5, color=GREY, alpha=0.3, linewidth=0)
        if chosen is not None:
            place.axvline(chosen, color=BROKEN, linestyle="dashed", linewidth=1.2, zorder=2)
        plain(place, name, x="number of clusters")
        whole_numbers(place.xaxis)
        place.set_xlim(numbers[0] - 0.6, numbers[-1] + 0.6)
    _explain(axes[0], bool(len(infeasible)), chosen)
    top = [value for value in curves[next(iter(curves))] if value is not None]
    if top:
        axes[0].set_ylim(bottom=0.0, top=1.08 * float(np.max(top)) or 1.0)
    return axes


def _explain(place: Axes, shaded: bool, chosen: int | None) -> None:
    """A legend of what is not a curve."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shown: list[Any] = []
    if chosen is not None:
        shown.append(Line2D([], [], color=BROKEN, linestyle="dashed", label=f"suggested: {chosen}"))
    if shaded:
        shown.append(Patch(color=GREY, alpha=0.3, label="rules cannot be obeyed"))
    if shown:
        place.legend(handles=shown, fontsize=8, frameon=False, loc="upper right")
