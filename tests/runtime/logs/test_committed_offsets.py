"""What groups committed, added up from the history of a partition."""

from __future__ import annotations

from pathlib import Path

from kwire.logs import CommittedOffset, committed_offsets, internal_records
from kwire.records import Record, encode_batch, encode_control
from kwire_kafka import PROTOCOL
from kwire_kafka.coordinator.legacy_offset_commit import LegacyOffsetCommitKey, LegacyOffsetCommitValue
from kwire_kafka.coordinator.offset_commit import OffsetCommitKey, OffsetCommitValue
from kwire_kafka.data.end_txn_marker import EndTxnMarker

DATA = Path(__file__).parents[2] / "data" / "logs"


def commit(topic: str, offset: int | None) -> Record:
    key = b"\0\1" + OffsetCommitKey(group="g", topic=topic).encode(0)
    if offset is None:
        return Record(key, None)
    return Record(key, b"\0\3" + OffsetCommitValue(offset=offset, leader_epoch=7, metadata="m").encode(3))


class History:
    """A partition of ``__consumer_offsets``, batch by batch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "__consumer_offsets-3"
        self.folder.mkdir()
        self.data = b""
        self.next = 0

    def add(self, *records: Record, producer: int = -1) -> None:
        transactional = producer >= 0
        self.data += encode_batch(
            records, base_offset=self.next, producer_id=producer, producer_epoch=0, transactional=transactional
        )
        self.next += len(records)

    def end(self, how: str, producer: int) -> None:
        marker = encode_control(how, EndTxnMarker(coordinator_epoch=1), offset=self.next)
        self.data += encode_batch([marker], producer_id=producer, transactional=True, control=True)
        self.next += 1

    def offsets(self) -> dict[str, int]:
        (self.folder / f"{0:020}.log").write_bytes(self.data)
        return {topic: one.offset for (_, topic, _), one in committed_offsets(PROTOCOL, self.folder).items()}


def test_the_last_commit_counts_and_tombstones_delete(tmp_path: Path) -> None:
    log = History(tmp_path)
    log.add(commit("a", 1), commit("b", 5), commit("a", 2))
    assert log.offsets() == {"a": 2, "b": 5}
    log.add(commit("b", None), commit("never", None))
    assert log.offsets() == {"a": 2}
    (found,) = committed_offsets(PROTOCOL, log.folder).values()
    assert (found.offset, found.leader_epoch, found.metadata, found.record_offset) == (2, 7, "m", 2)


def test_a_committed_offset_has_all_that_the_consumer_sent(tmp_path: Path) -> None:
    """The time is that of the commit, and not that of the record."""
    log = History(tmp_path)
    for topic, version in (("a", 1), ("b", 3)):
        key = b"\0\1" + OffsetCommitKey(group="g", topic=topic, partition=5).encode(0)
        epoch = 7 if version == 3 else -1
        value = OffsetCommitValue(offset=9, leader_epoch=epoch, metadata="ü", commit_timestamp=1000)
        log.add(Record(key, bytes((0, version)) + value.encode(version), timestamp=2000))
    log.offsets()
    assert committed_offsets(PROTOCOL, log.folder) == {
        ("g", "a", 5): CommittedOffset(9, -1, "ü", 1000, 0),
        ("g", "b", 5): CommittedOffset(9, 7, "ü", 1000, 1),
    }


def test_transactions_count_when_they_are_committed(tmp_path: Path) -> None:
    log = History(tmp_path)
    log.add(commit("a", 1), commit("b", 1))
    log.add(commit("a", 10), producer=1)
    log.add(commit("b", 20), producer=2)
    log.add(commit("c", 30), producer=3)
    assert log.offsets() == {"a": 1, "b": 1}, "all three are open"
    log.end("commit", 1)
    log.end("abort", 2)
    assert log.offsets() == {"a": 10, "b": 1}
    log.add(commit("b", 21), producer=2)
    log.end("commit", 2)
    assert log.offsets() == {"a": 10, "b": 21}


def test_a_checkpoint_in_the_folder_repeats_nothing(tmp_path: Path) -> None:
    log = History(tmp_path)
    log.add(commit("a", 1))
    log.offsets()
    (log.folder / f"{1:020}-{1:010}.checkpoint").write_bytes(log.data)
    assert [row.offset for row in internal_records(PROTOCOL, log.folder)] == [0]


def test_only_a_commit_marker_commits(tmp_path: Path) -> None:
    log = History(tmp_path)
    log.add(commit("a", 1), producer=1)
    unknown = Record(b"\0\0\0\x63", b"\0\0", offset=log.next)
    log.data += encode_batch([unknown], producer_id=1, transactional=True, control=True)
    log.next += 1
    assert log.offsets() == {}


def test_a_transaction_may_set_a_group_back(tmp_path: Path) -> None:
    """The last commit counts, not the largest offset: so a group reads again what it has read."""
    log = History(tmp_path)
    log.add(commit("a", 100))
    log.add(commit("a", 5), producer=1)
    log.end("commit", 1)
    assert log.offsets() == {"a": 5}


def test_a_transaction_leaves_nothing_to_the_next_of_its_producer(tmp_path: Path) -> None:
    log = History(tmp_path)
    log.add(commit("a", 10), producer=1)
    log.end("abort", 1)
    log.add(commit("b", 20), producer=1)
    log.end("commit", 1)
    assert log.offsets() == {"b": 20}
    log.add(commit("b", 21))
    log.add(commit("b", None))
    log.end("commit", 1)
    assert log.offsets() == {}


def test_a_tombstone_in_a_transaction_is_one_of_that_transaction(tmp_path: Path) -> None:
    log = History(tmp_path)
    log.add(commit("a", 1), commit("b", 1))
    log.add(commit("a", 10), commit("b", 10), commit("a", None), producer=1)
    assert log.offsets() == {"a": 1, "b": 1}
    log.end("commit", 1)
    assert log.offsets() == {"a": 1, "b": 10}


def test_what_was_committed_after_a_transaction_wrote_is_newer_than_that(tmp_path: Path) -> None:
    log = History(tmp_path)
    log.add(commit("a", 10), producer=1)
    log.add(commit("a", 11))
    log.end("commit", 1)
    assert log.offsets() == {"a": 11}


def test_legacy_records_and_unreadable_ones(tmp_path: Path) -> None:
    log = History(tmp_path)
    key = b"\0\0" + LegacyOffsetCommitKey(group="g", topic="old").encode(0)
    log.add(Record(key, b"\0\0" + LegacyOffsetCommitValue(offset=4).encode(0)))
    log.add(commit("a", 1), Record(commit("a", 1).key, b"\0\x63"))
    assert log.offsets() == {"old": 4, "a": 1}


def test_a_real_partition() -> None:
    found = committed_offsets(PROTOCOL, DATA / "4.1.1" / "__consumer_offsets-0")
    assert (found["g9", "t7", 0].offset, found["g9", "t7", 0].metadata) == (2, "mäh")
    assert not [group for group, _, _ in found if group in ("g0", "g1", "g2", "g3")], "their tombstones came later"
    assert all(one.offset >= 0 and one.timestamp > 1_600_000_000_000 for one in found.values())
