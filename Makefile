# `make demo` and `make test` require Python >= 3.11 with its headers and a C++17 compiler.
# They create a virtual environment in .venv and build the core into it. Both are updated only if their inputs change.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Processes that run tests.  Each takes a whole file at a time.
WORKERS ?= 2
# Continuous integration sets CI. Compiler warnings are then errors.
WERROR ?= $(if $(CI),ON,OFF)

# Many tests start processes, which would compile all modules again without cached bytecode.
unexport PYTHONDONTWRITEBYTECODE

ifeq ($(OS),Windows_NT)
$(error the Makefile needs a POSIX system; on Windows use `pip install .`)
endif

CORE := CMakeLists.txt pyproject.toml $(shell find cpp)
PIP  := $(BIN)/python -m pip --disable-pip-version-check install -qq

.DEFAULT_GOAL := help
.PHONY: help demo test lint types imports pytest test-slow sanitize sanitize-build fuzz tsan leaks docs wheel clang \
        aarch64 windows linked clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-15s %s\n", $$1, $$2}'

demo: $(VENV)/.hinge $(VENV)/.extra-plot  ## fit a model, print its certificate, write plots to demo-output/
	@$(BIN)/python -m hinge demo --out demo-output

test: lint types imports pytest  ## run all checks that a change must pass

lint: $(VENV)/.extra-test
	@echo "ruff"; $(BIN)/ruff check .

types: $(VENV)/.hinge $(VENV)/.extra-test
	@echo "mypy"; $(BIN)/mypy

imports: $(VENV)/.hinge $(VENV)/.extra-test
	@echo "import-linter"; $(BIN)/lint-imports --no-cache --no-logo

pytest: $(VENV)/.hinge $(VENV)/.extra-test
	@echo "pytest"; $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

test-slow: $(VENV)/.hinge $(VENV)/.extra-test  ## run the slow tests (comparisons with other solvers)
	@$(BIN)/python -m pytest -m slow $(ARGS)

docs: $(VENV)/.hinge $(VENV)/.extra-docs  ## build the documentation in docs/_build/html
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# --- packages and other platforms -----------------------------------------------------------------

# Platform tag of the wheel. The wheel has one binary for Python 3.11 and later (abi3).
MANYLINUX ?= manylinux_2_28_$(shell uname -m)

wheel: $(VENV)/.extra-package  ## build a wheel in dist/ for Linux with glibc 2.28 or newer, and test that it loads
	@rm -rf build/wheel && mkdir -p build/wheel
	@$(BIN)/python -m pip --disable-pip-version-check wheel -qq --no-deps --no-build-isolation \
	  -C build-dir=build/manylinux -C cmake.define.HINGE_MANYLINUX=ON --wheel-dir build/wheel .
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --plat $(MANYLINUX) --wheel-dir dist build/wheel/*.whl
	@$(BIN)/python -m venv --system-site-packages build/wheel/venv
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	  > "$$(build/wheel/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/shared.pth"
	@build/wheel/venv/bin/python -m pip --disable-pip-version-check install -qq --no-deps --force-reinstall \
	  dist/*$(MANYLINUX)*.whl
	@cd build/wheel && venv/bin/python -c "import hinge; hinge.SVC().fit([[0], [1]], [0, 1]); print(hinge.__file__)"
	@ls dist/*$(MANYLINUX)*.whl

# $(call cpp-build,directory,options): configure and compile the C++ core and its test programs.
define cpp-build
	@$(BIN)/cmake -G Ninja -S . -B $(1) -DCMAKE_MAKE_PROGRAM="$(CURDIR)/$(BIN)/ninja" -DCMAKE_BUILD_TYPE=Release \
	  -DHINGE_PYTHON=OFF -DHINGE_CPP_TESTS=ON -DHINGE_WERROR=ON $(2) > $(1).log || { cat $(1).log; exit 1; }
	@$(BIN)/cmake --build $(1) > $(1).log || { cat $(1).log; exit 1; }
endef

clang: $(VENV)/.base  ## compile the C++ core with clang, warnings as errors, and run its tests
	@mkdir -p build
	$(call cpp-build,build/clang,-DCMAKE_CXX_COMPILER=clang++)
	@$(BIN)/ctest --test-dir build/clang --output-on-failure

aarch64: $(VENV)/.base  ## cross-compile the C++ core for 64-bit ARM and run its tests with qemu
	@mkdir -p build
	$(call cpp-build,build/aarch64,-DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake -DHINGE_TEST_TIMEOUT=3000)
	@$(BIN)/ctest --test-dir build/aarch64 --output-on-failure

windows: $(VENV)/.base  ## cross-compile the C++ core and its tests for Windows with MinGW (they are not run)
	@mkdir -p build
	$(call cpp-build,build/windows,-DCMAKE_TOOLCHAIN_FILE=cmake/x86_64-w64-mingw32.cmake)

linked: $(VENV)/.base  ## build a wheel in dist/linked without the nanobind-backend package (Alpine, free-threaded Python)
	@$(BIN)/python -m pip --disable-pip-version-check wheel -qq --no-deps --no-build-isolation \
	  -C build-dir=build/linked -C wheel.py-api= -C cmake.define.HINGE_SPLIT_BACKEND=OFF --wheel-dir dist/linked .
	@ls dist/linked/*.whl

clean:  ## remove all generated files
	rm -rf $(VENV) build dist demo-output docs/_build docs/api/generated docs/gallery
	rm -f src/hinge/_core/native.pyi
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the environment ------------------------------------------------------------------------------

# All requirements are declared in pyproject.toml. `needs base` and `needs EXTRA` print them, one per line.
define needs
import sys, tomllib
with open("pyproject.toml", "rb") as file: p = tomllib.load(file)
group = sys.argv[1]
base = p["build-system"]["requires"] + ["cmake>=3.24", "ninja>=1.11"] + p["project"]["dependencies"]
print(*(base if group == "base" else p["project"]["optional-dependencies"][group]), sep="\n")
endef
export needs

$(VENV)/.base: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "hinge requires Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "creating the environment in $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c "$$needs" base > $(VENV)/base.txt
	@$(PIP) -r $(VENV)/base.txt
	@touch $@

$(VENV)/.extra-%: pyproject.toml $(VENV)/.base
	@echo "installing packages for $*"
	@$(BIN)/python -c "$$needs" $* > $(VENV)/extra-$*.txt
	@$(PIP) -r $(VENV)/extra-$*.txt
	@touch $@

.PRECIOUS: $(VENV)/.extra-%

# Editable install: Python files are read from src/. The core is recompiled incrementally if a C++ file or directory is
# newer than the stamp file. The type stub is copied to src/ for mypy and for editors.
$(VENV)/.hinge: $(VENV)/.base $(CORE)
	@echo "building hinge"
	@$(PIP) --no-build-isolation --no-deps -C build-dir=build/editable \
	  -C cmake.define.HINGE_WERROR=$(WERROR) --editable .
	@cp build/editable/native.pyi src/hinge/_core/native.pyi
	@touch $@

# --- sanitizers -----------------------------------------------------------------------------------

SANITIZE := address,undefined
SAN      := build/sanitize
# Only tests of compiled code run with sanitizers. Solvers written in NumPy are left out.
NUMPY    := %/test_textbook_solvers.py %/test_crossover.py %/test_losses.py
SANTESTS := $(wildcard tests/kernels tests/problems tests/inspection tests/io/test_libsvm.py tests/online/test_learner.py) \
            $(wildcard tests/paths/test_regularization.py tests/paths/test_leave_one_out.py tests/estimators/linear) \
            $(wildcard tests/solvers/basis tests/solvers/decomposition tests/solvers/linear) \
            $(filter-out $(NUMPY),$(wildcard tests/contracts/test_*.py tests/solvers/test_*.py)) \
            $(filter-out $(NUMPY),$(wildcard tests/solvers/refinement/test_*.py))
SANENV    = LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
            ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc

sanitize: sanitize-build  ## test the core with AddressSanitizer and UndefinedBehaviorSanitizer
	@$(BIN)/ctest --test-dir $(SAN)/build --output-on-failure --no-tests=ignore
	@$(SANENV) $(SAN)/venv/bin/python -m pytest -n $(WORKERS) --dist loadfile --hypothesis-profile=sanitize \
	  --capture=sys -p no:cacheprovider $(SANTESTS) $(ARGS)

# A second environment that uses the packages of the first one and a hinge that is built with sanitizers. The C++ test
# programs are compiled in the same build.
sanitize-build: $(VENV)/.extra-test
	@echo "building hinge with sanitizers: $(SANITIZE)"
	@test -x $(SAN)/venv/bin/python || $(PYTHON) -m venv --without-pip $(SAN)/venv
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	  > "$$($(SAN)/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/shared_packages.pth"
	@$(SAN)/venv/bin/python -m pip --disable-pip-version-check install -qq --no-build-isolation --no-deps \
	  -C build-dir=$(SAN)/build -C cmake.build-type=Debug -C install.strip=false \
	  -C cmake.define.HINGE_SANITIZE=$(SANITIZE) -C cmake.define.HINGE_CPP_TESTS=ON \
	  -C cmake.define.HINGE_WERROR=$(WERROR) .

# --- fuzzing, data races and leaks ----------------------------------------------------------------

# Duration of `make fuzz`, divided among the fuzzers, and the seed of their random numbers.
SECONDS ?= 600
SEED    ?= 0
# Flags of the fuzzer of the compiled parser. It is built without the rest of the core, which takes minutes with clang.
FUZZCXX := clang++ -std=c++17 -O1 -g -Wall -Wextra -Werror -Wno-pass-failed -fopenmp-simd -fno-sanitize-recover=all \
           -fsanitize=fuzzer-no-link,address,undefined -Icpp/include -Icpp/src
FUZZSRC := fuzz/libsvm_text.cpp cpp/src/io/libsvm_text.cpp cpp/src/simd/dispatch.cpp cpp/src/linear/data/ops_base.cpp

build/fuzz/libsvm_text: $(FUZZSRC) cpp/src/linear/data/ops_avx2.cpp
	@mkdir -p build/fuzz/corpus
	@$(FUZZCXX) $$(uname -m | sed -n 's/x86_64/-mavx2 -mfma -mf16c/p') -c cpp/src/linear/data/ops_avx2.cpp \
	  -o build/fuzz/ops_avx2.o
	@$(FUZZCXX) -fsanitize=fuzzer $(FUZZSRC) build/fuzz/ops_avx2.o -o $@ -pthread

fuzz: $(VENV)/.hinge $(VENV)/.extra-test build/fuzz/libsvm_text  ## fuzz parsers, files and estimators for SECONDS=600
	@build/fuzz/libsvm_text -max_total_time=$$(($(SECONDS) / 4)) -seed=$$(($(SEED) + 1)) -dict=fuzz/libsvm_text.dict \
	  -max_len=600 -timeout=10 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 -artifact_prefix=build/fuzz/ \
	  build/fuzz/corpus fuzz/corpus/libsvm_text
	@for part in model_files readers estimators; do \
	  $(BIN)/python fuzz/$$part.py --seconds $$(($(SECONDS) / 4)) --seed $(SEED) || exit 1; done

TSAN      := build/tsan
TSANTESTS := tests/estimators/common/test_threads.py tests/solvers/decomposition/test_execution.py
TSANENV    = LD_PRELOAD="$$(g++ -print-file-name=libtsan.so)" TSAN_OPTIONS="report_bugs=1 exitcode=66 \
             suppressions=$(CURDIR)/fuzz/tsan.supp" OPENBLAS_NUM_THREADS=1

tsan: ## run the multi-threaded tests with ThreadSanitizer
	@$(MAKE) sanitize-build SANITIZE=thread SAN=$(TSAN)
	@$(BIN)/ctest --test-dir $(TSAN)/build --output-on-failure --no-tests=ignore
	@$(TSANENV) $(TSAN)/venv/bin/python -m pytest -q -p no:cacheprovider --hypothesis-profile=sanitize $(TSANTESTS) $(ARGS)

leaks: $(VENV)/.hinge $(VENV)/.extra-test  ## measure the memory over 10,000 fits, predictions, loads and updates
	@$(BIN)/python fuzz/leaks.py $(ARGS)
