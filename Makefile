# Every command sets itself up: the virtual environment is made on first use and renewed when the pins change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OURS := compiler runtime pipeline tests benchmarks docs/examples
UNION := message_defs/kafka
KAFKA := $(UNION) --package kwire_kafka --out generated

export BASE ?= main
FORMAT ?= text

BENCH := .venv-bench
E2E := .venv-e2e
FUZZ := .venv-fuzz
INSTALL = -m pip install --quiet --disable-pip-version-check -c constraints.txt -e

.PHONY: help generate test check diff update snapshots docs bench bench-codecs bench-native-all test-native conformance conformance-vectors e2e e2e-traffic cluster fuzz clean

help:
	@echo "make generate     compile message_defs/kafka into generated/kwire_kafka"
	@echo "make test         run the tests"
	@echo "make check        types, lint, definitions, generated tree up to date"
	@echo "make diff         what the working tree changes of the protocol since BASE=main; FORMAT=markdown, LEVEL=policy"
	@echo "make update       take in a release: SPEC=\"kafka-*-4.2.0.jar\" RELEASE=4.2.0"
	@echo "make snapshots    rewrite the snapshots of the tests: read them before you commit"
	@echo "make docs         rewrite the page of every diagnostic code"
	@echo "make bench        measure against peers, interpreted and compiled, in an environment of its own"
	@echo "make test-native  compile codecs with mypyc and run round trips on them"
	@echo "make fuzz         break records, connections and logs a million times, guided by coverage"
	@echo "make conformance  compare with Kafka's own classes, 3.9.1 and 4.1.1: needs a JDK and mvn"
	@echo "                  (make conformance-vectors also writes tests/data/conformance anew)"
	@echo "make e2e          talk to real brokers of Kafka 4.1.1 and 3.9.1: needs java and mvn"
	@echo "make e2e-traffic  capture clients of many ages at real brokers of 3.9.1, 4.0.0 and 4.1.1: needs tcpdump too"
	@echo "make cluster      spark-submit to a cluster of two workers on loopback, one of which is killed: needs java"

generate: $(READY)
	$(BIN)/kwirec generate $(KAFKA)

test: $(READY)
	$(BIN)/python -m pytest

check: $(READY)
	$(BIN)/black --quiet --check $(OURS)
	$(BIN)/ruff check --quiet $(OURS)
	$(BIN)/mypy
	$(BIN)/kwirec check --format $(FORMAT) $(UNION)
	$(BIN)/kwirec generate --check --quiet $(KAFKA)

# Where the branch left BASE: what BASE got since then is not taken back by the working tree.
diff: $(READY)
	@tip=$$(git rev-parse --quiet --verify "$$BASE^{commit}") || \
		{ echo "there is no revision $$BASE here: fetch it, or name another with BASE=" >&2; exit 2; }; \
	left=$$(git merge-base "$$tip" HEAD) && test "$$left" != "$$tip" || left=$$BASE; \
	$(BIN)/kwirec diff "git:$$left" $(UNION) --format $(FORMAT) $(if $(LEVEL),--level $(LEVEL))

# A new release has fields that nobody has described yet, and may have taken versions away: findings do not stop it.
update: REPORT = build/diff-$(RELEASE).md
update: BEFORE = import json; r = list(json.load(open("$(UNION)/releases.json"))); print(r[r.index("$(RELEASE)") - 1])
update: REPORTED = --level policy --format markdown
update: $(READY)
	@test -n '$(SPEC)' && test -n '$(RELEASE)' || \
		{ echo 'which release? make update SPEC="jars or source folders of all its modules" RELEASE=4.2.0' >&2; exit 2; }
	$(BIN)/kwirec merge --release $(RELEASE) $(SPEC) --into $(UNION)
	$(BIN)/kwirec generate --quiet $(KAFKA) || test $$? -eq 1
	@mkdir -p build
	@$(BIN)/kwirec diff release:$$($(BIN)/python -c '$(BEFORE)') release:$(RELEASE) $(REPORTED) > $(REPORT) || test $$? -eq 1
	@$(BIN)/kwirec diff git:HEAD $(UNION) $(REPORTED) >> $(REPORT) || test $$? -eq 1
	@echo 'now read $(REPORT), and in CONTRIBUTING.md "A new Kafka release" for what is left to do'

snapshots: $(READY)
	$(BIN)/python -m pytest --snapshot-update

docs: $(READY)
	$(BIN)/kwirec rule-pages docs/rules

bench: $(BENCH)/.ready
	$(BENCH)/bin/python -m benchmarks.native --rounds 30
	$(BENCH)/bin/python -m benchmarks.records
	$(BENCH)/bin/python -m benchmarks.import_cost
	$(BENCH)/bin/python -m benchmarks.compiler
	$(BENCH)/bin/python -m benchmarks.pipeline_scale

bench-codecs: $(BENCH)/.ready
	$(BENCH)/bin/python -m benchmarks.codecs

bench-native-all: $(BENCH)/.ready
	$(BENCH)/bin/python -m benchmarks.native --all --level 2

test-native: $(READY)
	KWIRE_NATIVE=1 $(BIN)/python -m pytest -n 0 tests/native

conformance: $(READY)
	$(BIN)/python -m tests.conformance

conformance-vectors: $(READY)
	$(BIN)/python -m tests.conformance --update-vectors

e2e: $(E2E)/.ready
	KWIRE_E2E=1 $(E2E)/bin/python -m pytest -n 0 tests/e2e

e2e-traffic: $(READY) $(E2E)/.ready
	KWIRE_E2E_TRAFFIC=1 $(BIN)/python -m pytest -n 0 -s tests/e2e_traffic

cluster: $(READY)
	KWIRE_CLUSTER=1 $(BIN)/python -m pytest -n 0 tests/cluster

fuzz: $(FUZZ)/.ready
	$(FUZZ)/bin/python -m tests.fuzz.records --runs 600000
	$(FUZZ)/bin/python -m tests.fuzz.connections --runs 400000
	$(FUZZ)/bin/python -m tests.fuzz.logs --runs 200000

clean:
	rm -rf $(VENV) $(BENCH) $(E2E) $(FUZZ) build .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("kwire needs Python 3.11 or newer: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(INSTALL) '.[dev]'
	@touch $@

$(BENCH)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python $(INSTALL) '.[bench]'
	@touch $@

$(E2E)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(E2E)
	$(E2E)/bin/python $(INSTALL) '.[e2e]'
	@touch $@

$(FUZZ)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(FUZZ)
	$(FUZZ)/bin/python $(INSTALL) '.[fuzz]'
	@touch $@
