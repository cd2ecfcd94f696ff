# One environment (.venv), one stamp, one line per thing a developer does. `make` lists them.
# To use an interpreter that has everything already: make test PY=/path/to/python

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

TORCH := 2.13.0
VENV := .venv

ifdef PY
READY :=
else
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
endif

BIN := $(dir $(PY))
CODE := src tests bench examples tools
# One thread each: the workers of pytest-xdist are the parallelism.
export OMP_NUM_THREADS := 1
export PYTHONPATH := $(CURDIR)/src:$(CURDIR)
export TOKENIZERS_PARALLELISM := false
export HF_HUB_OFFLINE := 1

.PHONY: help
help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(READY) ## make .venv with everything the project needs
	@echo "ready: $(PY)"

# torch comes first and by its exact version, so that the build already chosen for this machine
# (CPU or an accelerator's) stays; nothing installed after it may change it.
$(VENV)/.ready: pyproject.toml
	@test -x $(PY) || python3 -m venv $(VENV)
	@echo "installing torch $(TORCH), then monograph and its tools, into $(VENV)"
	@$(PY) -m pip install -qq --disable-pip-version-check torch==$(TORCH)
	@$(PY) -m pip install -qq --disable-pip-version-check torch==$(TORCH) --editable '.[test]'
	@$(PY) -c 'from importlib.metadata import version; v = version("torch"); \
	  assert v.split("+")[0] == "$(TORCH)", f"torch is {v}, not $(TORCH)"'
	@touch $@

.PHONY: demo
demo: $(READY) ## capture two transformers and watch the graphs answer at other sizes
	@$(PY) -m examples.demo

.PHONY: test
test: lint types check ## everything a change must pass: lint, types, layers, tests

.PHONY: check
check: $(READY) ## the tests, without the slow ones, in the same shuffled order each time
	@$(PY) -m pytest -n 2 -m "not slow" --randomly-seed=1 $(ARGS)

.PHONY: laws
laws: $(READY) ## the laws at length, and every slow test, on examples drawn anew
	@HYPOTHESIS_PROFILE=new $(PY) -m pytest -n 2 tests/laws tests -m "slow" $(ARGS)
	@$(PY) -W ignore -m tests.drawn --count 20000 --jobs 2

.PHONY: types
types: $(READY) ## the type checker, strict, on src
	@$(BIN)basedpyright --pythonpath $(PY)

.PHONY: lint
lint: $(READY) ## ruff, the formatter, the import layers, and the budgets of tools/sizes.py
	@$(BIN)ruff check $(CODE)
	@$(BIN)ruff format --check $(CODE)
	@$(BIN)lint-imports --no-cache
	@$(PY) -m tools.sizes

.PHONY: fix
fix: $(READY) ## repair what ruff can repair
	@$(BIN)ruff check --fix $(CODE)
	@$(BIN)ruff format $(CODE)

.PHONY: matrix
matrix: $(READY) ## the tests under every pair of Python and PyTorch, kept in bench/RESULTS.md
	@$(PY) -m tools.matrix --append $(ARGS)

.PHONY: bench
bench: $(READY) ## measure everything beside torch.export, kept in bench/RESULTS.md
	@$(PY) -m bench.suite $(ARGS)

.PHONY: docs
docs: $(READY) ## run every block of the documents, and build the site, strictly, into site/
	@$(PY) -m pip install -qq --disable-pip-version-check torch==$(TORCH) --editable '.[docs]'
	@$(BIN)zensical build --clean --strict
	@$(PY) -m pytest tests/docs $(ARGS)

.PHONY: accept
accept: $(READY) ## rewrite the golden files, for review as prose
	@$(PY) -m pytest tests/messages tests/sizes/test_programs.py --accept $(ARGS)
	@git --no-pager diff --stat -- tests
