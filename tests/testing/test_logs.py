"""Topics of a fake broker: what is produced comes back, as each release would have it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.client import BrokerError, Client
from kwire.compression import Codec
from kwire.records import Record, encode_batch, encode_message_set, read_batches
from kwire.schema import present_fields, struct_class
from kwire.struct import Struct
from kwire_kafka import (
    PROTOCOL,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    FetchRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
)
from kwire_kafka.api.create_partitions import CreatePartitionsTopic
from kwire_kafka.api.create_topics import CreatableTopic, CreatableTopicConfig
from kwire_kafka.api.delete_topics import DeleteTopicState
from kwire_kafka.api.describe_configs import DescribeConfigsResource
from kwire_kafka.api.fetch import FetchPartition, FetchTopic
from kwire_kafka.api.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from kwire_kafka.api.metadata import MetadataRequestTopic
from kwire_kafka.api.offset_for_leader_epoch import OffsetForLeaderPartition, OffsetForLeaderTopic
from kwire_kafka.errors import ErrorCode
from kwire_kafka.releases import RELEASES
from kwire_testing import FakeBroker
from tests.testing.talking import ask, connected, get, ids, send, talk

TEN = ("0.10.0", "0.10.2", "1.0", "1.1", "2.2", "2.8", "3.3", "3.9", "4.0", RELEASES.newest.name)
BATCH = encode_batch([Record(b"k", b"a", timestamp=10), Record(b"k", b"b", timestamp=20)])


def values(data: bytes | None) -> list[tuple[int, bytes | None]]:
    return [(record.offset, record.value) for batch in read_batches(data) for record in batch]


@pytest.mark.parametrize("release", TEN)
def test_what_is_produced_is_fetched(release: str) -> None:
    async def run(client: Client) -> Any:
        data = BATCH if client.version(ProduceRequest) >= 3 else encode_message_set(list(next(read_batches(BATCH))))
        offsets = [(await send(client, "orders", data)).base_offset for _ in range(2)]
        return offsets, values((await get(client, "orders", 1)).records)

    with_both = [(0, b"a"), (1, b"b"), (2, b"a"), (3, b"b")]
    offsets, found = talk(FakeBroker(release, {"orders": 2}), run)
    assert offsets == [0, 2]
    assert found == [row for row in with_both if row in found]
    assert found[-3:] == with_both[1:]


@pytest.mark.slow
@given(
    st.lists(
        st.lists(
            st.builds(Record, st.none() | st.binary(max_size=9), st.binary(max_size=99)), min_size=1, max_size=5
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(Codec),
)
def test_batches_come_back_as_they_were_sent(batches: list[list[Record]], codec: Codec) -> None:
    """Only the offset and the epoch of the leader are set, which no checksum covers."""
    sent = [encode_batch(records, codec=codec) for records in batches]

    async def run(client: Client) -> bytes:
        for data in sent:
            assert (await send(client, "orders", data)).error_code == 0
        found: bytes = (await get(client, "orders")).records
        return found

    found = list(read_batches(talk(FakeBroker("3.9", {"orders": 1}), run)))
    assert [batch.data[16:] for batch in found] == [data[16:] for data in sent]
    assert [record.offset for batch in found for record in batch] == list(range(sum(map(len, batches))))


@pytest.mark.parametrize(("version", "magic"), [(1, 0), (3, 1), (4, 2)])
def test_older_versions_of_fetch_get_older_records(version: int, magic: int) -> None:
    request = FetchRequest(
        topics=[FetchTopic(topic="t", partitions=[FetchPartition(partition=0, partition_max_bytes=99)])], max_bytes=99
    )

    async def run(client: Client) -> Any:
        await send(client, "t", BATCH)
        return (await ask(client, request, version)).responses[0].partitions[0].records

    found = list(read_batches(talk(FakeBroker("3.9", {"t": 1}), run)))
    assert {batch.magic for batch in found} == {magic}
    assert [record.value for batch in found for record in batch] == [b"a", b"b"]


def test_old_message_sets_get_their_offsets() -> None:
    records = [Record(b"k", b"a"), Record(b"k", b"b")]
    plain = encode_message_set(records)
    packed = [encode_message_set(records, magic=magic, codec=Codec.GZIP) for magic in (0, 1)]

    async def run(client: Client) -> Any:
        for data in (plain, *packed):
            await send(client, "t", data)
        return values((await get(client, "t")).records)

    assert talk(FakeBroker("0.10.0", {"t": 1}), run) == [(at, b"ab"[at % 2 : at % 2 + 1]) for at in range(6)]


def test_a_damaged_batch_is_refused() -> None:
    async def run(client: Client) -> list[int]:
        return [(await send(client, "t", data)).error_code for data in (BATCH[:-1] + b"x", BATCH[:20], b"")]

    found = talk(FakeBroker("3.9", {"t": 1}), run)
    assert found == [ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD, ErrorCode.INVALID_RECORD]


def test_a_fetch_waits_for_records() -> None:
    async def run() -> Any:
        async with FakeBroker("3.9", {"t": 1}) as broker, connected(broker) as client:
            waiting = asyncio.ensure_future(get(client, "t", max_wait_ms=60_000))
            while len(broker.requests) < 3:
                await asyncio.sleep(0)
            broker.produce("t", b"late")
            first = values((await waiting).records)
            waiting = asyncio.ensure_future(get(client, "t", 1, max_wait_ms=60_000))
            while len(broker.requests) < 5:
                await asyncio.sleep(0)
            broker.advance(60)
            return first, (await waiting).records

    assert asyncio.run(run()) == ([(0, b"late")], b"")


def test_a_fetch_session_tells_only_what_changed() -> None:
    async def run() -> Any:
        async with FakeBroker("3.9", {"t": 2}) as broker, connected(broker) as client:
            topic_id = (await ids(client))["t"]
            wanted = [FetchPartition(partition=index, partition_max_bytes=99) for index in (0, 1)]
            topics = [FetchTopic(topic_id=topic_id, partitions=wanted)]
            first = await ask(client, FetchRequest(topics=topics, session_epoch=0))
            broker.produce("t", b"x", partition=1)
            later = [
                await ask(client, FetchRequest(session_id=first.session_id, session_epoch=epoch, max_bytes=99))
                for epoch in (1, 1)
            ]
            unknown = await ask(client, FetchRequest(session_id=99, session_epoch=1))
            return first, *later, unknown

    first, second, wrong, unknown = asyncio.run(run())
    told = [[part.partition_index for topic in one.responses for part in topic.partitions] for one in (first, second)]
    assert told == [[0, 1], [1]]
    assert wrong.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert unknown.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize(
    ("timestamp", "expected"), [(-1, (-1, 2)), (-2, (-1, 0)), (-3, (20, 1)), (11, (20, 1)), (21, (-1, -1))]
)
def test_offsets_are_listed_by_time(timestamp: int, expected: tuple[int, int]) -> None:
    part = ListOffsetsPartition(partition_index=0, timestamp=timestamp)

    async def run(client: Client) -> Any:
        await send(client, "t", BATCH)
        return await ask(client, ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=[part])]))

    found = talk(FakeBroker("3.9", {"t": 1}), run).topics[0].partitions[0]
    assert (found.timestamp, found.offset) == expected


def test_topics_are_made_extended_and_removed() -> None:
    async def run(client: Client) -> list[Any]:
        made = [CreatableTopic(name=name, num_partitions=2, replication_factor=1) for name in ("a", "d", "d", "b c")]
        made.append(CreatableTopic(name="r", num_partitions=1, replication_factor=3))
        created = await ask(client, CreateTopicsRequest(topics=made))
        again = await ask(client, CreateTopicsRequest(topics=made[:1]))
        extended = []
        for count in (3, 1):
            asked = CreatePartitionsTopic(name="a", count=count, assignments=None)
            extended += (await ask(client, CreatePartitionsRequest(topics=[asked]))).results
        [described] = (await ask(client, MetadataRequest(topics=None))).topics
        named = [DeleteTopicState(name="a"), DeleteTopicState(topic_id=described.topic_id)]
        deleted = await ask(client, DeleteTopicsRequest(topics=named))
        left = await ask(client, MetadataRequest(topics=None))
        return [
            [topic.error_code for topic in created.topics],
            [topic.error_code for topic in again.topics],
            [topic.error_code for topic in extended],
            (described.name, len(described.partitions)),
            [topic.error_code for topic in deleted.responses],
            left.topics,
        ]

    assert talk(FakeBroker("3.9"), run) == [
        [0, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.INVALID_REPLICATION_FACTOR],
        [ErrorCode.TOPIC_ALREADY_EXISTS],
        [0, ErrorCode.INVALID_PARTITIONS],
        ("a", 3),
        [0, ErrorCode.UNKNOWN_TOPIC_ID],
        [],
    ]


def test_settings_are_described() -> None:
    async def run(client: Client) -> Any:
        config = CreatableTopicConfig(name="cleanup.policy", value="compact")
        made = CreatableTopic(name="a", num_partitions=1, replication_factor=1, configs=[config])
        await ask(client, CreateTopicsRequest(topics=[made]))
        asked = [
            DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
            for kind, name, keys in ((2, "a", ["cleanup.policy", "retention.ms"]), (2, "b", None), (4, "1", ["none"]))
        ]
        found = (await ask(client, DescribeConfigsRequest(resources=asked))).results
        return [(one.error_code, [(row.name, row.value, row.config_source) for row in one.configs]) for one in found]

    assert talk(FakeBroker("3.9"), run) == [
        (0, [("cleanup.policy", "compact", 1), ("retention.ms", "604800000", 5)]),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []),
        (0, []),
    ]


@pytest.mark.parametrize(("auto_create", "error"), [(True, 0), (False, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)])
def test_metadata_makes_topics_if_it_may(auto_create: bool, error: int) -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="new")])
    found = talk(FakeBroker("3.9", auto_create=auto_create), lambda client: ask(client, request))
    assert [topic.error_code for topic in found.topics] == [error]


def test_three_nodes_are_one_cluster() -> None:
    async def run() -> Any:
        async with FakeBroker("3.9", {"t": 3}, nodes=3) as broker, connected(broker) as client:
            cluster = await ask(client, DescribeClusterRequest(endpoint_type=1))
            errors = [(await send(client, "t", BATCH, partition)).error_code for partition in range(3)]
            broker.move("t", 1, 1)
            errors.append((await send(client, "t", BATCH, 1)).error_code)
            part = OffsetForLeaderPartition(partition=1, current_leader_epoch=1, leader_epoch=0)
            asked = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="t", partitions=[part])])
            ended = (await ask(client, asked)).topics[0].partitions[0]
            addresses = [f"{node.host}:{node.port}" for node in cluster.brokers]
            return addresses == broker.bootstrap_servers.split(","), errors, (ended.leader_epoch, ended.end_offset)

    other = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert asyncio.run(run()) == (True, [0, other, other, 0], (0, 0))


def filled(cls: type[Struct], version: int) -> Any:
    """A request with one element in each array, about the topic ``t`` and the group ``t``."""
    made: Any = cls(acks=1) if cls is ProduceRequest else cls()
    for field in present_fields(cls, version):
        if field.name == "forgotten_topics_data":
            continue
        inner = struct_class(cls, field)
        if field.type.startswith("[]"):
            element: Any = filled(inner, version) if inner else "t" if field.type == "[]string" else 0
            setattr(made, field.name, [element])
        elif field.type == "string":
            setattr(made, field.name, "t")
    return made


@pytest.mark.slow
@pytest.mark.parametrize("release", TEN)
def test_a_broker_answers_what_it_advertises(release: str) -> None:
    """Every API in every version that the release accepts."""

    async def run() -> None:
        async with FakeBroker(release, {"t": 1}) as broker:
            async with connected(broker) as client:
                offered = client.versions
            for key, versions in offered.items():
                for version in {*versions} & {*RELEASES[release].apis[key].accepted}:
                    async with connected(broker) as client:
                        await ask(client, filled(PROTOCOL.request(key), version), version)

    asyncio.run(run())


def test_a_broker_before_0_10_has_no_versions() -> None:
    with pytest.raises(BrokerError, match="closed the connection"):
        talk(FakeBroker("0.9"), ids)


def test_a_version_that_the_release_refuses_ends_the_connection() -> None:
    async def run(client: Client) -> None:
        assert 2 in client.versions[0]  # Produce 2 is advertised since 4.0, and refused [KAFKA-18659]
        with pytest.raises(BrokerError, match="closed the connection"):
            await ask(client, ProduceRequest(acks=1), 2)

    talk(FakeBroker("4.0"), run)
