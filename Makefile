# Everything runs in .venv, made from the pinned requirements; only python3, pip with venv and make are needed.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
# Tests also try the server, bulk translation on Beam, the layer on JAX, the notebooks, the site.
TEST_REQUIREMENTS := requirements-serve.txt requirements-beam.txt requirements-backends.txt \
	requirements-notebook.txt requirements-docs.txt
TEST_INSTALLED := .venv/installed-for-tests
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help install train test test-all check format clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(INSTALLED): requirements.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement requirements.txt
	@touch $@

$(TEST_INSTALLED): $(INSTALLED) $(TEST_REQUIREMENTS)
	$(BIN)/pip install --quiet $(addprefix --requirement ,$(TEST_REQUIREMENTS))
	@touch $@

install: $(INSTALLED) ## make .venv with the pinned requirements

train: $(INSTALLED) ## train on data/dates into runs/dates, or go on where it stopped
	$(BIN)/python train.py --resume

test: $(TEST_INSTALLED) ## run the tests but the slow ones, on all cores: under ten minutes on two
	$(PYTEST) -m "not slow and not long"

test-all: test ## run the slow tests as well: browsers, kills, soaks, the installed package, notebooks
	$(PYTEST) -m "slow or long"

check: $(INSTALLED) ## lint, format, the direction of imports, and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

format: $(INSTALLED) ## format the code and mend what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove .venv and caches; runs and exports stay
	rm -rf .venv .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
