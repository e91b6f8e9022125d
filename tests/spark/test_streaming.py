"""Streams of packets come to what the same packets in one capture come to, wherever batches begin and end."""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, cast, get_args
from unittest.mock import MagicMock

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadMaxFiles
from pyspark.sql.streaming.query import StreamingQuery

from kwire.connection.events import CLIENT, SERVER
from kwire.message import Message
from kwire.protocol import MessageRegistry
from kwire.records import Record, encode_batch
from kwire.secrets import METADATA_TOPIC_ID
from kwire_inspect.capture import Broken, Peer, read_pieces
from kwire_inspect.capture.packet_files import file_packets
from kwire_inspect.capture.packets import Packet, reverse
from kwire_inspect.connections import frame_batches
from kwire_inspect.connections.batches import TABLES, Budget, ConnectionProjection, Table
from kwire_inspect.connections.connection import NOT_YET
from kwire_inspect.options import Options
from kwire_inspect.reasons import NO_FRAME, PARTIAL, STRAY, UNDECIDED
from kwire_inspect.rows import LAYOUTS, Row
from kwire_inspect.schemas import CLIENTS, EXCHANGES, PACKETS
from kwire_inspect.tables.clients import EXCHANGE_COLUMNS, KEYS, clients
from kwire_kafka import (
    PROTOCOL,
    AlterConfigsRequest,
    AlterUserScramCredentialsRequest,
    EnvelopeRequest,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    RenewDelegationTokenRequest,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kwire_kafka.api.alter_configs import AlterableConfig, AlterConfigsResource
from kwire_kafka.api.alter_user_scram_credentials import ScramCredentialUpsertion
from kwire_kafka.api.fetch import FetchableTopicResponse, FetchTopic, PartitionData
from kwire_spark.packets import packet_batches
from kwire_spark.sources.packets import PacketStream
from kwire_spark.streams import connections, follow, keep_clients, packets_in, topic
from kwire_spark.streams.connections import UPDATED, Follower, too_late
from kwire_spark.streams.ends import STATE, STORED_BY, Ends
from kwire_spark.streams.keeping import add_batch
from kwire_spark.types import spark_schema
from tests.inspect.test_late_captures import OTHER_PORTS
from tests.support.capture_files import (
    ALICE,
    BROKER,
    RST,
    Conversation,
    Segment,
    TcpPacket,
    merged,
    packets,
    recorded,
    write_pcap,
)
from tests.support.capture_files import frame as link_frame
from tests.support.effort import examples
from tests.support.report_rows import client, exchange, in_spark
from tests.support.tls_talks import Tls

RECORDING = "kafka-python-on-3.9.1"
ETHERNET = 1
BATCHES_WITHOUT_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"
OTHER = Peer("10.0.0.2", 50413)

UNUSUAL = bytes((10, 0, 0, 1, 10, 0, 0, 9, 4, 0, 195, 80))
"""The key of packets from port 1024 to port 50000."""


def capture_of(path: Path, part: int = 0, parts: int = 1) -> Path:
    """A part of the recording's packets, as they follow each other."""
    found = merged(packets(one) for one in recorded(RECORDING))
    size = -(-len(found) // parts)
    write_pcap(path, found[part * size : (part + 1) * size])
    return path


def in_one_go(path: Path) -> list[dict[str, Any]]:
    batches = list(frame_batches(read_pieces([str(path)])))
    rows: list[dict[str, Any]] = pa.Table.from_batches(batches).to_pylist()
    return rows


@pytest.fixture
def stream(spark: SparkSession) -> Iterator[SparkSession]:
    """With one task for each batch: starting more takes longer than all of the work."""
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield spark
    spark.conf.set("spark.sql.shuffle.partitions", partitions or "2")
    spark.conf.unset(BATCHES_WITHOUT_DATA)


def taken(rows: DataFrame, folder: Path) -> StreamingQuery:
    """All that there is into files ``folder/rows``; another time it goes on from there."""
    writer = rows.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(folder / "rows"))
    query.awaitTermination()
    return query


@pytest.mark.slow
@given(st.sets(st.integers(0, 700)))
@examples(0.15)
def test_the_state_of_a_connection_can_be_stored_between_any_two_packets(
    tmp_path_factory: pytest.TempPathFactory, stops: set[int]
) -> None:
    path = capture_of(tmp_path_factory.mktemp("captures") / "all.pcap")
    expected = sorted(repr(list(row.values())) for row in in_one_go(path))
    wanted, ends, rows = ConnectionProjection("frames"), dict[bytes, Ends](), list[Row]()
    for number, packet in enumerate(file_packets(str(path))):
        assert isinstance(packet, Packet)
        flow = min(packet.key, reverse(packet.key))
        here = ends.setdefault(flow, Ends(flow, (), wanted))
        if number in stops:
            here = ends[flow] = Ends.restored(here.stored(), wanted)
        rows += here.add(packet)
    rows += [row for one in ends.values() for row in one.close()]
    assert sorted(repr(list(row.values())) for row in wanted.batch(rows).to_pylist()) == expected


@given(st.sets(st.integers(0, 100)))
@examples(0.15)
def test_a_connection_of_unknown_sides_can_be_stored_between_any_two_packets(stops: set[int]) -> None:
    talk = max(recorded(RECORDING), key=lambda one: len(one.segments))
    made = packets(replace(talk, client=Peer("10.0.0.1", 1024), server=Peer("10.0.0.9", 50000)), acks=False)[9:]
    wanted, rows = ConnectionProjection("exchanges"), list[Row]()
    ends = Ends(UNUSUAL, (), wanted)
    for number, sent in enumerate(made):
        key = UNUSUAL if sent.source.port == 1024 else reverse(UNUSUAL)
        if number in stops:
            ends = Ends.restored(ends.stored(), wanted)
        rows += ends.add(Packet(key, sent.time, "a.pcap", number, sent.seq, sent.ack, sent.flags, sent.data))
    found = wanted.batch([*rows, *ends.close()]).to_pylist()
    assert {row["server_port"] for row in found if row["problem"] is None} == {50000}
    assert sum(row["outcome"] == "answered" for row in found) > 5


class Hostile:
    def __init__(self, *reduced: Any) -> None:
        self.reduced = reduced

    def __reduce__(self) -> Any:
        return self.reduced


@pytest.mark.parametrize(
    "stored",
    [
        pickle.dumps(Hostile(os.mkdir, ("owned",))),
        pickle.dumps(Hostile(eval, ("__import__('os').mkdir('owned')",))),
        b"\x80\x04\x8c\x13kwire_spark.session\x8c\x08os.mkdir\x93\x8c\x05owned\x85R.",
        b"\x80\x04\x8c\x13kwire_spark.session\x8c\x0acheck_java\x93)R.",
        b"\x80\x04\x8c\x13kwire_spark.session\x8c\x04Path\x93\x8c\x05owned\x85R.",
    ],
)
def test_a_checkpoint_cannot_call_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: bytes) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pickle.UnpicklingError, match="does not belong in the state of a connection"):
        Ends.restored(STORED_BY + stored, ConnectionProjection("frames"))
    assert not Path("owned").exists()


def test_what_is_stored_of_a_connection_is_small(tmp_path: Path) -> None:
    wanted, path = ConnectionProjection("exchanges"), capture_of(tmp_path / "all.pcap")
    ends: dict[bytes, Ends] = {}
    for packet in file_packets(str(path)):
        assert isinstance(packet, Packet)
        flow = min(packet.key, reverse(packet.key))
        list(ends.setdefault(flow, Ends(flow, (), wanted)).add(packet))
    assert max(len(one.stored()) for one in ends.values()) < 1500, "connections that ended"


WITH_SECRETS = [
    SaslAuthenticateRequest(auth_bytes=b"\0alice\0hunter2"),
    RenewDelegationTokenRequest(hmac=b"hunter2"),
    AlterUserScramCredentialsRequest(upsertions=[ScramCredentialUpsertion(name="a", salted_password=b"hunter2")]),
    AlterConfigsRequest(resources=[AlterConfigsResource(configs=[AlterableConfig(name="x.token", value="hunter2")])]),
]
WITH_SECRETS.append(
    EnvelopeRequest(
        request_data=PROTOCOL.encode_request(WITH_SECRETS[1], 2, correlation_id=7), client_host_address=bytes(4)
    )
)


@pytest.mark.parametrize("message", WITH_SECRETS, ids=lambda message: type(message).__name__)
@pytest.mark.parametrize("damaged", [False, True], ids=["", "damaged"])
def test_what_is_stored_of_a_waiting_request_has_no_secrets_and_all_its_rows(
    tmp_path: Path, message: Message, damaged: bool
) -> None:
    version = message.VALID_VERSIONS[-1]
    request = PROTOCOL.encode_request(message, version, correlation_id=7)
    request = request[:-1] + b"\xff" if damaged else request
    response = PROTOCOL.encode_response(PROTOCOL.response(message.API_KEY or 0)(), version, correlation_id=7)
    steps: list[Segment] = [
        (CLIENT, 1.0, len(request).to_bytes(4) + request),
        (SERVER, 2.0, len(response).to_bytes(4) + response),
    ]
    path = write_pcap(tmp_path / "a.pcap", packets(Conversation(steps)))
    first = next(packet for packet in file_packets(str(path)) if isinstance(packet, Packet))
    flow = min(first.key, reverse(first.key))
    for table in get_args(Table):
        rows = []
        for stop in (False, True):
            ends = Ends(flow, (), wanted := ConnectionProjection(table))
            found: list[Row] = []
            for packet in file_packets(str(path)):
                assert isinstance(packet, Packet)
                found += ends.add(packet)
                if packet.data:
                    stored = ends.stored()
                    assert b"hunter2" not in stored
                    ends = Ends.restored(stored, wanted) if stop else ends
            rows.append(wanted.batch([*found, *ends.close()]).to_pylist())
        assert rows[0] == rows[1]
        assert rows[0]


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4) + payload


def asks(message: Message, version: int, number: int = 7) -> Segment:
    return CLIENT, 1.0, framed(PROTOCOL.encode_request(message, version, correlation_id=number, client_id="me"))


def answers(message: Message, version: int, number: int = 7) -> Segment:
    return SERVER, 2.0, framed(PROTOCOL.encode_response(message, version, correlation_id=number))


def fetched(**topic: Any) -> FetchResponse:
    records = encode_batch([Record(b"key", b"hunter2" * 5)])
    topics = [FetchableTopicResponse(partitions=[PartitionData(records=records)], **topic) for topic in (topic, {})]
    return FetchResponse(responses=topics)


LOGIN_SEEN = [asks(SaslHandshakeRequest(mechanism="PLAIN"), 0, 1), answers(SaslHandshakeResponse(), 0, 1)]
KNOWN = asks(SaslAuthenticateRequest(auth_bytes=b"hunter2" * 20), 2)[2]
IN_PARTS: dict[str, list[Segment]] = {
    type(message).__name__: [asks(message, message.VALID_VERSIONS[-1])] for message in WITH_SECRETS
} | {
    "answer": [
        asks(SaslAuthenticateRequest(), 2),
        answers(SaslAuthenticateResponse(auth_bytes=b"hunter2" * 20), 2),
    ],
    "token": [*LOGIN_SEEN, (CLIENT, 1.0, framed(b"\0alice\0hunter2"))],
    "token of a server": [*LOGIN_SEEN, (SERVER, 2.0, framed(b"hunter2" * 2))],
    "token like a request": [*LOGIN_SEEN, (CLIENT, 1.0, framed(b"\0\x12\0\x03" + b"hunter2" * 2))],
    "short token": [*LOGIN_SEEN, (CLIENT, 1.0, framed(b"\0a\0hunter"))],
    "GSSAPI": [(CLIENT, 1.0, framed(b"\x60\x12\x06\x02" + b"hunter2" * 2 + b"\0\0"))],
    "unknown API": [(CLIENT, 1.0, KNOWN[:4] + b"\x03" + KNOWN[5:])],
    "unknown version": [(CLIENT, 1.0, KNOWN[:6] + b"\0\x63" + KNOWN[8:])],
    "answer of an unknown version": [
        (CLIENT, 1.0, framed(b"\0\x0c\0\x63\0\0\0\x07\0\x02me" + b"\0" * 20)),
        answers(SaslAuthenticateResponse(auth_bytes=b"hunter2" * 20), 2),
    ],
    "no frame": [
        asks(HeartbeatRequest(), 4),
        answers(HeartbeatResponse(), 4),
        (CLIENT, 3.0, b"\xff\xff\xff\xff\0\x0c\0\x04\0\0\0\x08\0\x02hunter2hunter2"),
    ],
    "unknown request": [answers(SaslAuthenticateResponse(auth_bytes=b"hunter2" * 20), 2)],
    "metadata": [asks(FetchRequest(), 12), answers(fetched(topic="__cluster_metadata"), 12)],
    "metadata by id": [asks(FetchRequest(), 13), answers(fetched(topic_id=METADATA_TOPIC_ID), 13)],
}
ORDINARY = [asks(HeartbeatRequest(group_id="orders"), 4, 9), answers(HeartbeatResponse(error_code=27), 4, 9)]


def paused(
    path: Path, wanted: ConnectionProjection, stops: range = range(10_000), *, lost: int = 0, secret: bytes = b"hunt"
) -> list[dict[str, Any]]:
    """The rows of a capture, of which a batch ends after each of ``stops``; the packet ``lost`` is not seen."""
    found = [packet for packet in file_packets(str(path)) if isinstance(packet, Packet)]
    flow = min(found[0].key, reverse(found[0].key))
    ends, rows = Ends(flow, (), wanted), list[Row]()
    for number, packet in enumerate(found):
        if number != lost or not lost:
            rows += ends.add(packet)
        if number in stops:
            rows += ends.pause()
            stored = ends.stored()
            assert secret not in stored
            ends = Ends.restored(stored, wanted)
    made: list[dict[str, Any]] = wanted.batch([*rows, *ends.close()]).to_pylist()
    return made


@pytest.mark.parametrize("size", [3, 11])
@pytest.mark.parametrize("name", IN_PARTS)
def test_parts_of_frames_with_secrets_are_not_stored_and_the_next_frames_are_read(
    tmp_path: Path, name: str, size: int
) -> None:
    before = IN_PARTS[name][:-1]
    first, last = (len(packets(Conversation(part), size=size, ending=0)) for part in (before, IN_PARTS[name]))
    capture = packets(Conversation([*IN_PARTS[name], *ORDINARY]), size=size)
    path = write_pcap(tmp_path / "a.pcap", capture)
    for table in get_args(Table):
        rows = paused(path, ConnectionProjection(table), range(first, last))
        row = next(row for row in rows if row["correlation_id"] == 9 and row["error_codes"])
        assert (row["client_id"], row["error_codes"]) == ("me", [27])
        reasons = " ".join(row["reason"] or row["problem"] or "" for row in rows)
        seen = "they may be secret", NO_FRAME, STRAY, PARTIAL
        assert any(reason in reasons for reason in seen[: 1 if table == "frames" else 4])
        if name in {type(message).__name__ for message in WITH_SECRETS}:
            row = next(row for row in rows if row["correlation_id"] == 7)
            assert "they may be secret" in row["reason"]
            assert (row["api"], row["client_id"]) == (name.removesuffix("Request"), "me")


@pytest.mark.parametrize("last", [35, None])
def test_undecided_bytes_are_told_with_each_batch(tmp_path: Path, last: int | None) -> None:
    """Once, whether the connection is decided later or not: a report between batches must not lack them."""
    talk, *_ = [one for one in recorded("aiokafka-on-4.1.1") if len(one.segments) > 20]
    late = packets(Conversation(talk.segments, *OTHER_PORTS), size=100)[8:last]
    wanted = ConnectionProjection("exchanges")
    path = write_pcap(tmp_path / "a.pcap", late)
    found = [packet for packet in file_packets(str(path)) if isinstance(packet, Packet)]
    ends, batches = Ends(min(found[0].key, reverse(found[0].key)), (), wanted), []
    for some in (found[:20], found[20:]):
        rows = [row for packet in some for row in ends.add(packet)]
        batches.append(wanted.batch([*rows, *ends.pause()]).to_pylist())
        ends = Ends.restored(ends.stored(), wanted)
    (told,) = [row["unread"] for row in batches[0] if row["problem"] == UNDECIDED]
    assert told == sum(len(packet.data) for packet in found[:20])
    later = [*batches[1], *wanted.batch(list(ends.close())).to_pylist()]
    sizes = [row[name] or 0 for row in later for name in ("request_size", "response_size", "unread")]
    assert sum(sizes) == sum(len(packet.data) for packet in found[20:])


@pytest.mark.parametrize("lost", range(4, 40, 3))
def test_packets_that_wait_for_others_are_not_stored(tmp_path: Path, lost: int) -> None:
    capture = packets(Conversation([*IN_PARTS["answer"], *IN_PARTS["AlterConfigsRequest"], *ORDINARY]), size=20)
    path = write_pcap(tmp_path / "a.pcap", capture)
    assert paused(path, ConnectionProjection("frames"), lost=lost)
    stray = replace(capture[3], seq=(capture[3].seq + (1 << 31)) & 0xFFFFFFFF, data=b"hunter2")
    path = write_pcap(tmp_path / "b.pcap", [*capture[:lost], stray, *capture[lost:]])
    assert paused(path, ConnectionProjection("frames"))


def test_a_connection_whose_client_is_not_known_yet_stores_nothing_of_it(tmp_path: Path) -> None:
    server = Peer("10.0.0.9", 31999)
    steps = [*IN_PARTS["AlterConfigsRequest"], *ORDINARY * 4]
    path = write_pcap(tmp_path / "a.pcap", packets(Conversation(steps, server=server), handshake=False))
    rows = paused(path, ConnectionProjection("frames"))
    assert [row["reason"] for row in rows if row["kind"] == "skipped"][:1] == [NOT_YET]
    found = [(row["server_port"], row["error_codes"]) for row in rows if row["error_codes"]]
    assert found[-1] == (31999, [27])


@pytest.mark.parametrize(("held", "at_once"), [(1 << 40, 1 << 40), (100, 32 << 20), (STATE, 32 << 20)])
def test_what_a_stream_is_told_comes_to_its_workers(
    tmp_path: Path, newer: MessageRegistry, monkeypatch: pytest.MonkeyPatch, held: int, at_once: int
) -> None:
    """Within a batch a connection may hold what it may in a capture, however little is kept until the next."""
    monkeypatch.setattr("pyspark.sql.functions.unix_micros", lambda column: column)
    (tmp_path / "keys").touch()
    given: Any = MagicMock()
    keys = str(tmp_path / "keys")
    told: dict[str, Any] = {"rows": "exchanges", "columns": ["api"], "ports": [9092], "protocol": newer}
    follow(given, **told, key_log=keys, late="3 hours", idle_seconds=1.5, max_decoded=7, max_held=held)
    timed = given.withColumn()
    timed.withWatermark.assert_called_once_with("time", "3 hours")
    (advance, columns, *_), _ = timed.withWatermark().groupBy().applyInPandasWithState.call_args
    job: Follower = advance.__self__
    assert (job.ports, job.idle_ms, job.held, job.key_log) == ({9092}, 1500, held, keys)
    projection = job.projection
    assert (projection.table, projection.protocol, projection.budget) == ("exchanges", newer, Budget(7, at_once))
    assert columns.names == projection.schema.names == ["api"]


def test_batches_of_a_stream_end_without_secrets(tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "a.pcap", packets(Conversation([(CLIENT, 1.0, KNOWN[:-1])]), ending=0))
    (batch,) = packet_batches(file_packets(str(path)))
    frame = batch.to_pandas()
    frame["micros"] = batch.column("time").cast(pa.int64()).to_pylist()
    assert any(b"hunt" in data for data in frame["data"])
    stored: list[bytes] = []
    state: Any = NewState()
    state.update = lambda values: stored.extend(values)
    list(Follower(ConnectionProjection("frames"), (), 1000).advance((frame["flow"][0],), iter([frame]), state))
    assert stored
    assert b"hunt" not in stored[0]


def test_parts_of_ordinary_frames_are_stored(tmp_path: Path) -> None:
    steps = [
        asks(FetchRequest(max_wait_ms=500, topics=[FetchTopic(topic="orders")]), 12),
        answers(fetched(topic="orders"), 12),
    ]
    path = write_pcap(tmp_path / "a.pcap", packets(Conversation([*steps, *ORDINARY]), size=7))
    for table in get_args(Table):
        batches = list(frame_batches(read_pieces([str(path)]), TABLES[table], table=table))
        found = paused(path, ConnectionProjection(table), secret=b"never")
        assert sorted(map(repr, found)) == sorted(map(repr, pa.Table.from_batches(batches).to_pylist()))


@pytest.mark.slow
def test_packets_are_encrypted_in_the_files_of_a_shuffle(spark: SparkSession) -> None:
    secret = random.Random(1).randbytes(64)  # which compression leaves as it is
    rows = spark.createDataFrame([(number, secret) for number in range(50)], "flow int, data binary")
    shuffled = rows.repartition(2, "flow").persist(StorageLevel.DISK_ONLY)
    assert shuffled.count() == 50
    blocks = Path(spark.sparkContext._temp_dir).parents[1].glob("blockmgr-*/*/*")
    contents = []
    for path in blocks:
        with suppress(OSError):  # those of other sessions come and go
            contents.append(path.read_bytes())
    shuffled.unpersist()
    assert any(contents)
    assert not [content for content in contents if secret in content]


def test_a_reset_connection_is_closed_sooner_than_an_idle_one(tmp_path: Path) -> None:
    asked = recorded(RECORDING)[0].segments[:1]
    path = write_pcap(tmp_path / "reset.pcap", packets(Conversation(asked), ending=RST))
    found = [packet for packet in file_packets(str(path)) if isinstance(packet, Packet)]
    ends = Ends(found[0].key, (), ConnectionProjection("frames"))
    rows = [row for packet in found for row in ends.add(packet)]
    assert [LAYOUTS["frames"].value(row, "kind") for row in rows] == ["request"]
    assert ends.closes_ms(600_000) == int((found[-1].time + 1) * 1000)
    assert [LAYOUTS["frames"].value(row, "kind") for row in ends.close()] == ["unanswered"]


def test_a_late_packet_does_not_have_an_idle_connection_closed_sooner() -> None:
    early, late = (Packet(bytes(12), time, "a.pcap", 0, 1, 1, 16, b"") for time in (5.0, 9.0))
    ends = Ends(bytes(12), (), ConnectionProjection("frames"))
    for packet in (late, early):
        assert list(ends.add(packet)) == []
        assert ends.closes_ms(1000) == 10_000


def test_packets_of_one_batch_may_come_in_any_order(tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "a.pcap", packets(recorded(RECORDING)[0]))
    (batch,) = packet_batches(file_packets(str(path)))
    frame = batch.to_pandas()
    frame["micros"] = batch.column("time").cast(pa.int64()).to_pylist()
    advance = Follower(ConnectionProjection("frames"), (), 1000).advance
    state: Any = NewState()
    found = [list(advance((frame["flow"][0],), iter([part]), state)) for part in (frame, frame[::-1])]
    assert len(found[0]) == 1
    assert [part.to_csv() for part in found[0]] == [part.to_csv() for part in found[1]]
    assert len(found[0][0]) == len(in_one_go(path))


def test_packets_of_equal_times_are_in_the_order_of_files_and_positions(tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "a.pcap", packets(recorded(RECORDING)[0]))
    (batch,) = packet_batches(file_packets(str(path)))
    frame = batch.to_pandas()
    half = len(frame) // 2
    frame["time"], frame["micros"] = frame["time"][0], 0
    frame["source"] = ["a.pcap"] * half + ["b.pcap"] * (len(frame) - half)
    frame["position"] = [*range(100, 100 + half), *range(len(frame) - half)]
    advance, state = Follower(ConnectionProjection("exchanges"), (), 1000).advance, cast(Any, NewState())
    orders = (frame, frame[::-1], frame.sort_values("position"))
    found = [pd.concat(advance((frame["flow"][0],), iter([part]), state)) for part in orders]
    assert [rows.to_csv() for rows in found] == [found[0].to_csv()] * 3
    assert [*dict.fromkeys(found[0]["source"])] == ["a.pcap", "b.pcap"]


def test_what_waits_between_batches_has_a_limit(tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "a.pcap", packets(Conversation([(CLIENT, 0.0, WAITING)]), ending=0))
    (batch,) = packet_batches(file_packets(str(path)))
    frame = batch.to_pandas()
    frame["micros"] = batch.column("time").cast(pa.int64()).to_pylist()
    sizes = []
    for held in (STATE, 10_000):
        state: Any = NewState()
        follower = Follower(ConnectionProjection("frames"), (), 1000, held)
        list(follower.advance((frame["flow"][0],), iter([frame]), state))
        sizes.append(len(state.stored))
    assert sizes[0] > 2 * sizes[1]


def test_after_an_update_a_stream_reads_on_and_says_what_is_lost(tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "a.pcap", packets(recorded(RECORDING)[0]))
    (batch,) = packet_batches(file_packets(str(path)))
    frame = batch.to_pandas()
    frame["micros"] = batch.column("time").cast(pa.int64()).to_pylist()
    advance = Follower(ConnectionProjection("frames"), (), 1000).advance
    state: Any = NewState()
    new = list(advance((frame["flow"][0],), iter([frame]), state))
    state.exists, state.get = True, (b"kwire 0.0.9\n" + state.stored.partition(b"\n")[2],)
    told, *others = advance((frame["flow"][0],), iter([frame]), state)
    assert told["problem"].to_list() == [UPDATED]
    assert [part.to_csv() for part in others] == [part.to_csv() for part in new]
    state.get = (state.stored,)
    assert not any(
        UPDATED in part["problem"].to_list() for part in advance((frame["flow"][0],), iter([frame]), state)
    )


WAITING = b"".join(asks(HeartbeatRequest(), 4, number)[2] for number in range(50))


class NewState:
    """The state of ends that were not seen before, as far as it is asked."""

    exists = hasTimedOut = False

    def update(self, stored: Any) -> None:
        (self.stored,) = stored

    def setTimeoutTimestamp(self, when: int) -> None: ...

    def getCurrentWatermarkMs(self) -> int:
        return 0


class Kept(NewState):
    """State as Spark keeps it from one batch to the next."""

    when = 0

    def __init__(self, watermark: int = 0) -> None:
        self.watermark = watermark

    def update(self, stored: Any) -> None:
        self.get, self.exists = stored, True

    def remove(self) -> None:
        self.exists = False

    def setTimeoutTimestamp(self, when: int) -> None:
        self.when = when

    def getCurrentWatermarkMs(self) -> int:
        return self.watermark


def followed(job: Follower, path: Path, *ends: int, state: Any = None) -> list[dict[str, Any]]:
    """The rows of the packets between two ends, with batches that end before some of them."""
    batches = packet_batches(found for found in file_packets(str(path)) if isinstance(found, Packet))
    frame, state = pa.Table.from_batches(batches).to_pandas(), state or cast(Any, Kept())
    frame["micros"] = [time.value // 1000 for time in frame["time"]]
    parts = [frame[first:last] for first, last in pairwise([0, *ends, len(frame)])]
    rows = [made for part in parts for made in job.advance((frame["flow"][0],), iter([part]), state)]
    state.hasTimedOut = True
    rows += job.advance((frame["flow"][0],), iter(()), state)
    assert not state.exists
    return [row for made in rows for row in pa.Table.from_pandas(made, job.projection.schema).to_pylist()]


TALK = [
    *(asks(FetchRequest(max_wait_ms=500, topics=[FetchTopic(topic="orders")]), 12, number) for number in (1, 2)),
    *(answers(fetched(topic="orders"), 12, number) for number in (1, 2)),
    *ORDINARY,
]
SEEN: dict[str, list[TcpPacket]] = {
    "whole": packets(Conversation(TALK), size=50),
    "reset": packets(Conversation(TALK), size=50, ending=RST),
    "open": packets(Conversation(TALK[:2]), size=50, ending=0),
    "two": [
        *packets(Conversation(TALK[:3]), size=50),
        *packets(Conversation([(side, time + 60, data) for side, time, data in TALK]), isns=(70_000, 90_000)),
    ],
    "cut short": [replace(packet, cut=max(len(packet.data) - 40, 0)) for packet in packets(Conversation(TALK))],
    "lost": [packet for number, packet in enumerate(packets(Conversation(TALK), size=50)) if number != 7],
    "begun before": packets(Conversation(TALK), size=50)[4:],
}
EXCHANGED = ConnectionProjection("exchanges")
UNSURE = "lost", "begun before"
"""Where frames begin is not known there, so their parts may be secret."""


def sizes(rows: list[dict[str, Any]]) -> int:
    return sum(row.get(name) or 0 for row in rows for name in ("size", "request_size", "response_size", "unread"))


def read_rows(rows: list[dict[str, Any]]) -> list[str]:
    """All of the rows of frames, wherever their numbers begin."""
    lost = "gap", "skipped"
    return sorted(repr(row | {"number": 0}) for row in rows if not row["problem"] and row.get("kind") not in lost)


@pytest.mark.slow
@pytest.mark.parametrize("table", get_args(Table))
@pytest.mark.parametrize("name", SEEN)
def test_batches_may_end_between_any_packets(tmp_path: Path, name: str, table: Table) -> None:
    """Each frame is a row, and each byte is in one: with a batch, only what may be secret is lost."""
    path = write_pcap(tmp_path / "a.pcap", SEEN[name])
    job = Follower(ConnectionProjection(table), frozenset({9092}), 1000)
    read = frame_batches(read_pieces([str(path)], ports={9092}), TABLES[table], table=table)
    whole, size = pa.Table.from_batches(list(read)).to_pylist(), len(SEEN[name])
    for ends in ([], *([end] for end in range(1, size, 3)), range(1, size)):
        rows = followed(job, path, *ends)
        assert sizes(rows) == sizes(whole), ends
        assert name in UNSURE or read_rows(rows) == read_rows(whole), ends


def test_secrets_that_come_between_batches_decrypt_what_came_before(tmp_path: Path, pem: Path, keys: Path) -> None:
    """Two connections of the same ends. The state has neither secrets nor what they decrypt."""
    talks, sent, plain = (TALK[:3], [(side, time + 60, data) for side, time, data in TALK]), list[TcpPacket](), []
    for talk, isns in zip((Conversation(one) for one in talks), ((1000, 5000), (70_000, 90_000)), strict=True):
        plain += packets(talk, isns=isns)
        sent += packets(Tls.make(pem, keys).through(talk), size=500, isns=isns)
    path, logged = write_pcap(tmp_path / "a.pcap", sent), keys.read_text()
    secrets = [bytes.fromhex(line.split()[2]) for line in logged.splitlines() if line[0] != "#"]

    class Logging(Kept):
        def update(self, stored: Any) -> None:
            super().update(stored)
            assert not [one for one in (*secrets, b"hunter2") if one in stored[0]]
            keys.write_text(logged)

    told = ("api", "correlation_id", "client_id", "request_size", "response_size", "error_codes", "outcome")
    expected = sorted(
        repr([row[name] for name in told])
        for row in followed(Follower(EXCHANGED, {9092}, 1000), write_pcap(tmp_path / "b.pcap", plain))
    )
    for ends in ([], [5, len(sent) // 2]):
        keys.write_text("" if ends else logged)
        rows = followed(Follower(EXCHANGED, {9092}, 1000, key_log=str(keys)), path, *ends, state=cast(Any, Logging()))
        assert sorted(repr([row[name] for name in told]) for row in rows) == expected, ends


def test_what_is_kept_between_batches_does_not_limit_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.sql.functions.unix_micros", lambda column: column)
    given: Any = MagicMock()
    follow(given, max_held=20)
    (advance, *_), _ = given.withColumn().withWatermark().groupBy().applyInPandasWithState.call_args
    path = write_pcap(tmp_path / "a.pcap", SEEN["whole"])
    told = [{row["reason"] for row in followed(advance.__self__, path, *ends)} for ends in ([], [10])]
    assert told == [{None}, told[1]]
    assert any("dropped because the connection held more than 20 bytes" in str(reason) for reason in told[1])


def test_what_is_dropped_is_told_where_it_was_dropped(tmp_path: Path) -> None:
    """At the last packet of a batch; within a batch, where the frame ends."""
    path = write_pcap(tmp_path / "a.pcap", SEEN["whole"])
    places = [packet.position for packet in file_packets(str(path)) if isinstance(packet, Packet)]
    for budget, held, ends in ((Budget(), 20, [10]), (Budget(held=20), STATE, [])):
        job = Follower(ConnectionProjection("frames", budget=budget), (), 1000, held)
        first = next(row for row in followed(job, path, *ends) if "more than 20 bytes" in str(row["reason"]))
        assert (first["source"], first["position"]) == (str(path), places[9 if ends else 5])


def test_as_much_may_wait_as_the_limit_says() -> None:
    packet = Packet(UNUSUAL, 1.0, "a.pcap", 0, 1, 1, 16, KNOWN[:-1])
    for less in (0, 1):
        ends = Ends(UNUSUAL, {50000}, ConnectionProjection("frames"))
        assert not list(ends.add(packet))
        assert ends._open is not None
        assert bool(list(ends.trim(ends._open.held - less))) == bool(less)


@pytest.mark.parametrize(("name", "after"), [("open", 2500), ("reset", 1000)])
def test_a_connection_is_closed_when_it_was_idle_and_never_in_the_past(tmp_path: Path, name: str, after: int) -> None:
    path = write_pcap(tmp_path / "a.pcap", SEEN[name])
    last = int(SEEN[name][-1].time * 1000)
    for watermark, when in ((0, last + after), (last + after - 1, last + after), (last + after, last + after + 1)):
        state = Kept(watermark)
        followed(Follower(ConnectionProjection("frames"), (), 2500), path, state=state)
        assert state.when == when


@pytest.mark.parametrize("table", get_args(Table))
def test_broken_parts_of_captures_are_rows_of_their_own(table: Table) -> None:
    broken = [Broken("a.pcap", 1, "x", 5, 0), Broken("b.pcap", 2, "y", 0, 7), Broken("a.pcap", 3, "z", 0, 0)]
    (batch,) = packet_batches(broken)
    wanted = ConnectionProjection(table)
    (found,) = Follower(wanted, (), 1).advance((None,), iter([batch.to_pandas()]), cast(Any, None))
    told = [
        row for one in broken for row in wanted.broken(one.source, one.position, one.reason, one.unread, one.packets)
    ]
    assert pa.Table.from_pandas(found, wanted.schema).to_pylist() == wanted.batch(told).to_pylist()


@pytest.mark.parametrize("most", [1, 2, 5, 100])
def test_rows_are_given_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    path, job = write_pcap(tmp_path / "a.pcap", SEEN["whole"]), Follower(ConnectionProjection("frames"), (), 1000)
    rows = followed(job, path)
    monkeypatch.setattr(connections, "ROWS_AT_ONCE", most)
    parts = list(job._frames(iter(job.projection.broken("a.pcap", 1, "x", 5, 0) * 5)))
    assert [len(part) for part in parts] == [most] * (5 // most) + [5 % most] * (5 % most > 0)
    assert followed(job, path) == rows


@pytest.mark.long
def test_files_that_arrive_one_by_one(stream: SparkSession, tmp_path: Path) -> None:
    stream.conf.set(BATCHES_WITHOUT_DATA, "false")  # only time would pass in them
    folder, out = tmp_path / "captures", tmp_path / "tables"
    folder.mkdir()
    for part in range(2):
        capture_of(folder / f"{part}.pcap", part, 2)
        source = stream.readStream.format("kafka_packets").options(settled=0)
        rows = follow(source.load(str(folder)), rows="exchanges", columns=EXCHANGE_COLUMNS)
        keep_clients(rows, str(out)).trigger(availableNow=True).start().awaitTermination()
    whole = clients(stream.read.format("kafka_capture").option("rows", "exchanges").load(str(folder)))
    assert comparable(stream.read.parquet(str(out / "clients"))) == comparable(whole.table)


def test_files_are_taken_once_and_in_their_order(tmp_path: Path) -> None:
    source = PacketStream(Options({"path": str(tmp_path), "settled": "0"}), spark_schema(PACKETS))
    assert source.latestOffset({}, ReadMaxFiles(1)) == {}, "nothing has arrived"
    late, early = capture_of(tmp_path / "a.pcap", 1, 2), capture_of(tmp_path / "b.pcap", 0, 2)
    first = source.latestOffset({}, ReadMaxFiles(1))
    assert first == {str(early): early.stat().st_size}
    second = source.latestOffset(first, ReadMaxFiles(5))
    assert [partition.value for partition in source.partitions(first, second)] == [(str(late), None)]
    assert source.latestOffset(second, ReadMaxFiles(5)) == second
    late.unlink()
    capture_of(tmp_path / "c.pcap")
    third = source.latestOffset(second, ReadMaxFiles(5))
    assert set(third) == {str(early), str(tmp_path / "c.pcap")}, "what is gone is forgotten"


def test_a_file_that_still_grows_is_not_taken_and_one_that_grows_later_is_told(tmp_path: Path) -> None:
    path = capture_of(tmp_path / "a.pcap")
    options = {"path": str(tmp_path), "settled": "100"}
    assert PacketStream(Options(options), spark_schema(PACKETS)).latestOffset({}, ReadMaxFiles(1)) == {}
    source = PacketStream(Options(options | {"settled": "0"}), spark_schema(PACKETS))
    taken = source.latestOffset({}, ReadMaxFiles(1))
    with path.open("ab") as file:
        file.write(b"more")
    grown = source.latestOffset(taken, ReadMaxFiles(1))
    (partition,) = source.partitions(taken, grown)
    (row,) = [row for batch in source.read(partition) for row in batch.to_pylist()]
    assert (row["source"], row["position"]) == (str(path), taken[str(path)])
    assert "has grown since it was read" in row["problem"]
    assert source.latestOffset(grown, ReadMaxFiles(1)) == grown


@pytest.mark.parametrize("consume", [False, True])
def test_the_files_that_are_there_are_read_a_few_at_a_time_and_removed_if_asked(
    tmp_path: Path, consume: bool
) -> None:
    options = {"path": str(tmp_path), "settled": "0", "filesAtOnce": "2", "consume": str(consume)}
    source = PacketStream(Options(options), spark_schema(PACKETS))
    for number in range(3):
        capture_of(tmp_path / f"{number}.pcap", number, 4)
    source.prepareForTriggerAvailableNow()
    capture_of(tmp_path / "3.pcap", 3, 4)
    offset, read = source.initialOffset(), []
    for _ in range(3):
        start, offset = offset, source.latestOffset(offset, source.getDefaultReadLimit())
        read.append([Path(partition.value[0]).stem for partition in source.partitions(start, offset)])
        if read[-1] == ["2"]:
            (tmp_path / "2.pcap").unlink()  # by somebody else
        source.commit(offset)
    assert read == [["0", "1"], ["2"], []]
    assert {path.stem for path in tmp_path.iterdir()} == ({"3"} if consume else {"0", "1", "3"})


def test_a_file_is_read_as_soon_as_it_has_settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = PacketStream(Options({"path": str(tmp_path), "settled": "5"}), spark_schema(PACKETS))
    os.utime(capture_of(tmp_path / "a.pcap"), (100, 100))
    for now, ready in ((104.9, 0), (105.0, 1)):
        monkeypatch.setattr("time.time", lambda now=now: now)
        assert len(source.latestOffset({}, ReadMaxFiles(1))) == ready


def test_empty_files_have_yet_to_begin_and_names_may_be_used_again(tmp_path: Path) -> None:
    source = PacketStream(Options({"path": str(tmp_path), "settled": "0"}), spark_schema(PACKETS))
    path = tmp_path / "a.pcap"
    path.touch()
    assert source.latestOffset({}, ReadMaxFiles(1)) == {}
    capture_of(path)
    taken = source.latestOffset({}, ReadMaxFiles(1))
    capture_of(path, 0, 2)
    again = source.latestOffset(taken, ReadMaxFiles(1))
    assert again[str(path)] < taken[str(path)], "another, smaller one"
    (partition,) = source.partitions(taken, again)
    found = [row for batch in source.read(partition) for row in batch.to_pylist()]
    assert len(found) == len(list(file_packets(str(path))))


@pytest.mark.parametrize(
    ("key", "timestamp", "time"),
    [
        ((5_000_000).to_bytes(8, "big"), 7, 5_000_000),
        (b"10.0.0.1:50412", 7_000_000, 7_000_000),
        (None, 7_000_000, 7_000_000),
        (b"\xff" * 8, -1, None),
        (b"", None, None),
    ],
)
def test_the_time_of_a_packet_out_of_a_topic(key: bytes | None, timestamp: int | None, time: int | None) -> None:
    first = link_frame(packets(recorded(RECORDING)[0])[0], ETHERNET)
    rows = [("packets", 0, 3, timestamp, key, first)]
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    batch = pa.RecordBatch.from_arrays(columns, ["topic", "partition", "offset", "micros", "key", "value"])
    (found,) = [row for made in topic.packet_rows(ETHERNET, [batch]) for row in made.to_pylist()]
    assert (found["source"], found["position"]) == ("packets-0", 3)
    if time is None:
        assert "is a plausible time" in found["problem"]
    else:
        assert (found["problem"], found["time"].timestamp() * 1e6) == (None, time)


@pytest.mark.long
def test_a_batch_that_runs_again_is_not_added_twice(stream: SparkSession, tmp_path: Path) -> None:
    capture = capture_of(tmp_path / "some.pcap")
    (tmp_path / "none.pcap").write_bytes(b"no capture")
    exchanges = stream.read.format("kafka_capture").option("rows", "exchanges").load(str(tmp_path / "*.pcap"))
    tables = []
    for number in (0, 0, 1):
        add_batch(str(tmp_path), "parquet", exchanges, number)
        tables.append([row for name in ("clients", "problems") for row in pq.read_table(tmp_path / name).to_pylist()])
    assert tables[1] == tables[0]
    once, twice = ({(*map(row.get, KEYS), row.get("problem")): row for row in table} for table in tables[1:])
    for count in ("requests", "bytes", "begun", "places", "unread"):
        added = {key: row[count] and 2 * row[count] for key, row in once.items() if count in row}
        assert {key: row[count] for key, row in twice.items() if count in row} == added
    sources = {"problem" not in row: row["source"] for row in tables[2]}
    assert sources == {True: str(capture), False: str(tmp_path / "none.pcap")}


@pytest.mark.slow
def test_what_is_broken_is_told_and_the_rest_goes_on(stream: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    (folder / "none.pcap").write_bytes(b"no capture")
    path = capture_of(folder / "some.pcap")
    path.write_bytes(path.read_bytes()[:-5])
    source = stream.readStream.format("kafka_packets").options(settled=0).load(str(folder))
    taken(follow(source, columns=["source", "position", "kind", "problem"]), tmp_path)
    rows = stream.read.parquet(str(tmp_path / "rows")).collect()
    assert {Path(row.source).name: row.problem.split(":")[0] for row in rows if row.problem} == {
        "none.pcap": "not a capture",
        "some.pcap": "truncated",
    }
    expected = [row["kind"] for row in in_one_go(path)]
    assert [sum(row.kind == kind for row in rows) for kind in ("request", "response")] == [
        expected.count(kind) for kind in ("request", "response")
    ]


@pytest.mark.long
def test_connections_that_are_idle_are_closed_and_packets_that_are_too_late_are_counted(
    stream: SparkSession, tmp_path: Path
) -> None:
    """By the packets' clock: an hour later the first connection is over, and what is from then comes too late."""
    folder = tmp_path / "captures"
    folder.mkdir()
    asked = packets(Conversation(recorded(RECORDING)[0].segments[:1]), ending=0)
    later = [replace(packet, time=packet.time + 3600, source=OTHER, target=BROKER) for packet in asked[:1]]
    before = [replace(packet, source=OTHER, target=BROKER) for packet in asked[:2]]
    source = stream.readStream.format("kafka_packets").options(settled=0).load(str(folder))
    rows = follow(source, columns=["kind", "client_port"])

    def seen() -> list[tuple[str, int]]:
        return sorted((row.kind, row.client_port) for row in stream.read.parquet(str(tmp_path / "rows")).collect())

    write_pcap(folder / "0.pcap", asked)
    taken(rows, tmp_path)
    assert seen() == [("request", ALICE.port)]
    write_pcap(folder / "1.pcap", later)
    taken(rows, tmp_path)
    assert seen() == [("request", ALICE.port), ("unanswered", ALICE.port)]
    write_pcap(folder / "2.pcap", before)
    assert too_late(taken(rows, tmp_path).recentProgress) == len(before)
    assert len(seen()) == 2


@pytest.mark.slow
def test_packets_out_of_a_topic(stream: SparkSession, tmp_path: Path) -> None:
    """With columns as Spark's ``kafka`` source has them, and the time in the key."""
    found = merged(packets(one) for one in recorded(RECORDING))
    times = [round(packet.time * 1e6).to_bytes(8, "big") for packet in found]
    values = [link_frame(packet, ETHERNET) for packet in found]
    records = pa.table(
        {
            "topic": pa.array(["packets"] * len(found)),
            "partition": pa.array([0] * len(found), pa.int32()),
            "offset": pa.array(range(len(found)), pa.int64()),
            "timestamp": pa.array([datetime(2026, 1, 1, tzinfo=UTC)] * len(found), pa.timestamp("us", tz="UTC")),
            "key": pa.array(times),
            "value": pa.array(values),
        }
    )
    (tmp_path / "topic").mkdir()
    pq.write_table(records, tmp_path / "topic/0.parquet")
    arriving = stream.readStream.schema(spark_schema(records.schema)).parquet(str(tmp_path / "topic"))
    taken(follow(packets_in(arriving)), tmp_path)
    rows = stream.read.parquet(str(tmp_path / "rows")).collect()
    whole = stream.read.format("kafka_capture").load(str(capture_of(tmp_path / "all.pcap"))).collect()
    assert sorted([tuple(row)[2:] for row in rows], key=repr) == sorted([tuple(row)[2:] for row in whole], key=repr)
    assert {row.source for row in rows} == {"packets-0"}


@pytest.mark.slow
def test_a_stream_that_begins_with_nothing_goes_on(stream: SparkSession, tmp_path: Path) -> None:
    add_batch(str(tmp_path), "parquet", in_spark(stream, EXCHANGES), 0)
    assert pq.read_table(tmp_path / "clients").num_rows == 0
    add_batch(str(tmp_path), "parquet", in_spark(stream, EXCHANGES, exchange(), exchange()), 1)
    assert pq.read_table(tmp_path / "clients").column("requests").to_pylist() == [2]


@pytest.mark.slow
def test_counts_of_batches_are_added_and_the_example_is_the_first_whose_time_is_known(spark: SparkSession) -> None:
    counts = {"errors": 1, "refused": 2, "connections": 3}
    rows = client(requests=4, position=9, **counts), client(requests=5, position=1, first_seen=None, **counts)
    (row,) = clients(in_spark(spark, CLIENTS, *rows)).table.collect()
    assert [row[name] for name in ("requests", "errors", "refused", "connections")] == [9, 2, 4, 6]
    assert (row["position"], row["first_seen"]) == (9, rows[0]["first_seen"].replace(tzinfo=None))


@pytest.mark.slow
def test_a_table_without_its_checkpoint_is_not_counted_into(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "clients").mkdir()
    source = spark.readStream.format("kafka_packets").load(str(tmp_path))
    with pytest.raises(ValueError, match=r"its checkpoint .* does not"):
        keep_clients(follow(source, rows="exchanges"), str(tmp_path))


@pytest.mark.slow
def test_a_checkpoint_without_its_table_is_not_gone_on_with(stream: SparkSession, tmp_path: Path) -> None:
    exchanges = stream.createDataFrame([], spark_schema(EXCHANGES))
    with pytest.raises(ValueError, match="table of this stream is missing"):
        add_batch(str(tmp_path), "parquet", exchanges, 1)


def comparable(table: DataFrame) -> list[str]:
    """All but on how many connections: a stream counts these anew in each batch."""
    return sorted(repr(row) for row in table.select(*CLIENTS.names).drop("connections").collect())
