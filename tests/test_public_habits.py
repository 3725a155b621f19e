"""Habits of public projects: dated versions, project addresses, checks on every system."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from datetime import date
from itertools import chain
from pathlib import Path

import pytest
import yaml

import corral

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def workflow(name):
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=yaml.BaseLoader)  # YAML 1.1 would read the key `on` as true


def requirements():
    """All requirements, those of extras and groups included, as name and the rest."""
    extras, groups = PROJECT["optional-dependencies"], SETTINGS["dependency-groups"]
    for line in chain(PROJECT["dependencies"], *extras.values(), *groups.values()):
        if isinstance(line, str):
            name, _, bound = re.fullmatch(r"([\w.-]+)(\[[\w,]+\])?(.*)", line).groups()
            yield name, bound


def test_the_newest_version_of_the_changelog_is_this_one_and_has_a_date():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, second, *_ = re.findall(r"^## (.*)$", text, re.MULTILINE)
    newest = second if first.endswith("(unreleased)") else first
    version, day = re.fullmatch(r"\[(.+)\] - (\d{4}-\d\d-\d\d)", newest).groups()
    assert version == corral.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert date.fromisoformat(day) == citation["date-released"]
    assert f"\n[{version}]: {PROJECT['urls']['Source']}" in text


def test_one_address_of_the_project():
    source = PROJECT["urls"]["Source"]
    assert all(url.startswith(source) for url in PROJECT["urls"].values())
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["repository-code"] == source
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md"):
        assert source in (ROOT / name).read_text(encoding="utf-8")


def test_the_classifiers_name_the_versions_of_python_that_are_tested():
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    assert named == PYTHONS
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    matrix = workflow("ci")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python-version"] == PYTHONS
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_the_checks_run_on_every_change_and_before_a_release():
    checks, publish = workflow("ci"), workflow("publish")
    assert {"lint", "types", "test", "coverage", "lowest", "docs", "wheel"} <= set(checks["jobs"])
    assert {"pull_request", "push", "workflow_call"} == set(checks["on"])
    assert publish["on"] == {"push": {"tags": ["v*"]}}
    jobs = publish["jobs"]
    (before,) = (name for name, job in jobs.items() if job.get("uses", "").endswith("/ci.yml"))
    (last,) = (job for job in jobs.values() if "environment" in job)
    assert last["needs"] == before
    assert last["permissions"] == {"id-token": "write"}


@pytest.mark.parametrize("target", ["coverage", "lowest", "docs", "wheel"])
def test_what_a_job_makes_is_in_the_makefile(target):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    lines = [step.get("run", "") for step in workflow("ci")["jobs"][target]["steps"]]
    (made,) = (line.split()[1] for line in lines if line.startswith("make "))
    assert re.search(rf"^{made}:", makefile, re.MULTILINE)
    assert re.search(rf'@echo "make {made} ', makefile)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_the_forms_for_issues_are_complete(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.stem == "config":
        assert all({"name", "url", "about"} == set(link) for link in form["contact_links"])
    else:
        assert {"name", "description", "body"} <= set(form)
        fields = [field["id"] for field in form["body"]]
        assert len(fields) == len(set(fields))
        assert all(field["attributes"]["label"] for field in form["body"])


def test_a_package_has_the_same_lower_bound_everywhere():
    bounds = {}
    for name, bound in requirements():
        bounds.setdefault(name, set()).add(bound)
    del bounds["torch"]  # users may have an older one than the tests
    assert {name: found for name, found in bounds.items() if len(found) > 1} == {}


def test_the_lowest_versions_are_those_of_the_project(tmp_path):
    target = tmp_path / "lowest.txt"
    command = [sys.executable, ".ci/lowest.py", "pyproject.toml", str(target)]
    subprocess.run(command, cwd=ROOT, check=True)
    pins = dict(line.split("==") for line in target.read_text(encoding="utf-8").split())
    declared = dict(requirements())
    core = {re.match(r"[\w-]+", line)[0] for line in PROJECT["dependencies"]}
    assert core | {"matplotlib", "click", "pyarrow", "dask", "pandas"} <= set(pins)
    lower = {name: bound.split(",")[0] for name, bound in declared.items()}
    assert all(lower[name] == f">={pins[name]}" for name in set(pins) - {"torch"})


def test_coverage_below_ninety_percent_fails():
    assert SETTINGS["tool"]["coverage"]["report"]["fail_under"] >= 90
    assert re.search(r"^coverage:.*\n\t.*--cov\b", (ROOT / "Makefile").read_text(), re.MULTILINE)
