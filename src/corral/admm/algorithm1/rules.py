"""The rules that Algorithm 1 knows, as the arrays it takes.

The paper has exact sizes, must-links, cannot-links and "any other linear equality"; pins and
totals that must be met exactly are such equalities.  Everything else is refused, in words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..._typing import FloatArray, IntArray
from ...presolve import LinearRows, Rules

ADVICE = 'solver="projected" handles it'


@dataclass(frozen=True)
class PaperRules:
    """The rules of the paper's model.

    Attributes
    ----------
    must_link, cannot_link : (p, 2) int arrays or None
        Pairs of rows; a repeated pair counts repeatedly.
    sizes : (k,) int array or None
        Exact size of each cluster.
    linear : LinearRows or None
        Equalities ``A vec(x) = b``: lower and upper bounds are the same.
    """

    must_link: IntArray | None = None
    cannot_link: IntArray | None = None
    sizes: IntArray | None = None
    linear: LinearRows | None = None

    @classmethod
    def of(cls, rules: Rules, weight: FloatArray) -> PaperRules:
        """Take them from rules whose must-links were not contracted.

        Raises
        ------
        ValueError
            For a rule that the paper's model does not have.
        """
        if len(rules.soft.price):
            raise ValueError(
                f'solver="algorithm1" has no soft pairs, and {len(rules.soft.price)} pairs have '
                f"a finite weight; weights must be infinite, or {ADVICE}."
            )
        if np.ptp(weight) > 0:
            raise ValueError(
                'solver="algorithm1" has no sample weights, and they range from '
                f"{weight.min():g} to {weight.max():g}; they must be equal, or "
                f"{ADVICE}."
            )
        return cls(
            must_link=rules.together if len(rules.together) else None,
            cannot_link=rules.apart if len(rules.apart) else None,
            sizes=_exact_sizes(rules),
            linear=_equalities(rules),
        )


def _exact_sizes(rules: Rules) -> IntArray | None:
    sizes = rules.sizes
    if sizes is None:
        return None
    loose = np.flatnonzero(sizes.lower != sizes.upper)
    if len(loose):
        j = loose[0]
        raise ValueError(
            f'solver="algorithm1" has exact sizes only, and the size of cluster {j} may lie in '
            f"[{sizes.lower[j]}, {sizes.upper[j]}]; minimum and maximum must be equal, or {ADVICE}."
        )
    return sizes.lower


def _equalities(rules: Rules) -> LinearRows | None:
    """Pins ``x_ij = 1``, exact totals and linear rows, one below the other."""
    m, k = rules.n_groups, rules.n_clusters
    blocks: list[sparse.csr_array] = []
    values: list[FloatArray] = []
    if len(rules.pins):
        rows, columns = np.arange(len(rules.pins)), rules.pins @ [k, 1]
        shape = (len(rows), m * k)
        blocks.append(sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape))
        values.append(np.ones(len(rows)))
    for number, total in enumerate(rules.totals):
        values.append(_met_exactly(total.lower, total.upper, f"total {number} of cluster"))
        blocks.append(sparse.kron(total.values[None, :], sparse.eye_array(k), format="csr"))
    if rules.linear is not None:
        given = rules.linear
        values.append(_met_exactly(given.lower, given.upper, "linear row"))
        blocks.append(given.A)
    if not blocks:
        return None
    wanted = np.concatenate(values)
    return LinearRows(sparse.csr_array(sparse.vstack(blocks)), wanted, wanted)


def _met_exactly(lower: FloatArray, upper: FloatArray, what: str) -> FloatArray:
    loose = np.flatnonzero(lower != upper)
    if len(loose):
        r = loose[0]
        raise ValueError(
            f'solver="algorithm1" has linear equalities only, and {what} {r} may lie in '
            f"[{lower[r]:g}, {upper[r]:g}]; both bounds must be equal, or {ADVICE}."
        )
    return lower
