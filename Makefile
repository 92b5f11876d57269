# `make view`, `make discover` and `make test` need nothing but Python >= 3.11 and make: they build .venv first.

BIN := .venv/bin
PEERS := .venv-peers/bin

# The first interpreter that is new enough; `make PYTHON=/path/to/python discover` overrides it.
PYTHON ?= $(firstword $(foreach python,python3 python3.14 python3.13 python3.12 python3.11 python,\
	$(shell $(python) -c 'import sys; print(sys.executable if sys.version_info >= (3, 11) else "")' 2>/dev/null)))

# How long `make discover` trains.
MINUTES ?= 5

.PHONY: help view discover test pytest slow faults peers docs lint lock clean

help:
	@echo 'make view       watch our agents on a page of your browser: NDIGO beside prediction error'
	@echo 'make discover   train an agent in Experiment 1 for MINUTES=5, and compare it with Random and the paper'
	@echo 'make test       linters, types and tests'
	@echo 'make slow       the tests that take longest: whole trainings, walks through every command, coverage of intervals'
	@echo 'make faults     kills, flipped bits and fuzzers in full, with their figures (docs/reliability.md)'
	@echo 'make peers      the tests that need heavy packages of other people, in an environment of their own'
	@echo 'make docs       build the site into docs/_build; a warning is an error'
	@echo 'make lock       solve the dependencies of pyproject.toml into the two locks (needs uv)'
	@echo 'make clean      remove the virtual environments and the linters'\'' and tests'\'' caches'

view: .venv/ready
	$(BIN)/ndigo view

discover: .venv/ready
	$(BIN)/ndigo discover --minutes $(MINUTES)

# Side by side: pyright works on one core, for most of a minute.
test: .venv/ready
	@$(MAKE) --no-print-directory --jobs 2 lint pytest

pytest: .venv/ready
	$(BIN)/pytest -n 2 --dist worksteal -m 'not slow'

slow: .venv/ready
	$(BIN)/pytest -n 2 --dist worksteal -m slow

faults: .venv/ready
	NDIGO_FAULTS=all $(BIN)/pytest tests/faults --timeout 3600

peers: .venv-peers/ready
	$(PEERS)/pytest -n 2 --dist loadfile tests/peers

docs: .venv/ready
	$(BIN)/sphinx-build -q -W --keep-going docs docs/_build
	@echo docs/_build/index.html

lint: .venv/ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --project .

# The lock of the peers leaves out PyTorch, whose build is the machine's choice (requirements-torch.txt), and pygame:
# MiniGrid's pygame-ce is the same module.
lock:
	uv pip compile $(SOLVE) --extra dev pyproject.toml --output-file requirements.lock
	printf '%s ; python_version < "3"\n' torch pygame | uv pip compile $(SOLVE) --extra peers --override - \
		pyproject.toml --output-file requirements-peers.lock

SOLVE := --universal --generate-hashes --no-header --quiet --python-version 3.11

clean:
	rm -rf .venv .venv-peers docs/_build docs/generated .pytest_cache .ruff_cache .hypothesis

# Stamps: an edit of pyproject.toml alone does not install the dependencies again. A lock is whole: nothing is added to it.
INSTALL = $(@D)/bin/python -m pip install --disable-pip-version-check
OR_SAY = || { echo 'make: $< could not be installed into $(@D); the reason stands above' >&2; exit 1; }

.venv/locked: requirements.lock
.venv-peers/locked: requirements-peers.lock
.venv/locked .venv-peers/locked:
	@test -n '$(PYTHON)' || { echo 'make: no Python >= 3.11 found; name one with PYTHON=...' >&2; exit 1; }
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@echo 'make: the packages of $< go into $(@D), some minutes the first time'
	@$(INSTALL) --quiet --require-hashes --no-deps -r $< $(OR_SAY)
	@touch $@

.venv-peers/torch: requirements-torch.txt .venv-peers/locked
	@$(INSTALL) -r $< $(OR_SAY)
	@touch $@

.venv/ready: pyproject.toml .venv/locked
.venv-peers/ready: pyproject.toml .venv-peers/torch
.venv/ready .venv-peers/ready:
	@$(INSTALL) --quiet --no-deps --no-build-isolation --editable . $(OR_SAY)
	@touch $@
