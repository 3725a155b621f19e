"""One deadline: ends never move later, and only this module reads the clock."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral import deadline as module
from corral.deadline import NEVER, Deadline, OutOfTime

seconds = st.floats(0.0, 1e6)


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""

    class Clock:
        now = 100.0

        worked = 0.0

        def monotonic(self):
            return self.now

        def process_time(self):
            return self.worked

    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def test_time_passes(clock):
    limit = Deadline.after(5.0)
    assert limit.left == 5.0
    assert not limit.passed
    clock.now += 3.0
    assert limit.left == 2.0
    assert limit.elapsed == 3.0
    assert limit.check() == 2.0
    clock.now += 2.0
    assert limit.passed
    assert limit.left == 0.0
    with pytest.raises(OutOfTime):
        limit.check()


def test_no_limit_never_ends(clock):
    limit = Deadline.after(None)
    clock.now += 1e9
    assert not limit.passed
    assert limit.left == math.inf
    assert not limit.finite
    assert limit.share(0.1) is limit
    assert not NEVER.passed


def test_a_first_answer_has_a_moment_more(clock):
    limit = Deadline.after(10.0)
    early = limit.share(0.1)
    assert early.first.end == limit.first.end
    assert 10.0 < limit.first.left < 11.0
    assert Deadline.after(None).first.left == math.inf
    assert Deadline.after(None).within(3.0).first.left == math.inf


def test_work_that_cannot_be_interrupted_is_not_begun_late(clock):
    limit = Deadline.after(4.0)
    assert limit.check(4.0) == 4.0
    with pytest.raises(OutOfTime):
        limit.check(4.1)
    clock.now, clock.worked = clock.now + 2.0, 1.0  # others take half of the processor
    assert limit.check(1.0) == 2.0
    with pytest.raises(OutOfTime):
        limit.check(1.1)
    assert NEVER.check(1e9) == math.inf


@given(seconds, seconds)
def test_a_part_of_the_time_never_ends_later(total, part):
    limit = Deadline.after(total)
    assert limit.within(part).end <= limit.end
    assert limit.share(0.3).end <= limit.end
    assert limit.within(part).began == limit.began


def test_a_share_is_of_what_is_left(clock):
    limit = Deadline.after(10.0)
    clock.now += 6.0
    assert limit.share(0.5).left == pytest.approx(2.0)


def test_a_watch_can_end_it_and_all_its_parts():
    stopped = []
    limit = Deadline(watch=lambda: bool(stopped))
    parts = [limit, limit.within(10.0), limit.share(0.5), limit.within(10.0).share(0.5)]
    assert not any(part.passed or part.stopped for part in parts)
    stopped.append(True)
    for part in parts:
        assert part.passed
        assert part.stopped
        assert part.left == 0.0
        with pytest.raises(OutOfTime):
            part.check()
