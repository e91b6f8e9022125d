"""How the brokers of a run are set up, and a fixture that goes through them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.real_kafka.broker import Broker

STABLE = ("kafka_newest", "kafka_strict", "kafka_before")
"""The fixtures that are brokers: see `tests.real_kafka.releases`."""

ALL = (*STABLE, "kafka_unstable")
"""The last speaks versions that may still change. (Those of 3.9 and 4.0 were an early access to share groups, and
brokers answer most of them with an error.)"""

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
PROPERTIES = {
    "delegation.token.secret.key": "secret",
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "group.consumer.migration.policy": "bidirectional",
    "connections.max.reauth.ms": "3600000",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
}
ALL_GROUPS = {"group.coordinator.rebalance.protocols": "classic,consumer,share,streams"}
FEATURES = {"share.version": 1, "streams.version": 1}
"""What the newest release needs for groups of every kind."""


def each_of(*names: str) -> Any:
    """A fixture ``broker``: each of these fixtures in turn."""

    @pytest.fixture(scope="session", params=names)
    def broker(request: pytest.FixtureRequest) -> Broker:
        found: Broker = request.getfixturevalue(request.param)
        return found

    return broker
