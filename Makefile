# Every target makes its own virtual environment in .venv when that is missing or outdated; only Python 3.11 or newer
# with venv has to be there. Without an NVIDIA GPU, PyTorch's small wheels save gigabytes:
#   make demo PIP_FLAGS='--extra-index-url https://download.pytorch.org/whl/cpu'

PYTHON ?= python3
PIP_FLAGS ?=
WORKERS ?= 2
ARGS ?=

BIN := .venv/bin
INSTALLED := .venv/.installed
DOCS_INSTALLED := .venv/.docs

# Real data for the tests and recipes that ask for it; they are skipped where there is none.
ifndef INTERLACE_DATA
DATA := $(shell cd ../shared/data 2>/dev/null && pwd)
ifneq ($(DATA),)
export INTERLACE_DATA := $(DATA)
endif
endif

.DEFAULT_GOAL := help
.PHONY: help demo test fuzz chaos lint audit bench gpu docs notebooks

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile

demo: $(INSTALLED) ## pre-train, fine-tune and report on the embedded toy corpus, in a few minutes
	@$(BIN)/interlace demo -o runs/demo $(ARGS)

test: $(INSTALLED) ## run all tests (ARGS='-k ragged' runs some)
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

fuzz: $(INSTALLED) ## try thousands of corrupted inputs (INTERLACE_FUZZ_CASES=5000 INTERLACE_FUZZ_SEED=1000)
	@INTERLACE_FUZZ_CASES=$${INTERLACE_FUZZ_CASES:-5000} INTERLACE_FUZZ_SEED=$${INTERLACE_FUZZ_SEED:-1000} \
		OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/fuzz $(ARGS)

chaos: $(INSTALLED) ## stop commands at random moments, and compare what they then give (INTERLACE_KILLS=100 INTERLACE_SEED=0)
	@INTERLACE_KILLS=$${INTERLACE_KILLS:-100} OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/runs/test_random_kills.py $(ARGS)

lint: $(INSTALLED) ## check style, types and bandit's security rules (ruff's S)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy

audit: .venv/.audit ## look the pinned packages up in the advisory database; needs the network
	@.venv/audit/bin/pip-audit --requirement constraints.txt --no-deps --disable-pip $(ARGS)

.venv/.audit: $(INSTALLED)
	@"$(PYTHON)" -m venv .venv/audit
	@.venv/audit/bin/python -m pip install -qq pip-audit
	@touch $@

bench: $(INSTALLED) ## run the benchmarks, one after the other
	@for script in benchmarks/[!_]*.py; do \
		if [ -f "$$script" ] && [ "$$script" != benchmarks/gpu_step.py ]; then echo "== $$script"; $(BIN)/python "$$script" $(ARGS) || exit 1; fi; \
	done

gpu: $(INSTALLED) ## run the tests and benchmarks that need a GPU, at most 9 minutes of cells; repeat to resume
	@$(BIN)/python -c "import torch; torch.cuda.is_available() or exit('torch finds no GPU on this machine')"
	@$(BIN)/python -m pytest -q -m gpu
	-@$(BIN)/python benchmarks/vocabulary_loss.py --width 768 --rounds 1
	@$(BIN)/python benchmarks/gpu_step.py $(ARGS)

docs: $(DOCS_INSTALLED) ## build the site in docs/_build/html; check its links and generated pages
	@$(BIN)/python -m pytest -q tests/test_links.py tests/test_docs.py tests/test_objective_pages.py \
		tests/test_tutorials.py -m 'not slow'
	@HF_HUB_OFFLINE=1 $(BIN)/python -m sphinx -q -E -n -W --keep-going -d docs/_build/doctrees docs docs/_build/html

notebooks: $(DOCS_INSTALLED) ## run the notebooks of the site and store their outputs, in some minutes
	@$(BIN)/python docs/notebooks.py $(ARGS)

$(DOCS_INSTALLED): $(INSTALLED)
	@$(BIN)/python -m pip install -qq $(PIP_FLAGS) --constraint constraints.txt --editable '.[docs]'
	@touch $@

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
