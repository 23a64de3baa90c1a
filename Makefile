# Two commands matter to a newcomer: `make demo` and `make test`. Both create .venv first and install dpverify into it.
# Needed beforehand: Python 3.11 or newer with venv and pip (Debian: python3 python3-venv python3-pip), and make.

PYTHON ?= python3
FLAGS ?=
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DOCUMENTED := $(VENV)/.documented

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

.PHONY: demo test coverage lint types layers docs format pages clean

demo: $(INSTALLED)
	@$(BIN)/python examples/demo.py

test: $(INSTALLED)
	$(BIN)/python -m pytest -n auto -m "not slow" $(FLAGS)

coverage: $(INSTALLED)
	$(BIN)/python -m pytest -n auto --cov $(FLAGS)

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(INSTALLED)
	$(BIN)/mypy

layers: $(INSTALLED)
	$(BIN)/lint-imports

docs: $(DOCUMENTED)
	@rm -rf docs/_build
	$(BIN)/sphinx-build -q -E -W --keep-going docs docs/_build
	@echo "docs/_build/index.html"

format: $(INSTALLED)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

pages: $(INSTALLED)
	$(BIN)/python tests/test_pages.py

clean:
	rm -rf $(VENV) docs/_build

# pip learned to read dependency groups in 25.1; the one that venv brings is often older.
$(INSTALLED): pyproject.toml
	@echo "Installing dpverify into $(VENV) (once; about half a minute) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install -qq --editable . --group dev
	@touch $@

$(DOCUMENTED): $(INSTALLED)
	@$(BIN)/python -m pip install -qq --group docs
	@touch $@
