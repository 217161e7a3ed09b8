# One verb each. The environment is .venv; everything that is missing is set up on the way.

PYTHON ?= python3
WORKERS ?= 3
# Groups in one process each, everything in the order that tests/conftest.py gives it.
IN_TURN := --dist loadgroup --no-loadscope-reorder
BIN := .venv/bin
CODE := $(wildcard src tests bench)
# Tests start hundreds of programs: each would compile all of Sandbar anew, for a second.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help docs run test test-long check static audit format bench lock clean postgres nginx
.DELETE_ON_ERROR:

help:
	@echo 'make run        set up and start a demo server (PORT=8080)'
	@echo 'make test       everything that must pass: make check, then all tests'
	@echo 'make test-long  the tests that take minutes: faults, fuzz, scale'
	@echo 'make check      format, lint, types, layers, house rules, known vulnerabilities'
	@echo 'make format     let ruff write the format'
	@echo 'make bench      speed, as ratios against the bare drivers, other MCP servers and DBOS; cost of audit'
	@echo 'make docs       write the reference of verbs anew'
	@echo 'make lock       resolve the pins of pyproject.toml into the two locks, with hashes'
	@echo 'make clean      remove the environment and the caches'

run: .venv/.installed
	$(BIN)/sandbar demo-server $(if $(PORT),--port $(PORT))

# The house rules are part of the whole suite, so `test` need not run them apart as `check` does.
# The clients from npm are a minute or more of downloading: the tests that need them wait for them.
# What cannot be set up is told by the first test that needs it; the others are run all the same.
# What `static` finds is told at the end: it does not keep both cores busy, and the tests do.
test: .venv/.installed
	@scripts/ensure-node >.venv/ensure-node.log 2>&1 &
	-@$(MAKE) --no-print-directory --keep-going postgres nginx
	@$(MAKE) --no-print-directory static >.venv/static.log 2>&1 & static=$$!; \
	$(BIN)/python -m pytest -n $(WORKERS) $(IN_TURN) --durations=8 tests </dev/null; tests=$$?; \
	wait $$static; checks=$$?; cat .venv/static.log; exit $$((tests || checks))

test-long: .venv/.installed postgres nginx
	$(BIN)/python -m pytest -m long --timeout 3600 --durations=8 tests </dev/null

check: static audit postgres
	$(BIN)/python -m pytest tests/house </dev/null

static: .venv/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy $(CODE)
	$(BIN)/lint-imports --no-logo

# Says one line and goes on where the advisories cannot be reached.
audit: .venv/.installed
	@$(BIN)/python scripts/audit.py requirements.lock requirements-dev.lock

format: .venv/.installed
	$(BIN)/ruff check --select I --fix .
	$(BIN)/ruff format .

bench: .venv/.bench postgres
	$(BIN)/python -m bench

# Contestants that nothing but the benchmark needs, and that are large.
.venv/.bench: .venv/.installed
	$(BIN)/python -m pip install -qq --disable-pip-version-check --no-build-isolation -e '.[bench]'
	@touch $@

docs: .venv/.installed
	$(BIN)/python -m sandbar.verbs.reference docs/reference/verbs.md

lock:
	scripts/lock $(PYTHON)

postgres:
	@scripts/ensure-postgres

nginx:
	@scripts/ensure-nginx

clean:
	rm -rf .venv tests/mcp_clients/node_modules build dist
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -exec rm -rf {} +

# Two stamps: a changed lock makes the environment anew, a changed pyproject only re-installs us.
.venv/.locked: requirements.lock requirements-dev.lock
	@scripts/ensure-venv $(PYTHON)
	@touch $@

.venv/.installed: .venv/.locked pyproject.toml
	$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/python -m pip check --disable-pip-version-check
	@touch $@
