# Everything hekla needs is installed into .venv by these targets; only Python (3.11 or newer) and make are taken for granted.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP = $(BIN)/python -m pip install --disable-pip-version-check
# A sign of life on the way: pip says nothing or far too much. What went wrong, it says on standard error.
DOTS = while read -r word rest; do case $$word in Collecting) printf .;; failed) echo; exit 1;; esac; done

.DEFAULT_GOAL := help
.PHONY: help demo test laws e2e check format bench bench-quick bench-compare bench-growth bench-page bench-serve bench-simulate browser examples statements lock clean

help: ## Print these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "hekla needs Python 3.11 or newer; try: make PYTHON=python3.12"; exit 1; }
	@echo "setting up $(VENV), once; it takes a minute or two"
	@echo "  1/3 virtual environment"
	@$(PYTHON) -m venv $(VENV)
	@echo "  2/3 pip"
	@$(PIP) --quiet --upgrade "pip>=25.1"
	@printf "  3/3 hekla, what it needs, and the tools for its tests, a dot for each package\n      "
	@{ $(PIP) --editable '.[frames,kubernetes]' --group dev || echo failed; } | $(DOTS) && echo " done"
	@$(BIN)/python -m compileall -q src  # else every start would compile anew where Python is told to keep no bytecode
	@touch $(READY)

demo: $(READY) ## Watch the six actions at work on an in-process cluster
	@$(BIN)/hekla demo

test: $(READY) ## Run the tests
	$(BIN)/python -m pytest -n auto

LAWS = $(shell grep -rlE "^@given" tests/engine/state tests/properties tests/simulation) tests/insight/capacity/test_known_capacity.py
laws: $(READY) ## Search with thousands of examples for one that breaks a law of the engine, and size twenty clusters (an hour)
	HYPOTHESIS_PROFILE=search $(BIN)/python -m pytest -n auto $(LAWS)

e2e: $(READY) ## Run the tests against a real API server (built with Go on first use)
	$(BIN)/python -m pytest tests/e2e

browser: $(READY) ## Open reports in a real browser (needs Chromium)
	$(BIN)/python -m pytest tests/browser

check: $(READY) ## Format, lint, types, import contracts, examples
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	MYPYPATH=benchmarks:src:tests/e2e $(BIN)/mypy benchmarks/*.py
	MYPYPATH=src:tests/e2e $(BIN)/mypy tests/e2e/harness tests/e2e/*.py
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory examples

format: $(READY) ## Format the code and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## Measure how long scheduling cycles take (minutes)
	$(BIN)/python benchmarks/run.py

bench-quick: $(READY) ## Measure the important ones (less than a minute)
	$(BIN)/python benchmarks/run.py --quick

bench-serve: $(READY) ## Measure hekla serve against a real API server, from start to last bind
	$(BIN)/python benchmarks/serving.py

bench-simulate: $(READY) ## Measure simulated traces, backlogs and months (some minutes)
	$(BIN)/python benchmarks/simulating.py

BASE ?= main
bench-compare: $(READY) ## Compare the checkout with a commit: make bench-compare BASE=main
	$(BIN)/python benchmarks/run.py --compare-commits $(BASE) .

bench-growth: $(READY) ## Measure how time grows with nodes, pods and gangs that wait, and draw it
	$(BIN)/python benchmarks/growth.py

bench-page: $(READY) ## Measure everything and write docs/performance.md anew
	$(BIN)/python benchmarks/run.py --save docs/performance/figures.json
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/page.py

statements: $(READY) ## Print which test holds which statement of the documents about Volcano
	$(BIN)/python tests/compat/statements.py

examples: $(READY) ## Run the examples and compare what they print
	$(BIN)/python examples/check.py

LOCK = $(BIN)/uv pip compile --quiet --upgrade --generate-hashes --only-binary :all: --no-annotate --no-emit-index-url \
	--python-version 3.13 --python-platform linux --custom-compile-command "make lock"
lock: $(READY) ## Choose the versions of the image anew, with their hashes
	@$(PIP) --quiet "uv>=0.8,<1"
	$(LOCK) --extra kubernetes --output-file deploy/requirements.lock pyproject.toml
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
		| $(LOCK) --output-file deploy/build-requirements.lock -

clean: ## Remove what the targets made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
