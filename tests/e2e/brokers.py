"""How the brokers of a run are set up, and a fixture that goes through them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.real_kafka.broker import Broker

ALL = ("kafka41", "kafka39", "kafka41_unstable")
"""The fixtures that are brokers. Clients meet the first two; the third speaks versions that may still change. (Those
of Kafka 3.9.1 were an early access to share groups, and it answers most of them with an error.)"""

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
PROPERTIES = {
    "delegation.token.secret.key": "secret",
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "group.consumer.migration.policy": "bidirectional",
    "connections.max.reauth.ms": "3600000",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
}


def each_of(*names: str) -> Any:
    """A fixture ``broker``: each of these fixtures in turn."""

    @pytest.fixture(scope="session", params=names)
    def broker(request: pytest.FixtureRequest) -> Broker:
        found: Broker = request.getfixturevalue(request.param)
        return found

    return broker
