# Set-up, tests and checks. `make help` lists the targets.
#
# Set-up is a chain of stamps under build/stamps/: each step runs once, and again only when what it
# was made from has changed. Paths are relative, so the folder's name may hold spaces.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
WORKERS ?= 2
TRACES ?=
ARGS ?=
MODEL ?= qwen2.5-coder-1.5b
TEST_MODELS := smollm2-135m gemma3-270m

VENV := .venv
PY := $(VENV)/bin/python
STAMPS := build/stamps
PHASE := scripts/phase.sh
NATIVE := $(shell find native -type f ! -name '.*' 2>/dev/null)

export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export MODEL
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# ── what a person types ──────────────────────────────────────────────────────────────────────────

.PHONY: help
help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' Makefile
	@echo
	@echo "  Variables: REPO=path ISSUE=file MODEL=name SAMPLE=name (run), ARGS='…' (test, bench, results),"
	@echo "  WORKERS=n (test), PYTHON=python3.12, CMAKE_ARGS='-DGGML_CUDA=on' (llama.cpp)."

.PHONY: run
run: setup  ## Open the workspace on a sample, or on REPO=path; headless without a terminal
	@scripts/run.sh

.PHONY: test
test: setup-dev pull-test native  ## Run every test: ctest, then pytest with small real models
	@$(PHASE) pytest pytest -n $(WORKERS) $(ARGS)

.PHONY: check
check: setup-dev  ## Everything that must hold: lint, types, contracts and all tests
	@$(MAKE) lint
	@$(MAKE) types
	@$(MAKE) contracts
	@$(MAKE) test

.PHONY: lint
lint: setup-dev  ## Lint and format check
	@$(PHASE) lint ruff check --no-cache .
	@$(PHASE) format ruff format --no-cache --check .

.PHONY: types
types: setup-dev  ## mypy --strict, and the stub of the compiled core against the core
	@$(PHASE) mypy $(PY) -m mypy
	@$(PHASE) stubtest scripts/stubtest.sh

.PHONY: contracts
contracts: setup-dev  ## Import contracts between the rooms
	@$(PHASE) contracts lint-imports --no-cache

.PHONY: native
native: setup-dev  ## Build and run the tests of the C++ core (ctest)
	@$(PHASE) ctest scripts/native.sh

.PHONY: native-sanitize
native-sanitize: setup-dev  ## The same, built with the address and undefined-behaviour sanitizers
	@$(PHASE) "ctest, sanitized" scripts/native.sh address,undefined

.PHONY: nightly
nightly: setup-dev native-sanitize  ## 10,000 examples a property, ten deaths of each kind, 200 kills in a write, the sanitizers
	@AGSPEC_HYPOTHESIS=nightly $(PHASE) properties pytest -n $(WORKERS) --timeout 3600 tests/properties tests/session/test_engine_deaths.py tests/session/test_killed.py $(ARGS)

.PHONY: bench
bench: setup  ## Tokens per second with and without drafting, same prompts, interleaved
	@[ -f "$$MODEL" ] || agspec-tui models pull "$$MODEL"
	@agspec-tui bench --model "$$MODEL" --methods none,agspec-sam $(ARGS)

.PHONY: bench-native
bench-native: setup-dev  ## Times of the compiled core on recorded sessions; AGSPEC_PEERS adds peers
	@$(PY) bench/native/run.py $(ARGS)

.PHONY: results
results: setup-dev  ## Replay TRACES=folder and write docs/results.md; without it, from the documents
	@$(PY) scripts/write_results.py $(if $(TRACES),--run $(TRACES) -- $(ARGS))

.PHONY: setup
setup: $(STAMPS)/run  ## Virtual environment, llama.cpp, this package

.PHONY: setup-dev
setup-dev: $(STAMPS)/dev  ## The same with the development tools

.PHONY: docs
docs: setup-dev  ## Bring the command-line help quoted in docs/cli.md up to date
	@$(PY) scripts/update_docs.py

.PHONY: clean
clean:  ## Remove build products and caches; keep .venv, models and the compiled llama.cpp
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find agspec_tui tests bench scripts -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: distclean
distclean: clean  ## The same, and remove .venv
	rm -rf $(VENV)

# ── set-up, step by step ─────────────────────────────────────────────────────────────────────────

.PHONY: always
always:

.PHONY: pull-test
pull-test: setup-dev
	@set -e; for model in $(TEST_MODELS); do agspec-tui models pull $$model; done

# The environment. The script is quick and leaves a sound environment alone.
$(VENV)/agspec-root: always
	@PYTHON='$(PYTHON)' scripts/venv.sh

# llama-cpp-python with our flags: compiled once per user, then taken from the wheel folder.
$(STAMPS)/llama: always $(VENV)/agspec-root
	@$(PY) scripts/llama_wheel.py --stamp $@

$(STAMPS)/deps-run: pyproject.toml scripts/requirements.py $(VENV)/agspec-root
	@$(PHASE) "dependencies" scripts/install.sh run
	@touch $@

$(STAMPS)/deps-dev: pyproject.toml scripts/requirements.py $(VENV)/agspec-root
	@$(PHASE) "development tools" scripts/install.sh dev
	@touch $@

# The package itself, editable: Python changes need nothing, a change of the core rebuilds it.
$(STAMPS)/package: pyproject.toml agspec_tui/__init__.py $(NATIVE) $(STAMPS)/deps-run
	@$(PHASE) "compiled core" scripts/install.sh package
	@touch $@

$(STAMPS)/run: $(STAMPS)/llama $(STAMPS)/package
	@touch $@

$(STAMPS)/dev: $(STAMPS)/deps-dev $(STAMPS)/run
	@touch $@
