# Every command sets itself up: the virtual environment is made on first use and renewed when the pins change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OURS := compiler runtime guide inspect spark testing tests tools benchmarks examples .ci/oldest.py .ci/pins.py
UNION := message_defs/kafka
KAFKA := $(UNION) --package kwire_kafka --out generated
CLOCKWORK := tests/data/clockwork --package clockwork_wire --out tests/generated

PAGES := README.md docs examples ARCHITECTURE.md CONTRIBUTING.md SECURITY.md CODE_OF_CONDUCT.md CHANGELOG.md
# Pages written by people: the others are compared with what writes them.
MARKDOWN = $(shell find $(PAGES) $(UNION)/guide tests/data changes .github -name '*.md' \
	-not -path 'docs/rules/*' -not -path 'docs/benchmarks/*' -not -path 'docs/commands/*' \
	-not -path docs/api.md -not -path docs/view.md)
SPELLED := $(PAGES) compiler runtime guide inspect spark testing templates tools message_defs

export BASE ?= main
FORMAT ?= text
TESTS ?=

FUZZ := .venv-fuzz
OLDEST := .venv-oldest
PEERS := .venv-peers
STORES := .venv-stores
WHEEL := .venv-wheel
VNU := build/vnu/package/build/dist/vnu.jar
PURE_WHEEL = $(wildcard dist/*-none-any.whl)
NATIVE_WHEEL = $(filter-out $(PURE_WHEEL),$(wildcard dist/*.whl))
FAST = "not spark and not releases and not slow and not long"
PYTEST := $(BIN)/python -m pytest
PIP = -m pip install --quiet --disable-pip-version-check
PINS := $(wildcard constraints/*.txt)
PINNED = $(PIP) --require-hashes --no-build-isolation

.PHONY: $(shell sed -n 's/^\([a-z][a-z0-9-]*\):.*\#\# .*/\1/p' $(firstword $(MAKEFILE_LIST)))

help:  ## list these commands
	@awk 'BEGIN { FS = ":.*## " } /^##@ / { print "\n" substr($$0, 5) } \
		/^[a-z][a-z0-9-]*:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

##@ While you work

test-fast: $(READY)  ## the tests without Spark and without whole releases, in about a minute; TESTS=tests/rules
	HYPOTHESIS_PROFILE=quick $(PYTEST) -m $(FAST) $(TESTS)

generate: $(READY)  ## compile message_defs/kafka into generated/, the small protocol of the tests, and models of an example
	$(BIN)/kwirec generate $(KAFKA)
	$(BIN)/kwirec generate --quiet $(CLOCKWORK)
	$(BIN)/kwirec emit pydantic --quiet $(UNION) --only 'CreateTopics*:7' --out examples/fastapi_service/wire_models

guide: $(READY)  ## write the protocol guide to site/: open site/index.html; URL=its address VERSION=0.1.0
	$(BIN)/kwirec guide $(UNION) --title "Kafka protocol" --package kwire_kafka $(PAGES:%=--docs %) --out site \
		$(if $(URL),--url $(URL)) $(if $(VERSION),--release $(VERSION))

guide-check: $(READY)  ## the tests of the guide in Chromium, with axe-core and the Nu HTML checker, and pictures in build/pictures: needs chromium, java and npm
	mkdir -p build/axe build/vnu
	test -f build/axe/package/axe.min.js || (cd build/axe && npm pack --silent axe-core@4.11.0 && tar xzf axe-core-4.11.0.tgz)
	test -f $(VNU) || (cd build/vnu && npm pack --silent vnu-jar@26.9.27 && tar xzf vnu-jar-26.9.27.tgz)
	KWIRE_AXE=$(CURDIR)/build/axe/package/axe.min.js KWIRE_VNU=$(CURDIR)/$(VNU) KWIRE_PICTURES=$(CURDIR)/build/pictures \
		$(PYTEST) tests/guide

snapshots: $(READY)  ## rewrite the snapshots of the tests and tests/generated: read the diff before you commit
	$(BIN)/kwirec generate --quiet $(CLOCKWORK)
	$(PYTEST) --snapshot-update $(TESTS)

native: $(READY)  ## compile runtime and codecs in place, what changed since the last time: needs a C compiler; MODULES=api/fetch
	$(BIN)/python -m tools.native $(if $(MODULES),--modules $(MODULES))

native-clean: $(READY)  ## remove what make native made: the tree is interpreted again
	$(BIN)/python -m tools.native --clean

docs: $(READY)  ## rewrite the pages of diagnostic codes, public names and commands, and the newest release in pages
	$(BIN)/kwirec rule-pages docs/rules
	$(BIN)/python -m tests.api_reference docs/api.md
	$(BIN)/python -m tools.command_pages
	$(BIN)/python -m tests.view_reference docs/view.md
	$(BIN)/kwirec dump --json-schema > docs/view.schema.json
	$(BIN)/python -m tools.pages

diff: $(READY)  ## what the working tree changes of the protocol since BASE=main; FORMAT=markdown, LEVEL=policy
# Compared with where the branch left BASE: later commits of BASE are not changes of the working tree.
	@$(BIN)/kwirec diff "git:$$BASE..." $(UNION) --format $(FORMAT) $(if $(LEVEL),--level $(LEVEL))

update: $(READY)  ## take in a Kafka release: RELEASE=4.5.0, or all that are missing; needs a JDK and mvn
	$(BIN)/python -m tools.update $(RELEASE)

update-check: $(READY)  ## name the releases that Maven has and the definitions lack, and fail if there are any
	@$(BIN)/python -m tools.update --check

##@ Before you push

test: $(READY)  ## the tests that need nothing but Python and Java and take less than a second each, in about four minutes
	$(PYTEST) -m "not slow and not long" $(TESTS)

test-slow: $(READY)  ## the tests that take a second or more, without the longest, in about seven minutes
	$(PYTEST) -m "slow and not long" $(TESTS)

test-long: $(READY)  ## the longest tests
	$(PYTEST) -m long $(TESTS)

test-all: test test-slow test-long  ## all of these tests

format: $(READY)  ## lay out Python, definitions and pages as make check expects them
	$(BIN)/black --quiet $(OURS)
	$(BIN)/ruff check --quiet --fix $(OURS)
	$(BIN)/kwirec fmt $(UNION)
	$(BIN)/mdformat $(MARKDOWN)

check: $(READY)  ## formatting, spelling, lint, types, definitions, and whether generated/ is up to date
	$(BIN)/black --quiet --check $(OURS)
	$(BIN)/ruff check --quiet $(OURS)
	$(BIN)/mdformat --check $(MARKDOWN)
	$(BIN)/codespell $(SPELLED)
	$(BIN)/mypy
	$(BIN)/kwirec check --format $(FORMAT) $(UNION)
	$(BIN)/kwirec fmt --check $(UNION)
	$(BIN)/kwirec generate --check --quiet $(KAFKA)

test-native-fast: native  ## the fast tests on the native build, which make native-clean removes; TESTS=tests/native
	KWIRE_NATIVE=1 HYPOTHESIS_PROFILE=quick $(PYTEST) -m $(FAST) $(TESTS)

##@ Nightly, or for what they cover

test-deep: $(READY)  ## all tests, with many times the examples of Hypothesis
	HYPOTHESIS_PROFILE=deep $(PYTEST) --timeout 3600 $(TESTS)

test-native: native  ## all tests on the native build
	KWIRE_NATIVE=1 $(PYTEST) $(TESTS)

test-oldest: $(OLDEST)/.ready  ## the fast tests on the oldest dependencies that pyproject.toml allows
	$(OLDEST)/bin/python -m pytest -m $(FAST) $(TESTS)

fuzz: $(FUZZ)/.ready  ## break messages, columns, records, connections and logs, guided by coverage
	$(FUZZ)/bin/python -m tests.fuzz.frames --frames 600000
	$(FUZZ)/bin/python -m tests.fuzz.columns --frames 300000 --fields 100000
	$(FUZZ)/bin/python -m tests.fuzz.records --runs 600000
	$(FUZZ)/bin/python -m tests.fuzz.connections --runs 400000
	$(FUZZ)/bin/python -m tests.fuzz.logs --runs 200000
	$(FUZZ)/bin/python -m tests.fuzz.brokers --frames 100000

sanitizer: $(READY)  ## the same, natively with AddressSanitizer: needs gcc and its libasan
	$(BIN)/python -m tests.native.sanitizer

attack: $(READY)  ## a million broken definitions, archives, captures, segments and logs, each under limits of its own
	$(BIN)/python -m tests.attack

pyright: $(READY)  ## check the types of all generated code as pyright's strict mode does, in about a minute
	$(BIN)/basedpyright -p tests/typing/pyright.json --pythonpath $(BIN)/python

crosscheck: $(READY)  ## compare franz-go's definitions with ours, version by version: needs git; REPOSITORY=clone COMMIT=…
	$(BIN)/python -m tools.crosscheck $(if $(REPOSITORY),--repository $(REPOSITORY)) $(if $(COMMIT),--commit $(COMMIT))

conformance: $(READY)  ## compare with Kafka's own classes, newest 3.x and newest release: needs a JDK and mvn
	$(BIN)/python -m tests.conformance $(if $(RELEASE),--release $(RELEASE))

conformance-all: $(READY)  ## the same for the newest release of every line since 2.5
	$(BIN)/python -m tests.conformance --all

conformance-code: $(READY)  ## compare what Kafka has only in code: Connect's workers, MirrorMaker 2, sticky assignors
	$(BIN)/python -m tests.conformance.in_code

conformance-older: $(READY)  ## compare what is known of releases before 2.2, which have no definitions, with their classes
	$(BIN)/python -m tools.older_releases

conformance-vectors: $(READY)  ## the same as conformance, and rewrite tests/data/conformance
	$(BIN)/python -m tests.conformance --update-vectors

rehearsal: $(READY)  ## give up the newest release in a clone, take it in with make update, and compare
	$(BIN)/python -m tools.rehearsal

e2e: $(PEERS)/.ready  ## talk to brokers of Kafka 3.9, 4.0 and the newest release: needs java and mvn
	KWIRE_E2E=1 $(PEERS)/bin/python -m pytest -n 0 --timeout 0 tests/e2e

fake-clients: $(PEERS)/.ready  ## clients in five languages against the fake broker as three releases: needs a JDK, mvn, go and npm for theirs; CLIENT=sarama
	$(PEERS)/bin/python -m tests.fake_clients $(if $(CLIENT),"$(CLIENT)")

fake-parity: $(READY)  ## the fake broker beside real ones of three releases, request by request: needs java and mvn
	KWIRE_FAKE_PARITY=1 $(PYTEST) -n 0 --timeout 0 tests/fake_parity

e2e-traffic: $(READY) $(PEERS)/.ready  ## capture clients of many ages with the same brokers: needs tcpdump, a JDK, go and node too
	KWIRE_E2E_TRAFFIC=1 $(PYTEST) -n 0 -s --timeout 0 tests/e2e_traffic

e2e-stores: $(STORES)/.ready  ## read and write stores: S3, Google, Azure, HDFS, a web server, a topic: needs a JDK, mvn, go, npm, openssl, cargo and a C compiler
	KWIRE_E2E_STORES=1 $(STORES)/bin/python -m pytest -n 0 --timeout 0 tests/e2e_stores

e2e-live: $(READY)  ## watch interfaces, a topic of packets and a Java client's TLS: needs java, mvn, openssl, dumpcap, tcpdump, and root
	KWIRE_E2E_LIVE=1 $(PYTEST) -n 0 -s --timeout 0 tests/e2e_live

dissector-check: $(READY)  ## compare the dissector for Wireshark with kwire on all recorded traffic, and measure it: needs tshark
	$(BIN)/kwirec emit wireshark $(UNION) --out build/wireshark
	$(BIN)/python -m tests.wireshark build/wireshark/kwire.lua

libraries: $(READY)  ## try client libraries of many ages with the same brokers, from which readiness gives advice: needs java, mvn, go and node
	$(BIN)/python -m tests.e2e_traffic.libraries

strangers: $(READY)  ## try clients in Go, Node, Rust and Python that no other test has: needs tcpdump, java, mvn, go, node and cargo
	$(BIN)/python -m tests.e2e_traffic.strangers

strangers-definitions: $(READY)  ## try all commands of kwirec on a folder of definitions: FOLDER=automq/clients/src/main/resources
	$(BIN)/python -m tests.strangers "$(FOLDER)"

cluster: $(READY)  ## spark-submit to two workers on loopback, one of which is killed: needs java
	KWIRE_CLUSTER=1 $(PYTEST) -n 0 --timeout 0 tests/cluster

##@ Benchmarks

bench: $(PEERS)/.ready  ## measure against peers, interpreted and compiled
	$(PEERS)/bin/python -m benchmarks.native --rounds 30
	$(PEERS)/bin/python -m benchmarks.proxy
	$(PEERS)/bin/python -m benchmarks.fake_broker --brokers 10000
	$(PEERS)/bin/python -m benchmarks.records
	$(PEERS)/bin/python -m benchmarks.import_cost
	$(PEERS)/bin/python -m benchmarks.compiler
	$(PEERS)/bin/python -m benchmarks.pipeline_scale
	$(PEERS)/bin/python -m benchmarks.readiness
	$(PEERS)/bin/python -m benchmarks.report_page

bench-captures: $(PEERS)/.ready  ## measure readiness of 1 GB and 4 GB, interpreted: by the local engine, Spark and tshark
	$(PEERS)/bin/python -m benchmarks.readiness --mb 1000 4000 --rounds 1

bench-peers: $(PEERS)/.ready  ## measure beside peers in Python, Go, Rust and Java, and write docs/benchmarks
	$(PEERS)/bin/python -m benchmarks.peers

bench-codecs: $(PEERS)/.ready  ## measure codecs beside kafka-python and kio
	$(PEERS)/bin/python -m benchmarks.codecs

bench-native-all: $(PEERS)/.ready  ## compile and measure every codec module
	$(PEERS)/bin/python -m benchmarks.native --all --level 2

##@ Releases

dist: $(READY)  ## build the sdist and the pure wheel into dist/
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .

wheels: dist  ## the same, and the native wheel of this platform and Python: needs a C compiler
	KWIRE_NATIVE=1 $(BIN)/python -m build --no-isolation --wheel --outdir dist .

test-wheel: $(WHEEL)/.ready  ## the fast tests on a wheel of dist/ in place of the tree; WHEEL_OF=native
	$(WHEEL)/bin/python $(PIP) --force-reinstall --no-deps $(if $(filter native,$(WHEEL_OF)),$(NATIVE_WHEEL),$(PURE_WHEEL))
	$(WHEEL)/bin/python -m pytest -m $(FAST) $(TESTS)

release-rehearsal: $(READY)  ## make a release in a clone and try its files on every Python here: VERSION=0.1.0 PYTHONS="python3.11 …"
	$(BIN)/python -m tools.release rehearse $(or $(VERSION),0.1.0)

pins:  ## renew constraints/*.txt, the versions and digests of all that is installed; OPTIONS=--upgrade
	$(PYTHON) -m venv .venv-pins
	.venv-pins/bin/python $(PIP) pip-tools
	.venv-pins/bin/python .ci/pins.py $(OPTIONS)

clean:  ## remove environments, caches and what was built
	rm -rf .venv* build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(READY): pyproject.toml $(PINS)
	@$(PYTHON) -c 'import sys; sys.exit("kwire needs Python 3.11 or newer: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PINNED) -r constraints/build.txt
	$(BIN)/python $(PINNED) -r constraints/dev.txt
	$(BIN)/python $(PIP) --no-build-isolation --no-deps -e .
	@touch $@

$(PEERS)/.ready $(FUZZ)/.ready $(STORES)/.ready: .venv-%/.ready: pyproject.toml $(PINS)
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python $(PINNED) -r constraints/build.txt
	.venv-$*/bin/python $(PINNED) -r constraints/dev.txt -r constraints/$*.txt
	.venv-$*/bin/python $(PIP) --no-build-isolation --no-deps -e .
	@touch $@

# The oldest versions have no digests here: no user and no release gets what is installed there.
$(OLDEST)/.ready: pyproject.toml .ci/oldest.py
	$(PYTHON) -m venv $(OLDEST)
	@mkdir -p build
	$(OLDEST)/bin/python .ci/oldest.py > build/oldest.txt
	$(OLDEST)/bin/python $(PIP) -c build/oldest.txt -e '.[dev]'
	@touch $@

$(WHEEL)/.ready: pyproject.toml $(PINS)
	@test -n "$(wildcard dist/*.whl)" || { echo "build it first: make dist" >&2; exit 2; }
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python $(PINNED) -r constraints/build.txt
	$(WHEEL)/bin/python $(PINNED) -r constraints/dev.txt
	@touch $@
