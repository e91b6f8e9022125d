"""Data directories scanned, and the records of a whole partition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kwire.compression import DecompressionLimitError
from kwire.errors import DecodeError
from kwire.logs import Checkpoint, committed_offsets, internal_records, read_producer_snapshot, scan
from kwire.policy import LIKE_KAFKA
from kwire.records import ChecksumError, CorruptRecordError, Record, encode_batch, encode_control
from kwire_kafka import PROTOCOL
from kwire_kafka.coordinator.offset_commit import OffsetCommitKey, OffsetCommitValue
from kwire_kafka.data.end_txn_marker import EndTxnMarker
from kwire_kafka.data.producer_snapshot import ProducerSnapshot

UUID = "4dd5f2cffed5493fa6ea9fd565570d09"


def commit(offset: int) -> Record:
    key, value = OffsetCommitKey(group="g", topic="t"), OffsetCommitValue(offset=offset)
    return Record(b"\0\1" + key.encode(0), b"\0\3" + value.encode(3), (), 5000 + offset, offset)


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """Two segments: three commits of a transaction and its marker; one commit of an idempotent producer."""
    folder = tmp_path / "__consumer_offsets-7"
    folder.mkdir()
    pending = encode_batch(
        [commit(0), commit(1), commit(2)], producer_id=9, producer_epoch=4, base_sequence=0, transactional=True
    )
    marker = encode_control("commit", EndTxnMarker(coordinator_epoch=3), offset=3, timestamp=6000)
    end = encode_batch([marker], producer_id=9, producer_epoch=5, transactional=True, control=True, leader_epoch=2)
    (folder / f"{0:020}.log").write_bytes(pending + end)
    (folder / f"{4:020}.log").write_bytes(encode_batch([commit(4)], producer_id=8, producer_epoch=0, base_sequence=0))
    return folder


def test_a_data_directory_is_scanned_in_order(tmp_path: Path) -> None:
    for name in (
        "b-2/00000000000000000000.log",
        "b-10/00000000000000000000.log",
        f"a-0.{UUID}-delete/00000000000000000000.log",
        "a-1/00000000000000000000.log",
        "a-0/00000000000000000100.log",
        "a-0/00000000000000000000.log",
        "a-0/00000000000000000000.index",
        "a-0/00000000000000000000.log.deleted",
        "a-0/00000000000000000100.log.cleaned",
        "a-0/00000000000000000100.snapshot",
        "__cluster_metadata-0/00000000000000000000.log",
        "__cluster_metadata-0/00000000000000000120-0000000001.checkpoint",
        "__cluster_metadata-0/00000000000000000130-0000000001.checkpoint.part",
        "bootstrap.checkpoint",
        "server.log",
        "recovery-point-offset-checkpoint",
        "meta.properties",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    found = list(scan(tmp_path))
    assert [file.path.relative_to(tmp_path).as_posix() for file in found] == [
        "__cluster_metadata-0/00000000000000000000.log",
        "__cluster_metadata-0/00000000000000000120-0000000001.checkpoint",
        "bootstrap.checkpoint",
        "a-0/00000000000000000000.log",
        "a-0/00000000000000000100.log",
        f"a-0.{UUID}-delete/00000000000000000000.log",
        "a-1/00000000000000000000.log",
        "b-2/00000000000000000000.log",
        "b-10/00000000000000000000.log",
    ]
    assert [isinstance(file, Checkpoint) for file in found] == [False, True, True, *[False] * 6]


def test_a_partition_gives_its_records_with_their_place(partition: Path) -> None:
    rows = list(internal_records(PROTOCOL, partition))
    assert [(row.offset, row.timestamp, row.record.name) for row in rows] == [
        (0, 5000, "OffsetCommit"),
        (1, 5001, "OffsetCommit"),
        (2, 5002, "OffsetCommit"),
        (3, 6000, "commit"),
        (4, 5004, "OffsetCommit"),
    ]
    assert [(row.producer_id, row.producer_epoch, row.transactional) for row in rows] == [
        *[(9, 4, True)] * 3,
        (9, 5, True),
        (8, 0, False),
    ]
    assert rows[3].leader_epoch == 2
    assert repr(rows[4]).startswith("<4 <__consumer_offsets OffsetCommit v3 key=")


def test_trap_42_control_records_are_rows_too(partition: Path) -> None:
    record = list(internal_records(PROTOCOL, partition))[3].record
    assert record.control
    assert (record.type, record.version, record.value) == (1, 0, EndTxnMarker(coordinator_epoch=3))
    assert (record.key, record.raw_key, record.reason) == (None, b"\0\0\0\1", None)


def test_trap_42_an_unknown_control_record_is_a_row(partition: Path) -> None:
    unknown = encode_batch([Record(b"\0\0\0\x63", b"\0\0", (), 0, 0)], control=True)
    (partition / f"{0:020}.log").write_bytes(unknown)
    record = next(internal_records(PROTOCOL, partition)).record
    assert (record.control, record.type, record.value) == (True, 99, None)
    assert record.reason == "unknown control record of type 99"


def test_trap_42_a_control_record_that_cannot_be_read_says_why(partition: Path) -> None:
    (partition / f"{0:020}.log").write_bytes(
        encode_batch([Record(b"\0\0\0\1", b"\0\1\0\0\0\3", (), 0, 0)], control=True)
    )
    record = next(internal_records(PROTOCOL, partition)).record
    assert (record.name, record.value, record.reason) == ("commit", None, "unknown version 1 of EndTxnMarker")


def test_decompression_is_bounded(partition: Path) -> None:
    (partition / f"{0:020}.log").write_bytes(encode_batch([commit(number) for number in range(3)], codec=1))
    with pytest.raises(DecompressionLimitError):
        list(internal_records(PROTOCOL, partition, limit=100))
    errors: list[DecodeError] = []
    assert [row.offset for row in internal_records(PROTOCOL, partition, limit=100, errors=errors)] == [4]
    assert [type(error) for error in errors] == [DecompressionLimitError]


def test_checksums_and_the_policy_are_those_of_the_caller(partition: Path) -> None:
    """For batches and for the messages in them."""
    one = commit(4)
    one.value = (one.value or b"") + b"more"
    data = encode_batch([one])
    (partition / f"{4:020}.log").write_bytes(data[:20] + bytes([data[20] ^ 1]) + data[21:])
    (strict,) = internal_records(PROTOCOL, partition / f"{4:020}.log", verify=False)
    assert "4 trailing bytes" in (strict.record.reason or "")
    (lenient,) = internal_records(PROTOCOL, partition / f"{4:020}.log", verify=False, policy=LIKE_KAFKA)
    assert lenient.record.value == OffsetCommitValue(offset=4)
    settings: dict[str, Any] = {"verify": False, "policy": LIKE_KAFKA}
    assert [one.offset for one in committed_offsets(PROTOCOL, partition, **settings).values()] == [4]
    errors: list[DecodeError] = []
    assert [one.offset for one in committed_offsets(PROTOCOL, partition, errors=errors).values()] == [2]
    assert [type(error) for error in errors] == [ChecksumError]
    with pytest.raises(ChecksumError):
        committed_offsets(PROTOCOL, partition)


def test_one_file_may_be_given(partition: Path) -> None:
    rows = list(internal_records(PROTOCOL, partition / f"{4:020}.log"))
    assert [row.offset for row in rows] == [4]


def test_a_copy_elsewhere_needs_its_topic(partition: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.log"
    copy.write_bytes((partition / f"{4:020}.log").read_bytes())
    with pytest.raises(ValueError, match=r"copy\.log is not in the folder of a partition"):
        list(internal_records(PROTOCOL, copy))
    assert len(list(internal_records(PROTOCOL, copy, topic="__consumer_offsets"))) == 1
    (other,) = internal_records(PROTOCOL, partition / f"{4:020}.log", topic="__transaction_state")
    assert other.record.topic == "__transaction_state", "the one that is given"


def test_corrupt_batches_raise_or_are_noted(partition: Path) -> None:
    path = partition / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)
    with pytest.raises(ChecksumError):
        list(internal_records(PROTOCOL, partition))
    errors: list[DecodeError] = []
    assert [row.offset for row in internal_records(PROTOCOL, partition, errors=errors)] == [3, 4]
    assert [type(error) for error in errors] == [ChecksumError]


def test_a_batch_whose_records_lie_is_noted_as_well(partition: Path) -> None:
    path = partition / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[61] ^= 2  # the length of the first record
    path.write_bytes(data)
    with pytest.raises(CorruptRecordError):
        list(internal_records(PROTOCOL, partition, verify=False))
    errors: list[DecodeError] = []
    rows = list(internal_records(PROTOCOL, partition, verify=False, errors=errors))
    assert [row.offset for row in rows] == [3, 4]
    assert [type(error) for error in errors] == [CorruptRecordError]


def test_records_that_cannot_be_read_do_not_end_the_log(partition: Path) -> None:
    records = [Record(b"\0\x77", b"new", (), 0, 0), Record(None, None, (), 0, 1), commit(2)]
    (partition / f"{0:020}.log").write_bytes(encode_batch(records))
    rows = list(internal_records(PROTOCOL, partition))
    assert [row.record.reason for row in rows] == ["unknown record type 119", "the record has no key", None, None]


def snapshot(path: Path, data: bytes) -> Path:
    file = path / f"{5:020}.snapshot"
    file.write_bytes(data)
    return file


EMPTY_SNAPSHOT = bytes.fromhex("0001" "48674bc7" "00000000")
"""As brokers write it when no producer is known."""


def test_a_snapshot_without_producers(tmp_path: Path) -> None:
    found = read_producer_snapshot(PROTOCOL, snapshot(tmp_path, EMPTY_SNAPSHOT))
    assert found == ProducerSnapshot(crc=0x48674BC7, producer_entries=[])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "an int16 needs 2 bytes"),
        (b"\0\2" + EMPTY_SNAPSHOT[2:], "version"),
        (EMPTY_SNAPSHOT[:-1], "needs 4 bytes, 3 left"),
        (EMPTY_SNAPSHOT + b"x", "1 trailing byte"),
        (b"\0\1" + bytes(8), "the stored checksum is 0x00000000, but the computed checksum is 0x48674bc7"),
    ],
)
def test_a_broken_snapshot_is_an_error(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason) as caught:
        read_producer_snapshot(PROTOCOL, snapshot(tmp_path, data))
    assert caught.value.data == data
    if "checksum" in reason:
        assert str(caught.value) == f"ProducerSnapshot v1, field crc, byte 2 of 10: {reason}"


def test_the_checksum_of_a_snapshot_can_be_left_alone(tmp_path: Path) -> None:
    path = snapshot(tmp_path, b"\0\1" + bytes(8))
    assert read_producer_snapshot(PROTOCOL, path, verify=False) == ProducerSnapshot()
