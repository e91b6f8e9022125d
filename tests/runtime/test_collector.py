"""Python's collector of garbage does not run while large messages are decoded, and runs afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from kwire import DecodeError
from kwire_kafka import MetadataResponse
from kwire_kafka.api.metadata import MetadataResponsePartition, MetadataResponseTopic

PARTITIONS = [MetadataResponsePartition(replica_nodes=[1, 2, 3]) for _ in range(2000)]
DATA = MetadataResponse(topics=[MetadataResponseTopic(partitions=PARTITIONS)]).encode(12)


@pytest.fixture
def collections() -> Iterator[list[str]]:
    """The phases of collections that happen during the test, with the collector in its usual state."""
    seen: list[str] = []

    def called(phase: str, info: dict[str, int]) -> None:
        seen.append(phase)

    thresholds = gc.get_threshold()
    gc.collect()
    gc.set_threshold(700, 10, 10)
    gc.callbacks.append(called)
    yield seen
    gc.callbacks.remove(called)
    gc.set_threshold(*thresholds)
    assert gc.isenabled()


def test_nothing_is_collected_while_a_large_message_is_decoded(collections: list[str]) -> None:
    seen = []
    for decode in (lambda: MetadataResponse.decode(DATA, 12), lambda: MetadataResponse.decode_from(DATA, 12)):
        collections.clear()
        decode()
        seen.append(len(collections) <= 2)  # at most one afterwards
    assert seen == [True, True]
    assert gc.isenabled()


def test_the_collector_runs_after_an_error(collections: list[str]) -> None:
    with pytest.raises(DecodeError):
        MetadataResponse.decode(DATA[:-1], 12)
    assert gc.isenabled()


def test_a_collector_that_was_stopped_stays_so(collections: list[str]) -> None:
    gc.disable()
    try:
        MetadataResponse.decode(DATA, 12)
        assert not gc.isenabled()
    finally:
        gc.enable()
