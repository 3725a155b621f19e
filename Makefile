# Two commands are enough: `make demo` and `make test`. Both make their own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test lint types unit docs bench clean

help:
	@echo "make demo    cluster the wine data under rules; prints a report, writes build/demo.png"
	@echo "make test    lint, types and all tests (also one by one: lint, types, unit)"
	@echo "make docs    build the pages into docs/_build/html"
	@echo "make bench   time corral and its peers side by side (half an hour; BENCH='--quick': a minute)"
	@echo "make clean   remove the environment and everything that was built"

# Remade whole when pyproject.toml changes: what is no longer asked for must not stay installed.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "corral needs Python 3.11 or later; run make PYTHON=/path/to/python3.11"; exit 1; }
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[plot,cli,parquet]" --group dev --group torch
	@touch $@

demo: $(STAMP)
	$(BIN)/python examples/demo.py

test: lint types unit

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

# One BLAS thread for each of the two workers, so that they do not fight for the cores.
unit: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

# The gallery runs its scripts again only when they change; nothing is fetched.
$(VENV)/.docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --editable ".[plot,cli,docs]"
	@touch $@

docs: $(VENV)/.docs
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -d docs/_build/doctrees docs docs/_build/html

# An environment of its own, so that no peer's demands bend corral's; one that does not install
# here is left out, and the suite says so.
BENCH_VENV := build/bench-venv
PEERS := k-means-constrained metric-learn active-semi-supervised-clustering htcopkmeans
BENCH ?= --write

# The peers stand here, so that a change of them makes it anew.
$(BENCH_VENV)/.installed: pyproject.toml Makefile
	$(PYTHON) -m venv --clear $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BENCH_VENV)/bin/python -m pip install --quiet --editable ".[plot]"
	for peer in $(PEERS); do $(BENCH_VENV)/bin/python -m pip install --quiet $$peer \
		|| echo "$$peer does not install here and is left out"; done
	@touch $@

bench: $(BENCH_VENV)/.installed
	$(BENCH_VENV)/bin/python benchmarks/bench.py $(BENCH)

clean:
	rm -rf $(VENV) build dist docs/_build docs/gallery docs/api .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
