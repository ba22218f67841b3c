# hinge: `make demo` and `make test` need Python >= 3.11 with its headers, a C++17 compiler, and nothing else.
# They make an environment in .venv, build the core into it, and redo either only when its inputs changed.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Continuous integration sets CI: there a compiler warning is an error.
WERROR ?= $(if $(CI),ON,OFF)

ifeq ($(OS),Windows_NT)
$(error the Makefile needs a POSIX system; on Windows use `pip install .`)
endif

CORE := CMakeLists.txt pyproject.toml $(shell find cpp)
PIP  := $(BIN)/python -m pip --disable-pip-version-check install -qq

.DEFAULT_GOAL := help
.PHONY: help demo test lint types imports pytest test-slow sanitize sanitize-build docs wheel clean

help:  ## what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-15s %s\n", $$1, $$2}'

demo: $(VENV)/.hinge $(VENV)/.extra-plot  ## train, prove, and draw: writes pictures to demo-output/
	@$(BIN)/python -m hinge demo --out demo-output

test: lint types imports pytest  ## everything that must pass before a change lands

lint: $(VENV)/.extra-test
	@echo "ruff"; $(BIN)/ruff check .

types: $(VENV)/.hinge $(VENV)/.extra-test
	@echo "mypy"; $(BIN)/mypy

imports: $(VENV)/.hinge $(VENV)/.extra-test
	@echo "import-linter"; $(BIN)/lint-imports --no-cache --no-logo

pytest: $(VENV)/.hinge $(VENV)/.extra-test
	@echo "pytest"; $(BIN)/python -m pytest $(ARGS)

test-slow: $(VENV)/.hinge $(VENV)/.extra-test  ## the long comparisons against other solvers
	@$(BIN)/python -m pytest -m slow $(ARGS)

docs: $(VENV)/.hinge $(VENV)/.extra-docs  ## the manual, in docs/_build/html
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

wheel: $(VENV)/.base  ## a wheel in dist/
	@$(BIN)/python -m pip --disable-pip-version-check wheel -qq --no-deps --wheel-dir dist .

clean:  ## remove everything that was made
	rm -rf $(VENV) build dist demo-output docs/_build docs/api/generated docs/gallery
	rm -f src/hinge/_core/native.pyi
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the environment ------------------------------------------------------------------------------

# Requirements come from pyproject.toml alone.  `needs base` or `needs EXTRA` prints them, one a line.
define needs
import sys, tomllib
with open("pyproject.toml", "rb") as file: p = tomllib.load(file)
what = sys.argv[1]
base = p["build-system"]["requires"] + ["cmake>=3.24", "ninja>=1.11"] + p["project"]["dependencies"]
print(*(base if what == "base" else p["project"]["optional-dependencies"][what]), sep="\n")
endef
export needs

$(VENV)/.base: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "hinge needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "environment in $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c "$$needs" base > $(VENV)/base.txt
	@$(PIP) -r $(VENV)/base.txt
	@touch $@

$(VENV)/.extra-%: pyproject.toml $(VENV)/.base
	@echo "packages for $*"
	@$(BIN)/python -c "$$needs" $* > $(VENV)/extra-$*.txt
	@$(PIP) -r $(VENV)/extra-$*.txt
	@touch $@

.PRECIOUS: $(VENV)/.extra-%

# An editable install: Python files are read from src/, and the core is compiled again, incrementally, whenever a
# C++ file or folder is newer than the stamp.  The stub is copied beside the sources for mypy and for editors.
$(VENV)/.hinge: $(VENV)/.base $(CORE)
	@echo "building hinge"
	@$(PIP) --no-build-isolation --no-deps -C build-dir=build/editable \
	  -C cmake.define.HINGE_WERROR=$(WERROR) --editable .
	@cp build/editable/native.pyi src/hinge/_core/native.pyi
	@touch $@

# --- sanitizers -----------------------------------------------------------------------------------

SANITIZE := address,undefined
SAN      := build/sanitize
# Tests of compiled code; solvers written in NumPy have nothing to find here.
NUMPY    := %/test_iterative.py %/test_iterative_solvers.py %/test_low_rank.py %/test_crossover.py %/test_losses.py %/test_precision.py
SANTESTS := $(wildcard tests/kernels tests/linear tests/io/test_libsvm.py tests/online/test_learner.py) \
            $(wildcard tests/paths/test_regularization.py) \
            $(filter-out $(NUMPY),$(wildcard tests/contracts/test_*.py tests/solvers/test_*.py))
SANENV    = LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
            ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc

sanitize: sanitize-build  ## the core under ASan and UBSan
	@$(BIN)/ctest --test-dir $(SAN)/build --output-on-failure --no-tests=ignore
	@$(SANENV) $(SAN)/venv/bin/python -m pytest --hypothesis-profile=sanitize --capture=sys -p no:cacheprovider \
	  $(SANTESTS) $(ARGS)

# A second environment that borrows the packages of the first but has its own, sanitized, hinge; the C++ test
# programs are compiled in the same build.
sanitize-build: $(VENV)/.extra-test
	@echo "building hinge under $(SANITIZE)"
	@test -x $(SAN)/venv/bin/python || $(PYTHON) -m venv --without-pip $(SAN)/venv
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	  > "$$($(SAN)/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/borrowed.pth"
	@$(SAN)/venv/bin/python -m pip --disable-pip-version-check install -qq --no-build-isolation --no-deps \
	  -C build-dir=$(SAN)/build -C cmake.build-type=Debug -C install.strip=false \
	  -C cmake.define.HINGE_SANITIZE=$(SANITIZE) -C cmake.define.HINGE_CPP_TESTS=ON \
	  -C cmake.define.HINGE_WERROR=$(WERROR) .
