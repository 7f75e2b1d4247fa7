# Every target makes its own virtual environment in .venv when that is missing or outdated; only Python 3.11 or newer
# with venv has to be there. Without an NVIDIA GPU, PyTorch's small wheels save gigabytes:
#   make demo PIP_FLAGS='--extra-index-url https://download.pytorch.org/whl/cpu'
#   make test-lowest UV_FLAGS='--torch-backend cpu'

PYTHON ?= python3
PIP_FLAGS ?=
UV_FLAGS ?=
WORKERS ?= 2
ARGS ?=

BIN := .venv/bin
TOOLS := .venv-tools/bin
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
.PHONY: help demo real test test-lowest test-latest fuzz chaos lint lint-workflows lock audit dist bench gpu docs notebooks

help: ## list the targets
	@awk -F ':.*## *' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

demo: $(INSTALLED) ## pre-train, fine-tune and report on the embedded toy corpus, in a few minutes
	@$(BIN)/interlace demo -o runs/demo $(ARGS)

real: $(INSTALLED) ## adapt multilingual-e5-small to English and Hindi, and score it before and after; repeat to resume
	@test -n "$$INTERLACE_DATA" || { \
		echo "set INTERLACE_DATA to a folder of public data; docs/results/adapting.md lists the files" >&2; exit 2; }
	@$(MAKE) --no-print-directory runs/e5-small
	@$(BIN)/interlace study real/pair -o runs/real \
		--set set.model.start=runs/e5-small --set systems.before.model=runs/e5-small $(ARGS)
	@$(BIN)/interlace export "runs/real/cells/after,seed=0" -o runs/real-model

runs/e5-small: | $(INSTALLED)
	@$(BIN)/python benchmarks/_e5_small.py $@

test: $(INSTALLED) ## run all tests (ARGS='-k ragged' runs some)
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

test-lowest: RESOLUTION = lowest-direct## run the quick tests with the oldest versions that pyproject.toml allows
test-latest: RESOLUTION = highest## run the quick tests with the newest versions
test-lowest test-latest: .venv-tools/.installed
	@$(TOOLS)/uv venv --quiet --clear --python "$(PYTHON)" .venv-$(RESOLUTION)
	@$(TOOLS)/uv pip install --quiet --python .venv-$(RESOLUTION) --resolution $(RESOLUTION) $(UV_FLAGS) --editable '.[dev]'
	@$(TOOLS)/uv pip freeze --quiet --python .venv-$(RESOLUTION)
	@OMP_NUM_THREADS=1 .venv-$(RESOLUTION)/bin/python -m pytest -n $(WORKERS) --dist worksteal \
		-m "not slow and not gpu and not distributed" $(ARGS)

fuzz: $(INSTALLED) ## try thousands of corrupted inputs (INTERLACE_FUZZ_CASES=5000 INTERLACE_FUZZ_SEED=1000)
	@INTERLACE_FUZZ_CASES=$${INTERLACE_FUZZ_CASES:-5000} INTERLACE_FUZZ_SEED=$${INTERLACE_FUZZ_SEED:-1000} \
		OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/fuzz $(ARGS)

chaos: $(INSTALLED) ## stop commands at random moments, and compare what they then give (INTERLACE_KILLS=100 INTERLACE_SEED=0)
	@INTERLACE_KILLS=$${INTERLACE_KILLS:-100} OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/runs/test_random_kills.py $(ARGS)

lint: $(INSTALLED) ## check style, types and bandit's security rules (ruff's S)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy

lint-workflows: .venv-tools/.installed ## check the files of GitHub, Read the Docs and CITATION.cff against their schemas
	@$(TOOLS)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(TOOLS)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
	@$(TOOLS)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	@$(TOOLS)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	@$(TOOLS)/check-jsonschema --builtin-schema vendor.readthedocs .readthedocs.yaml
	@$(TOOLS)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

lock: .venv-tools/.installed ## pin what pyproject.toml asks for in constraints.txt (ARGS=--upgrade takes the newest)
	@$(TOOLS)/uv pip compile --quiet --universal --python-version 3.11 --all-extras --no-annotate \
		--custom-compile-command "make lock" $(ARGS) --output-file constraints.txt pyproject.toml

audit: .venv-tools/.installed ## look the pinned packages up in the advisory database; needs the network
	@$(TOOLS)/pip-audit --requirement constraints.txt --no-deps --disable-pip $(ARGS)

dist: .venv-tools/.installed ## build wheel and sdist in dist/, twice, and check what they hold
	@rm -rf dist build
	@export SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct); \
		$(TOOLS)/python -m build --outdir dist && $(TOOLS)/python -m build --outdir build/again
	@diff --recursive dist build/again
	@git ls-files src | sed 's|^src/||' | sort > build/source
	@$(TOOLS)/python -m zipfile --list dist/*.whl | awk 'NR > 1 && !/dist-info/ {print $$1}' | sort | diff build/source -
	@tar --list --file dist/*.tar.gz | sed -n 's|^[^/]*/src/||p' | sort | diff build/source -
	@$(TOOLS)/python -m zipfile --list dist/*.whl | grep -q 'dist-info/licenses/LICENSE'
	@$(TOOLS)/twine check --strict dist/*
	@echo "passed: both builds are equal and hold the committed files of src, the wheel has the license, the metadata are valid"

.venv-tools/.installed:
	@"$(PYTHON)" -m venv --clear .venv-tools
	@$(TOOLS)/python -m pip install -qq build check-jsonschema pip-audit twine uv
	@touch $@

bench: $(INSTALLED) ## run the benchmarks, one after the other
	@for script in benchmarks/[!_]*.py; do \
		if [ -f "$$script" ] && [ "$$script" != benchmarks/gpu_step.py ]; then echo "== $$script"; $(BIN)/python "$$script" $(ARGS) || exit 1; fi; \
	done

gpu: $(INSTALLED) ## run the benchmarks and tests that need a GPU, at most 6 minutes of cells; repeat to resume
	@$(BIN)/python -c "import torch; torch.cuda.is_available() or exit('torch finds no GPU on this machine')"
	-@$(BIN)/python benchmarks/gpu_step.py $(ARGS)
	@$(BIN)/python -m pytest -q -m gpu
	-@$(BIN)/python benchmarks/vocabulary_loss.py --width 768 --rounds 1

docs: $(DOCS_INSTALLED) ## build the site in docs/_build/html; check its links and generated pages
	@$(BIN)/python -m pytest -q tests/test_links.py tests/test_docs.py tests/test_objective_pages.py \
		tests/test_tutorials.py -m 'not slow'
	@HF_HUB_OFFLINE=1 $(BIN)/python -m sphinx -q -E -n -W --keep-going -d docs/_build/doctrees docs docs/_build/html

notebooks: export INTERLACE_CHECKPOINT ?= $(CURDIR)/runs/e5-small
notebooks: $(DOCS_INSTALLED) runs/e5-small ## run the notebooks of the site and store their outputs, in some minutes
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
