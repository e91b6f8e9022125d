"""The fake broker beside real ones of three releases. Runs with ``make fake-parity`` only."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from kwire_kafka.releases import RELEASES
from tests.real_kafka.broker import Broker
from tests.real_kafka.request_log import ZooKeeperBroker

collect_ignore_glob = [] if os.environ.get("KWIRE_FAKE_PARITY") == "1" else ["test_*.py"]
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
RELEASE_LINES = ("2.8.2", RELEASES["3.9"].name, RELEASES.newest.name)
PROPERTIES = {"group.coordinator.rebalance.protocols": "classic,consumer"}


@pytest.fixture(scope="session", params=RELEASE_LINES)
def real(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker of each release, with ZooKeeper before 3.3."""
    name, old = request.param, request.param.startswith("2.")
    properties = {key: value for key, value in PROPERTIES.items() if not (old and "protocols" in key)}
    kind = ZooKeeperBroker if old else Broker
    with kind(name, tmp_path_factory.mktemp(name), sasl=MECHANISMS, properties=properties) as broker:
        yield broker
