"""Control records: transaction markers and what KRaft writes into its log."""

from __future__ import annotations

import pytest

from kwire import LIKE_KAFKA, EncodeError, Uuid
from kwire.message import Message
from kwire.records import Record, decode_control, encode_batch, encode_control, read_batches
from kwire.records.control import TYPES
from kwire_kafka import (
    PROTOCOL,
    EndTxnMarker,
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from kwire_kafka.data.leader_change_message import Voter

LEADER = LeaderChangeMessage(leader_id=1, voters=[Voter(voter_id=1)], granting_voters=[Voter(voter_id=1)])
NEWER_LEADER = LeaderChangeMessage(
    version=1, leader_id=1, voters=[Voter(voter_id=1, voter_directory_id=Uuid(range(16)))]
)

CASES: list[tuple[int, str, str, Message]] = [
    (0, "abort", "0000 00000007", EndTxnMarker(coordinator_epoch=7)),
    (1, "commit", "0000 00000007", EndTxnMarker(coordinator_epoch=7)),
    (2, "leader_change", "0000 00000001 02 00000001 00 02 00000001 00 00", LEADER),
    (2, "leader_change", f"0001 00000001 02 00000001 {bytes(range(16)).hex()} 00 01 00", NEWER_LEADER),
    (3, "snapshot_header", "0000 0000000000000009 00", SnapshotHeaderRecord(last_contained_log_timestamp=9)),
    (4, "snapshot_footer", "0000 00", SnapshotFooterRecord()),
    (5, "kraft_version", "0000 0001 00", KRaftVersionRecord(kraft_version=1)),
    (6, "voters", "0000 01 00", VotersRecord()),
]


@pytest.mark.parametrize(("number", "name", "value", "message"), CASES)
def test_trap_42_key_and_value_of_each_type(number: int, name: str, value: str, message: Message) -> None:
    record = Record(bytes.fromhex(f"0000 {number:04x}"), bytes.fromhex(value), (), 5, 6)
    control = decode_control(PROTOCOL, record)
    assert (control.type, control.name, control.version) == (number, name, int(value[:4], 16))
    assert control.message == message
    assert (control.key, control.value) == (record.key, record.value)
    assert encode_control(name, message, timestamp=5, offset=6) == record


def test_a_control_record_has_up_to_a_mebibyte() -> None:
    for size, known in ((1 << 20, True), ((1 << 20) + 1, False)):
        value = bytes.fromhex("0000 00000007").ljust(size, b"\0")
        control = decode_control(PROTOCOL, Record(b"\0\0\0\1", value), LIKE_KAFKA)  # which ignores what follows
        assert control.message == (EndTxnMarker(coordinator_epoch=7) if known else None)


def test_trap_42_markers_in_a_batch() -> None:
    record = encode_control("commit", EndTxnMarker(coordinator_epoch=3), timestamp=1)
    data = encode_batch([record], producer_id=9, producer_epoch=0, transactional=True, control=True)
    (batch,) = read_batches(data)
    assert (batch.control, batch.transactional, batch.producer_id) == (True, True, 9)
    (read,) = batch
    assert repr(decode_control(PROTOCOL, read)) == (
        "ControlRecord(type=1, name='commit', version=0, message=EndTxnMarker(coordinator_epoch=3))"
    )


@pytest.mark.parametrize(
    ("key", "value", "type", "version", "name"),
    [
        (b"\0\0\0\x07", b"\0\0????", 7, 0, "unknown"),
        (b"\0\0\xff\xff", b"", -1, -1, "unknown"),
        (b"\0\0\0", b"\0\0\0\0\0\1", -1, 0, "unknown"),
        (None, None, -1, -1, "unknown"),
        (b"\0\0\0\1", b"\0\1\0\0\0\1", 1, 1, "commit"),
        (b"\0\0\0\1", b"\xff\xff\0\0\0\1", 1, -1, "commit"),
        (b"\0\0\0\1", b"\0\0\0\0\1", 1, 0, "commit"),
        (b"\0\0\0\1", b"", 1, -1, "commit"),
        (b"\0\0\0\1", None, 1, -1, "commit"),
        (b"\0\0\0\2", b"\0\2\0\0\0\1", 2, 2, "leader_change"),
        (b"\0\0\0\6", b"\0\0\xff", 6, 0, "voters"),
    ],
)
def test_trap_42_what_is_not_known_is_never_an_error(
    key: bytes | None, value: bytes | None, type: int, version: int, name: str
) -> None:
    control = decode_control(PROTOCOL, Record(key, value))
    assert (control.type, control.version, control.name, control.message) == (type, version, name, None)
    assert (control.key, control.value) == (key, value)
    assert control.reason


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (b"\0\0\0\x07", b"", "unknown control record of type 7"),
        (b"\0\0\0\1", None, "the record has no value"),
        (b"\0\0\0\1", b"\0\1\0\0\0\1", "unknown version 1 of EndTxnMarker"),
        (b"\0\0\0\1", b"\0\0\0\0\0\1x", "EndTxnMarker v0, byte 4 of 5: 1 trailing byte"),
    ],
)
def test_trap_42_the_reason_why_there_is_no_message(key: bytes, value: bytes | None, reason: str) -> None:
    assert decode_control(PROTOCOL, Record(key, value)).reason == reason
    good = decode_control(PROTOCOL, Record(b"\0\0\0\1", b"\0\0\0\0\0\1x"), LIKE_KAFKA)
    assert (good.message, good.reason) == (EndTxnMarker(coordinator_epoch=1), None)


def test_trap_42_a_newer_key_may_be_longer() -> None:
    control = decode_control(PROTOCOL, Record(b"\0\1\0\1more", b"\0\0\0\0\0\2"))
    assert (control.name, control.message) == ("commit", EndTxnMarker(coordinator_epoch=2))


def test_a_name_that_is_none() -> None:
    with pytest.raises(EncodeError, match="abort, commit, leader_change"):
        encode_control("rollback", EndTxnMarker())
    assert [name for name, _ in TYPES] == list(dict.fromkeys(case[1] for case in CASES))
