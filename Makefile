# Everything here needs make and Python 3.11 or newer (with its venv module), and sets itself up in .venv:
# `make install` and `make demo` take the runtime lock, the rest adds the development lock, whose
# versions agree. Another interpreter: `make test PYTHON=python3.12`.

VENV    := .venv
BIN     := $(VENV)/bin
PEERS   := .venv-peers
APART   := .venv-flower .venv-cluster
UV      := uv==0.13.8
PYTEST  := -n 2 --dist worksteal
ONE     := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
COMMA   := ,
LESS    := $(subst $(COMMA), ,$(WITHOUT))
CHECKED := $(filter-out $(LESS:%=.venv-%),$(APART))
PYTHONS := $(or $(PYTHON),python3.13 python3.12 python3.11 python3)

# One pip, that of requirements-pip.lock, fills every environment. The one that a Python brings may be older, and then
# refuses a lock as soon as a package of which it wants an extra has a newer version. uv is quicker (36 s instead of 99 s
# for all locks), but does not look where pip is told to find packages. From a lock only wheels are installed: to build
# one would fetch what no lock names, and let a wheel with a wrong hash pass.
PIP     := $(BIN)/python -m pip --disable-pip-version-check
INTO     = $(PIP) --python $(@D)
LOCKED  := install -q --require-hashes --only-binary :all: -r

# Stamps. MADE says which interpreter made the venv and where: a venv that was moved, or whose Python
# changed underneath or is not the one asked for, is built anew.
MADE    := $(VENV)/.made
RUNTIME := $(VENV)/.runtime
DEV     := $(VENV)/.dev

WHO := -I -c 'import platform, sys; print(platform.python_version(), sys.prefix)'
ifneq ($(shell $(BIN)/python $(WHO) 2>/dev/null),$(shell cat $(MADE) 2>/dev/null))
$(MADE): FORCE
else ifdef PYTHON
ifneq ($(firstword $(shell $(PYTHON) $(WHO))),$(firstword $(shell cat $(MADE) 2>/dev/null)))
$(MADE): FORCE
endif
endif

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo test test-slow test-quick search lint loops docs docs-serve soak mutants bench bench-quick peers referee lock clean FORCE

help: ## what you are reading
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(RUNTIME) ## the library and the superarm command, in .venv
	@echo "ready: $(BIN)/superarm --help"

demo: $(RUNTIME) ## the federated study on a small setting, and its report
	@$(BIN)/superarm demo

# The compiler works beside the type checker, once, instead of in every process that tests.
test: $(DEV) ## lint, then all tests but the slow ones, doctests, examples and the code in the docs
	@$(MAKE) --no-print-directory -j 2 lint loops
	$(ONE) $(BIN)/python -m pytest $(PYTEST) -m 'not slow'

test-slow: SLOW := -m slow --without='$(WITHOUT)'
test-slow: $(DEV) $(CHECKED:%=%/.ready) loops ## the slow tests: kills, Ctrl-C, whole pages, what is built and installed, Flower, Ray (WITHOUT=flower,...: not all)
	$(ONE) $(BIN)/python -m pytest $(PYTEST) $(SLOW)
	@set -e; for each in $(CHECKED); do $(ONE) PYTHONPATH=src $$each/bin/python -m pytest $(SLOW) tests/$${each#.venv-}; done
	@$(if $(LESS),echo 'left out because of WITHOUT: $(LESS)')

# Left out: what plays studies, writes pages, reads or draws data, or tries many random problems.
QUICK := $(addprefix --ignore=tests/,benchmarks checks datasets environments experiments \
	referees report theory test_cli.py oracles/test_invariances.py oracles/test_scale.py rewards/test_normal_forms.py)

search: $(DEV) ## properties and theorems on examples that nobody has seen, half an hour (ONLY=tests/wire: some)
	$(ONE) $(BIN)/python -m pytest $(PYTEST) -m 'not slow' --hypothesis-profile=searching $(or $(ONLY),tests)

test-quick: $(DEV) ## the first case of every test of a round and its parts, in 45 seconds
	$(ONE) $(BIN)/python -m pytest $(PYTEST) -m 'not slow' --first-cases $(QUICK) tests

lint: $(DEV) ## format, lint rules, types, order of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

loops: $(DEV)
	@$(BIN)/python -c 'from superarm.experiments.machines import compile_loops; compile_loops()'

docs: $(DEV) ## the documentation site, in build/docs: strict, without the network
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict -q
	@echo "built: build/docs/index.html"

docs-serve: $(DEV) ## the site at http://127.0.0.1:8000, built again when a page changes
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve

bench: $(if $(or $(if $(ONLY),,all),$(findstring sharded,$(ONLY)),$(findstring fit_log,$(ONLY))),$(patsubst %,%/.ready,$(filter .venv-cluster,$(CHECKED))))
bench: $(DEV) $(if $(or $(if $(ONLY),,all),$(findstring posteriors,$(ONLY))),peers) ## all times against the peers and the floor, some 40 minutes (ONLY=posteriors,...: some)
	@$(ONE) $(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY))

bench-quick: $(DEV) ## what got slower than the committed figures, in two minutes
	@$(ONE) $(BIN)/python -m benchmarks --check

referee: $(DEV) ## the oracles against enumeration, all 20,000 rounds
	@$(BIN)/python -m tests.referees.enumeration

soak: $(DEV) ## full figures to benchmarks/soak.md, some hours: studies, referee, mutants, speed, kills, power (ONLY=power,...: some)
	@$(ONE) $(BIN)/python -m benchmarks.soak $(if $(ONLY),--only $(ONLY))

mutants: $(DEV) ## whether the tests notice forty mistakes, one at a time, in at most half an hour
	@$(ONE) $(BIN)/python -m tests.mutants

lock: $(MADE) ## renew the locks after a change of dependencies (UPGRADE=1: newest versions too)
	@$(PIP) install -q '$(UV)'
	$(call compile,requirements-pip.lock,--group pip)
	$(call compile,requirements.lock,pyproject.toml --group build)
	$(call compile,requirements-dev.lock,pyproject.toml --group dev --extra serve --extra postgres --constraint requirements.lock)
	$(call compile,requirements-flower.lock,pyproject.toml --group flower)
	$(call compile,requirements-cluster.lock,pyproject.toml --group cluster --constraint requirements.lock)

clean: ## remove .venv and those beside it, caches and builds; results stay
	rm -rf $(VENV) $(PEERS) $(APART) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# One version of each package for every Python and system, with the hashes of all its files.
define compile
$(BIN)/uv pip compile -q $(2) --output-file $(1) --universal --python-version 3.11 \
	--fork-strategy fewest --generate-hashes --no-emit-index-url --no-emit-find-links \
	--custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)
endef

$(MADE): requirements-pip.lock
	@for python in $(PYTHONS); do \
		if $$python -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			echo "making $(VENV) with $$($$python --version)"; \
			$$python -m venv --clear $(VENV) && $(PIP) $(LOCKED) requirements-pip.lock && $(BIN)/python $(WHO) > $@; exit; \
		fi; \
	done; \
	echo "superarm needs Python 3.11 or newer with its venv module; tried: $(PYTHONS)" >&2; \
	echo "Install one, or name yours: make PYTHON=/path/to/python ..." >&2; exit 1

$(RUNTIME): $(MADE) requirements.lock pyproject.toml
	@echo "installing the packages of requirements.lock, and superarm itself, in $(VENV)"
	@$(PIP) $(LOCKED) requirements.lock
	@$(PIP) install -q --no-build-isolation --no-deps -e .
	@touch $@

$(DEV): $(RUNTIME) requirements-dev.lock
	@echo "installing the packages of requirements-dev.lock in $(VENV)"
	@$(PIP) $(LOCKED) requirements-dev.lock
	@touch $@

# The libraries that the benchmarks compare with, each family in an environment of its own: they need other versions of
# NumPy. One that cannot be installed here is left out, and the benchmarks say so.
peers: $(PEERS)/torch/.ready $(PEERS)/tensorflow/.ready $(PEERS)/vowpal/.ready

$(PEERS)/%/.ready: benchmarks/peers/%.txt | $(MADE)
	@echo "installing the packages of $< in $(@D)"
	@$(BIN)/python -m venv --clear --without-pip $(@D) && $(INTO) install -q -r $< && touch $@ || \
		{ rm -rf $(@D); echo "left out: the packages of $< could not be installed"; }

# Flower pins older versions of what others need, and Ray is large: their tests have environments and locks of their own.
# Where one cannot be made, the last line says why, in the words of pip.
$(APART:%=%/.ready): .venv-%/.ready: requirements-%.lock | $(MADE)
	@echo "installing the packages of $< in $(@D)"
	@$(BIN)/python -m venv --clear --without-pip $(@D)
	@said=$$($(INTO) $(LOCKED) $< 2>&1) || { \
		why=$$(echo "$$said" | sed -n '/^ERROR: /{s///; s/\. .*//; $$!N; s/\n  *\([^ ]*\).*/: \1/; s/\n.*//; p; q;}'); \
		echo "$$said"; echo "$< cannot be installed: $$why (WITHOUT=$* goes on without it)"; \
		rm -rf $(@D); exit 1; } >&2
	@touch $@
