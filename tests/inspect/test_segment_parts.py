"""Parts of log segments: which files are read, in which ranges, and which of their records are asked for."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from kwire.logs import LogSegment
from kwire.records import Batch, Record, encode_batch
from kwire_inspect.rows import Condition
from kwire_inspect.schemas import RECORDS
from kwire_inspect.segments import Bounds, Selection, Split, files, reading, segment_files, splits
from kwire_inspect.segments.arrays import decoded_schema
from kwire_inspect.segments.bounds import HIGHEST, LOWEST
from kwire_inspect.segments.secret_records import redacted_values
from kwire_inspect.segments.typed import raw_schema, typed_batches, typed_schema
from kwire_inspect.tables.record_structs import RecordStructs, record_kind
from kwire_kafka import OffsetCommitKey, OffsetCommitValue
from tests.support.log_files import rows, segment


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([], Bounds(5, 50, 500, 5000)),
        ([Condition("offset", "=", 7)], Bounds(7, 7, 500, 5000)),
        ([Condition("offset", ">", 7)], Bounds(8, 50, 500, 5000)),
        ([Condition("offset", ">=", 7)], Bounds(7, 50, 500, 5000)),
        ([Condition("offset", "<", 7)], Bounds(5, 6, 500, 5000)),
        ([Condition("offset", "<=", 7)], Bounds(5, 7, 500, 5000)),
        ([Condition("offset", "in", (9, 7, 8))], Bounds(7, 9, 500, 5000)),
        ([Condition("offset", ">", 4), Condition("offset", "<", 51)], Bounds(5, 50, 500, 5000)),
        ([Condition("offset", ">", 1), Condition("offset", "<", 60)], Bounds(5, 50, 500, 5000)),
        ([Condition("offset", ">", 7), Condition("offset", ">", 6)], Bounds(8, 50, 500, 5000)),
        ([Condition("time", ">=", 700), Condition("offset", "<=", 8)], Bounds(5, 8, 700, 5000)),
        ([Condition("time", "in", (700, 600))], Bounds(5, 50, 600, 700)),
        ([Condition("offset", "=", 7, negated=True)], Bounds(5, 50, 500, 5000)),
        ([Condition("offset", "null")], Bounds(5, 50, 500, 5000)),
        ([Condition("partition", "=", 7), Condition("topic", "starts with", "a")], Bounds(5, 50, 500, 5000)),
        ([Condition("offset", "=", 70)], Bounds(70, 50, 500, 5000)),
    ],
)
def test_conditions_narrow_bounds(conditions: list[Condition], expected: Bounds) -> None:
    bounds = Bounds(5, 50, 500, 5000)
    assert bounds.narrowed(conditions) == expected
    assert bounds == Bounds(5, 50, 500, 5000)
    assert Bounds().narrowed(conditions[:0]) == Bounds(LOWEST, HIGHEST, LOWEST, HIGHEST)


def test_records_are_selected_by_time_if_one_end_is_given() -> None:
    given = (Bounds(), Bounds(1, 2), Bounds(first_time=LOWEST + 1), Bounds(last_time=HIGHEST - 1), Bounds(0, 0, 0, 0))
    assert [one.timed for one in given] == [False, False, True, True, True]


@pytest.mark.parametrize(
    ("first", "last", "latest", "magic", "skipped"),
    [
        (10, 20, 900, 2, False),
        (0, 4, 900, 2, True),
        (0, 5, 900, 2, False),
        (50, 60, 900, 2, False),
        (51, 60, 900, 2, True),
        (51, 60, 900, 1, False),
        (0, 4, 900, 1, True),
        (10, 20, 1, 2, False),
        (10, 20, 0, 2, True),
        (10, 20, 0, 0, True),
        (10, 20, -1, 2, True),
    ],
)
def test_a_batch_is_skipped_if_its_header_shows_that_no_record_is_within(
    first: int, last: int, latest: int, magic: int, skipped: bool
) -> None:
    """The bounds end at offsets 5 and 50, and begin at 1 ms."""
    header = SimpleNamespace(base_offset=first, last_offset=last, max_timestamp=latest, magic=magic)
    assert Bounds(5, 50, 1000).skip(cast(Batch, header)) is skipped
    assert not Bounds().skip(cast(Batch, header))


def test_which_records_are_within() -> None:
    offsets, times = pa.array([4, 5, 6, 7, 8, 6, 6]), pa.array([2, 2, 1, 2, 2, None, 3])

    def chosen(*bounds: int) -> list[bool | None]:
        return cast("list[bool | None]", Bounds(*bounds).within(offsets, times).to_pylist())

    assert chosen(5, 7) == [False, True, True, True, False, True, True]
    assert chosen(5, 7, 2000, 2999) == [False, True, False, True, False, None, False]
    assert chosen(5, 7, 1001, 3000) == [False, True, False, True, False, None, True]
    assert chosen(5, 7, 1000, 2000) == [False, True, True, True, False, None, False]
    assert chosen(LOWEST, HIGHEST, LOWEST, 1999) == [False, False, True, False, False, None, False]


@pytest.mark.parametrize(
    ("topics", "states", "expected"),
    [
        ((), (), "orders-0 Orders-1 other-0"),
        (("orders",), (), "orders-0"),
        (("o*", "!other"), (), "orders-0"),
        (("!o*",), (), "Orders-1"),
        (("?r*",), (), "orders-0 Orders-1"),
        (("orders", "other"), (), "orders-0 other-0"),
        (("none",), (), ""),
        ((), ("delete",), "orders-0 Orders-1 other-0 gone-0-delete"),
        ((), ("future", "stray"), "orders-0 Orders-1 other-0 late-0-future lost-0-stray"),
        (("late", "!x"), ("future",), "late-0-future"),
    ],
)
def test_which_partitions_are_selected(
    tmp_path: Path, topics: tuple[str, ...], states: tuple[str, ...], expected: str
) -> None:
    folders = ["orders-0", "Orders-1", "other-0"]
    folders += [
        f"{name}-0.{'a' * 32}-{state}" for name, state in (("gone", "delete"), ("late", "future"), ("lost", "stray"))
    ]
    paths = [str(tmp_path / folder / f"{0:020}.log") for folder in folders]
    found = [
        f"{file.topic}-{file.partition}" + f"-{file.state}" * bool(file.state)
        for file in segment_files(paths, (), Selection(topics, states))
    ]
    assert sorted(found) == sorted(expected.split())


def test_files_that_are_named_are_read_whatever_they_are(tmp_path: Path) -> None:
    """Others must have Kafka's names. All are in the order of topics, partitions and offsets."""
    names = [
        *("b-1/00000000000000000000.log", "a-10/00000000000000000007.log", "a-2/00000000000000000000.log"),
        *(
            "a-10/00000000000000000000.log",
            "a-2/00000000000000000000.log.deleted",
            "a-2/7.log",
            "x.log",
            "a-2/y.index",
        ),
        "00000000000000000000.log",
    ]
    paths = [str(tmp_path / name) for name in names]

    def chosen(*named: str, **how: Any) -> list[str]:
        found = segment_files(paths, [str(tmp_path / name) for name in named], Selection(**how))
        return [file.path.relative_to(tmp_path).as_posix() for file in found]

    usual = [names[8], names[2], names[3], names[1], names[0]]
    assert chosen() == usual
    assert chosen("x.log", names[4]) == [names[8], "x.log", names[2], names[4], *usual[2:]]
    assert chosen(names[0], topics=("none",)) == [names[0]]


SNAPSHOTS = [
    *("meta-0/00000000000000000100-0000000001.checkpoint", "meta-0/00000000000000000300-0000000001.checkpoint"),
    *("meta-0/00000000000000000200-0000000009.checkpoint", "meta-0/bootstrap.checkpoint"),
]


@pytest.mark.parametrize(
    ("which", "base", "snapshots"),
    [
        ("true", 0, [0, 2, 1, 3]),
        ("true", 9, [0, 2, 1, 3]),
        ("auto", 0, []),
        ("auto", 9, [1]),
        ("false", 9, []),
        ("auto", None, [1]),
    ],
)
def test_which_snapshots_are_selected(tmp_path: Path, which: str, base: int | None, snapshots: list[int]) -> None:
    logs = [] if base is None else [f"meta-0/{base:020}.log", f"meta-0/{500:020}.log"]
    other = ["meta-1/00000000000000000050-0000000001.checkpoint", f"meta-1/{60:020}.log"]
    paths = [str(tmp_path / name) for name in (*SNAPSHOTS, *logs, *other)]
    found = [
        file.path.relative_to(tmp_path).as_posix() for file in segment_files(paths, (), Selection(checkpoints=which))
    ]
    expected = [*logs, *(SNAPSHOTS[number] for number in snapshots), other[1], *other[:1] * (which != "false")]
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([], []),
        ([0], ["0:0-0"]),
        ([-1], ["0:0--1"]),
        ([9], ["0:0-9"]),
        ([10], ["0:0-10"]),
        ([11], ["0:0-10", "0:10-11"]),
        ([20], ["0:0-10", "0:10-20"]),
        ([4, 6], ["0:0-4 1:0-6"]),
        ([4, 7], ["0:0-4", "1:0-7"]),
        ([4, 3, 4], ["0:0-4 1:0-3", "2:0-4"]),
        ([25, 5, 0, 1], ["0:0-10", "0:10-20", "0:20-25 1:0-5 2:0-0", "3:0-1"]),
        ([3, 21, 9], ["0:0-3", "1:0-10", "1:10-20", "1:20-21 2:0-9"]),
    ],
)
def test_files_are_cut_and_small_ones_put_together(
    monkeypatch: pytest.MonkeyPatch, sizes: list[int], expected: list[str]
) -> None:
    monkeypatch.setattr(files, "size_of", lambda path: sized(int(Path(path).stem)))
    monkeypatch.setattr(files, "place", lambda path: SimpleNamespace(listed_stamp=lambda: f"stamp of {path}"))

    def sized(number: int) -> int:
        if sizes[number] < 0:
            raise OSError
        return sizes[number]

    found = splits([LogSegment(f"a-0/{number:020}.log") for number in range(len(sizes))], 10)
    shown = [" ".join(f"{int(Path(one.path).stem)}:{one.start}-{one.end}" for one in group) for group in found]
    assert shown == expected
    for split in (split for group in found for split in group):
        name = split.path
        assert split == Split(name, split.start, split.end, sizes[int(Path(name).stem)], f"stamp of {name}")


@pytest.mark.parametrize(
    ("name", "newest"),
    [("2.log", True), ("1.log", False), ("3.checkpoint", False), ("2.index", False)],
)
def test_a_broker_appends_to_the_last_segment_of_a_folder(tmp_path: Path, name: str, newest: bool) -> None:
    for other in ("0.log", "1.log", "2.log", "3.checkpoint", "2.index", "9.timeindex"):
        (tmp_path / other).touch()
    assert reading._is_newest(str(tmp_path / name)) is newest


@pytest.mark.parametrize(
    ("size", "reason"), [(-1, "cannot be opened"), (1, "cannot be read: No such file or directory")]
)
def test_a_file_that_cannot_be_read_is_a_row(tmp_path: Path, size: int, reason: str) -> None:
    split = Split(str(tmp_path / f"{0:020}.log"), 0, size, size)
    (batch,) = reading.record_batches([split], RECORDS)
    told = {"source": split.path, "problem": reason}
    assert batch.to_pylist() == [dict.fromkeys(RECORDS.names) | told]


@pytest.mark.parametrize(
    ("milliseconds", "expected"),
    [
        (-62_135_596_800_001, None),
        (-62_135_596_800_000, datetime(1, 1, 1, tzinfo=UTC)),
        (-2, datetime(1969, 12, 31, 23, 59, 59, 998_000, UTC)),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (253_402_300_799_999, datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC)),
        (253_402_300_800_000, None),
    ],
)
def test_times_are_those_that_python_has(tmp_path: Path, milliseconds: int, expected: datetime | None) -> None:
    data = encode_batch([Record(b"k", b"v", (), milliseconds, 0)], base_timestamp=0)
    assert [row["time"] for row in rows(segment(tmp_path, data), columns=("time", "offset"))] == [expected]


@pytest.mark.parametrize(
    ("asked", "bounded", "hide", "decoded"),
    [
        ("source", False, False, "position"),
        ("time", False, False, "position timestamp"),
        ("offset", False, True, "offset position"),
        ("value", False, False, "position value"),
        ("value", False, True, "position key value"),
        ("topic", True, False, "offset position timestamp"),
        ("key problem", False, True, "position key"),
    ],
)
def test_only_columns_that_are_needed_are_decoded(asked: str, bounded: bool, hide: bool, decoded: str) -> None:
    schema = pa.schema([RECORDS.field(name) for name in asked.split()])
    found = decoded_schema(schema, bounded, hide)
    assert sorted(found.names) == sorted(decoded.split())


CONFIG, CLEAN = (
    b'{"properties":{"password":"word","tasks.max":"3"}}',
    b'{"properties":{"password":"[hidden]","tasks.max":"3"}}',
)
HIDDEN = CLEAN.replace(b'"3"', b'"[hidden]"')  # of a record of an unknown kind nothing is known to be harmless
PASSWORD, TOPIC, OTHER = b"\1\x0b\x63word", b"\1\2\0", b"\1\xff\1"


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("__cluster_metadata", [CONFIG, CONFIG, b"", TOPIC, OTHER, CONFIG[:-1], CONFIG, None, b"x"]),
        ("connect-configs", [CLEAN, HIDDEN, b"", b"", b"", b"", b"", None, b""]),
        ("docker-connect-configs", [CLEAN, HIDDEN, b"", b"", b"", b"", b"", None, b""]),
        ("connect-offsets", [CLEAN, CONFIG, PASSWORD, TOPIC, OTHER, CONFIG[:-1], CONFIG, None, b"x"]),
        ("orders", [CLEAN, CONFIG, PASSWORD, TOPIC, OTHER, CONFIG[:-1], CONFIG, None, b"x"]),
        (None, [CLEAN, CONFIG, b"", TOPIC, OTHER, b"", CONFIG, None, b"x"]),
    ],
)
def test_secrets_by_the_topic_and_by_what_looks_like_one(topic: str | None, expected: list[bytes | None]) -> None:
    records = [
        *((b"connector-a", CONFIG), (b"other", CONFIG), (b"k", PASSWORD), (b"k", TOPIC), (b"k", OTHER)),
        *((b"connector-b", CONFIG[:-1]), (None, CONFIG), (b"connector-c", None), (b"connector-d", b"x")),
    ]
    keys, values = (pa.array(column, pa.binary()) for column in zip(*records, strict=True))
    assert redacted_values(keys, values, topic).to_pylist() == expected


def test_typed_records_and_broken_input_have_the_columns_that_are_asked_for() -> None:
    decode = RecordStructs(record_kind("OffsetCommit"))
    key = b"\0\1" + OffsetCommitKey(group="g", topic="t", partition=3).encode(0)
    value = b"\0\3" + OffsetCommitValue(offset=9, leader_epoch=4).encode(3)
    mine = {"topic": "__consumer_offsets", "control": False, "key": key, "value": value, "source": "f"}
    given = [
        mine | {"offset": 1},
        {"source": "f", "position": 7, "problem": "cut off"},
        mine | {"offset": 2, "topic": "orders"},
        mine | {"offset": 3, "control": True},
        mine | {"offset": 4, "value": None},
        mine | {"offset": 5, "value": b"\0"},
    ]
    whole = typed_schema(decode)
    assert whole.names[-5:] == ["reason", "version", "key", "value", "problem"]
    assert raw_schema(pa.schema([whole.field("version")])).names == ["topic", "control", "key", "value", "problem"]
    asked = pa.schema([whole.field(name) for name in ("offset", "position", "value", "problem", "reason", "version")])
    raw = raw_schema(asked)
    batch = pa.RecordBatch.from_pylist([{name: row.get(name) for name in raw.names} for row in given], raw)
    broken, first, gone, bad = (row for made in typed_batches([batch], decode, asked) for row in made.to_pylist())
    nothing = dict.fromkeys(("offset", "value", "reason", "version"))
    assert broken == nothing | {"problem": "cut off", "position": 7}
    assert (first["value"]["offset"], first["reason"], first["version"], first["problem"]) == (9, None, 3, None)
    assert (gone["value"], gone["reason"]) == (None, None)
    assert (bad["value"], bool(bad["reason"])) == (None, True)
    only = pa.schema([whole.field("position")])
    assert [row for made in typed_batches([batch] * 2, decode, only) for row in made.to_pylist()] == [
        *({"position": one} for one in (7, None, None, None) * 2)
    ]
