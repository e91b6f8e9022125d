# Every command sets itself up: the virtual environment is made on first use and renewed when the pins change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OURS := compiler runtime pipeline tests benchmarks docs/examples
UNION := message_defs/kafka
KAFKA := $(UNION) --package kwire_kafka --out generated
CLOCKWORK := tests/data/clockwork --package clockwork_wire --out tests/generated

export BASE ?= main
FORMAT ?= text
TESTS ?=

BENCH := .venv-bench
DIST := .venv-dist
E2E := .venv-e2e
FUZZ := .venv-fuzz
OLDEST := .venv-oldest
WHEEL := .venv-wheel
FAST = "not spark and not releases and not slow"
PYTEST := $(BIN)/python -m pytest
PIP = -m pip install --quiet --disable-pip-version-check
INSTALL = $(PIP) -c constraints.txt -e

.PHONY: $(shell sed -n 's/^\([a-z][a-z0-9-]*\):.*\#\# .*/\1/p' $(firstword $(MAKEFILE_LIST)))

help:  ## list these commands
	@awk 'BEGIN { FS = ":.*## " } /^##@ / { print "\n" substr($$0, 5) } \
		/^[a-z][a-z0-9-]*:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

##@ While you work

test-fast: $(READY)  ## the tests without Spark and without whole releases, in about a minute; TESTS=tests/rules
	HYPOTHESIS_PROFILE=quick $(PYTEST) -m $(FAST) $(TESTS)

generate: $(READY)  ## compile message_defs/kafka into generated/, and the small protocol of the tests
	$(BIN)/kwirec generate $(KAFKA)
	$(BIN)/kwirec generate --quiet $(CLOCKWORK)

snapshots: $(READY)  ## rewrite the snapshots of the tests and tests/generated: read the diff before you commit
	$(BIN)/kwirec generate --quiet $(CLOCKWORK)
	$(PYTEST) --snapshot-update $(TESTS)

docs: $(READY)  ## rewrite the page of every diagnostic code, and the list of public names
	$(BIN)/kwirec rule-pages docs/rules
	$(BIN)/python -m tests.api_reference docs/api.md

diff: $(READY)  ## what the working tree changes of the protocol since BASE=main; FORMAT=markdown, LEVEL=policy
# Compared with where the branch left BASE: later commits of BASE are not changes of the working tree.
	@tip=$$(git rev-parse --quiet --verify "$$BASE^{commit}") || \
		{ echo "there is no revision $$BASE here: fetch it, or name another with BASE=" >&2; exit 2; }; \
	left=$$(git merge-base "$$tip" HEAD) && test "$$left" != "$$tip" || left=$$BASE; \
	$(BIN)/kwirec diff "git:$$left" $(UNION) --format $(FORMAT) $(if $(LEVEL),--level $(LEVEL))

# A new release has fields without a description and may have removed versions: findings do not stop it.
update: REPORT = build/diff-$(RELEASE).md
update: BEFORE = import json; r = list(json.load(open("$(UNION)/releases.json"))); print(r[r.index("$(RELEASE)") - 1])
update: REPORTED = --level policy --format markdown
update: $(READY)  ## merge a Kafka release: SPEC="kafka-*-4.2.0.jar" RELEASE=4.2.0
	@test -n '$(SPEC)' && test -n '$(RELEASE)' || \
		{ echo 'which release? make update SPEC="jars or source folders of all its modules" RELEASE=4.2.0' >&2; exit 2; }
	$(BIN)/kwirec merge --release $(RELEASE) $(SPEC) --into $(UNION)
	$(BIN)/kwirec generate --quiet $(KAFKA) || test $$? -eq 1
	@mkdir -p build
	@$(BIN)/kwirec diff release:$$($(BIN)/python -c '$(BEFORE)') release:$(RELEASE) $(REPORTED) > $(REPORT) || test $$? -eq 1
	@$(BIN)/kwirec diff git:HEAD $(UNION) $(REPORTED) >> $(REPORT) || test $$? -eq 1
	@echo 'now read $(REPORT), and in CONTRIBUTING.md "A new Kafka release" for what is left to do'

##@ Before you push

test: $(READY)  ## all tests that need nothing but Python and Java
	$(PYTEST) $(TESTS)

check: $(READY)  ## formatting, lint, types, definitions, and whether generated/ is up to date
	$(BIN)/black --quiet --check $(OURS)
	$(BIN)/ruff check --quiet $(OURS)
	$(BIN)/mypy
	$(BIN)/kwirec check --format $(FORMAT) $(UNION)
	$(BIN)/kwirec generate --check --quiet $(KAFKA)

test-native: $(READY)  ## compile codecs with mypyc and compare them with the interpreted ones: needs a C compiler
	KWIRE_NATIVE=1 $(PYTEST) -n 0 tests/native

##@ Nightly, or for what they cover

test-deep: $(READY)  ## all tests, with many times the examples of Hypothesis
	HYPOTHESIS_PROFILE=deep $(PYTEST) --timeout 3600 $(TESTS)

test-oldest: $(OLDEST)/.ready  ## the fast tests on the oldest dependencies that pyproject.toml allows
	$(OLDEST)/bin/python -m pytest -m $(FAST) $(TESTS)

fuzz: $(FUZZ)/.ready  ## break messages, records, connections and logs, guided by coverage
	$(FUZZ)/bin/python -m tests.fuzz.frames --frames 600000
	$(FUZZ)/bin/python -m tests.fuzz.records --runs 600000
	$(FUZZ)/bin/python -m tests.fuzz.connections --runs 400000
	$(FUZZ)/bin/python -m tests.fuzz.logs --runs 200000

attack: $(READY)  ## a million broken definitions, archives, captures, segments and logs, each under limits of its own
	ARROW_DEFAULT_MEMORY_POOL=system $(BIN)/python -m tests.attack

conformance: $(READY)  ## compare with Kafka's own classes, 3.9.1 and 4.1.1: needs a JDK and mvn
	$(BIN)/python -m tests.conformance

conformance-vectors: $(READY)  ## the same, and rewrite tests/data/conformance
	$(BIN)/python -m tests.conformance --update-vectors

e2e: $(E2E)/.ready  ## talk to brokers of Kafka 4.1.1 and 3.9.1: needs java and mvn
	KWIRE_E2E=1 $(E2E)/bin/python -m pytest -n 0 --timeout 0 tests/e2e

e2e-traffic: $(READY) $(E2E)/.ready  ## capture clients of many ages with brokers of 3.9.1, 4.0.0 and 4.1.1: needs tcpdump too
	KWIRE_E2E_TRAFFIC=1 $(PYTEST) -n 0 -s --timeout 0 tests/e2e_traffic

cluster: $(READY)  ## spark-submit to two workers on loopback, one of which is killed: needs java
	KWIRE_CLUSTER=1 $(PYTEST) -n 0 --timeout 0 tests/cluster

##@ Benchmarks

bench: $(BENCH)/.ready  ## measure against peers, interpreted and compiled
	$(BENCH)/bin/python -m benchmarks.native --rounds 30
	$(BENCH)/bin/python -m benchmarks.records
	$(BENCH)/bin/python -m benchmarks.import_cost
	$(BENCH)/bin/python -m benchmarks.compiler
	$(BENCH)/bin/python -m benchmarks.pipeline_scale

bench-codecs: $(BENCH)/.ready  ## measure codecs beside kafka-python and kio
	$(BENCH)/bin/python -m benchmarks.codecs

bench-native-all: $(BENCH)/.ready  ## compile and measure every codec module
	$(BENCH)/bin/python -m benchmarks.native --all --level 2

##@ Releases

dist: $(DIST)/.ready  ## build sdist and wheel into dist/
	rm -rf dist
	$(DIST)/bin/python -m build --outdir dist .

test-wheel: $(WHEEL)/.ready  ## the fast tests on the wheel of dist/ in place of the tree
	$(WHEEL)/bin/python $(PIP) --force-reinstall --no-deps dist/*.whl
	$(WHEEL)/bin/python -m pytest -m $(FAST) $(TESTS)

clean:  ## remove environments, caches and what was built
	rm -rf .venv* build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("kwire needs Python 3.11 or newer: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(INSTALL) '.[dev]'
	@touch $@

$(BENCH)/.ready $(E2E)/.ready $(FUZZ)/.ready: .venv-%/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python $(INSTALL) '.[$*]'
	@touch $@

$(OLDEST)/.ready: pyproject.toml constraints.txt .ci/oldest.py
	$(PYTHON) -m venv $(OLDEST)
	@mkdir -p build
	$(OLDEST)/bin/python .ci/oldest.py > build/oldest.txt
	$(OLDEST)/bin/python $(PIP) -c build/oldest.txt -e '.[dev]'
	@touch $@

$(DIST)/.ready: constraints.txt
	$(PYTHON) -m venv $(DIST)
	$(DIST)/bin/python $(PIP) -c constraints.txt build
	@touch $@

$(WHEEL)/.ready: pyproject.toml constraints.txt
	@test -n "$(wildcard dist/*.whl)" || { echo "build it first: make dist" >&2; exit 2; }
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python $(PIP) -c constraints.txt "$$(ls dist/*.whl)[dev]"
	@touch $@
