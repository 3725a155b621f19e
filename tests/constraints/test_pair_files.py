"""Pairs in CSV files."""

from __future__ import annotations

import math
import os
import stat

import numpy as np
import pandas as pd
import pytest

from corral.constraints import CannotLink, MustLink, read_pairs, write_pairs
from corral.constraints.files import atomic_writer


@pytest.mark.parametrize(
    "text",
    [
        "3,5\n5,7\n",
        "first,second\n3,5\n5,7\n",
        "\ufefffirst,second\r\n3,5\r\n\r\n5,7",
        ' 3, 5\n"5",7\n',
        "a,b,weight\n3,5,inf\n5,7,inf\n",
        "3;5\n5;7\n",
        "from\tto\n3\t5\n5\t7\n",
        "one customer,another one\n3,5\n5,7\n",
    ],
    ids=[
        *("plain", "header", "excel", "spaces and quotes", "weights", "semicolons", "tabs"),
        "a header of one's own",
    ],
)
def test_many_ways_to_write_a_file(tmp_path, text):
    path = tmp_path / "pairs.csv"
    path.write_bytes(text.encode())
    assert read_pairs(path).tolist() == [[3, 5], [5, 7]]
    assert MustLink.from_csv(str(path)) == MustLink([(3, 5), (5, 7)])


@pytest.mark.parametrize("text", ["", "\n", "first,second\n"])
def test_an_empty_file_is_no_constraint(tmp_path, text):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    assert CannotLink.from_csv(path) == CannotLink([])


@pytest.mark.parametrize("kind", [MustLink, CannotLink])
@pytest.mark.parametrize("weight", [math.inf, 0.1, [0.1, math.inf, 1e-17]])
def test_round_trip(tmp_path, kind, weight):
    path = tmp_path / "pairs.csv"
    pairs = [(3, 5), (5, 7), (0, 9)]
    kind(pairs, weight).to_csv(path)
    assert kind.from_csv(path) == kind(pairs, weight)
    names = pd.Index([f"row, {i}" for i in range(10)])
    link = kind(pairs, weight, n_samples=10)
    link.to_csv(path, index=names)
    assert "row, 3" in path.read_text()
    assert kind.from_csv(path, index=names) == link
    kind([(names[i], names[j]) for i, j in pairs], weight).to_csv(path)
    assert kind.from_csv(path, index=iter(names)) == link


def test_integer_names(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("101,103\n")
    assert read_pairs(path, index=[101, 102, 103]).tolist() == [[0, 2]]
    path.write_text("id 1,id 2\n101,103\n")
    assert read_pairs(path, index=np.array([101, 102, 103])).tolist() == [[0, 2]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n\n3,x\n", "line 4: 'x' is not the number of a row"),
        ("1,2\n3,4.5\n", r"line 2: '4\.5' is not the number of a row"),
        ("1.0,2.0\n", r"line 1: '1\.0' is not the number of a row"),
        ("1,x\n", "line 1: 'x' is not the number of a row"),
        ("1,2\n3\n", "line 2: 1 columns, but the lines before have 2"),
        ("1\n", "line 1: 1 columns, but a pair has two"),
        ("1,2\n-3,4\n", "line 2: -3 is negative"),
        ("1,2\n4,4\n", "line 2: 4 is paired with itself"),
        (
            "1,2\n99999999999999999999,4\n",
            "line 2: '9{20}' is not the number",
        ),
        ("1,2,1\n3,4,much\n", "line 2: weight 'much' is not a number"),
        ("1,2,1\n3,4,-2\n", "line 2: -2.0 is not a valid weight; it must be above 0"),
        ("1,2,1\n3,4,nan\n", "line 2: nan is not a valid weight"),
    ],
)
def test_a_bad_line_is_named_with_its_file(tmp_path, text, message):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"pairs.csv, {message}"):
        read_pairs(path)


def test_a_bad_name_is_named_with_its_file(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("ann,bob\nann,zed\n")
    message = r"pairs.csv, line 2: 'zed' names no row; the rows are 'ann', 'bob'\."
    with pytest.raises(ValueError, match=message):
        read_pairs(path, index=["ann", "bob"])
    with pytest.raises(ValueError, match="index holds 'ann' more than once"):
        read_pairs(path, index=["ann", "ann"])


HEADERS = [
    *("first,second", "A,B", "i,j", " from , to ", "source,target", "left,right"),
    *("id1,id2", "name a,name b", "row_i,row_j", "sample-1,sample-2"),
]


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("below", ["", "ann,bob\n"])
def test_what_looks_like_a_header_is_one(tmp_path, header, below):
    path = tmp_path / "pairs.csv"
    path.write_text(f"{header}\n{below}")
    assert len(read_pairs(path, index=["ann", "bob"])) == below.count("\n")


def test_a_heading_of_weights_makes_a_header(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("who,whom,weight\nann,bob,2\n")
    link = MustLink.from_csv(path, index=["ann", "bob"])
    assert (link.pairs.tolist(), link.weight.tolist()) == ([[0, 1]], [2.0])


@pytest.mark.parametrize("text", ["zoe,tim\n", "zoe,tim\nann,bob\n", "zoe,tim,2\n", "ann1,ann2\n"])
def test_mistyped_names_are_no_header(tmp_path, text):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    first = text.partition(",")[0]
    with pytest.raises(ValueError, match=f"line 1: '{first}' names no row"):
        read_pairs(path, index=["ann", "bob"])


def test_names_without_an_index_are_no_header(tmp_path):
    """As when --id-column was forgotten."""
    path = tmp_path / "pairs.csv"
    path.write_text("ann,bob\n")
    with pytest.raises(ValueError, match="line 1: 'ann' is not the number of a row"):
        read_pairs(path)


def test_names_of_rows_come_before_headers(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("a,b\n")
    assert read_pairs(path, index=["a", "b"]).tolist() == [[0, 1]]


def test_blanks_around_names_are_not_meant_unless_they_are(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(" ann, bob\nbob ,eve\n")
    assert read_pairs(path, index=["ann", "bob", "eve"]).tolist() == [[0, 1], [1, 2]]
    assert read_pairs(path, index=["ann", " bob", "eve", "bob"]).tolist() == [[0, 1], [3, 2]]


def test_a_file_of_other_bytes_is_refused(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_bytes("stra\xdfe,weg\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"pairs\.csv is not UTF-8 text"):
        read_pairs(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1, 2],), r"pairs have shape \(3,\); it must be \(number of pairs, 2\)"),
        ((None,), "pairs must be integers, not None"),
        (([(0, 1)], [1.0, 2.0]), r"weight has shape \(2,\); it must be one per pair, 1"),
        (([(0, 9)], None, ["ann"]), "pairs name row 9, but index has 1 names"),
    ],
)
def test_what_cannot_be_written_is_refused_and_leaves_nothing(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        write_pairs(tmp_path / "pairs.csv", *arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"No such folder.*nowhere'"):
        write_pairs(tmp_path / "nowhere" / "pairs.csv", [(0, 1)])


def test_files_are_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "pairs.csv"
    write_pairs(path, [(0, 1)])

    def interrupted():
        with atomic_writer(path) as file:
            file.write("half a li")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert read_pairs(path).tolist() == [[0, 1]]
    assert [file.name for file in tmp_path.iterdir()] == ["pairs.csv"]


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_files_are_as_readable_as_any_other(tmp_path):
    write_pairs(tmp_path / "ours.csv", [(0, 1)])
    (tmp_path / "theirs.csv").write_text("0,1\n")
    ours, theirs = (stat.S_IMODE((tmp_path / f).stat().st_mode) for f in ("ours.csv", "theirs.csv"))
    assert ours == theirs
