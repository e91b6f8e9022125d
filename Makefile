# Every command sets itself up: the virtual environment is made on first use and renewed when the pins change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: generate test check

generate: $(READY)
	$(BIN)/kwirec generate message_defs/kafka --package kwire_kafka --out generated

test: $(READY)
	$(BIN)/python -m pytest

check: $(READY)
	$(BIN)/black --check compiler runtime tests benchmarks
	$(BIN)/ruff check compiler runtime tests benchmarks
	$(BIN)/mypy compiler/kwirec runtime/kwire

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("kwire needs Python 3.11 or newer; set PYTHON=…" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@
