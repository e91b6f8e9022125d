"""Log segments to rows: whole, in splits of any size, damaged in every way, and no more of them than is asked for."""

from __future__ import annotations

import shutil
import struct
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kwire.logs import LogSegment, scan
from kwire.records import Batch, Record, encode_batch, encode_message_set
from kwire_kafka import UserScramCredentialRecord
from kwire_spark.options import BrokenInput
from kwire_spark.segments import Bounds, Selection, segment_files
from tests.pipeline.log_files import LOGS, TIMES, batch_at, broken, index, offsets, rows, segment

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
    assert "63 bytes are passed over" in reasons[garbage]
    assert "checksum" in reasons[garbage + 63 + SIZE]  # the batch with the wrong size
    assert "cut off" in reasons[damaged.stat().st_size - 50]
    assert len(reasons) == 4


@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    assert rows(path, data.draw(st.integers(150, 2000))) == found
    lost = set(range(80)) - set(offsets(found))
    # What precedes the checksummed part, as the base offset, may change without anybody noticing.
    assert not lost or broken(found) or len(offsets(found)) >= 80
    # A wrong size may lead past an intact batch to a place that looks like another: then it is reported as well.
    intact = {10 * number + each for number, batch in enumerate(BATCHES) if batch in content for each in range(10)}
    assert intact <= set(offsets(found)) or any("checksum" in reason for _, reason in broken(found))


def test_failfast_raises_with_file_and_position(damaged: Path) -> None:
    with pytest.raises(BrokenInput, match="checksum") as raised:
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
        Record(b"k", b"v", (), TIMES, 1 << 20),
    ]
    first, far, last = rows(segment(tmp_path, encode_batch(records, base_timestamp=0)))
    assert (first["key"], first["value"], first["time"]) == (None, None, None)
    assert first["headers"] == [{"key": "h", "value": None}, {"key": "bad\ufffd", "value": b"x"}]
    assert (far["key"], far["value"], far["time"], far["headers"]) == (b"", b"", None, [])
    assert (last["offset"], last["time"]) == (1 << 20, datetime.fromtimestamp(TIMES / 1000, UTC))


def test_append_time_is_that_of_the_batch(tmp_path: Path) -> None:
    data = batch_at(0, timestamp_type="append", max_timestamp=TIMES + 5000)
    found = rows(segment(tmp_path, data))
    assert {row["time"] for row in found} == {datetime.fromtimestamp(TIMES / 1000 + 5, UTC)}
    assert {row["timestamp_type"] for row in found} == {"append"}


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
    path = segment(tmp_path, *BATCHES)
    index(path, *BATCHES)
    read: list[int] = []
    payload = Batch.payload

    def noted(batch: Batch) -> bytes:
        read.append(batch.position // SIZE)
        return payload(batch)

    monkeypatch.setattr(Batch, "payload", noted)
    assert offsets(rows(path, bounds=Bounds(first_offset=35, last_offset=41))) == list(range(35, 42))
    assert read == [3, 4]
    read.clear()
    late = Bounds(first_time=(TIMES + 72) * 1000 - 500)
    assert offsets(rows(path, bounds=late)) == list(range(72, 80))
    assert read == [7]


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
    assert not [name for name in names(Selection(), "3.9.1") if "absent" in name]
    assert [name for name in names(Selection(states=("delete",)), "3.9.1") if "absent" in name]
