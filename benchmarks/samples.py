"""The messages to measure, built by kwire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from types import ModuleType
from typing import Any

RECORDS = bytes(range(256)) * 4
"""1 KB in place of records, which no library decodes."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A message in a version. ``make`` builds the message from the classes in ``module``."""

    title: str
    module: str
    name: str
    version: int
    make: Callable[[ModuleType], Any]


def _metadata(replicas: int, topics: int = 1000, partitions: int = 12) -> Callable[[ModuleType], Any]:
    def partition(m: ModuleType, topic: int, number: int) -> Any:
        nodes = [(topic + number + step) % 6 for step in range(replicas)]
        return m.MetadataResponsePartition(
            partition_index=number,
            leader_id=nodes[0],
            leader_epoch=7 + number,
            replica_nodes=nodes,
            isr_nodes=nodes,
        )

    def topic(m: ModuleType, number: int) -> Any:
        return m.MetadataResponseTopic(
            name=f"topic-{number:04d}",
            topic_id=m.Uuid(((number + 1) * 0x123456789ABCDEF0123).to_bytes(16, "big")),
            partitions=[partition(m, number, index) for index in range(partitions)],
        )

    def make(m: ModuleType) -> Any:
        return m.MetadataResponse(
            brokers=[
                m.MetadataResponseBroker(
                    node_id=node, host=f"broker-{node}.example.com", port=9092, rack=f"rack-{node % 3}"
                )
                for node in range(6)
            ],
            cluster_id="cluster-abc",
            controller_id=1,
            topics=[topic(m, number) for number in range(topics)],
        )

    return make


def _fetch(m: ModuleType) -> Any:
    partitions = [
        m.PartitionData(
            partition_index=number,
            high_watermark=1000 + number,
            last_stable_offset=1000,
            log_start_offset=0,
            aborted_transactions=None,
            preferred_read_replica=-1,
            records=RECORDS,
        )
        for number in range(50)
    ]
    topic = m.FetchableTopicResponse(topic_id=m.Uuid((0x1234567890).to_bytes(16, "big")), partitions=partitions)
    return m.FetchResponse(session_id=5, responses=[topic])


def _produce(m: ModuleType) -> Any:
    partitions = [m.PartitionProduceData(index=number, records=RECORDS) for number in range(50)]
    topic = m.TopicProduceData(name="topic-a", partition_data=partitions)
    return m.ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic])


def _api_versions(m: ModuleType) -> Any:
    return m.ApiVersionsResponse(
        api_keys=[m.ApiVersion(api_key=key, min_version=0, max_version=key % 14) for key in range(60)],
        supported_features=[
            m.SupportedFeatureKey(name="metadata.version", min_version=1, max_version=25),
            m.SupportedFeatureKey(name="kraft.version", min_version=0, max_version=1),
        ],
        finalized_features_epoch=77,
        finalized_features=[
            m.FinalizedFeatureKey(name="metadata.version", max_version_level=25, min_version_level=25)
        ],
    )


METADATA = Sample(
    title="Metadata response v12, 1,000 topics x 12 partitions, 3 replicas",
    module="api.metadata",
    name="MetadataResponse",
    version=12,
    make=_metadata(3),
)
METADATA_SMALL = replace(METADATA, title="Metadata response v12, 3 topics x 6 partitions", make=_metadata(3, 3, 6))
FETCH = Sample(
    title="Fetch response v13, 50 partitions x 1 KB",
    module="api.fetch",
    name="FetchResponse",
    version=13,
    make=_fetch,
)
PRODUCE = Sample(
    title="Produce request v9, 50 partitions x 1 KB",
    module="api.produce",
    name="ProduceRequest",
    version=9,
    make=_produce,
)
API_VERSIONS = Sample(
    title="ApiVersions response v3, 60 APIs",
    module="api.api_versions",
    name="ApiVersionsResponse",
    version=3,
    make=_api_versions,
)

SAMPLES = (
    replace(METADATA, title="Metadata response v12, 1,000 topics x 12 partitions, 1 replica", make=_metadata(1)),
    METADATA,
    FETCH,
    PRODUCE,
    API_VERSIONS,
)

PACKAGE = "kwire_kafka"
MODULES = tuple(dict.fromkeys(sample.module for sample in SAMPLES))


def load() -> dict[str, ModuleType]:
    """Import the codec modules of the samples from the current path, and return them by name."""
    return {name: import_module(f"{PACKAGE}.{name}") for name in MODULES}
