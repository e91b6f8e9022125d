"""Rows of internal topics: whatever the bytes are, there is a row, and it says what could not be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.errors import KwireError
from kwire.logs import TOPICS, InternalRecord, decode_record
from kwire.message import Message
from kwire.policy import LIKE_KAFKA, Policy
from kwire_kafka import PROTOCOL, EndTxnMarker
from kwire_kafka.coordinator.legacy_offset_commit import LegacyOffsetCommitKey, LegacyOffsetCommitValue
from kwire_kafka.coordinator.offset_commit import OffsetCommitKey, OffsetCommitValue
from kwire_kafka.metadata.feature_level_record import FeatureLevelRecord
from tests.properties.values import Extreme, Source, as_decoded, make

OFFSETS, METADATA, REMOTE = "__consumer_offsets", "__cluster_metadata", "__remote_log_metadata"
COORDINATED = {topic: log for topic, log in TOPICS.items() if log in ("group", "transaction", "share")}
FRAMED = {topic: log for topic, log in TOPICS.items() if topic not in COORDINATED}

KEY = OffsetCommitKey(group="g", topic="t", partition=3)
RAW_KEY = b"\0\1" + KEY.encode(0)


def coordinator_types() -> list[tuple[str, int]]:
    return [(topic, number) for topic, log in COORDINATED.items() for number in PROTOCOL.record_types(log)]


def framed_types() -> list[tuple[str, int]]:
    return [(topic, number) for topic, log in FRAMED.items() for number in PROTOCOL.record_types(log)]


def classes(topic: str, number: int) -> tuple[type[Message], type[Message]]:
    key, value = PROTOCOL.record(TOPICS[topic], number)
    assert value is not None
    return key or value, value


def frame(number: int, version: int, message: bytes, frame_version: int = 1) -> bytes:
    return bytes((frame_version, number, version)) + message


@pytest.mark.parametrize("source", [Source(), Extreme("max")], ids=["defaults", "extremes"])
@pytest.mark.parametrize(("topic", "number"), coordinator_types())
def test_trap_39_every_type_and_version_of_the_coordinators(topic: str, number: int, source: Source) -> None:
    key_class, value_class = classes(topic, number)
    key = make(key_class, key_class.VALID_VERSIONS.start, source)
    for version in value_class.VALID_VERSIONS:
        value = make(value_class, version, source)
        raw_key = number.to_bytes(2, "big") + key.encode(key_class.VALID_VERSIONS.start)
        raw_value = version.to_bytes(2, "big") + value.encode(version)
        record = decode_record(PROTOCOL, topic, raw_key, raw_value)
        assert record.reason is None
        assert (record.type, record.version) == (number, version)
        assert record.key == as_decoded(key, key_class.VALID_VERSIONS.start)
        assert record.value == as_decoded(value, version)
        assert (record.raw_key, record.raw_value) == (raw_key, raw_value)
        assert not record.tombstone


@pytest.mark.parametrize("source", [Source(), Extreme("max")], ids=["defaults", "extremes"])
@pytest.mark.parametrize(("topic", "number"), framed_types())
def test_trap_41_every_type_and_version_of_framed_records(topic: str, number: int, source: Source) -> None:
    value_class = classes(topic, number)[1]
    for version in value_class.VALID_VERSIONS:
        value = make(value_class, version, source)
        record = decode_record(PROTOCOL, topic, None, frame(number, version, value.encode(version)))
        assert record.reason is None
        assert (record.type, record.name, record.version) == (number, value_class.__name__, version)
        assert record.value == as_decoded(value, version)


def test_names_leave_key_and_value_out() -> None:
    record = decode_record(PROTOCOL, OFFSETS, RAW_KEY, None)
    assert record.name == "OffsetCommit"


def test_trap_39_a_null_value_is_a_tombstone() -> None:
    record = decode_record(PROTOCOL, OFFSETS, RAW_KEY, None)
    assert record.tombstone
    assert (record.key, record.value, record.version, record.reason) == (KEY, None, None, None)


def test_a_tombstone_that_cannot_be_read_is_none() -> None:
    record = decode_record(PROTOCOL, OFFSETS, b"\0\x77", None)
    assert not record.tombstone
    assert record.reason == "unknown record type 119"


def test_trap_39_types_0_and_1_are_offset_commits() -> None:
    key, value = LegacyOffsetCommitKey(group="g", topic="t"), LegacyOffsetCommitValue(offset=7, commit_timestamp=9)
    record = decode_record(PROTOCOL, OFFSETS, b"\0\0" + key.encode(0), b"\0\0" + value.encode(0))
    assert (record.key, record.value) == (key, value)


def test_trap_39_type_0_had_all_value_versions_of_type_1() -> None:
    value = OffsetCommitValue(offset=7, leader_epoch=2, commit_timestamp=9)
    record = decode_record(PROTOCOL, OFFSETS, b"\0\0" + KEY.encode(0), b"\0\3" + value.encode(3))
    assert record.reason is None
    assert record.value == value


def test_trap_39_an_unknown_type_is_a_row() -> None:
    record = decode_record(PROTOCOL, OFFSETS, b"\x03\xe8key", b"\0\0value")
    assert (record.type, record.name, record.key, record.value) == (1000, None, None, None)
    assert record.reason == "unknown record type 1000"
    assert (record.raw_key, record.raw_value) == (b"\x03\xe8key", b"\0\0value")


def test_trap_39_an_unknown_value_version_is_a_row_with_its_key() -> None:
    record = decode_record(PROTOCOL, OFFSETS, RAW_KEY, b"\0\x05anything")
    assert (record.key, record.version, record.value) == (KEY, 5, None)
    assert record.reason == "unknown version 5 of OffsetCommitValue"


def test_trap_39_only_in_groups_type_0_has_versions_of_type_1() -> None:
    key = b"\0\0" + PROTOCOL["TransactionLogKey"]().encode(0)
    record = decode_record(PROTOCOL, "__transaction_state", key, b"\0\x63")
    assert record.reason == "unknown version 99 of TransactionLogValue"


def test_trap_39_version_4_of_offset_commits_is_flexible() -> None:
    """Kafka 4.1 wrote it first: readers that knew version 3 only went dark."""
    raw = bytes.fromhex("0004" "0000000000000002" "ffffffff" "03" "6d68" "0000018bcfe56800" "00")
    record = decode_record(PROTOCOL, OFFSETS, RAW_KEY, raw)
    assert record.value == OffsetCommitValue(
        offset=2, leader_epoch=-1, metadata="mh", commit_timestamp=1_700_000_000_000
    )


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (None, b"\0\0", "the record has no key"),
        (b"", None, "byte 0 of 0: an int16 needs 2 bytes, 0 left"),
        (b"\0\1\0", None, "OffsetCommitKey v0, field group, byte 2 of 3: "),
        (RAW_KEY + b"x", None, "byte 12 of 13: 1 trailing byte"),
        (RAW_KEY, b"", "byte 0 of 0: an int16 needs 2 bytes, 0 left"),
        (RAW_KEY, b"\0\3\0", "OffsetCommitValue v3, field offset, byte 2 of 3: "),
        (RAW_KEY, b"\xff\xff", "unknown version -1 of OffsetCommitValue"),
    ],
)
def test_broken_records_of_coordinators(key: bytes | None, value: bytes | None, reason: str) -> None:
    record = decode_record(PROTOCOL, OFFSETS, key, value)
    assert record.reason is not None
    assert reason in record.reason
    assert record.value is None
    assert not record.tombstone


def test_kafka_ignores_what_is_behind_the_messages_of_coordinators() -> None:
    value = OffsetCommitValue(offset=7)
    record = decode_record(PROTOCOL, OFFSETS, RAW_KEY + b"x", b"\0\3" + value.encode(3) + b"y", LIKE_KAFKA)
    assert (record.key, record.value, record.reason) == (KEY, value, None)


FEATURE = FeatureLevelRecord(name="metadata.version", feature_level=27)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "the record has no value"),
        (b"", "byte 0 of 0"),
        (frame(12, 0, b"", frame_version=0), "unknown frame version 0"),
        (frame(12, 0, b"", frame_version=2), "unknown frame version 2"),
        (frame(13, 0, b""), "unknown record type 13"),
        (frame(12, 1, b""), "unknown version 1 of FeatureLevelRecord"),
        (frame(12, 0, b"\xff"), "FeatureLevelRecord v0, field name, byte 4 of 4: "),
        (frame(12, 0, FEATURE.encode(0) + b"xy"), "byte 23 of 25: 2 trailing bytes"),
        (b"\xff\xff\xff\xff\xff\xff", "byte 0 of 6"),
    ],
)
@pytest.mark.parametrize("policy", [None, LIKE_KAFKA], ids=["strict", "like Kafka"])
def test_trap_41_broken_metadata_records(value: bytes | None, reason: str, policy: None) -> None:
    """Bytes behind a metadata record are refused by Kafka too."""
    record = decode_record(PROTOCOL, METADATA, None, value, policy or LIKE_KAFKA)
    assert record.reason is not None
    assert reason in record.reason
    assert record.value is None
    assert record.raw_value == value


def test_the_policy_applies_to_metadata_and_control_records_too() -> None:
    raw = FEATURE.encode(0).replace(b"metadata", b"metad\xffta")
    tags = FEATURE.encode(0)[:-1] + bytes.fromhex("02 0500 0500")
    for wrong, policy, name in (
        (raw, Policy(utf8="replace"), "metad\ufffdta.version"),
        (tags, Policy(tags="kafka"), FEATURE.name),
    ):
        assert decode_record(PROTOCOL, METADATA, None, frame(12, 0, wrong)).value is None
        found = decode_record(PROTOCOL, METADATA, None, frame(12, 0, wrong), policy).value
        assert found is not None
        assert found.name == name  # type: ignore[attr-defined]
    commit = b"\0\0\0\1", b"\0\0\0\0\0\7more"
    assert decode_record(PROTOCOL, METADATA, *commit, control=True).value is None
    assert decode_record(PROTOCOL, METADATA, *commit, LIKE_KAFKA, control=True).value == EndTxnMarker(
        coordinator_epoch=7
    )


def test_trap_41_type_and_version_of_unknown_metadata_records_are_kept() -> None:
    record = decode_record(PROTOCOL, METADATA, None, b"\1\xac\2\7rest")
    assert (record.type, record.version, record.name) == (300, 7, None)
    assert record.reason == "unknown record type 300"


JAVA_REMOTE = [
    (
        "010000076f726465727300000000000000010000000000000002000000030000000000000000030000000000000004000000"
        "00000000006400000000000000c7000000010000018bcfe568000000018bcfe569f403000000000000000000000064000000"
        "000500000000000000960000001000040102030001000101"
    ),
    (
        "010100076f726465727300000000000000010000000000000002000000030000000000000000030000000000000004000000"
        "00010000018bcfe56be8000100"
    ),
    "010200076f7264657273000000000000000100000000000000020000000300000000020000018bcfe56fd00000",
]
"""Written by RemoteLogMetadataSerde of Kafka 4.1.1: a segment, an update of it, a deleted partition."""


@pytest.mark.parametrize(("number", "written"), list(enumerate(JAVA_REMOTE)))
def test_records_of_tiered_storage_are_framed_like_those_of_the_cluster(number: int, written: str) -> None:
    raw = bytes.fromhex(written)
    record = decode_record(PROTOCOL, REMOTE, None, raw)
    assert record.reason is None
    assert (record.type, record.version) == (number, 0)
    assert record.value is not None
    assert frame(number, 0, record.value.encode(0)) == raw


def test_a_segment_of_tiered_storage() -> None:
    value = decode_record(PROTOCOL, REMOTE, None, bytes.fromhex(JAVA_REMOTE[0])).value
    assert value is not None
    assert (value.start_offset, value.end_offset, value.segment_size_in_bytes) == (100, 199, 4096)  # type: ignore[attr-defined]
    assert value.remote_log_segment_id.topic_id_partition.name == "orders"  # type: ignore[attr-defined]
    assert value.txn_index_empty is True  # type: ignore[attr-defined]


def test_other_topics_have_no_such_records() -> None:
    with pytest.raises(ValueError, match="unknown internal topic 'orders'; expected __consumer_offsets, "):
        decode_record(PROTOCOL, "orders", b"", b"")


def test_every_log_of_the_protocol_has_a_topic() -> None:
    assert set(TOPICS.values()) == set(PROTOCOL.logs)


TYPES = [number.to_bytes(2, "big") for number in range(26)]
NOISE = st.none() | st.binary(max_size=40)
PLAUSIBLE = st.builds(bytes.__add__, st.sampled_from([*TYPES, b"\1\2\0", b"\1\3\1"]), st.binary(max_size=60))


@given(st.sampled_from(list(TOPICS)), NOISE | PLAUSIBLE, NOISE | PLAUSIBLE)
def test_no_bytes_raise(topic: str, key: bytes | None, value: bytes | None) -> None:
    record = decode_record(PROTOCOL, topic, key, value)
    assert (record.raw_key, record.raw_value) == (key, value)
    assert (record.value is not None) + record.tombstone + (record.reason is not None) == 1


def test_rows_print() -> None:
    good = decode_record(PROTOCOL, OFFSETS, RAW_KEY, b"\0\3" + OffsetCommitValue(offset=7).encode(3))
    assert repr(good).startswith("<__consumer_offsets OffsetCommit v3 key=OffsetCommitKey(group='g', ")
    assert repr(InternalRecord("t", None, None, type=9, reason="why")) == "<t 9 reason='why'>"


def test_every_failure_is_one_of_ours() -> None:
    """What is caught is a ``DecodeError``; a mistake of the caller is not swallowed."""
    with pytest.raises(KwireError):
        decode_record(type(PROTOCOL)("kwire_kafka", {}, {}, {}, {}, {}), OFFSETS, RAW_KEY, None)
