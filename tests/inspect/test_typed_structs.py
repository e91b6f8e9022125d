"""Bytes become structs in the workers: whatever the bytes are, a row stays a row, and says what is wrong with it."""

from __future__ import annotations

import gc
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.errors import UnknownRecordTypeError
from kwire.interpreter import large
from kwire.logs import TOPICS, internal_records
from kwire.logs.connect import PATTERNS
from kwire.records import Record, encode_batch, encode_control
from kwire_inspect.options import Options
from kwire_inspect.readers.log import LogReader
from kwire_inspect.schemas import EXCHANGES, RECORDS
from kwire_inspect.state import replay
from kwire_inspect.tables.record_structs import RecordKind, RecordStructs, record_kind, record_kinds
from kwire_inspect.tables.structs import AT_ONCE, ExchangeStructs, in_pieces, schema_with, with_columns
from kwire_kafka import (
    PROTOCOL,
    ApiVersionsRequest,
    ApiVersionsResponse,
    ClientQuotaRecord,
    EndTxnMarker,
    HeartbeatRequest,
    HeartbeatResponse,
    LeaderChangeMessage,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    MetadataRequest,
    OffsetCommitKey,
    OffsetCommitValue,
    ProduceRequest,
)
from kwire_kafka.api.metadata import MetadataRequestTopic
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from kwire_kafka.metadata.client_quota_record import EntityData
from kwire_kafka.releases import RELEASES
from tests.support.effort import examples

HEARTBEAT, API_VERSIONS = 12, 18
TOO_MANY = "{} bytes contain too many values to decode: increase maxDecoded"
BYTES = st.none() | st.binary(max_size=40)


def newer(name: str) -> str:
    return f"{name} 99 is newer than Kafka {RELEASES.newest.name}, the newest known release"


def batch(schema: pa.Schema, *rows: dict[str, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema=schema)


def exchange(version: int, /, **more: Any) -> dict[str, Any]:
    request = PROTOCOL.encode_request(HeartbeatRequest(group_id=f"g{version}"), version, correlation_id=1)
    response = PROTOCOL.encode_response(HeartbeatResponse(error_code=version), version, correlation_id=1)
    row = {"api_key": HEARTBEAT, "version": version, "source": "f", "request": request, "response": response}
    return row | more


def typed(decode: Any, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    made = list(decode(batches))
    for one in made:
        one.validate(full=True)
    return [row for one in made for row in one.to_pylist()]


def test_the_rows_of_a_large_request_do_not_keep_the_memory_of_its_bytes() -> None:
    """Spark keeps a batch that it was given until it has the next: 40 MB of one request were there four times."""
    produced = ProduceRequest(
        topic_data=[TopicProduceData(partition_data=[PartitionProduceData(records=bytes(AT_ONCE))])]
    )
    payload = PROTOCOL.encode_request(produced, 9, correlation_id=1)
    given_batch = batch(EXCHANGES, {"api_key": 0, "version": 9, "source": "f", "request": payload})
    out = BytesIO()
    with pa.ipc.new_stream(out, EXCHANGES) as stream:
        stream.write_batch(given_batch)
    data = out.getvalue()
    users = sys.getrefcount(data)
    (rows,) = ExchangeStructs(0, ["request"])(pa.ipc.open_stream(data))
    assert rows["source"].to_pylist() == ["f"]
    assert len(rows["request"][0].as_py()["topic_data"][0]["partition_data"][0]["records"]) == AT_ONCE
    assert sys.getrefcount(data) == users


def test_requests_and_responses_of_all_versions_side_by_side() -> None:
    rows = typed(ExchangeStructs(HEARTBEAT), batch(EXCHANGES, *map(exchange, (4, 0, 3, 0))))
    assert [row["request"]["group_id"] for row in rows] == ["g4", "g0", "g3", "g0"]
    assert [row["response"]["error_code"] for row in rows] == [4, 0, 3, 0]
    assert [row["response"]["throttle_time_ms"] for row in rows] == [0, None, 0, None]
    assert {(row["source"], row["reason"]) for row in rows} == {("f", None)}


def test_what_is_not_there_is_null_without_a_reason_and_what_was_known_stays() -> None:
    row, known = typed(
        ExchangeStructs(HEARTBEAT),
        batch(EXCHANGES, exchange(0, response=None), exchange(0, request=b"", reason="cut off")),
    )
    assert (row["response"], row["reason"]) == (None, None)
    assert (known["request"], known["reason"]) == (None, "cut off")
    assert known["response"]["error_code"] == 0


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({"request": b"\0\x0c\0\x63\0\0\0\1\xff\xff"}, newer("Heartbeat")),
        ({"request": b"\0\x0c"}, "RequestHeader v0, field api_version"),
        ({"request": exchange(4)["request"][:-3]}, "HeartbeatRequest v4, field member_id"),
        ({"request": b"\0\3\0\0\0\0\0\1\xff\xff\0\0\0\0"}, "expected a request with API key 12, got 3"),
        ({"response": b"\0\0"}, "ResponseHeader v1, field correlation_id"),
        ({"response": b"\0\0\0\1\0"}, "HeartbeatResponse v4, field throttle_time_ms"),
        ({"version": 99}, newer("Heartbeat")),
    ],
)
def test_what_cannot_be_decoded_has_a_reason_and_leaves_the_rest_alone(broken: dict[str, Any], says: str) -> None:
    good, bad, last = typed(
        ExchangeStructs(HEARTBEAT), batch(EXCHANGES, exchange(1), exchange(4, **broken), exchange(2))
    )
    assert says in bad["reason"]
    assert None in (bad["request"], bad["response"])
    assert (good["request"]["group_id"], last["request"]["group_id"]) == ("g1", "g2")


@pytest.mark.slow
@examples(0.4)
@given(st.lists(st.tuples(BYTES, BYTES, st.integers(-2, 9))))
def test_no_bytes_raise(rows: list[tuple[bytes | None, bytes | None, int]]) -> None:
    for api_key in (0, 3, HEARTBEAT, API_VERSIONS):
        given_rows = [
            {"request": request and api_key.to_bytes(2, "big") + request, "response": response, "version": version}
            for request, response, version in rows
        ]
        made = typed(ExchangeStructs(api_key), batch(EXCHANGES, *given_rows))
        assert len(made) == len(rows)
        for row, before in zip(made, given_rows, strict=True):
            undecoded = any(before[part] is not None and row[part] is None for part in ("request", "response"))
            assert undecoded == (row["reason"] is not None)


def test_the_fallback_of_api_versions_is_read_in_version_0() -> None:
    request = PROTOCOL.encode_request(ApiVersionsRequest(), 3, correlation_id=1)[:2] + b"\0\x63\0\0\0\1\xff\xff\0"
    response = PROTOCOL.encode_response(ApiVersionsResponse(error_code=35), 0, correlation_id=1)
    (row,) = typed(
        ExchangeStructs(API_VERSIONS), batch(EXCHANGES, {"version": 99, "request": request, "response": response})
    )
    assert row["response"]["error_code"] == 35
    assert row["response"]["throttle_time_ms"] is None
    assert row["reason"] == newer("ApiVersions")


def test_one_part_alone_does_not_need_the_other() -> None:
    decode = ExchangeStructs(HEARTBEAT, ["response"])
    (row,) = typed(decode, batch(EXCHANGES, exchange(4)).select(["version", "response"]))
    assert list(row) == ["version", "reason", "response"]
    assert row["response"]["error_code"] == 4


def test_batches_are_cut_to_what_is_decoded_at_once_without_garbage_collection() -> None:
    seen = []

    def convert(batch: pa.RecordBatch) -> pa.RecordBatch:
        seen.append((batch.column("number").to_pylist(), gc.isenabled()))
        return batch

    blobs = pa.RecordBatch.from_pydict({"blob": [bytes(AT_ONCE // 4)] * 7, "number": list(range(7))})
    large = pa.RecordBatch.from_pydict({"blob": [bytes(AT_ONCE * 2)] * 2, "number": [8, 9]})
    for _ in in_pieces([blobs, large], convert):
        assert gc.isenabled()
    assert seen == [([0, 1, 2], False), ([3, 4, 5], False), ([6], False), ([8], False), ([9], False)]


def test_every_kind_of_record_has_columns() -> None:
    assert len(record_kinds()) > 60
    connect = record_kind("ConnectorConfig")
    topics = ("connect-configs", "docker-connect-configs", "connect-configs-of-orders", "orders")
    assert [connect.is_in(topic) for topic in topics] == [True, True, False, False]
    for kind in record_kinds().values():
        fields = {field.name: field.type for field in RecordStructs(kind).fields()}
        assert pa.types.is_struct(fields["value"]) == (kind.value is not None)
        assert pa.types.is_string(fields["value"]) == (kind.value is None)
        assert ("key" in fields) == (kind.key is not None or kind.value is None)
    with pytest.raises(UnknownRecordTypeError, match="did you mean OffsetCommit"):
        record_kind("OffsetCommits")


@pytest.mark.parametrize("release", ["3.9.1", "4.1.1"])
def test_records_of_real_brokers_are_those_that_the_reader_of_logs_gives(release: str) -> None:
    expected: dict[str, list[Any]] = {}
    rows: dict[str, list[dict[str, Any]]] = {}
    for one in internal_records(PROTOCOL, f"tests/data/logs/{release}/__consumer_offsets-0"):
        if not one.record.control and one.record.name:
            expected.setdefault(one.record.name, []).append(one.record)
            bytes_ = {"key": one.record.raw_key, "value": one.record.raw_value, "offset": one.offset}
            rows.setdefault(one.record.name, []).append(bytes_)
    assert len(expected) > 2
    for name, records in expected.items():
        decode = RecordStructs(record_kind(name))
        for record, row in zip(records, typed(decode, batch(RECORDS, *rows[name])), strict=True):
            assert row["reason"] == record.reason  # previews of 3.9.1 are other messages now
            assert row["version"] == record.version
            key = {field.name: getattr(record.key, field.name) for field in decode.fields()[1].type}
            assert row["key"] == key
            assert (row["value"] is None) == (record.value is None)


def test_legacy_commits_are_commits() -> None:
    """Before Kafka 4.1 types 0 and 1 were the same message."""
    key = LegacyOffsetCommitKey(group="g", topic="t", partition=3)
    value = LegacyOffsetCommitValue(offset=7, metadata="m", commit_timestamp=8)
    old = {"key": b"\0\0" + key.encode(0), "value": b"\0\0" + value.encode(0)}
    mixed = {"key": old["key"], "value": b"\0\3" + OffsetCommitValue(offset=9, leader_epoch=4).encode(3)}
    new_key = OffsetCommitKey(group="h", topic="t", partition=0)
    gone = {"key": b"\0\1" + new_key.encode(0), "value": None}
    kind = record_kind("OffsetCommit")
    assert kind.starts == (b"\0\0", b"\0\1")
    first, second, third = typed(RecordStructs(kind), batch(RECORDS, old, mixed, gone))
    assert (first["key"]["group"], first["value"]["offset"], first["value"]["leader_epoch"]) == ("g", 7, None)
    assert (second["version"], second["value"]["offset"], second["value"]["leader_epoch"]) == (3, 9, 4)
    assert (third["key"]["group"], third["value"], third["reason"]) == ("h", None, None)


def test_bytes_after_a_record_of_a_coordinator_are_ignored_as_kafka_does() -> None:
    key = b"\0\1" + OffsetCommitKey(group="g", topic="t", partition=3).encode(0)
    value = b"\0\3" + OffsetCommitValue(offset=9).encode(3)
    (row,) = typed(
        RecordStructs(record_kind("OffsetCommit")), batch(RECORDS, {"key": key + b"more", "value": value + b"more"})
    )
    assert (row["key"]["group"], row["value"]["offset"], row["reason"]) == ("g", 9, None)


def test_control_records_say_what_they_are() -> None:
    markers = [encode_control(name, EndTxnMarker(coordinator_epoch=5)) for name in ("commit", "abort")]
    rows = [{"key": one.key, "value": one.value} for one in markers] + [{"key": markers[0].key, "value": b"\0\x09"}]
    commit, abort, unknown = typed(RecordStructs(record_kind("EndTxnMarker")), batch(RECORDS, *rows))
    assert [(row["type"], row["version"], row["value"]) for row in (commit, abort)] == [
        ("commit", 0, {"coordinator_epoch": 5}),
        ("abort", 0, {"coordinator_epoch": 5}),
    ]
    assert (unknown["type"], unknown["value"], unknown["reason"]) == (
        "commit",
        None,
        "unknown version 9 of EndTxnMarker",
    )
    leader = encode_control("leader_change", LeaderChangeMessage(leader_id=2))
    (row,) = typed(
        RecordStructs(record_kind("LeaderChangeMessage")), batch(RECORDS, {"key": leader.key, "value": leader.value})
    )
    assert (row["type"], row["value"]["leader_id"]) == ("leader_change", 2)


@examples(0.4)
@given(BYTES, BYTES)
def test_no_records_raise(key: bytes | None, value: bytes | None) -> None:
    for name in ("OffsetCommit", "TopicRecord", "EndTxnMarker", "RemoteLogSegmentMetadataRecord", "TaskConfig"):
        for start in (b"", *record_kind(name).starts):
            row = {"key": key and start + key, "value": value and start + value, "topic": "connect-configs"}
            assert len(typed(RecordStructs(record_kind(name)), batch(RECORDS, row))) == 1


def test_topics_of_kinds_are_the_internal_ones() -> None:
    assert {kind.topic for kind in record_kinds().values()} == {*TOPICS, *PATTERNS.values(), None}


def test_large_messages_of_many_values_are_null_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large._Counting, "left", 60)
    topics = [MetadataRequestTopic(name="t") for _ in range(100)]
    request = PROTOCOL.encode_request(MetadataRequest(topics=topics), 4, correlation_id=1)
    given = batch(EXCHANGES, {"api_key": 3, "version": 4, "request": request})
    (row,) = typed(ExchangeStructs(3, ("request",), max_decoded=100), given)
    assert (row["request"], row["reason"]) == (None, TOO_MANY.format(len(request)))
    (row,) = typed(ExchangeStructs(3, ("request",)), given)
    assert len(row["request"]["topics"]) == 100


def test_so_are_large_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large._Counting, "left", 60)
    entity = [EntityData(entity_type="u", entity_name="n")] * 60
    value = b"\1\x0e\0" + ClientQuotaRecord(entity=entity).encode(0)
    path = tmp_path / "__cluster_metadata-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(encode_batch([Record(None, value)]))
    for option, reason in (("100", TOO_MANY.format(len(value))), ("1k", None)):
        reader = LogReader(Options({"path": str(path), "record": "ClientQuotaRecord", "maxDecoded": option}))
        (row,) = [row for task in reader.tasks() for made in reader.read(task) for row in made.to_pylist()]
        assert (row["value"] is None, row["reason"]) == (reason is not None, reason)


def test_so_are_large_records_of_connectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large._Counting, "left", 60)
    value = b'{"properties": {%s}}' % b", ".join(b'"%d": "v"' % number for number in range(100))
    given = batch(RECORDS, {"topic": "connect-configs", "key": b"connector-a", "value": value})
    kind = record_kind("ConnectorConfig")
    (row,) = typed(RecordStructs(kind, max_decoded=100), given)
    assert (row["value"], row["reason"]) == (None, TOO_MANY.format(len(value)))
    (row,) = typed(RecordStructs(kind), given)
    assert (row["value"], row["reason"]) == (value.decode(), None)


def test_a_replay_leaves_out_large_records_of_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large._Counting, "left", 60)
    value = b"\1\x0e\0" + ClientQuotaRecord(entity=[EntityData(entity_type="u", entity_name="n")] * 60).encode(0)
    row = dict.fromkeys(replay.COLUMNS) | {"topic": "__cluster_metadata", "control": False, "value": value}
    assert replay.logged(row).record.reason is None
    monkeypatch.setattr(replay, "MAX_DECODED", 100)
    assert replay.logged(row).record.reason == TOO_MANY.format(len(value))


def records_of_kinds() -> tuple[pa.RecordBatch, list[tuple[int, str]]]:
    """Four records for each beginning of each kind, and which of them is the first. It is of the kind; others
    are of another topic, control records if the kind is none, and cut off."""
    topics = {pattern: f"connect-{of}" for of, pattern in PATTERNS.items()}
    rows, expected = [], []
    for name, kind in record_kinds().items():
        topic = "orders" if kind.topic is None else topics.get(kind.topic, kind.topic)
        other = "__consumer_offsets" if topic == "__transaction_state" else "__transaction_state"
        for start in kind.starts:
            mine = {"topic": topic, "control": kind.topic is None, kind.column: start + b"x"}
            elsewhere = mine | ({"control": False} if kind.topic is None else {"topic": other})
            rows += [mine, elsewhere, mine | {"control": not mine["control"]}, mine | {kind.column: start[:-1]}]
            expected.append((len(rows) - 4, name))
    return batch(RECORDS, *rows), expected


def test_each_record_is_of_one_kind_by_its_topic_and_how_it_starts() -> None:
    found, expected = records_of_kinds()
    at = {
        name: {row for row, is_of in enumerate(RecordStructs(kind).of(found).to_pylist()) if is_of}
        for name, kind in record_kinds().items()
    }
    for row, name in expected:
        assert row in at[name]
        assert not {row + 2, row + 3} & at[name], name
        kinds = {other for other, places in at.items() if row in places}
        assert len(kinds) == 1, kinds
    assert len(expected) > 60


@pytest.mark.parametrize(("version", "shown"), [(2**15 - 1, 2**15 - 1), (2**15, None)])
def test_a_version_out_of_range_is_null_and_in_the_reason(version: int, shown: int | None) -> None:
    varint = bytes([version & 0x7F | 0x80, version >> 7 & 0x7F | 0x80, version >> 14])
    row = {"topic": "__cluster_metadata", "value": b"\1\2" + varint}
    (found,) = typed(RecordStructs(record_kind("TopicRecord")), batch(RECORDS, row))
    assert (found["version"], found["value"]) == (shown, None)
    assert found["reason"]


def test_a_record_of_another_kind_is_null_with_a_reason() -> None:
    marker = encode_control("commit", EndTxnMarker(coordinator_epoch=5))
    (row,) = typed(
        RecordStructs(record_kind("LeaderChangeMessage")), batch(RECORDS, {"key": marker.key, "value": marker.value})
    )
    assert (row["type"], row["version"], row["value"]) == ("commit", None, None)
    assert row["reason"] == "expected a control record with LeaderChangeMessage, got commit"
    key = b"\0\1" + OffsetCommitKey(group="h", topic="t", partition=0).encode(0)
    (row,) = typed(
        RecordStructs(record_kind("GroupMetadata")), batch(RECORDS, {"topic": "__consumer_offsets", "key": key})
    )
    assert (row["version"], row["key"], row["value"]) == (None, None, None)
    assert row["reason"] == "expected a record of kind GroupMetadata, got OffsetCommit"


CONNECT = r"(?:.*[._-])?connect(?:[._-].*)?[._-]configs?|mm2-configs\..*\.internal"


@pytest.mark.parametrize(
    ("kind", "columns", "where", "topics"),
    [
        (
            RecordKind(
                "OffsetCommit", "__consumer_offsets", (b"\0\0", b"\0\1"), "OffsetCommitKey", "OffsetCommitValue"
            ),
            ["version", "key", "value"],
            "NOT control AND topic = '__consumer_offsets' AND "
            "(substring(key, 1, 2) = X'0000' OR substring(key, 1, 2) = X'0001')",
            ["__consumer_offsets"],
        ),
        (
            RecordKind("GroupMetadata", "__consumer_offsets", (b"\0\2",), "GroupMetadataKey", "GroupMetadataValue"),
            ["version", "key", "value"],
            "NOT control AND topic = '__consumer_offsets' AND (substring(key, 1, 2) = X'0002')",
            ["__consumer_offsets"],
        ),
        (
            RecordKind("TopicRecord", "__cluster_metadata", (b"\1\2",), None, "TopicRecord"),
            ["version", "value"],
            "NOT control AND topic = '__cluster_metadata' AND (substring(value, 1, 2) = X'0102')",
            ["__cluster_metadata"],
        ),
        (
            RecordKind("EndTxnMarker", None, (b"\0\0\0\0", b"\0\0\0\1"), None, "EndTxnMarker"),
            ["type", "version", "value"],
            "control AND (substring(key, 1, 4) = X'00000000' OR substring(key, 1, 4) = X'00000001')",
            [
                "__consumer_offsets",
                "__cluster_metadata",
                "connect-configs",
                "my-connect-configs",
                "connect-configs-2",
            ],
        ),
        (
            RecordKind("TaskConfig", CONNECT, (b"task-",), None, None),
            ["version", "key", "value"],
            f"NOT control AND topic RLIKE r'^(?:{CONNECT})$' AND (substring(key, 1, 5) = X'7461736b2d')",
            ["connect-configs", "my-connect-configs"],
        ),
    ],
)
def test_what_is_known_of_a_kind_of_record(
    kind: RecordKind, columns: list[str], where: str, topics: list[str]
) -> None:
    decode = RecordStructs(kind)
    assert record_kind(kind.name) == kind
    assert [field.name for field in decode.fields()] == columns
    assert (decode.name, decode.where) == (kind.name, where)
    every = ["__consumer_offsets", "__cluster_metadata", "connect-configs", "my-connect-configs", "connect-configs-2"]
    assert [topic for topic in every if kind.is_in(topic)] == topics


def test_what_is_known_of_an_api() -> None:
    decode = ExchangeStructs(HEARTBEAT)
    assert (decode.name, decode.where) == ("Heartbeat", "api_key = 12")
    assert [(field.name, field.metadata[b"comment"].decode()) for field in decode.fields()] == [
        (
            "request",
            "Sent regularly by members of classic groups to the coordinator to stay in the group and learn of "
            "rebalances.",
        ),
        ("response", "Reports whether the member is still in the group or must rejoin."),
    ]
    others = batch(EXCHANGES, *({"api_key": key} for key in (12, 13, 11, None, 12)))
    assert decode.of(others).to_pylist() == [True, False, False, None, True]


@pytest.mark.parametrize(
    ("facts", "asked", "answered", "reason"),
    [
        ({}, "g4", (4, 0), None),
        ({"request": exchange(4)["request"] + b"more"}, "g4", (4, 0), None),
        ({"response": exchange(4)["response"] + b"more"}, "g4", (4, 0), None),
        ({"version": None}, "g4", None, None),
        ({"version": 0}, "g4", (0, None), None),
        ({"version": -1}, "g4", None, "Heartbeat has no version -1"),
        ({"version": 99}, "g4", None, newer("Heartbeat")),
        ({"request": None, "response": None}, None, None, None),
        ({"request": None, "reason": "known"}, None, (4, 0), "known"),
        (
            {"request": b"\0\3" + exchange(4)["request"][2:]},
            None,
            (4, 0),
            "expected a request with API key 12, got 3",
        ),
        (
            {"request": b"\0\x0c", "response": b""},
            None,
            None,
            "RequestHeader v0, field api_version, byte 2 of 2: int16 needs 2 bytes, 0 left",
        ),
        (
            {"response": exchange(4)["response"][:6]},
            "g4",
            None,
            "HeartbeatResponse v4, field throttle_time_ms, byte 5 of 6: int32 needs 4 bytes, 1 left",
        ),
        ({"request": b"\0\x0c", "reason": "known"}, None, (4, 0), "known"),
    ],
)
def test_bytes_of_an_exchange_one_by_one(
    facts: dict[str, Any], asked: str | None, answered: tuple[int, int | None] | None, reason: str | None
) -> None:
    """Between two others, whose rows stay as they are."""
    first, row, last = typed(
        ExchangeStructs(HEARTBEAT), batch(EXCHANGES, exchange(1), exchange(4, **facts), exchange(2))
    )
    found_request, found = row["request"], row["response"]
    assert (found_request and found_request["group_id"], row["reason"]) == (asked, reason)
    assert (found and (found["error_code"], found["throttle_time_ms"])) == answered
    for number, other in ((1, first), (2, last)):
        assert (other["request"]["group_id"], other["response"]["error_code"]) == (f"g{number}", number)
        assert other["reason"] is None


def test_columns_that_are_replaced_go_to_the_end_after_the_reason() -> None:
    text = pa.string()
    schema = pa.schema([("a", text), ("key", text), ("problem", text), ("b", text), ("value", text)])
    fields = [pa.field("value", pa.int8()), pa.field("c", pa.int8())]
    assert schema_with(schema, ("key",), fields).names == ["a", "b", "reason", "value", "c"]
    with_reason = schema.append(pa.field("reason", text))
    assert schema_with(with_reason, ("key",), fields).names == ["a", "b", "reason", "value", "c"]
    rows = [{"a": "1", "reason": "known"}, {"a": "2"}, {"a": "3"}, {"a": "4"}]
    given = pa.RecordBatch.from_pylist(rows, with_reason)
    new = {"value": pa.array([1, 2, 3, 4], pa.int8()), "c": pa.array([5, 6, 7, 8], pa.int8())}
    reasons = (["x", "first", None, None], ["y", "second", "second", None])
    found = with_columns(given, ("key",), fields, new, *reasons)
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        ("1", None, "known", 1, 5),
        ("2", None, "first", 2, 6),
        ("3", None, "second", 3, 7),
        ("4", None, None, 4, 8),
    ]
    bare = with_columns(given.drop_columns("reason"), ("key",), fields, new, *reasons)
    assert bare["reason"].to_pylist() == ["x", "first", "second", None]


def test_which_records_are_of_a_kind() -> None:
    every = ["__consumer_offsets", "connect-configs", "connect-configs-2", None]
    rows = [
        {"topic": topic, "control": control, "key": key, "value": b"v"}
        for topic in every
        for control in (False, True)
        for key in (b"\0\1x", b"\0\2x", b"task-a-0", b"\0\0\0\1", None)
    ]
    found = batch(RECORDS, *rows)
    expected = {
        "OffsetCommit": [(every[0], False, b"\0\1x"), (every[0], False, b"\0\0\0\1")],
        "GroupMetadata": [(every[0], False, b"\0\2x")],
        "TaskConfig": [(every[1], False, b"task-a-0")],
        "EndTxnMarker": [(topic, True, b"\0\0\0\1") for topic in every],
    }
    for name, chosen in expected.items():
        mask = RecordStructs(record_kind(name)).of(found).to_pylist()
        taken = [row for row, is_mine in zip(rows, mask, strict=True) if is_mine]
        assert [(row["topic"], row["control"], row["key"]) for row in taken] == chosen
