# Every target makes or reuses .venv. `make quickstart` and `make test` are all a newcomer needs.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := $(shell find src -type f -not -name '*.pyc' 2>/dev/null) CMakeLists.txt pyproject.toml README.md LICENSE
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc 2>/dev/null || echo 2)

# pip prints errors only: one line per stage says what happens.
PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check
export PIP_ROOT_USER_ACTION := ignore

.PHONY: quickstart test test-native test-aarch64 lint format docs bench sanitize sanitize-threads fuzz fuzz-native faults mutants wheel check-wheel \
  check-blocks clean install

install: .venv/installed

.venv/bin/python:
	@echo "venv      .venv, with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv

# The build tools live in .venv too, so a rebuild reuses the objects in build/ and compiles only what changed.
.venv/tools: pyproject.toml | .venv/bin/python
	@echo "tools     cmake, ninja, nanobind and scikit-build-core"
	@$(PIP) install "scikit-build-core>=0.11" "nanobind>=3.1" cmake ninja
	@touch $@

.venv/compiled: .venv/tools $(SOURCES)
	@echo "compile   the C++ core, on $(CMAKE_BUILD_PARALLEL_LEVEL) cores"
	@rm -rf build/wheel
	@$(PIP) wheel --no-build-isolation --no-deps --wheel-dir build/wheel .
	@touch $@

# The package alone, as a user installs it.
.venv/package: .venv/compiled
	@echo "install   labeltrees and the packages it needs"
	@$(PIP) install --force-reinstall --no-deps build/wheel/*.whl
	@$(PIP) install build/wheel/*.whl
	@touch $@

# With all extras and the tools of developers.
.venv/installed: .venv/package
	@echo "install   extras and the tools of developers"
	@$(PIP) install "$$(echo build/wheel/*.whl)[dev]"
	@touch $@

# With the charts of the report.
.venv/charts: .venv/package
	@$(PIP) install "$$(echo build/wheel/*.whl)[plots]"
	@touch $@

quickstart: .venv/charts
	$(BIN)/labeltrees quickstart

test: install
	$(BIN)/python -m pytest
	$(BIN)/python -m pytest --doctest-modules --pyargs labeltrees

# Compares the kernels of all instruction sets without Python, here and for 64-bit ARM under an emulator
# (apt-get install g++-aarch64-linux-gnu qemu-user).
NATIVE := $(BIN)/cmake -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -S tests/core_native
test-native: .venv/tools
	@$(NATIVE) -B build/native-tests >/dev/null && $(BIN)/cmake --build build/native-tests -- --quiet
	build/native-tests/kernels_agree

test-aarch64: .venv/tools
	@$(NATIVE) -B build/aarch64-tests -DCMAKE_TOOLCHAIN_FILE=$(CURDIR)/tests/core_native/aarch64.cmake >/dev/null
	@$(BIN)/cmake --build build/aarch64-tests -- --quiet
	qemu-aarch64 build/aarch64-tests/kernels_agree neon

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	git ls-files src/core tests/core_native | grep -E "\.(cpp|hpp|inl)$$" | xargs $(BIN)/clang-format --dry-run --Werror
	$(BIN)/python scripts/check_core_sizes.py
	$(BIN)/python scripts/make_stub.py --check

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	git ls-files src/core tests/core_native | grep -E "\.(cpp|hpp|inl)$$" | xargs $(BIN)/clang-format -i

# Builds into build/site. A warning, such as a broken link, is an error.
docs: install
	$(BIN)/python -m sphinx --builder html --conf-dir docs --fail-on-warning --keep-going --quiet . build/site

# Installs the peers into separate virtual environments (benchmarks/peers/) and writes benchmarks/results/.
bench: install
	$(BIN)/python -m benchmarks.run

# Runs all tests with a core that is built with AddressSanitizer and UndefinedBehaviorSanitizer. Those that preload other
# libraries or measure memory skip themselves. A test that takes longer than 15 minutes fails with the stacks of all threads.
LIMIT := --timeout 900 --timeout-method signal
sanitize: install
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --upgrade --target build/sanitize . \
	  -Cbuild-dir=build/sanitize-objects -Ccmake.define.LABELTREES_SANITIZE=ON -Ccmake.build-type=RelWithDebInfo
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=build/sanitize $(BIN)/python -m pytest -q $(LIMIT) tests

# Runs all tests with a core that is built with ThreadSanitizer. Tests that cannot run with it skip themselves and say why.
# Python and other libraries are not instrumented; tests/tsan.supp lists what is ignored. docs/decisions/0049-attack-tools.md
# explains the variables. Reports of all processes are files build/tsan.*, and any report fails the run.
sanitize-threads: install
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --upgrade --target build/sanitize-threads . \
	  -Cbuild-dir=build/sanitize-threads-objects -Ccmake.define.LABELTREES_SANITIZE_THREADS=ON \
	  -Ccmake.build-type=RelWithDebInfo
	rm -f build/tsan.*
	LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so)" OPENBLAS_NUM_THREADS=1 _RJEM_MALLOC_CONF=background_thread:false \
	  TSAN_OPTIONS="suppressions=$(CURDIR)/tests/tsan.supp log_path=$(CURDIR)/build/tsan die_after_fork=0 detect_deadlocks=0" \
	  PYTHONPATH=$(CURDIR)/build/sanitize-threads $(BIN)/python -m pytest -q $(LIMIT) tests
	! cat build/tsan.* 2>/dev/null

# Fuzzes every reader of untrusted bytes, SECONDS each. CORE=build/sanitize does it under sanitizers, after make sanitize.
SECONDS ?= 60
fuzz: install
	LD_PRELOAD="$(if $(CORE),$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so))" \
	  ASAN_OPTIONS=detect_leaks=0 PYTHONPATH="$(CORE)" $(BIN)/python -m tests.fuzz.run --seconds $(SECONDS)

# The native readers under libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer, SECONDS each; needs clang.
CLANG ?= clang++
fuzz-native: install
	@command -v $(CLANG) >/dev/null || { echo "fuzz-native skipped: no $(CLANG) (apt-get install clang)"; exit 0; }; \
	  $(BIN)/cmake -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DCMAKE_CXX_COMPILER=$(CLANG) \
	    -S tests/fuzz/native -B build/fuzz-native >/dev/null && \
	  $(BIN)/cmake --build build/fuzz-native -- --quiet && \
	  $(BIN)/python -m tests.fuzz.native.run --seconds $(SECONDS)

# Lets every write, fsync, rename, mmap and large allocation fail, and kills commands at random moments.
faults: install
	$(BIN)/python -m tests.faults.inject
	$(BIN)/python -m tests.faults.kill --times 200

# Changes guards one at a time and runs their tests, in a copy of the repository. Hours; it continues where it stopped.
mutants: install
	mkdir -p build/mutants && git ls-files | xargs cp --parents -t build/mutants
	cp $$($(BIN)/python -c "import labeltrees._core as core; print(core.__file__)") build/mutants/src/labeltrees/
	cd build/mutants && $(CURDIR)/$(BIN)/python scripts/mutants.py $(MUTANTS)

# A source distribution and a wheel per Python in dist/: make wheel PYTHONS="python3.11 python3.12"
PYTHONS ?= $(PYTHON)
wheel:
	scripts/make_wheel.sh $(PYTHONS)

# Installs each wheel of dist/ without compilers on the path, and runs the quickstart and the smoke tests.
check-wheel: wheel
	scripts/check_wheel.sh $(PYTHONS)

# Runs the blocks of the README and the guide in environments with the extras that each page names.
check-blocks: wheel
	$(PYTHON) scripts/check_blocks.py

clean:
	rm -rf .venv build
