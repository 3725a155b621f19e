# Two commands are enough: `make demo` and `make test`. Both make their own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.installed
TOOLS := $(VENV)/.tools
# Python compiles a module when it is first imported; compiling all of them takes longer.
INSTALL := -m pip install --quiet --no-compile

.DEFAULT_GOAL := help
.PHONY: help demo test lint types unit coverage test-browser test-lowest docs wheel bench clean

help:
	@echo "make demo         cluster the wine data under rules; prints a report, writes build/demo.png"
	@echo "make test         lint, types and all tests (also one by one: lint, types, unit)"
	@echo "make coverage     all tests, and the share of the lines that they run"
	@echo "make test-browser the studio in Chromium; screenshots and recordings are kept in build/browser"
	@echo "make test-lowest  all tests with the lowest allowed versions (Python 3.11 or 3.12, no PyTorch)"
	@echo "make docs         build the pages into docs/_build/html"
	@echo "make wheel        build the wheel and the source archive into dist, and check both"
	@echo "make bench        time corral and its peers side by side (half an hour; BENCH='--quick': a minute)"
	@echo "make clean        remove the environments and everything that was built"

# What clustering and the picture need. The environment is remade whole when pyproject.toml changes:
# what is no longer asked for must not stay installed.
$(BASE): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "corral needs Python 3.11 or later; run make PYTHON=/path/to/python3.11"; exit 1; }
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(INSTALL) --editable ".[plot]"
	@touch $@

# What the tests, linters and type checker need on top of it. `--group` needs pip 25.1.
$(TOOLS): $(BASE)
	$(BIN)/python $(INSTALL) --upgrade "pip>=25.1"
	$(BIN)/python $(INSTALL) --editable ".[plot,cli,parquet]" --group dev
	@touch $@

demo: $(BASE)
	$(BIN)/python examples/demo.py

test: lint types unit

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(TOOLS)
	$(BIN)/mypy

# One BLAS thread for each of the two workers, so that they do not compete for the cores.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

unit: $(TOOLS)
	$(PYTEST)

# Tracing takes a while, so `make test` leaves it out.
coverage: $(TOOLS)
	$(PYTEST) --cov --cov-report=term:skip-covered

# An environment of its own, which also sees the packages of $(VENV).
BROWSER_VENV := build/browser-venv

# nbconvert runs a notebook and shows its outputs in a page, as Jupyter does.
$(BROWSER_VENV)/.installed: $(TOOLS)
	$(BIN)/python -m venv --clear $(BROWSER_VENV)
	$(BROWSER_VENV)/bin/python .ci/sees.py $(BIN)/python
	$(BROWSER_VENV)/bin/python $(INSTALL) --upgrade "pip>=25.1"
	$(BROWSER_VENV)/bin/python $(INSTALL) --group browser nbconvert
	@touch $@

# Makes that environment once a Chromium is found.  RECORDINGS=docs/images writes the recordings of
# the pages anew.
test-browser: $(TOOLS)
	.ci/browser $(BROWSER_VENV)

# An environment of its own, in which each lower bound of pyproject.toml is the exact version.
LOWEST_VENV := build/lowest-venv

$(LOWEST_VENV)/.installed: pyproject.toml .ci/lowest.py
	$(PYTHON) -m venv --clear $(LOWEST_VENV)
	$(LOWEST_VENV)/bin/python .ci/lowest.py pyproject.toml $(LOWEST_VENV)/lowest.txt
	$(LOWEST_VENV)/bin/python $(INSTALL) --upgrade "pip>=25.1"
	$(LOWEST_VENV)/bin/python $(INSTALL) --constraint $(LOWEST_VENV)/lowest.txt \
		--editable ".[plot,cli,parquet,dask]" --group test
	@touch $@

test-lowest: $(LOWEST_VENV)/.installed
	OMP_NUM_THREADS=1 $(LOWEST_VENV)/bin/python -m pytest -n 2

# The gallery runs its scripts again only when they change; nothing is fetched.
$(VENV)/.docs: $(BASE)
	$(BIN)/python $(INSTALL) --editable ".[plot,cli,docs]"
	@touch $@

docs: $(VENV)/.docs
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -d docs/_build/doctrees docs docs/_build/html

$(VENV)/.wheel: $(BASE)
	$(BIN)/python $(INSTALL) build twine
	@touch $@

wheel: $(VENV)/.wheel
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

# An environment of its own, so that a peer's requirements do not change corral's versions; a peer
# that does not install here is left out, and the suite says so.
BENCH_VENV := build/bench-venv
PEERS := k-means-constrained metric-learn active-semi-supervised-clustering htcopkmeans
BENCH ?= --write

# The peers are listed in this file, so a change of it makes the environment anew.
$(BENCH_VENV)/.installed: pyproject.toml Makefile
	$(PYTHON) -m venv --clear $(BENCH_VENV)
	$(BENCH_VENV)/bin/python $(INSTALL) --upgrade "pip>=25.1"
	$(BENCH_VENV)/bin/python $(INSTALL) --editable ".[plot]"
	for peer in $(PEERS); do $(BENCH_VENV)/bin/python $(INSTALL) $$peer \
		|| echo "$$peer does not install here and is left out"; done
	@touch $@

bench: $(BENCH_VENV)/.installed
	$(BENCH_VENV)/bin/python benchmarks/bench.py $(BENCH)

clean:
	rm -rf $(VENV) build dist docs/_build docs/gallery docs/api .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
