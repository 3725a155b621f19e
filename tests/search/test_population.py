"""Answers that are kept: never a worse best one, never more than allowed, no two alike."""

from __future__ import annotations

import numpy as np
import pytest

from corral.search.descent import Answer
from corral.search.population import Population


def answer(objective):
    """An answer of which only the objective matters."""
    return Answer(np.zeros(3, np.int64), None, objective, None, None)


def grown(objectives, most=4, patience=np.inf, seed=0):
    """A population of answers that came in this order."""
    made = Population(np.random.RandomState(seed), patience, most)
    for value in objectives:
        made.add(answer(value))
    return made


@pytest.mark.parametrize("seed", range(5))
def test_it_keeps_the_best_and_sorts_the_others(seed):
    values = np.random.default_rng(seed).permutation(20).astype(float)
    made = grown(values)
    assert made.top.objective == values.min()
    assert [each.objective for each in made.answers] == sorted(values)[:4]


def test_equal_answers_are_kept_once():
    made = grown([2.0, 1.0, 2.0, 1.0 + 1e-12, 2.0 - 1e-12])
    assert [each.objective for each in made.answers] == [1.0, 2.0]


@pytest.mark.parametrize("seed", range(5))
def test_the_best_never_rises_whatever_children_come(seed):
    rng = np.random.default_rng(seed)
    made = grown([5.0, 6.0, 7.0], seed=seed)
    for value in rng.uniform(0.0, 20.0, 200):
        parent, before = made.parent(), made.top.objective
        made.add(answer(value) if rng.random() < 0.8 else None, parent)
        assert made.top.objective <= before
        assert made.top.objective == min(each.objective for each in made.answers)
        assert len(made.answers) == 3
    assert made.tried == 200


def test_a_child_takes_the_place_of_its_parent_only_if_it_is_better():
    made = grown([1.0, 2.0])
    parent = made.answers[1]
    made.add(answer(3.0), parent)
    assert parent in made.answers
    made.add(answer(1.5), parent)
    assert parent not in made.answers
    assert sorted(each.objective for each in made.answers) == [1.0, 1.5]


def test_children_without_success_end_it_and_one_with_success_does_not():
    made = grown([1.0], patience=3)
    for _ in range(2):
        made.add(None, made.parent())
    assert not made.idle
    made.add(answer(0.5), made.parent())
    for _ in range(2):
        made.add(answer(0.7), made.parent())
    assert not made.idle
    made.add(None, made.parent())
    assert made.idle
