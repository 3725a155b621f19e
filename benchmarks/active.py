"""Questions until a clustering agrees with the true classes: next_pairs, random pairs, others.

Each strategy asks about pairs, which the true classes answer.  The answers become hard links, and
the data are clustered again after every few questions.  The target of a data set is an adjusted
Rand index (ARI) of 0.95, or, where random pairs do not reach that, the mean ARI of 100 random
pairs.  Counted is the number of questions until the ARI first reaches the target; a run that does
not reach it counts with the largest number of questions.

The strategies of the package active-semi-supervised-clustering ("assc") are run by its own code,
which needs ``--assc FOLDER`` with the package unpacked: ExploreConsolidate and MinMax, which know
no clusters, and NPU, which has corral's fit as its clusterer.  Their questions are recorded in
order and answered like the others, so that only the choice of the questions differs.

    python benchmarks/active.py --assc FOLDER --write
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from corral import ConstrainedKMeans
from corral.active import answer, next_pairs
from corral.datasets import (
    load_breast_cancer,
    load_glass,
    load_iris,
    load_wine,
    make_balanced,
)

HERE = Path(__file__).parent
OWN = ("uncertainty", "margin", "explore")
THEIRS = ("ExploreConsolidate", "MinMax", "NPU")


def digits(seed):
    X, y = load_digits(return_X_y=True)
    rows = np.random.RandomState(seed).permutation(len(X))[:1000]
    return X[rows] / 16.0, y[rows]


DATA = {
    "wine": lambda seed: load_wine(return_X_y=True),
    "iris": lambda seed: load_iris(return_X_y=True),
    "glass": lambda seed: load_glass(return_X_y=True),
    "breast cancer": lambda seed: load_breast_cancer(return_X_y=True),
    "digits (1000)": digits,
    "Balanced": lambda seed: make_balanced(random_state=seed),
}


def links(y, pairs):
    """The true answers as hard links."""
    return answer(None, pairs, [bool(y[i] == y[j]) for i, j in pairs])


def fitted(X, y, rules, seed):
    model = ConstrainedKMeans(len(np.unique(y)), random_state=seed, n_init=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, constraints=rules)


def random_pairs(X, y, seed, most):
    rng = np.random.RandomState(seed)
    return [tuple(rng.choice(len(X), 2, replace=False).tolist()) for _ in range(most)]


def own_questions(strategy, step):
    """A function from the model and the questions so far to the next ones."""

    def ask(model, X, y, asked, seed):
        rules = links(y, asked)
        found = next_pairs(
            model, X, constraints=rules, n=step, strategy=strategy, random_state=seed
        )
        return [tuple(pair) for pair in found.tolist()]

    return ask


def listed_questions(pairs, step):
    """The same, from a list that was made before."""
    return lambda model, X, y, asked, seed: pairs[len(asked) : len(asked) + step]


def curve(X, y, seed, ask, most, target=1.0):
    """ARI after each number of questions, until the target is reached."""
    asked, found = [], {}
    while True:
        model = fitted(X, y, links(y, asked) if asked else None, seed)
        found[len(asked)] = adjusted_rand_score(y, model.labels_)
        if found[len(asked)] >= target or len(asked) >= most:
            return found
        new = ask(model, X, y, asked, seed)
        if not new:
            return found
        asked = asked + new


def questions_to(found, target, most):
    return next((n for n, value in found.items() if value >= target), most)


def their_questions(name, X, y, seed, most):
    """What a strategy of the package asks, in order."""
    from active_semi_clustering.active import pairwise_constraints as assc

    class Oracle(assc.ExampleOracle):
        asked = ()

        def query(self, i, j):
            said = super().query(i, j)
            self.asked = (*self.asked, (int(i), int(j)))
            return said

    class Clusterer:
        """corral's fit with the interface that NPU needs."""

        def fit(self, X, ml, cl):
            pairs = np.array([*ml, *cl], int).reshape(-1, 2)
            rules = (
                answer(None, pairs, [True] * len(ml) + [False] * len(cl)) if len(pairs) else None
            )
            self.labels_ = fitted(X, y, rules, seed).labels_

    np.random.seed(seed)
    oracle = Oracle(y, max_queries_cnt=most)
    strategy = getattr(assc, name)(n_clusters=len(np.unique(y)), clusterer=Clusterer())
    # Their code fails where no row is left to ask about, or all rows explored are alike.
    with suppress(ValueError, TypeError, KeyError):
        strategy.fit(X, oracle=oracle)
    return [(i, j) for i, j in oracle.asked if i != j]


def curve_of(name, strategy, seed, target, args):
    """ARI after each number of questions of one strategy on one data set."""
    if args.assc:
        sys.path.insert(0, args.assc)
    X, y = DATA[name](seed)
    if strategy in OWN:
        ask = own_questions(strategy, args.step)
    elif strategy in THEIRS:
        ask = listed_questions(their_questions(strategy, X, y, seed, args.most), args.step)
    else:
        ask = listed_questions(random_pairs(X, y, seed, args.most), args.random_step)
    return curve(X, y, seed, ask, args.most, target)


def target_of(random):
    """An ARI of 0.95, or the mean after 100 random pairs if that is less."""
    return min(0.95, float(np.mean([found[max(n for n in found if n <= 100)] for found in random])))


def strategies(name, args):
    """The strategies to compare with random pairs on a data set."""
    theirs = [each for each in THEIRS if args.assc and each not in args.without]
    if "NPU" in theirs and len(DATA[name](0)[0]) > args.npu_rows:
        theirs.remove("NPU")
    return [*(OWN[:1] if args.quick else OWN), *theirs]


def curves(work, args):
    """The curve of each piece of work; those in the file ``--known`` are not run again."""
    path = Path(args.known) if args.known else None
    lines = path.read_text().splitlines() if path and path.exists() else []
    known = dict(map(read, lines))
    left = [each for each in work if each not in known]
    pool = Parallel(n_jobs=args.jobs, return_as="generator_unordered")
    for key, found in pool(delayed(keyed)(each, args) for each in left):
        known[key] = found
        if path:
            with path.open("a") as file:
                file.write(json.dumps([key, found]) + "\n")
    return [known[each] for each in work]


def read(line):
    key, found = json.loads(line)
    return (*key,), {int(n): ari for n, ari in found.items()}


def keyed(each, args):
    return each, curve_of(*each, args)


def measured(names, args):
    """Questions of each strategy on each data set, and the targets."""
    seeds = range(args.repeats)
    work = [(name, "random", seed, 0.95) for name in names for seed in seeds]
    random = np.array(curves(work, args)).reshape(len(names), -1)
    found = []
    for name, each in zip(names, random, strict=True):
        target = target_of(each)
        counts = {"random": [questions_to(curve, target, args.most) for curve in each]}
        found.append(SimpleNamespace(name=name, target=target, counts=counts))
    work = [
        (each.name, strategy, seed, each.target)
        for each in found
        for strategy in strategies(each.name, args)
        for seed in seeds
    ]
    counts = {each.name: each.counts for each in found}
    for (name, strategy, _, target), each in zip(work, curves(work, args), strict=True):
        counts[name].setdefault(strategy, []).append(questions_to(each, target, args.most))
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--most", type=int, default=200, help="questions at most")
    parser.add_argument("--step", type=int, default=5, help="questions between two fits")
    parser.add_argument("--random-step", type=int, default=10, help="the same for random pairs")
    parser.add_argument("--data", default=",".join(DATA))
    parser.add_argument("--assc", help="folder of the unpacked package")
    parser.add_argument("--npu-rows", type=int, default=600, help="NPU only up to so many rows")
    parser.add_argument("--without", default="", help="strategies of the package to leave out")
    parser.add_argument("--quick", action="store_true", help="only the default strategy")
    parser.add_argument("--known", help="file that keeps what was measured")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--write", action="store_true", help="write active.md and active.png")
    args = parser.parse_args()
    found = measured(args.data.split(","), args)
    for each in found:
        print(each.name, f"target {each.target:.3f}", each.counts)
    if args.write:
        write(found, args)


def write(found, args):
    names = list(dict.fromkeys(name for each in found for name in each.counts))
    lines = ["| data | target ARI | " + " | ".join(names) + " |", "| --- " * (len(names) + 2) + "|"]
    for each in found:
        cells = [f"{np.mean(c):.0f}" if (c := each.counts.get(name)) else "-" for name in names]
        lines.append(f"| {each.name} | {each.target:.3f} | " + " | ".join(cells) + " |")
    text = (
        "# Questions until the target\n\n"
        f"Mean of {args.repeats} runs, at most {args.most} questions each; made by `python\n"
        f"benchmarks/active.py --assc FOLDER --repeats {args.repeats} --random-step "
        f"{args.random_step}`,\nwhich says what is counted. *Uncertainty* is the default of "
        "`next_pairs`.\nExploreConsolidate, MinMax and NPU are those of the package\n"
        "active-semi-supervised-clustering 0.0.1; a dash marks more rows than NPU was run with,\n"
        f"{args.npu_rows}. Questions are counted in steps of {args.step}.\n\n"
    )
    (HERE / "active.md").write_text(text + "\n".join(lines) + "\n", encoding="utf-8")
    draw(found, names)


def draw(found, names):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from corral.plots._style import colour, plain

    shown = [each for each in found if any(np.mean(c) for c in each.counts.values() if c)]
    figure, ax = plt.subplots(figsize=(9, 4.2), layout="constrained")
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        at = [x + (number - len(names) / 2 + 0.5) * width for x in range(len(shown))]
        heights = [np.mean(each.counts[name]) if each.counts.get(name) else 0 for each in shown]
        ax.bar(at, heights, width, label=name, color=colour(number))
    ax.legend(frameon=False, fontsize=8)
    plain(ax, "Questions until the target (mean)")
    ax.set_xticks(range(len(shown)), [f"{e.name}\nARI {e.target:.2f}" for e in shown])
    figure.savefig(HERE / "active.png", dpi=110)


if __name__ == "__main__":
    main()
