# Every target makes its own virtual environment in .venv when that is missing or outdated; only Python 3.11 or newer
# with venv has to be there. Without an NVIDIA GPU, PyTorch's small wheels save gigabytes:
#   make demo PIP_FLAGS='--extra-index-url https://download.pytorch.org/whl/cpu'

PYTHON ?= python3
PIP_FLAGS ?=
WORKERS ?= 2
ARGS ?=

BIN := .venv/bin
INSTALLED := .venv/.installed

# Real data for the tests and recipes that ask for it; they are skipped where there is none.
ifndef INTERLACE_DATA
DATA := $(shell cd ../shared/data 2>/dev/null && pwd)
ifneq ($(DATA),)
export INTERLACE_DATA := $(DATA)
endif
endif

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench docs

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-6s %s\n", $$1, $$2}' Makefile

demo: $(INSTALLED) ## pre-train, fine-tune and report on the embedded toy corpus, in a few minutes
	@$(BIN)/interlace demo -o runs/demo $(ARGS)

test: $(INSTALLED) ## run all tests (ARGS='-k ragged' runs some)
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

lint: $(INSTALLED) ## check style and types
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy

bench: $(INSTALLED) ## run the benchmarks, one after the other
	@for script in benchmarks/[!_]*.py; do \
		if [ -f "$$script" ]; then echo "== $$script"; $(BIN)/python "$$script" $(ARGS) || exit 1; fi; \
	done

docs: $(INSTALLED) ## check that every link between the pages leads somewhere
	@$(BIN)/python -m pytest -q tests/test_links.py

$(INSTALLED): pyproject.toml constraints.txt
	@command -v "$(PYTHON)" >/dev/null || { \
		echo "interlace needs Python 3.11 or newer, and there is no $(PYTHON); name one: make PYTHON=/path/to/python" >&2; \
		exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "interlace needs Python 3.11 or newer; $(PYTHON) is $$("$(PYTHON)" --version 2>&1);" \
			"name another one: make PYTHON=python3.12" >&2; \
		exit 1; }
	@echo "installing interlace and what it needs into .venv (once; some minutes)" >&2
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		|| "$(PYTHON)" -m venv --clear .venv
	@$(BIN)/python -m pip install -qq $(PIP_FLAGS) --constraint constraints.txt --editable '.[dev]'
	@touch $@
