"""Which tests count for the coverage, and signals as a terminal gives them."""

from __future__ import annotations

import signal

import pytest

#: Tests that fit much and reach no line that others do not: tracing them takes minutes.
NOT_TRACED = {
    "test_assign_contested.py",
    "test_assign_exact.py",
    "test_bound.py",
    "test_branch.py",
    "test_conflict.py",
    "test_dask_fit.py",
    "test_dask_recovery.py",
    "test_docs.py",
    "test_estimator.py",
    "test_fits.py",
    "test_infeasible.py",
    "test_laws.py",
    "test_passes.py",
    "test_promises.py",
    "test_random_instances.py",
    "test_reproduction.py",
    "test_sample.py",
    "test_shards.py",
    "test_soft_rules.py",
    "test_tight.py",
    "test_time_limit.py",
}


def pytest_configure():
    # A shell starts background jobs with SIGINT ignored; tests of Ctrl-C would then wait forever.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config, items):
    if config.pluginmanager.hasplugin("_cov"):
        for item in items:
            if item.path.name in NOT_TRACED:
                item.add_marker(pytest.mark.no_cover)
