"""End to end: brokers of several releases for the whole run, and its report. Runs with ``make e2e`` only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

if os.environ.get("KWIRE_E2E") == "1":
    pytest.register_assert_rewrite("tests.e2e")  # before anything of it is imported: helpers assert as tests do

from tests.e2e.brokers import ALL_GROUPS, FEATURES, MECHANISMS, PROPERTIES, STABLE, each_of
from tests.e2e.client import Client
from tests.e2e.tally import Tally
from tests.e2e.walk import Walk
from tests.real_kafka.broker import Broker
from tests.real_kafka.releases import BEFORE, NEWEST, STRICT

WANTED = os.environ.get("KWIRE_E2E") == "1"
collect_ignore_glob = [] if WANTED else ["test_*.py"]
LAST = ("test_coverage.py", "test_logs.py")
TALLY = pytest.StashKey[Tally]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TALLY] = Tally()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What was asked is counted, and the brokers' logs are read, when everybody has done what they do."""
    ends = [Path(__file__).with_name(name) for name in LAST]
    items.sort(key=lambda item: ends.index(item.path) if item.path in ends else -1)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """No process may be left behind: the brokers of all fixtures have been stopped by now."""
    left = [process.pid for process in Broker.started if process.poll() is None]
    if left:
        session.config.stash[TALLY].notes.append(f"LEFT BEHIND: processes {left}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not WANTED:
        return
    terminalreporter.section("end to end")
    for line in config.stash[TALLY].lines():
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def tally(pytestconfig: pytest.Config) -> Tally:
    return pytestconfig.stash[TALLY]


@pytest.fixture(scope="session")
def kafka_newest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """The newest release with groups of every kind, as it comes otherwise."""
    folder = tmp_path_factory.mktemp("newest")
    with Broker(NEWEST, folder, sasl=MECHANISMS, features=FEATURES, properties=PROPERTIES | ALL_GROUPS) as broker:
        yield broker


@pytest.fixture(scope="session")
def kafka_strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Kafka 4.0.0, which refuses more than any release before and after it."""
    with Broker(STRICT, tmp_path_factory.mktemp("strict"), sasl=MECHANISMS, properties=PROPERTIES) as broker:
        yield broker


@pytest.fixture(scope="session")
def kafka_before(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Kafka 3.9, which still speaks the versions that 4.0 removed."""
    with Broker(BEFORE, tmp_path_factory.mktemp("before"), sasl=MECHANISMS, properties=PROPERTIES) as broker:
        yield broker


@pytest.fixture(scope="session")
def kafka_unstable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """The newest release with all that is not released yet."""
    folder = tmp_path_factory.mktemp("unstable")
    settings = PROPERTIES | ALL_GROUPS
    with Broker(NEWEST, folder, sasl=MECHANISMS, unstable=True, features=FEATURES, properties=settings) as broker:
        yield broker


broker = each_of(*STABLE)


@pytest.fixture
def walk(broker: Broker, tally: Tally) -> Iterator[Walk]:
    """A fresh connection to a broker, without password."""
    with Client(broker.address, broker.name, tally) as client:
        yield Walk(broker, client)


@pytest.fixture
def at_controller(broker: Broker, tally: Tally) -> Iterator[Walk]:
    """The same for a connection to the listener of its controller."""
    with Client(broker.controller_address, f"{broker.name} controller", tally) as client:
        yield Walk(broker, client)
