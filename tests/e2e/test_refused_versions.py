"""What brokers do about versions they do not have."""

from __future__ import annotations

import pytest

from kwire_kafka.errors import ErrorCode
from tests.e2e.client import Client, Closed
from tests.e2e.tally import Tally
from tests.e2e.walk import Walk
from tests.real_kafka.broker import Broker

API_VERSIONS = 18


def test_trap_06_an_unknown_version_of_api_versions_is_answered_in_version_0(walk: Walk) -> None:
    answer = walk.client.probe(API_VERSIONS, 99, header_version=2)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(api.api_key, api.min_version, api.max_version) for api in answer.api_keys] == [
        (API_VERSIONS, 0, walk.versions("ApiVersions")[-1])
    ]
    assert walk.latest("Metadata", topics=[]).brokers


@pytest.mark.parametrize("name", ["kafka_strict", "kafka_newest"])
def test_versions_that_kafka_4_removed_end_the_connection(
    kafka_before: Broker, name: str, request: pytest.FixtureRequest, tally: Tally
) -> None:
    """All that Kafka 3.9 lists and later releases do not, and Produce 0 to 2, which these list nevertheless."""
    later: Broker = request.getfixturevalue(name)
    with (
        Client(kafka_before.address, kafka_before.name, tally) as old,
        Client(later.address, later.name, tally) as new,
    ):
        removed = Walk(kafka_before, old).listed - Walk(later, new).listed
    assert len(removed) >= 27
    assert {(0, 0), (0, 1), (0, 2)} <= removed
    for api_key, version in sorted(removed):
        with Client(later.address, later.name, tally) as client, pytest.raises((Closed, ConnectionError)):
            client.probe(api_key, version)
