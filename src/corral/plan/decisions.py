"""Every decision that depends on the size or the kind of a problem, collected in one plan.

:meth:`Plan.of` looks at the rules, at a few facts about the rows and at the user's settings, and
fixes how the problem is solved; :mod:`.effort`, :mod:`.kinds`, :mod:`.chained`, :mod:`.annealed`
and :mod:`.many` make some of the decisions.  What can only be known in a round, such as how many
rows prices misplace, is decided there.  The numbers behind all decisions are in :mod:`.thresholds`,
and the questions about rules that several methods ask in :mod:`.facts`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from ..presolve import Rules
from ..settings import Settings
from . import chained, effort
from . import many as many_decisions
from . import many_thresholds as over
from . import thresholds as at
from .annealed import anneals, competes
from .facts import (
    Facts,
    entries,
    many_clusters,
    pilot_groups,
    prices_first,
    program_seconds,
    sizes_loose,
)
from .kinds import crowded, is_nested, steered, told


def _decision(words: str) -> Any:
    """A field of the plan, with what it decides in words."""
    return field(metadata={"words": words})


def _later(words: str) -> Any:
    """A field that is known after the fit."""
    return field(default="", metadata={"words": words})


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How one problem is solved: each field is a decision, with its meaning in words.

    ``assignment`` says in words what the rules ask for; the methods of assignment choose by the
    same questions about the rules.
    """

    n_groups: int = _decision("groups of rows")
    n_clusters: int = _decision("clusters")
    home: str = _later("brought into memory because")
    restarts: int = _decision("restarts, at most")
    agree: int = _decision("equal best answers that end them")
    made: str = _later("restarts made")
    children: int = _decision("recombinations of answers that disagree, at most")
    idle: int = _decision("recombinations without success that end them")
    shakes: int = _decision("answers from shaken chains of cannot-links for each of these")
    programs: float = _decision("seconds for integer programs in all")
    candidates: int = _decision("clusters that a group is first assigned among, 0 for all")
    centers: str = _decision("centres by")
    graduated: int = _decision("groups that graduation sees")
    sample: int = _decision("groups that ADMM sees")
    single: bool = _decision("ADMM in single precision")
    growth: float = _decision("growth of ADMM's penalty an iteration")
    hardens: bool = _decision("ADMM goes on until x is binary")
    count_every: int = _decision("iterations between two counts of violations")
    direct: int = _decision("rounds from the seeds before ADMM, at most")
    direct_share: float = _decision("part of the time left for these")
    competes: bool = _decision("ADMM's answer competes with that from the seeds")
    rival: str = _decision("rival of ADMM on its sample")
    assignment: str = _decision("exact assignment by")
    rough: bool = _decision("chains of cannot-links first, programs at the end")
    rehearsal: int = _decision("groups that rounds see before all do, 0 for none")
    rounds: int = _decision("rounds of exact assignment and means, at most")
    exact_rounds: bool = _decision("all of these look beyond the candidates")
    least_drop: float = _decision("relative drop of the objective that ends rounds")
    least_shift: float = _decision("squared shift of the centres, in variances, that ends rounds")
    exchanges: int = _decision("rounds of exchanges of groups, at most")
    least_exchange: float = _decision("relative gain that ends exchanges")
    refines: bool = _decision("exact assignment after every round of these, not the last alone")
    anneals: int = _decision("rounds of annealing from the seeds under cannot-links, at most")
    copies: int = _decision("copies of the labels in these")
    upheavals: int = _decision("trials of upheavals with shifts and chains, at most")
    finishes: bool = _decision("integer programs after these")
    trials: int = _decision("trials of moves of clusters, at most")
    trials_each: int = _decision("trials of one kind of move on one answer, at most")

    @classmethod
    def of(cls, rules: Rules, facts: Facts, settings: Settings, part_of: int | None = None) -> Plan:
        """Decide; ``part_of`` is the number of groups of the whole, if these are a sample."""
        size = _sample(rules, facts, settings)
        many = many_clusters(rules, facts, settings)
        exchanges, least_exchange = effort.exchanges_of(entries(rules), facts.far, many)
        restarts, trials = _restarts(rules, settings), _trials(rules, facts)
        upheavals = chained.upheavals(rules, facts.far, restarts)
        agree, children = effort.shared(rules, restarts, 0 if upheavals else trials, settings)
        whole = part_of is None and size == rules.n_groups
        direct, share = _direct(rules, settings, whole, upheavals)
        rough = exchanges > 0 and effort.tangled(rules)
        annealed, copies = anneals(rules) if rough and direct and settings.coarse else (0, 0)
        made = cls(
            n_groups=rules.n_groups,
            n_clusters=rules.n_clusters,
            restarts=_limited(rules, restarts, agree, children),
            agree=agree,
            children=children,
            idle=effort.idle(rules, children),
            shakes=effort.shakes(rules, children),
            programs=program_seconds(rules, settings),
            candidates=many_decisions.candidates(rules, facts, settings),
            centers=many_decisions.centers(rules, facts, settings),
            graduated=many_decisions.graduated(rules, facts, many),
            sample=size,
            single=_single(rules, facts, settings),
            growth=_growth(rules, settings, upheavals),
            hardens=part_of is None and not (_ends_early(rules, settings) or upheavals),
            count_every=_count_every(entries(rules)),
            direct=direct,
            direct_share=share,
            competes=competes(rules, upheavals, annealed),
            rival=_rival(rules, settings, part_of),
            assignment=_assignment(rules, facts, settings),
            rough=rough,
            anneals=annealed,
            copies=copies,
            rehearsal=many_decisions.rehearsal(rules, facts, many or part_of is not None),
            rounds=effort.rounds_of(facts.far, many),
            exact_rounds=many_decisions.exact_rounds(rules, facts, many),
            least_drop=effort.least_drop(rules, facts.far, many),
            least_shift=effort.least_shift(rules, part_of or 0),
            exchanges=exchanges,
            least_exchange=least_exchange,
            refines=effort.work_of_trial(rules) <= at.MOVE_BUDGET,
            upheavals=upheavals,
            finishes=upheavals > 0 and entries(rules) <= at.FINISHED,
            trials=trials,
            trials_each=effort.trials_each(rules),
        )
        return made.reduced(settings)

    def reduced(self, settings: Settings) -> Plan:
        """The same without what the settings exclude."""
        plan = self
        if settings.solver == "algorithm1":  # which has a schedule of its own
            plan = replace(plan, hardens=False, count_every=1)
        if settings.repair:
            return plan
        plan = replace(plan, assignment="rounding", rough=False, children=0, idle=0, anneals=0)
        return replace(plan, shakes=0, direct=0, exchanges=0, trials=0, upheavals=0, finishes=False)

    def with_sample(self, sample: Plan) -> Plan:
        """The same with what was decided for the sample that ADMM sees."""
        names = ("single", "growth", "hardens", "count_every", "rival")
        return replace(self, **{name: getattr(sample, name) for name in names})

    def table(self) -> list[tuple[str, str]]:
        """Decisions in words, and their values."""
        decided = [(each.metadata["words"], getattr(self, each.name)) for each in fields(self)]
        return [(words, _said(value)) for words, value in decided if value != ""]

    def __str__(self) -> str:
        return "; ".join(f"{words}: {value}" for words, value in self.table())


def _said(value: int | float | bool | str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else value


def _restarts(rules: Rules, settings: Settings) -> int:
    """Restarts; a start given by the user needs but one, and cliques are quick to polish."""
    if not isinstance(settings.init, str):
        return 1
    if isinstance(settings.n_init, int):
        return settings.n_init
    size = max(entries(rules), 1)
    budget = at.CROWDED_ENTRIES if crowded(rules) else at.RESTART_ENTRIES
    labelled = size > at.SMALL and told(rules) == rules.n_clusters
    most = at.LABELLED_RESTARTS if labelled else at.MOST_RESTARTS
    return int(np.clip(budget // size, 1, most))


def _limited(rules: Rules, restarts: int, agree: int, children: int) -> int:
    """Restarts at most: where answers may agree, the rest are recombinations of those.

    Cliques may be too large to recombine their answers.
    """
    alike = crowded(rules) and not children
    return min(restarts, at.DISAGREEING) if agree and not alike else restarts


def _sample(rules: Rules, facts: Facts, settings: Settings) -> int:
    """Groups that ADMM sees: a number, all, or as many as show the clusters."""
    m, wanted = rules.n_groups, settings.max_samples
    if not settings.coarse or rules.linear is not None or wanted is None:
        return m
    if not isinstance(wanted, str):
        return min(m, max(wanted, rules.n_clusters))
    least, each = at.SAMPLE_FREE, at.SAMPLE_FREE_EACH
    if rules.summed:
        least, each = at.SAMPLE_SUMMED, at.SAMPLE_SUMMED_EACH
    if many_clusters(rules, facts, settings):  # the sample is for the seeds alone
        least, each = at.SAMPLE_SUMMED, over.SEEDS_EACH
    enough = int(max(least, each * rules.n_clusters) * facts.unevenness)
    return min(m, enough) if m > at.WORTH_SAMPLING * enough else m


def _single(rules: Rules, facts: Facts, settings: Settings) -> bool:
    """Single precision, where exact steps follow and no value of a total can overflow it."""
    plain = not (rules.totals or rules.soft_totals) and rules.linear is None
    return settings.coarse and facts.fits_single and plain and entries(rules) > at.SMALL


def _growth(rules: Rules, settings: Settings, upheavals: int) -> float:
    """Growth of the penalty an iteration: fast for few entries, slow for many clusters."""
    growth = settings.rho_growth
    if settings.hurries and upheavals:
        growth = chained.growth(rules)
    elif settings.hurries:
        slower = np.clip(np.sqrt(at.SLOW_CLUSTERS / rules.n_clusters), at.SLOWEST, 1.0)
        slow, fast = (settings.rho_growth - 1.0) * slower, at.FAST_GROWTH
        middle = at.FAST_SUMMED if rules.summed else at.FAST_FREE
        # From fast at half the middle to slow at twice the middle, evenly on a logarithmic scale.
        share = np.clip(0.5 + 0.5 * np.log2(entries(rules) / middle), 0.0, 1.0)
        # Where much is known of the clusters, exact steps find what a slow ADMM would.
        share *= rules.summed or not (crowded(rules) or told(rules) == rules.n_clusters)
        growth = 1.0 + fast ** (1.0 - share) * slow**share
    return float(growth ** (1.0 / settings.rho_every))


def _ends_early(rules: Rules, settings: Settings) -> bool:
    """Whether ADMM may stop once it knows where the centres are."""
    few = rules.n_clusters <= at.EARLY_CLUSTERS and entries(rules) > at.FAST_SUMMED
    return settings.coarse and rules.only_sized and few


def _count_every(size: int) -> int:
    """Iterations between two counts of the violations, so that counting stays a small part."""
    return int(np.clip(size // at.COUNT_ENTRIES, 1, at.COUNT_SELDOM))


def _direct(rules: Rules, settings: Settings, whole: bool, upheavals: int) -> tuple[int, float]:
    """Rounds straight from the seeds before ADMM, and their part of the time.

    Small problems, and those that shifts and chains solve, have a whole rival.  So have those whose
    only rule is sizes where ADMM sees all of it, and those with cliques or labelled groups where a
    round is quick.  Others have one round if they may be infeasible: a feasible answer, or a proof,
    first.
    """
    small = entries(rules) <= at.SMALL
    good = (whole and rules.only_sized) or steered(rules)
    rival = good and not small and settings.coarse
    if small or upheavals or rival:
        return at.MAX_ROUNDS, at.DIRECT_SHARE if rival else 1.0
    return (0, 1.0) if rules.surely_feasible else (1, 1.0)


def _rival(rules: Rules, settings: Settings, part_of: int | None) -> str:
    """What competes with ADMM's answer on the groups that it saw."""
    if settings.max_samples is None or settings.solver != "projected" or not settings.repair:
        return "none"
    if _needs_pilot(rules):
        return "pilot"
    if part_of is None:
        return "none"
    if rules.only_sized:
        return "start"
    if rules.summed or entries(rules) > at.POLISHED:
        return "none"
    return "moves" if rules.free or rules.n_groups < at.SMALL_PART * part_of else "polish"


def _needs_pilot(rules: Rules) -> bool:
    """Whether moves would matter where trying them takes too long, but for a sample."""
    k = rules.n_clusters
    few = pilot_groups(rules) * k
    large = entries(rules) > max(at.PILOT_FROM, at.WORTH_SAMPLING * few)
    # With totals a trial on a sample is expensive too, and linear rows do not shrink.
    totals = rules.totals or rules.soft_totals
    movable = few <= at.PILOT_MOST and not totals and rules.linear is None
    return k > 1 and large and movable and (sizes_loose(rules) or _sizes_unequal(rules))


def _sizes_unequal(rules: Rules) -> bool:
    """Whether sizes that may change hands differ by much."""
    sizes, n = rules.sizes, rules.n_rows
    if sizes is None or not rules.sizes_vary:
        return False
    lower, upper = sizes.aimed
    middle = (lower + np.minimum(upper, n)) / 2.0
    return bool(np.ptp(middle) > at.UNEQUAL * n / rules.n_clusters)


def _assignment(rules: Rules, facts: Facts, settings: Settings) -> str:
    """The method of exact assignment that the rules ask for, in words."""
    program = "prices and programs" if prices_first(rules) else "integer program"
    if rules.totals or rules.soft_totals or rules.linear is not None:
        return program
    if rules.sizes is None:
        return "components of pairs" if rules.paired else "nearest centre"
    if not rules.paired and np.ptp(rules.count) == 0:
        return "prices and flow"
    if facts.far or many_decisions.candidates(rules, facts, settings):
        return "linked groups first, then prices and flow"
    return "flow through cliques" if is_nested(rules) else program


def _trials(rules: Rules, facts: Facts) -> int:
    """How many moves to try in all: fewer where an exact assignment is expensive.

    The more groups there are, the less ADMM leaves to find.  None for far rows: a move looks at
    single groups, which must be in memory.
    """
    if facts.far:
        return 0
    size = entries(rules)
    different = rules.sizes_vary or rules.numbered or sizes_loose(rules)
    work = effort.work_of_trial(rules) * max(1.0, size / at.SMALL) ** at.DECLINE
    if rules.summed and not different:
        work *= max(1.0, size / at.SETTLED) ** at.DECLINE_SETTLED
    return int(min(at.MOVE_BUDGET / work, at.MOST_TRIALS_TIMES * at.MOST_TRIALS))
