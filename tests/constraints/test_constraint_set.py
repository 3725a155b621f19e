"""Several constraints as one value, and their JSON files."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from corral.constraints import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    Constraint,
    ConstraintSet,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
    Violations,
)

RULES = ConstraintSet(
    [
        MustLink([(0, 1), (1, 2)], [math.inf, 2.5]),
        CannotLink([(0, 3)]),
        CannotLink([]),
        ClusterSizes(minimum=1, maximum=[3, 4], ordered=True),
        ClusterTotals([1.5, 2, 3, 4], maximum=[5, math.inf]),
        GroupShares(["a", "b", "b", "a"], minimum={"a": 0.1}),
        Pin({0: 1}),
        LinearConstraint([[1, 0, 0, 0, 0, 0, 0, 1]], upper=1, n_clusters=2),
    ]
)


def test_what_makes_a_set():
    link = MustLink([(0, 1)])
    assert len(ConstraintSet()) == len(ConstraintSet(None)) == 0
    assert ConstraintSet(link) == ConstraintSet([link]) == ConstraintSet([[link], None, []])
    assert ConstraintSet(ConstraintSet(link)) == ConstraintSet(iter([link]))
    assert ConstraintSet(link) + CannotLink([(0, 1)]) == ConstraintSet([link, CannotLink([(0, 1)])])
    assert ConstraintSet(link)[0] is link
    assert RULES[1:3] == ConstraintSet([RULES[1], RULES[2]])
    assert RULES.of_kind(CannotLink) == (RULES[1], RULES[2])


@pytest.mark.parametrize("wrong", [3, "must", [MustLink([]), (0, 1)], {"a": 1}])
def test_other_things_are_refused(wrong):
    with pytest.raises(TypeError, match="each must be a constraint such as MustLink"):
        ConstraintSet(wrong)


def test_a_set_is_a_value():
    twin = pickle.loads(pickle.dumps(RULES))
    assert twin == RULES
    assert hash(twin) == hash(RULES)
    assert RULES[:-1] != RULES
    with pytest.raises(AttributeError, match="immutable"):
        RULES.anything = 1
    assert repr(RULES[:2]) == "ConstraintSet([MustLink(2 pairs, 1 soft), CannotLink(1 pair)])"
    assert RULES[:2].phrase() == "must-links 0-1, 1-2; cannot-link 0-3"
    assert ConstraintSet().phrase() == "no constraints"


def test_check_and_violations_go_through_all():
    RULES.check(4, 2)
    with pytest.raises(ValueError, match="cannot_link pair 0"):
        RULES[1:2].check(3, 2)
    labels = [1, 1, 0, 1]
    assert [v.count for v in RULES.violations(labels, 2)] == [
        rule.violations(labels, 2).count for rule in RULES
    ]


def test_a_subset_drops_what_says_nothing():
    part = RULES[:-1].subset([0, 1])
    assert [type(rule) for rule in part] == [
        MustLink,
        ClusterSizes,
        ClusterTotals,
        GroupShares,
        Pin,
    ]
    assert part[0] == MustLink([(0, 1)], n_samples=2)


def test_json_round_trip(tmp_path):
    path = tmp_path / "rules.json"
    RULES.to_json(path)
    assert ConstraintSet.from_json(path) == RULES
    assert ConstraintSet.from_json(str(path)) == RULES
    text = path.read_text()
    assert '"inf"' in text
    assert "Infinity" not in text
    assert json.loads(text)["version"] == 1
    assert [file.name for file in tmp_path.iterdir()] == ["rules.json"]


def test_a_subset_that_lost_a_group_survives_json(tmp_path):
    part = ConstraintSet(RULES[5].subset([1, 2]))
    part.to_json(tmp_path / "part.json")
    assert ConstraintSet.from_json(tmp_path / "part.json") == part


class Unwritable(MustLink):
    def to_dict(self):
        return {"kind": "MustLink", "pairs": object()}


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "rules.json"
    RULES.to_json(path)
    with pytest.raises(TypeError):
        ConstraintSet(Unwritable([(0, 1)])).to_json(path)
    assert ConstraintSet.from_json(path) == RULES
    assert [file.name for file in tmp_path.iterdir()] == ["rules.json"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "rules.json is not a JSON file: .*line 1"),
        ("[]", "not a file of constraints"),
        ('{"format": "corral constraints", "version": 99}', "version is 99; this corral reads 1"),
        ('{"format": "corral constraints", "version": 1}', "must be a list of objects"),
        (
            '{"format": "corral constraints", "version": 1, "constraints": [{"kind": "Magic"}]}',
            "kind is 'Magic'; it must be one of CannotLink, ClusterSizes",
        ),
        (
            '{"format": "corral constraints", "version": 1, "constraint": []}',
            r"the file has no key 'constraint' \(did you mean 'constraints'\?\); its keys are",
        ),
        (
            '{"format": "corral constraints", "version": 1, "constraints": [{"kind": "_Links"}]}',
            "kind is '_Links'; it must be one of CannotLink, ClusterSizes",
        ),
        (
            '{"format": "corral constraints", "version": 1, "constraints": [{"kind": ["Pin"]}]}',
            r"kind is \['Pin'\]; it must be one of",
        ),
        ("[" * 100_000, "rules.json: lists or objects are nested too deep"),
        (
            '{"format": "corral constraints", "version": 1, "constraints": [{"kind": "MustLink", '
            f'"weight": "inf", "pairs": {"[" * 500}{"]" * 500}}}]}}',
            r"rules.json: constraints\[0\]: MustLink cannot be read from",
        ),
        (
            '{"format": "corral constraints", "version": 1, "constraints": '
            '[{"kind": "ClusterSizes", "size_min": 2}]}',
            r"constraints\[0\]: ClusterSizes has no key 'size_min'; its keys are 'sizes', ",
        ),
        (
            '{"format": "corral constraints", "version": 1, "constraints": [{"kind": '
            '"LinearConstraint", "shape": 3, "row": [], "column": [], "value": []}]}',
            r"rules.json: constraints\[0\]: LinearConstraint cannot be read",
        ),
        (
            '{"format": "corral constraints", "version": 1, "constraints": [{"kind": '
            '"LinearConstraint", "shape": [1e15, 1e15], "row": [], "column": [], "value": []}]}',
            r"rules.json: constraints\[0\]: LinearConstraint cannot be read",
        ),
        (
            '{"format": "corral constraints", "version": 1, "constraints": [{"kind": "Pin"}]}',
            r"rules.json: constraints\[0\]: Pin cannot be read without 'rows'",
        ),
        (
            '{"format": "corral constraints", "version": 1, "constraints": '
            '[{"kind": "MustLink", "pairs": [[0, 1]], "weight": "high"}]}',
            r"rules.json: constraints\[0\]: MustLink cannot be read from .*'high'",
        ),
    ],
)
def test_bad_json_is_refused_with_the_file(tmp_path, text, message):
    path = tmp_path / "rules.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        ConstraintSet.from_json(path)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_a_misspelt_key_is_named_with_its_place_and_the_keys_that_are_allowed(tmp_path, rule):
    written = rule.to_dict()
    for key in set(written) - {"kind"}:
        wrong = {"x" + key if name == key else name: value for name, value in written.items()}
        document = {"format": "corral constraints", "version": 1}
        document["constraints"] = [MustLink([(0, 1)]).to_dict(), wrong]
        path = tmp_path / "rules.json"
        path.write_text(json.dumps(document))
        with pytest.raises(ValueError, match="has no key") as error:
            ConstraintSet.from_json(path)
        said = str(error.value)
        head = f"{path}: constraints[1]: {written['kind']} has no key 'x{key}' (did you mean"
        assert said.startswith(f"{head} {key!r}?); its keys are ")
        assert all(repr(name) in said for name in set(written) - {"kind"})


def test_every_fold_of_a_cross_validation_means_its_own_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    pairs = rng.integers(0, 60, (200, 2))
    same, apart = (pairs[(y[pairs[:, 0]] == y[pairs[:, 1]]) == s] for s in (True, False))
    rules = ConstraintSet([MustLink(same[same[:, 0] != same[:, 1]]), CannotLink(apart)])
    for fold in np.array_split(rng.permutation(60), 5):
        assert all(v.count == 0 for v in rules.subset(fold).violations(y[fold]))


def test_unknown_kinds_are_refused():
    with pytest.raises(ValueError, match="kind is None"):
        Constraint.from_dict({})
    with pytest.raises(ValueError, match="a dict with its kind, not None"):
        Constraint.from_dict(None)


@dataclass(frozen=True, eq=False)
class Few(Constraint):
    """A user-defined kind whose fields JSON supports: at most so many rows in each cluster."""

    most: int

    def check(self, n_samples, n_clusters):
        pass

    def expand(self, n_samples, n_clusters):
        return (ClusterSizes(maximum=self.most),)

    def violations(self, labels, n_clusters=None):
        where = np.flatnonzero(np.bincount(labels) > self.most)
        return Violations(len(where), float(len(where)), where, lambda rule, names: "too many")

    def subset(self, rows):
        return self

    def phrase(self, names=None):
        return f"at most {self.most}"

    def to_dict(self):
        return {"kind": "Few", "most": self.most}


def test_a_user_defined_kind_can_be_written_and_read(tmp_path):
    rules = ConstraintSet([Few(3), MustLink([(0, 1)])])
    rules.to_json(tmp_path / "rules.json")
    assert ConstraintSet.from_json(tmp_path / "rules.json") == rules
    with pytest.raises(ValueError, match="Few cannot be read from"):
        Constraint.from_dict({"kind": "Few", "least": 3})
