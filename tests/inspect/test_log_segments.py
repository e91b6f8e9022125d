"""Log segments to rows: whole, in splits of any size, damaged in every way, and no more of them than is asked for."""

from __future__ import annotations

import gzip
import os
import shutil
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from kwire.arrow.records import RecordBuilder
from kwire.errors import DecodeError
from kwire.logs import LogSegment, scan
from kwire.logs.window import WINDOW
from kwire.records import Batch, Record, encode_batch, encode_message_set
from kwire_inspect.options import BrokenInputError
from kwire_inspect.rows import BATCH_BYTES
from kwire_inspect.schemas import RECORDS
from kwire_inspect.segments import Bounds, Selection, record_batches, segment_files, splits
from kwire_inspect.segments import rows as gathering
from kwire_inspect.segments.typed import raw_schema, typed_batches, typed_schema
from kwire_inspect.tables.record_structs import RecordStructs, record_kind
from kwire_kafka import UserScramCredentialRecord
from tests.support.effort import examples
from tests.support.log_files import LOGS, TIMES, batch_at, broken, index, offsets, rows, segment

REAL = [file.path for release in ("4.1.1", "4.1.1-running", "3.9.1") for file in scan(LOGS / release)]
BATCHES = [batch_at(10 * number) for number in range(8)]
SIZE = len(BATCHES[0])


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.relative_to(LOGS).as_posix())
def test_real_files_give_what_the_runtime_reads(path: Path) -> None:
    file = LogSegment(path)
    expected = [
        (batch.position, record.offset, record.key, record.value, len(record.headers), batch.transactional)
        for batch in file.batches()
        for record in batch.records()
    ]
    found = rows(path, 1000, hide=False)
    assert [
        (row["position"], row["offset"], row["key"], row["value"], len(row["headers"]), row["transactional"])
        for row in found
    ] == expected
    assert not broken(found)


FULL = {
    "topic": "orders",
    "partition": 3,
    "offset": 1_000_000_000_007,
    "time": datetime.fromtimestamp((TIMES + 5) / 1000, UTC),
    "timestamp_type": "create",
    "leader_epoch": 9,
    "magic": 2,
    "codec": "none",
    "producer_id": 4_000_000_000,
    "producer_epoch": 300,
    "base_sequence": 70_000,
    "transactional": True,
    "control": False,
    "key": b"key",
    "value": b"value",
    "headers": [{"key": "a", "value": b"1"}, {"key": "a", "value": None}],
    "problem": None,
}
FACTS = {"producer_id": 4_000_000_000, "producer_epoch": 300, "base_sequence": 70_000, "transactional": True}


def encoded(codec: int = 0, **facts: Any) -> bytes:
    record = Record(b"key", b"value", (("a", b"1"), ("a", None)), TIMES + 5, 1_000_000_000_007)
    data = bytearray(encode_batch([record], codec=codec, **facts))
    data[12:16] = (9).to_bytes(4, "big")  # the leader's epoch, which the checksum leaves out
    return bytes(data)


@pytest.mark.parametrize("codec", range(5))
@pytest.mark.parametrize("slow", [False, True])
def test_all_columns_of_a_record(tmp_path: Path, codec: int, slow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if slow:  # as batches that are not ordinary
        monkeypatch.setattr(RecordBuilder, "take", lambda *_: False)
    path = segment(tmp_path, batch_at(0), encoded(codec, **FACTS))
    (row,) = [row for row in rows(path) if row["key"] == b"key"]
    names = ["none", "gzip", "snappy", "lz4", "zstd"]
    assert row == FULL | {"source": str(path), "position": SIZE, "codec": names[codec]}
    unset = {"producer_id": -1, "producer_epoch": -1, "base_sequence": -1, "transactional": False}
    (row,) = rows(segment(tmp_path, encoded()))
    assert row == FULL | unset | {"source": str(path), "position": 0}


@pytest.mark.parametrize("magic", [0, 1])
def test_all_columns_of_an_old_message(tmp_path: Path, magic: int) -> None:
    data = encode_message_set([Record(b"key", b"value", (), TIMES if magic else -1, 7)], magic=magic)
    (row,) = rows(segment(tmp_path, data))
    expected = {"offset": 7, "magic": magic, "headers": [], "leader_epoch": -1, "transactional": False}
    expected |= {"producer_id": -1, "producer_epoch": -1, "base_sequence": -1, "position": 0}
    time = {"time": datetime.fromtimestamp(TIMES / 1000, UTC), "timestamp_type": "create"}
    assert row == FULL | {"source": row["source"]} | expected | (
        time if magic else {"time": None, "timestamp_type": "none"}
    )


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Batches of both formats and all sorts of damage between them; an index that is right beside it."""
    flipped = bytearray(BATCHES[2])
    flipped[-5] ^= 1
    grown = bytearray(BATCHES[4])
    grown[8:12] = struct.pack(">i", SIZE + 40)
    parts = [BATCHES[0], BATCHES[1], bytes(flipped), b"garbage" * 9, BATCHES[3], bytes(grown), *BATCHES[5:7]]
    path = segment(tmp_path_factory.mktemp("damaged"), *parts, BATCHES[7][:50])
    index(path, *parts)
    return path


def test_damage_is_reported_and_the_rest_is_there(damaged: Path) -> None:
    found = rows(damaged)
    assert sorted(set(offsets(found))) == [*range(20), *range(30, 40), *range(50, 70)]
    reasons = dict(broken(found))
    garbage = 3 * SIZE
    assert "checksum" in reasons[2 * SIZE]
    assert "63 bytes are skipped" in reasons[garbage]
    assert "checksum" in reasons[garbage + 63 + SIZE]  # the batch with the wrong size
    assert "incomplete" in reasons[damaged.stat().st_size - 50]
    assert len(reasons) == 4


@examples(0.12)
@given(size=st.integers(150, 3000), indexed=st.booleans())
def test_splits_of_any_size_give_the_same_rows(damaged: Path, size: int, indexed: bool) -> None:
    path = damaged
    if not indexed:
        path = damaged.parent.with_name("orders-4") / damaged.name
        path.parent.mkdir(exist_ok=True)
        shutil.copy(damaged, path)
    whole = rows(path)
    assert rows(path, size) == whole
    assert len(whole) == 54


@pytest.mark.slow
@examples(0.3)
@given(data=st.data())
def test_any_damage_is_survived_alike_in_all_splits(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(b"".join(BATCHES))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        kind = data.draw(st.sampled_from(["flip", "cut", "insert"]))
        if kind == "flip":
            content[at] ^= data.draw(st.integers(1, 255))
        elif kind == "cut":
            del content[at : at + data.draw(st.integers(1, 100))]
        else:
            content[at:at] = data.draw(st.binary(min_size=1, max_size=50))
    path = segment(tmp_path, bytes(content))
    found = rows(path)
    assert rows(path, data.draw(st.integers(100, 2500))) == found
    lost = set(range(80)) - set(offsets(found))
    # What precedes the checksummed part, as the base offset, may change without anybody noticing.
    assert not lost or broken(found) or len(offsets(found)) >= 80
    assert intact(bytes(content)) <= set(offsets(found))


def intact(content: bytes) -> set[int]:
    """Offsets of all batches that are there, but those that begin within another: in its zeros, by chance."""
    places = sorted((content.find(batch), number) for number, batch in enumerate(BATCHES) if batch in content)
    found, end = set(), 0
    for place, number in places:
        if place >= end:
            found |= set(range(10 * number, 10 * number + 10))
            end = place + SIZE
    return found


def test_failfast_raises_with_file_and_position(damaged: Path) -> None:
    with pytest.raises(BrokenInputError, match="checksum") as raised:
        rows(damaged, failfast=True)
    assert raised.value.args[:2] == (str(damaged), 2 * SIZE)


def test_zeros_behind_the_last_batch_are_no_damage(tmp_path: Path) -> None:
    path = segment(tmp_path, *BATCHES, bytes(5000))
    assert offsets(rows(path, 700)) == list(range(80))
    assert not broken(rows(path, 700))


def test_a_file_that_is_gone_is_reported(tmp_path: Path) -> None:
    path = segment(tmp_path, *BATCHES)
    path.unlink()
    [(position, reason)] = broken(rows(path))
    assert position is None
    assert "cannot be" in reason


def test_an_index_that_lies_is_not_followed(tmp_path: Path) -> None:
    path = segment(tmp_path, *BATCHES)
    path.with_suffix(".index").write_bytes(struct.pack(">iiii", 15, 7, 25, SIZE + 3))
    assert offsets(rows(path, 100)) == list(range(80))


def test_an_index_that_leads_to_a_batch_of_another_segment_is_not_followed(tmp_path: Path) -> None:
    """Its offset is less than that of the first batch here."""
    path = segment(tmp_path, batch_at(100), batch_at(110), batch_at(50), batch_at(120), base=100)
    path.with_suffix(".index").write_bytes(struct.pack(">ii", 15, 2 * SIZE))
    assert offsets(rows(path, bounds=Bounds(first_offset=118))) == [118, 119, *range(120, 130)]


@pytest.mark.slow
def test_an_index_takes_no_more_memory_than_its_limit(tmp_path: Path) -> None:
    """A file of zeros takes no room in a folder or an archive, however large it is."""
    path = segment(tmp_path, *BATCHES)
    for suffix in (".index", ".timeindex"):
        with path.with_suffix(suffix).open("wb") as file:
            file.truncate(1 << 40)
    expected = offsets(rows(path, 100))
    tracemalloc.start()
    try:
        assert offsets(rows(path, 100, bounds=Bounds(first_offset=1))) == expected[1:]
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("before", [0, 1, 17, 60])
def test_a_batch_after_damage_is_found_wherever_windows_end(tmp_path: Path, before: int) -> None:
    """So many bytes of its header are the last that are read in one go."""
    garbage = b"\xff" * (WINDOW + 1 - before)
    path = segment(tmp_path, BATCHES[0], garbage, *BATCHES[1:3])
    found = rows(path)
    assert offsets(found) == list(range(30))
    assert [position for position, _ in broken(found)] == [SIZE]


def with_records(count: int, content: bytes, codec: int = 0) -> bytes:
    """A batch that says it has ``count`` records, whatever ``content`` is; its size and checksum are right."""
    data = encode_batch([Record(None, b"v", (), TIMES, 0)], codec=codec)
    content = gzip.compress(content) if codec else content
    covered = data[21:57] + struct.pack(">i", count) + content
    head = data[:8] + struct.pack(">i", 49 + len(content)) + data[12:17]
    return head + struct.pack(">I", crc32c(covered)) + covered


PLAIN = encode_batch([Record(None, b"v", (), TIMES, 0)])[61:]
"""A record as it stands in a batch: its size, six bytes of fields, a value of one byte, no headers."""


@pytest.mark.parametrize("codec", [0, 1])
@pytest.mark.parametrize(
    ("count", "content"),
    [
        (1, PLAIN + b"\0"),
        (1, PLAIN * 2),
        (2, PLAIN),
        (2, PLAIN + PLAIN[:-1]),
        (0, PLAIN),
        (1, bytes([PLAIN[0] + 2]) + PLAIN[1:] + b"\0"),  # a byte behind the headers
        (1, bytes([PLAIN[0] - 2]) + PLAIN[1:]),
        (2, bytes([PLAIN[0] + 2]) + PLAIN[1:] + b"\0" + PLAIN),
        (1, PLAIN[:-1] + b"\2"),  # a header that is not there
        (1, PLAIN[:4] + b"\x7e" + PLAIN[5:]),  # a key of 63 bytes
        (1, bytes([PLAIN[0] + 2]) + PLAIN[1:4] + b"\3k" + PLAIN[5:]),  # a key of -2 bytes
        (1, bytes([PLAIN[0] + 2]) + PLAIN[1:5] + b"\3vv" + PLAIN[7:]),  # a value of -2 bytes
        (1, bytes([PLAIN[0] + 1]) + PLAIN[1:]),  # a negative size
        (1, bytes([PLAIN[0] + 10]) + PLAIN[1:4] + b"\xff\xff\xff\xff\xff" + PLAIN[4:]),  # a length of six bytes
    ],
)
def test_a_batch_whose_records_do_not_fit_is_reported_and_none_of_it_is_given(
    tmp_path: Path, count: int, content: bytes, codec: int
) -> None:
    bad = with_records(count, content, codec)
    path = segment(tmp_path, BATCHES[0], bad, BATCHES[1])
    found = rows(path)
    assert offsets(found) == list(range(20))
    [(position, reason)] = broken(found)
    assert position == SIZE
    assert reason
    with pytest.raises(BrokenInputError) as raised:
        rows(path, failfast=True)
    assert raised.value.args[:2] == (str(path), SIZE)


def test_a_batch_with_less_than_no_records_is_reported_even_if_only_headers_are_read(tmp_path: Path) -> None:
    path = segment(tmp_path, BATCHES[0], with_records(-1, b""), BATCHES[1])
    for columns in (("topic", "position", "problem"), ("offset", "position", "problem")):
        found = rows(path, columns=columns)
        assert len(found) == 21
        assert [position for position, _ in broken(found)] == [SIZE]


def test_the_records_of_such_a_batch_would_fit() -> None:
    assert with_records(1, PLAIN) == encode_batch([Record(None, b"v", (), TIMES, 0)])


def test_old_message_sets_and_codecs(tmp_path: Path) -> None:
    old = [Record(b"k", b"v", (), TIMES + number, number) for number in range(4)]
    sets = [encode_message_set(old, magic=1, codec=codec) for codec in (0, 1, 2, 3)]
    found = rows(segment(tmp_path, *sets))
    assert {(row["magic"], row["codec"], row["leader_epoch"]) for row in found} == {
        (1, codec, -1) for codec in ("none", "gzip", "snappy", "lz4")
    }
    for codec in range(5):
        assert offsets(rows(segment(tmp_path, batch_at(0, codec=codec), batch_at(10, codec=codec)))) == [*range(20)]


def test_what_is_unusual_in_records(tmp_path: Path) -> None:
    records = [
        Record(None, None, (("h", None), ("bad\udcff", b"x")), -1, 0),
        Record(b"", b"", (), 1 << 55, 1),
        Record(b"", b"", (), 253_402_300_799_999, 2),
        Record(b"k", b"v", (), TIMES, 1 << 20),
    ]
    first, far, latest, last = rows(segment(tmp_path, encode_batch(records, base_timestamp=0)))
    assert (first["key"], first["value"], first["time"]) == (None, None, None)
    assert first["headers"] == [{"key": "h", "value": None}, {"key": "bad\ufffd", "value": b"x"}]
    assert (far["key"], far["value"], far["time"], far["headers"]) == (b"", b"", None, [])
    assert latest["time"] == datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC)
    assert (last["offset"], last["time"]) == (1 << 20, datetime.fromtimestamp(TIMES / 1000, UTC))


def test_append_time_is_that_of_the_batch(tmp_path: Path) -> None:
    data = batch_at(0, timestamp_type="append", max_timestamp=TIMES + 5000)
    found = rows(segment(tmp_path, data))
    assert {row["time"] for row in found} == {datetime.fromtimestamp(TIMES / 1000 + 5, UTC)}
    assert {row["timestamp_type"] for row in found} == {"append"}


@pytest.mark.slow
def test_large_batches_come_in_parts(tmp_path: Path) -> None:
    path = segment(tmp_path, batch_at(0, 30_000), batch_at(30_000, 10))
    assert offsets(rows(path)) == list(range(30_010))
    assert len(rows(path, columns=("topic",))) == 30_010


def test_without_columns_of_records_they_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = segment(tmp_path, *(batch_at(10 * number, codec=1) for number in range(3)))
    monkeypatch.setattr(Batch, "payload", lambda batch: pytest.fail("decompressed"))
    found = rows(path, columns=("topic", "partition", "leader_epoch"))
    assert found == [{"topic": "orders", "partition": 3, "leader_epoch": -1}] * 30


def test_bounds_choose_records_and_spare_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [batch_at(10 * number, codec=1) for number in range(8)]
    path = segment(tmp_path, *batches)
    index(path, *batches)
    read: list[int] = []
    payload = Batch.payload

    def noted(batch: Batch) -> bytes:
        read.append(batch.base_offset // 10)
        return payload(batch)

    monkeypatch.setattr(Batch, "payload", noted)
    assert offsets(rows(path, bounds=Bounds(first_offset=35, last_offset=41))) == list(range(35, 42))
    assert read == [3, 4]
    read.clear()
    late = Bounds(first_time=(TIMES + 72) * 1000 - 500)
    assert offsets(rows(path, bounds=late)) == list(range(72, 80))
    assert read == [7]
    assert offsets(rows(path, bounds=Bounds(first_time=(TIMES + 79) * 1000))) == [79], "both ends are inclusive"


def test_control_records_may_be_left_out() -> None:
    [path] = [path for path in REAL if path.match("4.1.1/txn-0/00000000000000000001.log")]
    assert {row["control"] for row in rows(path)} == {True, False}
    assert {row["control"] for row in rows(path, control=False)} == {False}


def test_salted_passwords_do_not_get_out() -> None:
    [path] = [path for path in REAL if path.match("4.1.1/__cluster_metadata-0/*.log")]

    def credentials(hide: bool) -> list[Any]:
        values = [row["value"] for row in rows(path, hide=hide) if row["value"].startswith(b"\1\x0b")]
        return [UserScramCredentialRecord.decode(value, 0, start=3) for value in values]

    assert all(one.salt and one.stored_key and one.server_key for one in credentials(hide=False))
    assert [(one.name, one.salt, one.stored_key, one.server_key) for one in credentials(hide=True)] == [
        ("bob", b"", b"", b"")
    ]


def test_a_metadata_record_that_cannot_be_read_does_not_get_out_if_it_may_have_secrets(tmp_path: Path) -> None:
    """Types 11 and 4 are credentials and configurations; a topic has none, and of others nothing is known."""
    unknown_version, cut, unknown_frame = b"\1\x0b\x63hunter2", b"\1\x0b\0\x04bob", b"\2\x0b\0hunter2"
    config, topic, unknown_type = b"\1\4\x63hunter2", b"\1\2\x63orders", b"\1\xff\x01\0new"
    values = [unknown_version, cut, unknown_frame, config, topic, unknown_type, b"\1", b"", None]
    batch = encode_batch([Record(None, value, (), TIMES, number) for number, value in enumerate(values)])
    path = segment(tmp_path, batch, name="__cluster_metadata-0")
    assert [row["value"] for row in rows(path, hide=False)] == values
    assert [row["value"] for row in rows(path)] == [b"", b"", b"", b"", *values[4:]]


@pytest.mark.parametrize("folder", ["collected", "__cluster_metadata-0-backup", "metadata-0", "."])
def test_secrets_of_the_metadata_do_not_get_out_of_a_folder_of_another_name(tmp_path: Path, folder: str) -> None:
    [log] = [path for path in REAL if path.match("4.1.1/__cluster_metadata-0/*.log")]
    copy = tmp_path / folder / Path(log).name
    copy.parent.mkdir(exist_ok=True)
    shutil.copy(log, copy)
    kept, hidden = ([row["value"] for row in rows(copy, hide=hide)] for hide in (False, True))
    assert hidden == [row["value"] for row in rows(log)]
    assert hidden != kept


def test_records_of_other_topics_that_start_like_those_of_the_metadata_stay(tmp_path: Path) -> None:
    """In a folder without the name of a topic they are empty: they may be metadata of a later release."""
    values = [b"\1\x0b\0an order", b"\1\4\0", b"other", None]
    batch = encode_batch([Record(None, value, (), TIMES, number) for number, value in enumerate(values)])
    assert [row["value"] for row in rows(segment(tmp_path, batch, name="orders-0"))] == values
    assert [row["value"] for row in rows(segment(tmp_path, batch, name="collected"))] == [b"", b"", *values[2:]]


CONFIG = b'{"properties":{"tasks.max":"3","password":"hunter2"}}'
CLEAN = CONFIG.replace(b"hunter2", b"[hidden]")
SESSION = b'{"key":"hunter2","algorithm":"HmacSHA256"}'


@pytest.mark.parametrize(
    ("folder", "kept"),
    [("connect-configs-0", [b"", b"", b""]), ("copied", [b"", 0, 0]), ("orders-0", [0, 0, 0])],
)
def test_secrets_of_connectors_do_not_get_out(tmp_path: Path, folder: str, kept: list[Any]) -> None:
    """In a topic of another name, what looks like a configuration loses its secrets, and all else stays (0)."""
    records = [
        (b"connector-a", CONFIG),
        (b"task-a-0", CONFIG),
        (b"session-key", SESSION),
        (b"commit-a", b'{"tasks":3}'),
        (b"connector-a", None),
        (b"task-a-1", CONFIG[:-2]),
        (b"task-a-2", b"\xffhunter2"),
        (None, CONFIG),
    ]
    batch = encode_batch([Record(key, value, (), TIMES, number) for number, (key, value) in enumerate(records)])
    path = segment(tmp_path, batch, name=folder)
    hidden = [CLEAN, CLEAN, SESSION.replace(b"hunter2", b"[hidden]"), b'{"tasks":3}', None]
    last = [value if one == 0 else one for one, (_, value) in zip(kept, records[5:], strict=True)]
    assert [row["value"] for row in rows(path)] == [*hidden, *last]
    assert [row["value"] for row in rows(path, hide=False)] == [value for _, value in records]


def test_records_of_connectors_are_a_typed_table(tmp_path: Path) -> None:
    records = [(b"connector-a", CONFIG), (b"task-a-0", CONFIG), (b"connector-b", None), (b"connector-c", b"{")]
    batch = encode_batch([Record(key, value, (), TIMES, number) for number, (key, value) in enumerate(records)])
    found = typed("ConnectorConfig", segment(tmp_path, batch, name="docker-connect-configs-0"))
    assert [(row["key"], row["value"], row["reason"]) for row in found] == [
        ("connector-a", CLEAN.decode(), None),
        ("connector-b", None, None),
        ("connector-c", None, "byte 0 of 0: not JSON, which ends here: expected a value"),
    ]
    assert not typed("ConnectorConfig", segment(tmp_path, batch, name="orders-0"))


def names(selection: Selection, release: str = "4.1.1") -> list[str]:
    files = [str(path) for path in sorted((LOGS / release).rglob("*")) if path.is_file()]
    return [Path(file.path).relative_to(LOGS / release).as_posix() for file in segment_files(files, (), selection)]


def test_which_files_are_read() -> None:
    assert "bootstrap.checkpoint" not in names(Selection())
    assert not [name for name in names(Selection()) if name.endswith(".checkpoint")]  # the log has all of it
    assert len([name for name in names(Selection(checkpoints="true")) if name.endswith(".checkpoint")]) == 2
    # Without the log's beginning the snapshot is needed.
    assert [name for name in names(Selection(), "3.9.1") if name.endswith(".checkpoint")]
    assert not [name for name in names(Selection(checkpoints="false"), "3.9.1") if name.endswith(".checkpoint")]
    assert {name.split("/")[0] for name in names(Selection(topics=("*_state", "!__share*")))} == {
        "__transaction_state-0"
    }
    assert names(Selection(topics=("__share*", "!*offsets", "!*_state"))) == []
    assert not [name for name in names(Selection(), "3.9.1") if "absent" in name]
    assert [name for name in names(Selection(states=("delete",)), "3.9.1") if "absent" in name]


def test_files_are_in_the_order_of_their_partitions(tmp_path: Path) -> None:
    paths = [str(segment(tmp_path, name=f"{topic}-{number}")) for topic in "ba" for number in (10, 9, 1)]
    found = [Path(file.path).parent.name for file in segment_files(paths)]
    assert found == ["a-1", "a-9", "a-10", "b-1", "b-9", "b-10"]


def test_of_a_metadata_log_that_lost_its_beginning_the_newest_snapshot_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    segment(tmp_path, name=folder.name, base=200)
    for end in (100, 200, 150):
        (folder / f"{end:020}-{1:010}.checkpoint").touch()
    found = [file.path.name for file in segment_files(map(str, folder.iterdir()))]
    assert found == [f"{200:020}-{1:010}.checkpoint", f"{200:020}.log"]
    segment(tmp_path, name=folder.name)
    assert [file.path.suffix for file in segment_files(map(str, folder.iterdir()))] == [".log", ".log"]


def test_an_incomplete_batch_at_the_end_is_reported_and_no_error(tmp_path: Path) -> None:
    """So an active segment looks while a broker writes, and after it was killed, with other files beside it."""
    folder = segment(tmp_path).parent
    for name in (f"{0:020}.timeindex", f"{90:020}.snapshot", "leader-epoch-checkpoint", "partition.metadata"):
        (folder / name).touch()
    for left in (8, 16, 17, 60, SIZE - 1):
        path = segment(tmp_path, *BATCHES, BATCHES[7][:left])
        found = rows(path, failfast=True)
        assert offsets(found) == list(range(80))
        [(position, reason)] = broken(found)
        assert position == 8 * SIZE
        assert "incomplete" in reason


def test_an_incomplete_batch_elsewhere_is_damage(tmp_path: Path) -> None:
    path = segment(tmp_path, *BATCHES, BATCHES[0][:100])
    segment(tmp_path, base=80)
    with pytest.raises(BrokenInputError, match="incomplete"):
        rows(path, failfast=True)
    checkpoint = tmp_path / "orders-3" / f"{80:020}-{1:010}.checkpoint"
    path.rename(checkpoint)
    with pytest.raises(BrokenInputError, match="incomplete"):
        rows(checkpoint, failfast=True)


def test_a_batch_that_would_end_behind_the_file_is_damage_if_another_follows(tmp_path: Path) -> None:
    false = BATCHES[1][:8] + struct.pack(">i", 10 * SIZE) + BATCHES[1][12:]
    path = segment(tmp_path, BATCHES[0], false, BATCHES[2])
    found = rows(path)
    assert offsets(found) == [*range(10), *range(20, 30)]
    assert [position for position, _ in broken(found)] == [SIZE]
    with pytest.raises(BrokenInputError, match="incomplete"):
        rows(path, failfast=True)


def test_a_false_header_does_not_hide_the_batch_behind_it(tmp_path: Path) -> None:
    """It leads past an intact batch, to where another begins: a flipped size looks like this."""
    false = bytearray(BATCHES[1])
    false[8:12] = struct.pack(">i", 2 * SIZE - 12)
    path = segment(tmp_path, BATCHES[0], bytes(false), *BATCHES[2:4])
    for size in (1 << 20, 100, SIZE, 2 * SIZE + 1):
        found = rows(path, size)
        assert offsets(found) == [*range(10), *range(20, 40)]
        [(position, reason)] = broken(found)
        assert position == SIZE
        assert "checksum" in reason
        assert f"({SIZE} bytes are skipped)" in reason
    # Not even where only its header would be looked at, as nobody asks for its offsets.
    assert offsets(rows(path, bounds=Bounds(first_offset=25))) == list(range(25, 40))


def test_garbage_full_of_false_headers_is_passed_over_quickly(tmp_path: Path) -> None:
    """Each says that it has 100 MB; to compute the checksums of all of them would take hours."""
    false = BATCHES[0][:8] + struct.pack(">i", 100_000) + BATCHES[0][12:17] + b"\xff" * 44
    path = segment(tmp_path, BATCHES[0], false * 20_000, *BATCHES[1:])
    found = rows(path, 1 << 20)
    assert offsets(found) == list(range(80))
    assert broken(found)[0][0] == SIZE


def test_records_of_one_kind_as_structs() -> None:
    folder = LOGS / "4.1.1" / "__consumer_offsets-0"
    found = typed("OffsetCommit", folder / f"{0:020}.log")
    assert found
    assert all(row["key"]["group"] and row["problem"] is None and row["reason"] is None for row in found)
    assert any(row["value"] is None for row in found)
    [user] = typed("UserScramCredentialRecord", LOGS / "4.1.1" / "__cluster_metadata-0" / f"{0:020}.log")
    assert (user["value"]["name"], user["value"]["salt"]) == ("bob", b"")
    markers = typed("EndTxnMarker", LOGS / "4.1.1" / "txn-0" / f"{1:020}.log", columns=("type", "offset"))
    assert {row["type"] for row in markers} == {"commit", "abort"}
    assert set(markers[0]) == {"type", "offset"}


def test_damage_is_reported_among_records_of_one_kind(tmp_path: Path) -> None:
    data = (LOGS / "4.1.1" / "__consumer_offsets-0" / f"{0:020}.log").read_bytes()
    found = typed("OffsetCommit", segment(tmp_path, data, b"garbage" * 9, name="__consumer_offsets-1"))
    assert [row["position"] for row in found if row["problem"]] == [len(data)]
    assert len(found) > 1


def typed(name: str, path: Path, columns: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    kind = record_kind(name)
    whole = typed_schema(RecordStructs(kind))
    asked = pa.schema([whole.field(each) for each in columns or whole.names])
    files = segment_files([str(path)], [str(path)])
    read = (batch for group in splits(files) for batch in record_batches(group, raw_schema(asked)))
    return [row for batch in typed_batches(read, RecordStructs(kind), asked) for row in batch.to_pylist()]


@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_are_no_control_records_whatever_their_bytes(tmp_path: Path, magic: int) -> None:
    """Where batches of magic 2 have attributes, old messages have something else."""
    times = [TIMES + size if magic else -1 for size in range(64)]
    sets = [encode_message_set([Record(b"k" * size, b"v", (), times[size], 0)], magic=magic) for size in range(64)]
    path = segment(tmp_path, *sets)
    assert len(offsets(rows(path, control=False))) == len(offsets(rows(path))) == len(sets)


def test_old_messages_stay_where_control_records_are_left_out(tmp_path: Path) -> None:
    times = [TIMES & ~(0xFF << shift) | 0x20 << shift for shift in (0, 8, 16, 24)]
    messages = [encode_message_set([Record(b"k", b"v", (), time, n)], magic=1) for n, time in enumerate(times)]
    assert offsets(rows(segment(tmp_path, *messages), control=False)) == [0, 1, 2, 3]


def test_records_before_damage_come_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where batches are read one by one."""
    monkeypatch.setattr(RecordBuilder, "take", lambda *_: False)
    found = rows(segment(tmp_path, batch_at(0, 2), with_records(2, b"\0"), batch_at(4, 1)))
    assert [row["problem"] is None for row in found] == [True, True, False, True]


def test_of_a_file_that_shrinks_after_it_was_listed_the_rest_is_read(tmp_path: Path) -> None:
    path = segment(tmp_path, *BATCHES)
    groups = list(splits(segment_files([str(path)], [str(path)]), 1 << 20))
    os.truncate(path, 3 * SIZE)
    found = [row for group in groups for batch in record_batches(group, RECORDS) for row in batch.to_pylist()]
    assert offsets(found) == list(range(30))
    ((_, reason),) = broken(found)
    assert "cannot be read: " in reason


def test_the_codec_of_a_batch_may_be_unknown(tmp_path: Path) -> None:
    """As that of one which nobody has to decompress."""
    data = bytearray(batch_at(0, 1))
    data[22] |= 7
    data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
    (row,) = rows(segment(tmp_path, bytes(data)), columns=("codec", "magic"))
    assert row == {"codec": "unknown 7", "magic": 2}


def test_unknown_bits_of_old_messages_mean_nothing(tmp_path: Path) -> None:
    data = bytearray(encode_message_set([Record(None, b"v", (), TIMES, 0)], magic=1))
    data[17] |= 0x30
    data[12:16] = struct.pack(">I", zlib.crc32(bytes(data[16:])))
    (row,) = rows(segment(tmp_path, bytes(data)))
    assert (row["problem"], row["transactional"], row["control"]) == (None, False, False)


BASES = (0, 1, 1 << 61, (1 << 62) - 1, 1 << 62, (1 << 62) + 1, (1 << 63) - 2, -1, -(1 << 62), -(1 << 63))


@pytest.mark.parametrize("at", [0, 27])
@pytest.mark.parametrize("base", BASES)
def test_bases_at_the_ends_of_their_range_give_what_records_have(tmp_path: Path, base: int, at: int) -> None:
    """The base offset, or the base timestamp."""
    data = bytearray(batch_at(0, 3))
    struct.pack_into(">q", data, at, base)
    struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    found = rows(segment(tmp_path, bytes(data)))
    try:
        expected = [record.offset for record in Batch(memoryview(bytes(data)), 0).records()]
    except DecodeError:
        expected = []
    assert offsets(found) == expected
    assert bool(broken(found)) == (not expected)


@pytest.mark.parametrize("encode", [encode_batch, partial(encode_message_set, codec=1)])
def test_a_record_above_the_limit_has_its_place_and_a_reason_but_no_contents(
    tmp_path: Path, encode: Callable[[list[Record]], bytes]
) -> None:
    """Neither key nor value is there: a key without its value would look like a tombstone."""
    contents = [(b"a", bytes(9)), (b"b", bytes(100)), (bytes(100), None), (b"d", None), (None, bytes(10))]
    records = [Record(key, value, (), TIMES, number) for number, (key, value) in enumerate(contents)]
    path = segment(tmp_path, encode(records))
    found = rows(path, most=10)
    assert [(row["offset"], row["topic"], row["time"] is None) for row in found] == [
        (number, "orders", False) for number in range(5)
    ]
    assert [(row["key"], row["value"]) for row in found] == [
        *(contents[0], (None, None), (None, None), contents[3], contents[4])
    ]
    reason = "a record of {} bytes is left out: see the option maxRecord"
    assert [row["problem"] for row in found] == [None, reason.format(101), reason.format(100), None, None]
    with pytest.raises(BrokenInputError, match="a record of 101 bytes"):
        rows(path, most=10, failfast=True)
    again = segment(tmp_path, encode([Record(None, b"", (), TIMES, 7)]), encode(records))
    assert [row["problem"] for row in rows(again, most=10)] == [None, *(row["problem"] for row in found)]


def test_headers_count_as_contents_of_a_record(tmp_path: Path) -> None:
    headers = (("name", bytes(100)),)
    path = segment(tmp_path, encode_batch([Record(b"a", b"b", headers, TIMES, 0), Record(b"c", b"d", (), TIMES, 1)]))
    assert [(row["key"], row["headers"]) for row in rows(path, most=105)] == [(None, []), (b"c", [])]
    assert rows(path, most=106)[0]["headers"] == [{"key": "name", "value": bytes(100)}]


def test_what_is_left_out_of_many_large_records_is_the_right_one(tmp_path: Path) -> None:
    """In parts of some megabytes, of which each has its own numbers."""
    sizes = [1_900_000, 1_900_000, 1_900_000, 10, 2_097_153, 2_097_152, 1_900_000, 2_097_153, 5]
    records = [
        Record(None, bytes([n]) * size, (("n", bytes([n])),) if size < 2_000_000 else (), TIMES, n)
        for n, size in enumerate(sizes)
    ]
    found = rows(segment(tmp_path, encode_batch(records)))
    headers = [[{"key": key, "value": value} for key, value in record.headers] for record in records]
    assert [row["headers"] for row in found] == headers
    assert [(row["offset"], row["value"]) for row in found] == [
        (record.offset, record.value if len(record.value or b"") <= 2 << 20 else None) for record in records
    ]
    assert [row["offset"] for row in found if row["problem"]] == [4, 7]


@pytest.mark.parametrize(
    ("limit", "most", "expected"),
    [
        ("ROWS", 25, [30, 30, 20]),
        ("BYTES", 25_000, [20, 20, 20, 20]),
    ],
)
@pytest.mark.parametrize("count", [10, -10], ids=["at once", "one by one"])
def test_batches_are_gathered_up_to_a_number_of_rows_and_of_decompressed_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, expected: list[int], count: int
) -> None:
    monkeypatch.setattr(gathering, limit, most)
    if count < 0:
        monkeypatch.setattr(RecordBuilder, "take", lambda *_: False)
    records = [Record(None, bytes(1000), (), TIMES, number) for number in range(10)]
    path = segment(tmp_path, *(encode_batch(records, codec=1) for _ in range(8)))
    (task,) = splits(segment_files([str(path)], [str(path)]), 1 << 20)
    assert [batch.num_rows for batch in record_batches(task, RECORDS)] == expected


def test_a_batch_of_more_records_than_are_believed_is_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "BELIEVED", 15)
    monkeypatch.setattr(gathering, "ROWS", 10)
    path = segment(tmp_path, batch_at(0, 15), batch_at(15, 25))
    (task,) = splits(segment_files([str(path)], [str(path)]), 1 << 20)
    assert [batch.num_rows for batch in record_batches(task, RECORDS)] == [15, 10, 10, 5]


def test_large_records_come_a_few_at_a_time(tmp_path: Path) -> None:
    path = segment(
        tmp_path, encode_batch([Record(None, bytes(1 << 20), (), TIMES, number) for number in range(10)], codec=1)
    )
    (task,) = splits(segment_files([str(path)], [str(path)]), 1 << 20)
    batches = list(record_batches(task, RECORDS))
    assert sum(batch.num_rows for batch in batches) == 10
    assert max(batch.nbytes for batch in batches) < 2 * BATCH_BYTES


KINDS: dict[str, tuple[int, Callable[[list[Record]], bytes]]] = {
    "whole": (100, encode_batch),
    "in parts": (2, encode_batch),
    "in parts, compressed": (2, partial(encode_batch, codec=4)),
    "one by one": (100, encode_batch),
    "old": (100, partial(encode_message_set, magic=1, codec=1)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_record_is_there_once_however_few_come_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Records of all sizes around the limits, in two batches."""
    believed, encode = KINDS[kind]
    for name, limit in (("BYTES", 50), ("ROWS", 3), ("BELIEVED", believed)):
        monkeypatch.setattr(gathering, name, limit)
    if kind == "one by one":
        monkeypatch.setattr(RecordBuilder, "take", lambda *_: False)
    for sizes in product((0, 50, 51), repeat=4):
        records = [Record(None, bytes([n]) * size, (), TIMES + n, n) for n, size in enumerate((*sizes, 7))]
        first, second = encode(records[:4]), encode(records[4:])
        found = rows(segment(tmp_path, first, second), columns=("offset", "value", "position", "problem"))
        assert [tuple(row.values()) for row in found] == [
            (record.offset, record.value, len(first) if record is records[4] else 0, None) for record in records
        ]


@pytest.mark.parametrize(
    ("count", "content", "before"),
    [
        *(
            (10, [PLAIN] * good + [PLAIN[:4] + b"\x7e" + PLAIN[5:]] + [PLAIN] * (9 - good), good)
            for good in range(10)
        ),
        (10, [PLAIN] * 11, 10),
        (11, [PLAIN] * 10, 10),
        (12, [PLAIN] * 10, 10),
        (12, [PLAIN] * 8, 8),
    ],
)
def test_of_more_records_than_are_believed_those_before_damage_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, content: list[bytes], before: int
) -> None:
    """Wherever a part ends; and what follows the batch."""
    monkeypatch.setattr(gathering, "BELIEVED", 5)
    monkeypatch.setattr(gathering, "ROWS", 4)
    bad = with_records(count, b"".join(content))
    found = rows(segment(tmp_path, BATCHES[0], bad, BATCHES[1]))
    positions = [0] * 10 + [SIZE] * (before + 1) + [SIZE + len(bad)] * 10
    assert [row["position"] for row in found] == positions
    assert [number for number, row in enumerate(found) if row["problem"]] == [10 + before]
