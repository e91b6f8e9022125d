"""Files of batches: read whole, from an offset or a time, at their ragged end, and when they are damaged."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from kwire.compression import DecompressionLimitError
from kwire.errors import DecodeError
from kwire.logs import Checkpoint, LogSegment, extents, window
from kwire.logs.indexes import near_offset, near_position
from kwire.policy import LIKE_KAFKA
from kwire.records import (
    ChecksumError,
    CorruptRecordError,
    Record,
    UnknownMagicError,
    encode_batch,
    encode_message_set,
)
from tests.support.effort import examples, peak

BASE = 1000
STEP = 10
TIMES = 1_700_000_000_000


def batch_at(offset: int, count: int = STEP, size: int = 20) -> bytes:
    records = [Record(b"k", bytes(size), (), TIMES + offset + number, offset + number) for number in range(count)]
    return encode_batch(records)


def batches(count: int) -> list[bytes]:
    return [batch_at(BASE + STEP * number) for number in range(count)]


def offset_index(found: Sequence[bytes], zeros: int = 0) -> bytes:
    """As brokers write it: the last offset of every batch but the first, and where the batch begins."""
    entries, position = b"", len(found[0])
    for number, data in enumerate(found[1:], 1):
        entries += struct.pack(">ii", STEP * number + STEP - 1, position)
        position += len(data)
    return entries + bytes(8 * zeros)


def time_index(count: int, zeros: int = 0) -> bytes:
    """The last timestamp of every batch and the relative offset of its record."""
    last = [STEP * number + STEP - 1 for number in range(count)]
    return b"".join(struct.pack(">qi", TIMES + BASE + offset, offset) for offset in last) + bytes(12 * zeros)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "orders-3"
    found.mkdir()
    return found


@pytest.fixture
def segment(folder: Path) -> LogSegment:
    """Twenty batches without indexes."""
    path = folder / f"{BASE:020}.log"
    path.write_bytes(b"".join(batches(20)))
    return LogSegment(path)


@pytest.fixture
def indexed(segment: LogSegment) -> LogSegment:
    segment.path.with_suffix(".index").write_bytes(offset_index(batches(20), zeros=5))
    segment.path.with_suffix(".timeindex").write_bytes(time_index(20, zeros=5))
    return segment


def first_offsets(segment: LogSegment, **options: int) -> list[int]:
    return [batch.base_offset for batch in segment.batches(**options)]  # type: ignore[arg-type]


def test_a_segment_is_known_by_its_name(segment: LogSegment) -> None:
    assert (segment.topic, segment.partition, segment.base_offset, segment.state) == ("orders", 3, BASE, "")
    assert (segment.size, repr(segment)) == (sum(map(len, batches(20))), f"LogSegment({str(segment.path)!r})")


@pytest.mark.parametrize(
    ("folder", "topic", "partition", "state"),
    [
        ("a-b.c-12", "a-b.c", 12, ""),
        ("t-1-2", "t-1", 2, ""),
        ("t7-0.4dd5f2cffed5493fa6ea9fd565570d09-delete", "t7", 0, "delete"),
        ("t7-0.4dd5f2cffed5493fa6ea9fd565570d09-future", "t7", 0, "future"),
        ("t7-0.4dd5f2cffed5493fa6ea9fd565570d09-stray", "t7", 0, "stray"),
        ("t7-0.4dd5-delete", None, None, ""),
        ("elsewhere", None, None, ""),
    ],
)
def test_the_folder_says_which_partition_it_is(
    folder: str, topic: str | None, partition: int | None, state: str
) -> None:
    found = LogSegment(Path(folder) / "00000000000000000000.log")
    assert (found.topic, found.partition, found.state) == (topic, partition, state)


def test_a_file_of_another_name_is_read_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "copy.log"
    path.write_bytes(b"".join(batches(2)))
    segment = LogSegment(path)
    assert (segment.topic, segment.partition, segment.base_offset) == (None, None, None)
    assert first_offsets(segment) == [BASE, BASE + STEP]
    assert first_offsets(segment, start_offset=BASE + STEP) == [BASE + STEP]
    assert first_offsets(segment, start_time=TIMES + BASE + STEP) == [BASE + STEP]


@pytest.mark.parametrize(
    ("name", "end_offset", "epoch"),
    [
        ("00000000000000000120-0000000001.checkpoint", 120, 1),
        ("00000000000000000000-0000000000.checkpoint", 0, 0),
        ("bootstrap.checkpoint", None, None),
    ],
)
def test_a_checkpoint_says_where_it_ends(name: str, end_offset: int | None, epoch: int | None) -> None:
    found = Checkpoint(Path("data") / name)
    assert (found.end_offset, found.epoch) == (end_offset, epoch)
    assert (found.topic, found.partition) == ("__cluster_metadata", 0)


def test_batches_come_in_order_with_their_positions(segment: LogSegment) -> None:
    data = segment.path.read_bytes()
    reader = segment.batches()
    found = list(reader)
    assert [batch.base_offset for batch in found] == [BASE + STEP * number for number in range(20)]
    assert b"".join(batch.data for batch in found) == data
    assert all(data[batch.position :].startswith(batch.data) for batch in found)
    assert (reader.truncated, reader.padding, reader.errors) == (0, 0, [])


@pytest.mark.parametrize("size", [30, 500, 4096])
def test_batches_do_not_care_where_windows_end(
    segment: LogSegment, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    whole = [(batch.position, batch.data) for batch in segment.batches()]
    monkeypatch.setattr(extents, "WINDOW", size)
    assert [(batch.position, batch.data) for batch in segment.batches()] == whole


@pytest.mark.parametrize(
    ("offset", "first"),
    [(0, 0), (BASE, 0), (BASE + 9, 0), (BASE + 10, 1), (BASE + 55, 5), (BASE + 199, 19), (BASE + 200, 20)],
)
@pytest.mark.parametrize("with_index", [False, True])
def test_reading_starts_with_the_batch_that_holds_the_offset(
    request: pytest.FixtureRequest, offset: int, first: int, with_index: bool
) -> None:
    segment = request.getfixturevalue("indexed" if with_index else "segment")
    assert first_offsets(segment, start_offset=offset) == [BASE + STEP * number for number in range(first, 20)]


@pytest.mark.parametrize(("relative", "first"), [(-5, 0), (9, 0), (10, 1), (55, 5), (199, 19), (200, 20)])
@pytest.mark.parametrize("with_index", [False, True])
def test_reading_starts_with_the_first_batch_of_a_time(
    request: pytest.FixtureRequest, relative: int, first: int, with_index: bool
) -> None:
    segment = request.getfixturevalue("indexed" if with_index else "segment")
    found = first_offsets(segment, start_time=TIMES + BASE + relative)
    assert found == [BASE + STEP * number for number in range(first, 20)]


def test_offset_and_time_hold_together(indexed: LogSegment) -> None:
    assert first_offsets(indexed, start_offset=BASE + 50, start_time=TIMES + BASE + 90)[0] == BASE + 90
    assert first_offsets(indexed, start_offset=BASE + 90, start_time=TIMES + BASE + 50)[0] == BASE + 90


def test_an_index_saves_reading_what_is_before(indexed: LogSegment) -> None:
    """Damage before the place that the index names goes unnoticed."""
    data = bytearray(indexed.path.read_bytes())
    data[70] ^= 1
    indexed.path.write_bytes(data)
    assert first_offsets(indexed, start_offset=BASE + 100)[0] == BASE + 100
    assert first_offsets(indexed, start_time=TIMES + BASE + 100)[0] == BASE + 100
    with pytest.raises(ChecksumError):
        first_offsets(indexed)
    indexed.path.with_suffix(".index").unlink()
    with pytest.raises(ChecksumError):
        first_offsets(indexed, start_offset=BASE + 100)


ENTRY = struct.Struct(">ii")
BROKEN = {
    "empty": b"",
    "zeros": bytes(80),
    "half an entry": offset_index(batches(20))[:-3],
    "positions in the middle of batches": b"".join(
        ENTRY.pack(offset, position + 7) for offset, position in ENTRY.iter_unpack(offset_index(batches(20)))
    ),
    "positions of later batches": b"".join(
        ENTRY.pack(offset, position + 5 * len(batch_at(BASE)))
        for offset, position in ENTRY.iter_unpack(offset_index(batches(20)))
    ),
    "positions beyond the end": b"".join(ENTRY.pack(10 * number, 1 << 30) for number in range(20)),
    "the first batch for every offset": b"".join(ENTRY.pack(10 * number, 0) for number in range(20)),
    "negative": b"\xff" * 160,
    "descending": b"".join(ENTRY.pack(200 - 10 * number, 300 - number) for number in range(20)),
}


@pytest.mark.parametrize("index", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("offset", [BASE, BASE + 55, BASE + 199])
def test_a_broken_index_does_not_break_reading(indexed: LogSegment, index: bytes, offset: int) -> None:
    indexed.path.with_suffix(".index").write_bytes(index)
    first = (offset - BASE) // STEP
    expected = [BASE + STEP * number for number in range(first, 20)]
    assert first_offsets(indexed, start_offset=offset) == expected
    assert first_offsets(indexed, start_time=TIMES + offset) == expected


def test_indexes_that_are_not_files_come_from_a_function(segment: LogSegment) -> None:
    """As those in an object store. What it raises is the same as a file that is missing."""

    def read(suffix: str) -> bytes:
        return {".index": offset_index(batches(20))}[suffix]

    def missing(suffix: str) -> bytes:
        raise FileNotFoundError(suffix)

    fifth = 5 * len(batch_at(BASE))
    with segment.path.open("rb") as file:
        view = window.Window(file, segment.size)
        assert near_offset(view, segment, BASE + 59, read) == near_position(view, segment, fifth + 9, read) == fifth
        assert near_offset(view, segment, BASE + 59, missing) == near_position(view, segment, fifth, missing) == 0


def test_an_index_that_leads_to_a_damaged_batch_is_not_used(indexed: LogSegment) -> None:
    with indexed.path.open("rb") as file:
        assert near_offset(window.Window(file, indexed.size), indexed, BASE + 59) == 5 * len(batch_at(BASE))
    damaged(indexed, 5, 80, b"\xee")
    with indexed.path.open("rb") as file:
        assert near_offset(window.Window(file, indexed.size), indexed, BASE + 59) == 0


def test_an_index_that_leads_to_a_batch_of_another_segment_is_not_used(folder: Path) -> None:
    """A batch from before the offset in the file's name, as in a file that was copied together."""
    first = batch_at(BASE + STEP)
    path = folder / f"{BASE:020}.log"
    path.write_bytes(first + batch_at(BASE - STEP))
    path.with_suffix(".index").write_bytes(ENTRY.pack(5, len(first)))
    assert first_offsets(LogSegment(path), start_offset=BASE + STEP) == [BASE + STEP, BASE - STEP]


@given(st.binary(max_size=200), st.binary(max_size=240), st.integers(BASE - 5, BASE + 210))
def test_no_index_breaks_reading(
    tmp_path_factory: pytest.TempPathFactory, index: bytes, times: bytes, offset: int
) -> None:
    path = tmp_path_factory.getbasetemp() / f"{BASE:020}.log"
    path.write_bytes(b"".join(batches(20)))
    path.with_suffix(".index").write_bytes(index)
    path.with_suffix(".timeindex").write_bytes(times)
    expected = [start for start in range(BASE, BASE + 200, STEP) if start + STEP > offset]
    assert first_offsets(LogSegment(path), start_offset=offset) == expected


@pytest.mark.parametrize("shift", [-50, 50])
def test_a_time_index_that_does_not_agree_with_the_log_is_not_used(indexed: LogSegment, shift: int) -> None:
    entry = struct.Struct(">qi")
    wrong = [entry.pack(time, max(0, offset + shift)) for time, offset in entry.iter_unpack(time_index(20))]
    indexed.path.with_suffix(".timeindex").write_bytes(b"".join(wrong))
    assert first_offsets(indexed, start_time=TIMES + BASE + 100)[0] == BASE + 100


@pytest.mark.parametrize("missing", [1, 50, len(batch_at(BASE)) - 12, len(batch_at(BASE)) - 3])
def test_an_incomplete_last_batch_ends_quietly(segment: LogSegment, missing: int) -> None:
    data = segment.path.read_bytes()
    segment.path.write_bytes(data[:-missing])
    reader = segment.batches()
    assert len(list(reader)) == 19
    assert reader.truncated == len(batch_at(BASE)) - missing
    assert reader.padding == 0
    segment.path.write_bytes(data[7 : 7 + missing % 17])
    reader = segment.batches()
    assert (list(reader), reader.truncated, reader.padding) == ([], missing % 17, 0)


@pytest.mark.parametrize("zeros", [12, 61, 5_000_000])
def test_a_preallocated_tail_is_no_error(segment: LogSegment, zeros: int) -> None:
    with segment.path.open("ab") as file:
        file.truncate(segment.size + zeros)
    reader = segment.batches()
    assert len(list(reader)) == 20
    assert (reader.padding, reader.truncated) == (zeros, 0)


def test_zeros_with_something_behind_them_are_damage(segment: LogSegment) -> None:
    with segment.path.open("ab") as file:
        file.write(bytes(3_000_000) + b"x")
    size = sum(map(len, batches(20)))
    with pytest.raises(CorruptRecordError, match="the batch size is 0: expected at least 14") as caught:
        list(segment.batches())
    assert (caught.value.position, caught.value.offset) == (size, size + 8)


def test_an_empty_segment_has_no_batches(folder: Path) -> None:
    path = folder / f"{BASE:020}.log"
    path.touch()
    assert first_offsets(LogSegment(path)) == []
    assert first_offsets(LogSegment(path), start_offset=BASE) == []


def test_a_size_that_the_file_could_hold_but_no_batch_has(
    segment: LogSegment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is allocated for it."""
    monkeypatch.setattr(extents, "MAX_FRAME", 2000)
    monkeypatch.setattr(window, "MAX_FRAME", 2000)
    monkeypatch.setattr(extents, "WINDOW", 600)
    data = bytearray(segment.path.read_bytes())
    start = 5 * len(batch_at(BASE))
    data[start + 8 : start + 12] = (2500).to_bytes(4, "big")
    segment.path.write_bytes(data)
    with pytest.raises(CorruptRecordError, match="the batch size is 2500: expected 14 to 1988") as caught:
        list(segment.batches())
    assert (caught.value.position, caught.value.offset, caught.value.path) == (start, start + 8, "size")
    assert caught.value.data == data[start : start + len(batch_at(BASE))]


def damaged(segment: LogSegment, number: int, place: int, value: bytes) -> int:
    """Overwrites bytes of a batch; gives the position of the batch."""
    data = bytearray(segment.path.read_bytes())
    start = number * len(batch_at(BASE))
    data[start + place : start + place + len(value)] = value
    segment.path.write_bytes(data)
    return start


@pytest.mark.parametrize(
    ("place", "value", "error"),
    [(17, b"\0\0\0\0", ChecksumError), (80, b"\xee", ChecksumError), (16, b"\7", UnknownMagicError)],
)
def test_a_corrupt_batch_is_an_error_with_its_place_in_the_file(
    segment: LogSegment, monkeypatch: pytest.MonkeyPatch, place: int, value: bytes, error: type[DecodeError]
) -> None:
    monkeypatch.setattr(extents, "WINDOW", 700)
    start = damaged(segment, 12, place, value)
    reader, found = segment.batches(), []
    with pytest.raises(error) as caught:
        found += [batch.base_offset for batch in reader]
    assert start < caught.value.offset < start + len(batch_at(BASE))
    reader = segment.batches(skip=True)
    assert [batch.base_offset for batch in reader] == [BASE + STEP * number for number in range(20) if number != 12]
    assert [type(problem) for problem in reader.errors] == [error]


def test_batches_with_their_records_and_errors_in_order(segment: LogSegment) -> None:
    damaged(segment, 12, 80, b"\xee")
    lying = bytearray(batch_at(BASE))
    lying[61] ^= 2
    lying[17:21] = crc32c(lying[21:]).to_bytes(4, "big")
    damaged(segment, 3, 8, bytes(lying[8:]))
    reader = segment.batches(skip=True)
    found = {batch.base_offset: len(records) for batch, records in reader.with_records()}
    assert found == {BASE + STEP * number: STEP for number in range(20) if number not in (3, 12)}
    assert [type(problem) for problem in reader.errors] == [CorruptRecordError, ChecksumError]
    with pytest.raises(CorruptRecordError):
        list(segment.batches().with_records())


def test_the_limit_of_decompression_and_the_policy_can_be_chosen(folder: Path) -> None:
    path = folder / f"{BASE:020}.log"
    path.write_bytes(encode_batch([Record(None, bytes(1000))], codec=1))
    (batch,) = LogSegment(path).batches(limit=500)
    with pytest.raises(DecompressionLimitError):
        batch.records()
    uncounted = bytearray(batch_at(BASE))
    uncounted[57:61] = bytes(4)
    path.write_bytes(uncounted)
    (batch,) = LogSegment(path).batches(verify=False, policy=LIKE_KAFKA)
    assert batch.records() == []


@pytest.mark.parametrize(
    ("size", "magic", "reason"),
    [
        (13, 0, "the batch size is 13: expected 14 to 104857588"),
        (14, 2, "the batch size is 14: expected at least 49"),
        (48, 2, "the batch size is 48: expected at least 49"),
        (14, 7, "unknown magic 7"),
        (21, 1, "the batch size is 21: expected at least 22"),
    ],
)
def test_a_batch_that_is_too_small_is_told_the_minimum_of_its_format(
    segment: LogSegment, size: int, magic: int, reason: str
) -> None:
    damaged(segment, 12, 8, size.to_bytes(4, "big"))
    damaged(segment, 12, 16, bytes([magic]))
    with segment.path.open("rb") as file:
        found = extents.extents(window.Window(file, segment.size))
        assert [(extent.reason, extent.unfinished) for extent in found if extent.reason] == [(reason, False)]


def test_skipping_goes_on_with_the_next_batch_after_a_size_that_is_wrong(segment: LogSegment) -> None:
    start = damaged(segment, 12, 8, b"\xff\xff\xff\xff")
    reader = segment.batches(skip=True)
    assert [batch.base_offset for batch in reader] == [BASE + STEP * number for number in range(20) if number != 12]
    (error,) = reader.errors
    assert isinstance(error, CorruptRecordError)
    assert error.position == start


def test_a_size_beyond_the_end_is_damage_if_other_batches_follow(segment: LogSegment) -> None:
    """And else a batch that is being written."""
    damaged(segment, 12, 8, b"\0\x10\0\0")
    reader = segment.batches(skip=True)
    assert [batch.base_offset for batch in reader] == [BASE + STEP * number for number in range(20) if number != 12]
    assert (reader.skipped, reader.truncated) == (1, 0)
    damaged(segment, 19, 8, b"\0\x10\0\0")
    reader = segment.batches(skip=True)
    assert len(list(reader)) == 18
    assert (reader.skipped, reader.truncated) == (1, len(batch_at(BASE)))


def test_batches_that_are_not_needed_are_trusted_only_where_the_next_one_follows(folder: Path) -> None:
    path = folder / f"{BASE:020}.log"
    broken = bytearray(batch_at(BASE))
    broken[-1] ^= 1
    for following, reasons in ((BASE + STEP, [None]), (BASE + STEP + 1, ["the stored checksum", None])):
        path.write_bytes(bytes(broken) + batch_at(following))
        with path.open("rb") as file:
            found = list(extents.extents(window.Window(file, path.stat().st_size), skip=lambda head, at: at == 0))
        assert [one.reason and one.reason[:19] for one in found] == reasons
    first, last = (encode_message_set([Record(b"k", timestamp=1, offset=at)]) for at in (BASE - 1, BASE + STEP))
    path.write_bytes(first + broken + last)  # old messages are needed, and make no header credible
    asked: list[int] = []
    with path.open("rb") as file:
        seen = window.Window(file, path.stat().st_size)
        found = list(extents.extents(seen, skip=lambda head, at: not asked.append(at)))  # type: ignore[func-returns-value]
    assert [one.reason and one.reason[:19] for one in found] == [None, "the stored checksum", None]
    assert asked == [len(first)]


@pytest.mark.parametrize(
    "following",
    [
        batch_at(BASE),
        encode_batch([Record(b"k", bytes(99), offset=BASE)], codec=4),
        encode_batch([], base_offset=BASE, last_offset=BASE + 3),
        encode_batch([Record(b"k", offset=BASE)], timestamp_type="append", transactional=True, delete_horizon=TIMES),
        encode_message_set([Record(b"k", timestamp=TIMES, offset=BASE)], timestamp_type="append"),
        encode_message_set([Record(b"k", timestamp=TIMES, offset=BASE)], codec=3, timestamp_type="append"),
    ],
    ids=["usual", "zstd", "empty", "all flags", "old", "old and compressed"],
)
def test_after_damage_any_batch_is_found(folder: Path, following: bytes) -> None:
    magic = following[16]
    first = batch_at(BASE - STEP) if magic == 2 else encode_message_set([Record(b"k", timestamp=1)])
    path = folder / f"{0:020}.log"
    path.write_bytes(first + b"\xee" * 70 + following)
    reader = LogSegment(path).batches(skip=True)
    assert [batch.data for batch in reader] == [first, following]
    assert reader.skipped == 1


def test_a_batch_after_damage_is_found_wherever_the_search_reads_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extents, "WINDOW", 100)
    first, following = batch_at(BASE, 1), batch_at(BASE + STEP, 1)
    path = folder / f"{0:020}.log"
    for size in range(30, 240, 3):
        path.write_bytes(first + b"\xee" * size + following)
        reader = LogSegment(path).batches(skip=True)
        assert [batch.position for batch in reader] == [0, len(first) + size]


def test_each_damaged_batch_is_told_by_itself_and_what_hides_another_batch_is_told_so(segment: LogSegment) -> None:
    size = len(batch_at(BASE))
    for number, place, value in ((3, 17, b"\0\0\0\0"), (4, 17, b"\0\0\0\0"), (7, 8, struct.pack(">i", size))):
        damaged(segment, number, place, value)
    with segment.path.open("rb") as file:
        found = [one for one in extents.extents(window.Window(file, segment.size)) if one.reason]
    assert [(one.position, one.size) for one in found] == [(number * size, size) for number in (3, 4, 7)]
    checksums = "the stored checksum is [0-9a-f]{8}, but the computed checksum is [0-9a-f]{8}"
    hides = ", and another batch begins in it"
    for one, pattern in zip(found, (checksums, checksums, checksums + hides), strict=True):
        assert re.fullmatch(pattern, one.reason or "")


def test_a_search_takes_no_more_checksums_than_its_budget(segment: LogSegment) -> None:
    with segment.path.open("rb") as file:
        seen = window.Window(file, segment.size)
        seen.budget = len(batch_at(BASE)) + 1
        assert [seen.certain(0, len(batch_at(BASE))) for _ in range(3)] == [True, True, False]


def test_old_messages_are_only_found_in_a_file_that_begins_with_one(folder: Path) -> None:
    old, new = encode_message_set([Record(b"k", b"v", (), TIMES, BASE)]), batch_at(BASE)
    path = folder / f"{BASE:020}.log"
    for first, second, certain in ((new, old, False), (old, old, True), (old, new, True), (new, new, True)):
        path.write_bytes(first + second)
        with path.open("rb") as file:
            seen = window.Window(file, len(first + second))
            assert seen.certain(len(first), len(second)) is certain


def test_errors_are_kept_up_to_a_number(segment: LogSegment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwire.logs.segment.MAX_ERRORS", 2)
    for number in (3, 7, 12):
        damaged(segment, number, 17, b"\0\0\0\0")
    reader = segment.batches(skip=True)
    assert len(list(reader)) == 17
    assert (reader.skipped, len(reader.errors)) == (3, 2)


def test_checksums_can_be_left_alone(segment: LogSegment) -> None:
    damaged(segment, 12, 17, b"\0\0\0\0")
    assert len(list(segment.batches(verify=False))) == 20


def test_what_is_appended_while_reading_is_left_for_the_next_time(segment: LogSegment) -> None:
    reader = segment.batches()
    next(reader)
    with segment.path.open("ab") as file:
        file.write(batch_at(BASE + 200))
    assert len(list(reader)) == 19
    assert len(list(segment.batches())) == 21


def test_a_file_may_shrink_or_vanish_while_it_is_read(segment: LogSegment, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(batch_at(BASE, size=10_000))
    segment.path.write_bytes(b"".join(batch_at(BASE + STEP * number, size=10_000) for number in range(8)))
    monkeypatch.setattr(extents, "WINDOW", size)
    reader = segment.batches()
    next(reader)
    with segment.path.open("r+b") as file:
        file.truncate(4 * size - 10)
    assert len(list(reader)) == 2
    assert reader.truncated == size - 10
    reader = segment.batches()
    next(reader)
    segment.path.unlink()
    assert len(list(reader)) == 2


def test_old_formats_are_read_too(folder: Path) -> None:
    path = folder / f"{BASE:020}.log"
    timeless = [Record(b"k", b"v", (), -1, BASE + number) for number in range(4)]
    records = [Record(b"k", b"v", (), TIMES, BASE + 4 + number) for number in range(4)]
    path.write_bytes(encode_message_set(timeless, magic=0) + encode_message_set(records, magic=1, codec=1))
    segment = LogSegment(path)
    assert [(batch.magic, len(batch.records())) for batch in segment.batches()] == [(0, 1)] * 4 + [(1, 4)]


@pytest.mark.parametrize("magic", [0, 1])
def test_damage_among_messages_of_old_formats_is_skipped(folder: Path, magic: int) -> None:
    time = -1 if magic == 0 else TIMES
    found = [encode_message_set([Record(b"k", b"v", (), time, BASE + at)], magic=magic) for at in range(9)]
    found[4] = found[4][:-1] + b"?"
    path = folder / f"{BASE:020}.log"
    path.write_bytes(b"".join(found))
    reader = LogSegment(path).batches(skip=True)
    assert [batch.base_offset for batch in reader] == [BASE + at for at in (0, 1, 2, 3, 5, 6, 7, 8)]
    (error,) = reader.errors
    assert isinstance(error, ChecksumError)
    assert error.position == 4 * len(found[0])


def test_an_index_may_lead_to_an_old_batch_that_cannot_be_decompressed(folder: Path) -> None:
    """Its base offset is inside of it."""
    first = encode_message_set([Record(b"k", b"v", (), TIMES, BASE)], magic=1)
    second = bytearray(encode_message_set([Record(b"k", b"v", (), TIMES, BASE + 1)], magic=1, codec=1))
    second[40:50] = bytes(10)
    second[12:16] = zlib.crc32(second[16:]).to_bytes(4, "big")
    path = folder / f"{BASE:020}.log"
    path.write_bytes(first + second)
    path.with_suffix(".index").write_bytes(struct.pack(">ii", 1, len(first)))
    (batch,) = LogSegment(path).batches(start_offset=BASE + 1)
    with pytest.raises(DecodeError):
        batch.records()


def test_memory_does_not_grow_with_the_segment(folder: Path) -> None:
    one = batch_at(BASE, size=50_000)
    path = folder / f"{BASE:020}.log"
    with path.open("wb") as file:
        for _ in range(60):
            file.write(one)
    totals = []

    def read() -> None:
        totals.append(sum(len(record.value or b"") for batch in LogSegment(path).batches() for record in batch))

    assert peak(read) < 4 * window.WINDOW < path.stat().st_size
    assert totals == [60 * STEP * 50_000]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_damage(folder: Path) -> None:
    path = folder / f"{BASE:020}.log"
    path.write_bytes(b"\xff" * 5 * window.WINDOW)
    errors = []

    def read() -> None:
        reader = LogSegment(path).batches(skip=True)
        assert list(reader) == []
        errors.extend(reader.errors)

    assert peak(read) < 4 * window.WINDOW < path.stat().st_size
    assert [(error.position, error.reason) for error in errors] == [(0, "the batch size is -1: expected at least 14")]


# Any segment, compared with a plain account of its batches


class Piece(NamedTuple):
    """A batch of a segment: its bytes, its offsets and times, and whether it is damaged."""

    data: bytes
    first: int
    last: int
    times: list[int]
    damaged: bool


@st.composite
def pieces(draw: st.DrawFn) -> list[Piece]:
    """Batches with gaps between their offsets, times in any order, compressed or not, some of them damaged."""
    offset, found = BASE, []
    for _ in range(draw(st.integers(1, 8))):
        offset += draw(st.sampled_from([0, 0, 1, 5]))
        times = draw(st.lists(st.integers(TIMES, TIMES + 9), min_size=1, max_size=3))
        value = draw(st.sampled_from([b"v", bytes(1500)]))
        records = [Record(b"k", value, (), time, offset + number) for number, time in enumerate(times)]
        data = encode_batch(records, codec=draw(st.sampled_from([0, 4])))
        damaged = draw(st.sampled_from([False, False, False, True]))
        if damaged:
            data = data[:-1] + bytes([data[-1] ^ 1])
        found.append(Piece(data, offset, offset + len(times) - 1, times, damaged))
        offset += len(times)
    return found


def indexes(found: list[Piece], every: int) -> dict[str, bytes]:
    """As brokers write them, with an entry for every so many batches: the times are the highest so far."""
    offsets = times = b""
    newest, position = (0, 0), 0
    for number, one in enumerate(found):
        for place, time in enumerate(one.times):
            newest = max(newest, (time, -(one.first + place)))
        if number and number % every == 0:
            offsets += struct.pack(">ii", one.last - BASE, position)
            times += struct.pack(">qi", newest[0], -newest[1] - BASE)
        position += len(one.data)
    return {".index": offsets, ".timeindex": times}


@pytest.mark.slow
@examples(0.7)
@given(
    pieces(),
    st.integers(1, 3),
    st.none() | st.integers(BASE - 1, BASE + 30),
    st.none() | st.integers(TIMES - 1, TIMES + 10),
    st.sampled_from([b"", bytes(5), bytes(40), batch_at(BASE + 100)[:-1], batch_at(BASE + 100)[:16]]),
    st.integers(0, 9000),
)
def test_the_batches_of_any_segment_are_those_that_were_written(
    found: list[Piece], every: int, offset: int | None, time: int | None, tail: bytes, start: int
) -> None:
    """From any offset and time, with and without indexes, up to zeros or an incomplete batch at the end."""
    if found[-1].damaged:
        tail = b""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{BASE:020}.log"
        path.write_bytes(b"".join(one.data for one in found) + tail)
        segment = LogSegment(path)
        with path.open("rb") as file:
            view = window.Window(file, segment.size)
            extent = list(extents.extents(view))
            assert list(extents.extents(view, 0, start)) == [one for one in extent if one.position >= start]
        for number in range(2):
            reader = segment.batches(start_offset=offset, start_time=time, skip=True)
            whole = [(batch.position, batch.base_offset, batch.last_offset) for batch in reader]
            assert whole == list(expected(found, offset, time))
            assert (reader.truncated, reader.padding) == ((0, 40) if tail == bytes(40) else (len(tail), 0))
            for error in reader.errors:
                assert (type(error), error.path) == (ChecksumError, "crc")
                assert error.data in [one.data for one in found if one.damaged]
            if not number:  # without indexes everything is read
                assert len(reader.errors) == reader.skipped == sum(one.damaged for one in found)
            for suffix, data in indexes(found, every).items():
                path.with_suffix(suffix).write_bytes(data + bytes(24))


def expected(found: list[Piece], offset: int | None, time: int | None) -> Iterator[tuple[int, int, int]]:
    """Position and offsets of the intact batches from the first that is not too early."""
    position, begun = 0, False
    for one in found:
        early = (offset is not None and one.last < offset) or (time is not None and max(one.times) < time)
        begun = begun or not (early or one.damaged)
        if begun and not one.damaged:
            yield position, one.first, one.last
        position += len(one.data)
