"""What tests of the studio have in common."""

from __future__ import annotations

import threading

import pytest


@pytest.fixture(autouse=True)
def ended():
    """Wait for fits in the background: filters of warnings are those of the whole process."""
    yield
    for thread in threading.enumerate():
        if thread.name == "corral studio fit":
            thread.join(30.0)
            assert not thread.is_alive(), "a fit goes on after its test"
