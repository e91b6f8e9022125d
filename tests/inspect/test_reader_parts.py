"""What readers make of options, and how work is dealt to processes: who reads what, and in which order rows come."""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from kwire.compression import DEFAULT_LIMIT
from kwire.frames import MAX_DECODED
from kwire_inspect import readers
from kwire_inspect.connections.batches import ALL, BUDGET, CODES, Budget
from kwire_inspect.inputs import Inputs
from kwire_inspect.options import FOUND, BrokenInputError, Options
from kwire_inspect.readers import Reader, capture, read_batches, read_dealt
from kwire_inspect.readers.capture import CaptureReader
from kwire_inspect.readers.log import LogReader
from kwire_inspect.readers.metrics import MetricsReader
from kwire_inspect.readers.stored import stored_batches
from kwire_inspect.readers.text_log import RequestLogReader, ServerLogReader
from kwire_inspect.rows import Condition
from kwire_inspect.schemas import CLIENTS, COUNTED, EXCHANGES, FRAMES, PROBLEMS, RECORDS, REFUSALS
from kwire_inspect.segments import Bounds, Selection
from kwire_inspect.segments.bounds import HIGHEST, LOWEST
from kwire_inspect.segments.rows import MAX_RECORD
from kwire_inspect.stored import UNKNOWN, StoredTable
from kwire_inspect.text_logs.lines import LONGEST
from kwire_kafka import PROTOCOL
from tests.support.report_rows import client

NUMBERS = pa.schema([("number", pa.int64())])


class Counting(Reader):
    """Reader whose tasks are lists of numbers, each a batch. An error has the number 13, a process dies at 99."""

    def tasks(self) -> Sequence[Any]:
        return []

    def read(self, task: Any) -> Iterator[pa.RecordBatch]:
        for number in task:
            if number == 13:
                raise KeyError("thirteen")
            if number == 99:
                raise SystemExit
            yield pa.record_batch([[number]], schema=NUMBERS)


READER = Counting(Options({}), NUMBERS)


class Threads:
    """Threads in place of processes, which note what becomes of them."""

    def __init__(self) -> None:
        self.noted: list[str] = []

    def Pipe(self, duplex: bool) -> Any:
        assert not duplex
        return Pipe(duplex=False)

    def Process(self, target: Any, args: Any, name: str, daemon: bool) -> Any:
        mine = Connection(os.dup(args[0].fileno()), readable=False)  # the caller closes its own

        def run() -> None:
            with suppress(SystemExit), mine:
                target(mine, *args[1:])

        thread = threading.Thread(target=run)
        self.noted.append(f"new {name} {daemon}")

        def join() -> None:
            self.noted.append(f"join {name}")
            thread.join(9)

        return SimpleNamespace(
            start=thread.start, join=join, terminate=lambda: self.noted.append(f"terminate {name}")
        )


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Threads:
    made = Threads()
    monkeypatch.setattr(readers, "get_context", lambda how: made if how == "spawn" else None)
    monkeypatch.setattr(signal, "signal", lambda *given: made.noted.append(f"signals {given}"))
    monkeypatch.setattr(readers, "leave_out_pandas", lambda: made.noted.append("no pandas"))
    return made


def doubled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each batch, and at the end one with their number, from each process."""
    found = [*batches]
    yield from (*found, pa.record_batch([[-len(found)]], schema=NUMBERS))


def numbers(tasks: list[list[int]], processes: int) -> list[int]:
    return [row["number"] for one in read_dealt(READER, tasks, processes, doubled) for row in one.to_pylist()]


@pytest.mark.parametrize("tasks", [[], [[]], [[1, 2]]])
@pytest.mark.parametrize("processes", [1, 3])
def test_one_share_is_read_in_this_process(threads: Threads, tasks: list[list[int]], processes: int) -> None:
    found = [number for task in tasks for number in task]
    assert numbers(tasks, processes) == [*found, -len(found)]
    assert threads.noted == []
    assert numbers([[1], [2, 3], [4]], 1) == [1, 2, 3, 4, -4]


@pytest.mark.parametrize(
    ("tasks", "processes", "expected"),
    [
        ([[1], [2]], 2, [1, 2, -1, -1]),
        ([[1, 2, 3], [4]], 2, [1, 4, 2, -1, 3, -3]),
        ([[1], [2], [3], [4], [5]], 2, [1, 2, 3, 4, 5, -2, -3]),
        ([[1], [2], [3]], 9, [1, 2, 3, -1, -1, -1]),
        ([[], [7], []], 3, [0, 7, 0, -1]),
    ],
)
def test_rows_come_from_each_process_in_turn(
    threads: Threads, tasks: list[list[int]], processes: int, expected: list[int]
) -> None:
    assert numbers(tasks, processes) == expected
    names = range(min(processes, len(tasks)))
    what = [one for one in threads.noted if "signals" not in one and "pandas" not in one]
    assert what == [f"new {name} True" for name in names] + [
        f"{how} {name}" for name in reversed(names) for how in ("terminate", "join")
    ]


def test_an_error_of_a_process_is_raised_here_after_its_rows(threads: Threads) -> None:
    batches = read_dealt(READER, [[1, 13], [2, 3]], 2)
    assert [next(batches)["number"][0].as_py() for _ in range(2)] == [1, 2]
    with pytest.raises(KeyError, match="thirteen"):
        next(batches)
    with pytest.raises(
        RuntimeError, match=r"^a reader process ended before it finished: it may have run out of memory$"
    ):
        [*read_dealt(READER, [[99], [2]], 2)]


def sent(tasks: list[list[int]], transform: Any = iter, closed: bool = False) -> list[Any]:
    """What a process sends."""
    receiver, sender = Pipe(duplex=False)
    if closed:
        receiver.close()
    readers._work(sender, READER, tasks, transform)
    assert sender.closed
    found: list[Any] = []
    while not closed and (data := receiver.recv_bytes()):
        found.append(data)
    return found if closed else [len(found), receiver.recv()]


def test_a_process_sends_the_schema_and_each_batch_and_how_it_ended(threads: Threads) -> None:
    assert sent([[1, 2], [3]]) == [4, None]
    assert sent([[]]) == [0, None]
    assert sent([[1, 2]], doubled) == [4, None]
    count, error = sent([[1], [13, 4]])
    assert (count, repr(error)) == (2, "KeyError('thirteen')")
    assert sent([[1]], closed=True) == []
    assert threads.noted[:2] == [f"signals {(signal.SIGINT, signal.SIG_IGN)}", "no pandas"]


@pytest.mark.parametrize(
    ("sizes", "processors", "option", "expected"),
    [
        ([], 4, "", 4 << 20),
        ([16 << 20, 16 << 20], 4, "", 4 << 20),
        ([40 << 20, 40 << 20], 4, "", 10 << 20),
        ([80 << 20], 1, "", 40 << 20),
        ([80 << 20], None, "", 40 << 20),
        ([900 << 20, 900 << 20], 4, "", 64 << 20),
        ([900 << 20], 4, "100m", 100 << 20),
        ([900 << 20], 4, "1k", 1 << 10),
    ],
)
def test_the_size_of_splits(
    monkeypatch: pytest.MonkeyPatch, sizes: list[int], processors: int | None, option: str, expected: int
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    monkeypatch.setattr(readers, "size_of", lambda name: sizes[int(name)])
    assert Counting(Options({"splitSize": option}), NUMBERS).split_size(map(str, range(len(sizes)))) == expected


@pytest.mark.parametrize("error", [OSError, FileNotFoundError, PermissionError])
def test_a_file_that_is_gone_has_no_size(monkeypatch: pytest.MonkeyPatch, error: type[OSError]) -> None:
    def fails(name: str) -> int:
        raise error

    monkeypatch.setattr(readers, "size_of", fails)
    assert readers.stored_size("a") == 0


def test_what_a_reader_is_given_for_each_kind_of_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made: list[tuple[str, dict[str, str], list[str]]] = []

    class Noted(Reader):
        name = ""

        def tasks(self) -> Sequence[str]:
            found = {name: self.options.text(name) or "" for name in NAMES}
            made.append((self.name, {name: value for name, value in found.items() if value}, self.schema.names))
            return ["task"]

        def read(self, task: str) -> Iterator[pa.RecordBatch]:
            yield pa.nulls(1).cast(pa.int64()) and pa.RecordBatch.from_pylist([{}], self.schema)

    monkeypatch.setattr(readers, "_reader", lambda name: type(name, (Noted,), {"name": name}))
    inputs = Inputs(
        captures=("a.pcap", "s3://b/c"), request_logs=("r",), server_logs=("s",), logs=("d",), metrics=("m",)
    )
    for table, columns, options in (
        ("exchanges", ("api", "source"), {"ports": 9092, "timeZone": "UTC"}),
        ("records", (), {"topics": "a"}),
        ("refusals", ("source",), {}),
        ("metrics", ("source",), {}),
    ):
        given = {name: str(value) for name, value in options.items()}
        assert sum(batch.num_rows for batch in read_batches(table, inputs, columns, given, processes=2)) > 0
    paths = {name: json.dumps([f"{tmp_path}/{name}"]) for name in ("r", "s", "d", "m")}
    captures = {"paths": json.dumps([f"{tmp_path}/a.pcap", "s3://b/c"]), "rows": "exchanges", "partitions": "2"}
    known = {FOUND: "True"}
    assert made == [
        ("capture.CaptureReader", captures | known | {"ports": "9092"}, ["api", "source"]),
        ("text_log.RequestLogReader", {"paths": paths["r"], "timeZone": "UTC"} | known, ["api", "source"]),
        ("log.LogReader", {"paths": paths["d"], "topics": "a", FOUND: "False"}, RECORDS.names),
        ("text_log.ServerLogReader", {"paths": paths["s"]} | known, ["source"]),
        ("metrics.MetricsReader", {"paths": paths["m"]} | known, ["source"]),
    ]


NAMES = ("paths", "rows", "partitions", FOUND, "ports", "timeZone", "topics")


def stored(path: Path, kind: str, *files: list[dict[str, Any]], without: Sequence[str] = ()) -> StoredTable:
    path.mkdir()
    schema = {"clients": CLIENTS, "problems": PROBLEMS}[kind]
    for number, rows in enumerate(files):
        table = pa.Table.from_pylist(rows, schema).drop_columns([*without])
        parquet.write_table(table, path / f"part-{number}.parquet")
    return StoredTable(str(path), kind, UNKNOWN, True)


def test_stored_tables_are_read_with_all_their_files(tmp_path: Path) -> None:
    first, second = client(api_key=1, requests=2), client(requests=0)
    table = stored(tmp_path / "c", "clients", [first, second], [client(requests=3)], without=["bytes"])
    other = stored(tmp_path / "d", "clients", [client(requests=4)])
    problems = stored(tmp_path / "p", "problems", [{"problem": "x", "places": 1, "connections": 0}])
    columns = ("requests", "bytes", "client_id", "first_seen")
    found = [*read_batches("clients", Inputs(tables=(table, problems, other)), columns)]
    when = first["first_seen"]
    assert [tuple(row.values()) for batch in found for row in batch.to_pylist()] == [
        *((requests, None, "one", when) for requests in (2, 0, 3)),
        (4, 0, "one", when),
    ]
    assert {tuple(batch.schema.names) for batch in found} == {columns}
    counts = [
        *read_batches("problems", Inputs(tables=(table, problems)), ("places",), transform=lambda rows: [*rows] * 2)
    ]
    assert [batch["places"].to_pylist() for batch in counts] == [[1], [1]]


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"requests": 0, "errors": 0, "refused": 0, "connections": 0}, ""),
        *(({name: value}, f"{name} is null or negative")
          for name in ("requests", "errors", "refused", "connections") for value in (-1, None)),
        ({"bytes": None, "begun": -1}, ""),
        ({"first_seen": -62_135_596_800_000_000}, ""),
        ({"first_seen": -62_135_596_800_000_001}, "first_seen contains a time outside the years 1 to 9999"),
        ({"last_seen": 253_402_300_799_999_998}, ""),
        ({"last_seen": 253_402_300_800_000_000}, "last_seen contains a time outside the years 1 to 9999"),
        ({"last_seen": None}, ""),
    ],
)  # fmt: skip
def test_values_of_stored_tables_at_their_limits(tmp_path: Path, facts: dict[str, int | None], reason: str) -> None:
    """In the second of two files, and of two rows."""
    table = stored(tmp_path / "c", "clients", [client()], [client(), client()])
    columns = {field.name: pa.array([client().get(field.name)] * 2, field.type) for field in CLIENTS}
    for name, value in facts.items():
        usual = columns[name].cast(pa.int64())[0].as_py()
        columns[name] = pa.array([usual, value], pa.int64()).cast(CLIENTS.field(name).type)
    parquet.write_table(pa.table(columns, CLIENTS), table.files[1])
    read = stored_batches(table, CLIENTS)
    assert next(read).num_rows == 1
    if not reason:
        assert [batch.num_rows for batch in read] == [2]
        return
    with pytest.raises(BrokenInputError) as told:
        next(read)
    assert told.value.args == (str(table.files[1]), None, f"not a table that kwire wrote: {reason}")


def test_options_of_captures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "checked_key_log", lambda name: f"checked {name}")
    usual = CaptureReader(Options({"path": "a"}))
    assert usual._pieces.keywords == {"ports": Options({}).ports("ports"), "start": None, "end": None}
    assert usual._batches.keywords == {
        "table": "frames",
        "failfast": False,
        "budget": BUDGET,
        "protocol": PROTOCOL,
        "bodies": ALL,
    }
    assert (usual.schema, CaptureReader.columns(Options({"rows": "exchanges"}))) == (FRAMES, EXCHANGES)
    given = {"rows": "exchanges", "mode": "failfast", "maxDecoded": "7", "maxHeld": "9", "bodies": "codes"}
    given |= {"ports": "1,2", "start": "5", "end": "6", "keyLog": "k", "path": "a"}
    other = CaptureReader(Options(given), NUMBERS)
    assert other._pieces.keywords == {"ports": frozenset({1, 2}), "start": 5.0, "end": 6.0}
    assert other._batches.keywords == {
        "table": "exchanges",
        "failfast": True,
        "budget": Budget(7, 9),
        "protocol": PROTOCOL,
        "bodies": CODES,
    }
    assert (other.schema, other._key_log, usual._key_log) == (NUMBERS, "checked k", "checked None")


@pytest.mark.parametrize("key_log", [None, "k"])
def test_a_task_of_captures_reads_its_share_with_the_keys(
    monkeypatch: pytest.MonkeyPatch, key_log: str | None
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(capture, "checked_key_log", lambda name: key_log)
    monkeypatch.setattr(capture, "tune_worker", lambda: seen.append("tuned"))
    monkeypatch.setattr(capture, "KeyLog", lambda: SimpleNamespace(add="of the capture"))
    monkeypatch.setattr(capture, "read_key_log", lambda name: SimpleNamespace(add=f"of {name}"))
    monkeypatch.setattr(capture, "decrypted", lambda pieces, keys: (pieces, keys.add))
    reader = CaptureReader(Options({"path": "a"}))
    monkeypatch.setattr(reader, "_pieces", lambda *given, **how: (given, how))
    monkeypatch.setattr(reader, "_batches", lambda *given, **how: (given, how))
    reader.conditions = ["some"]  # type: ignore[list-item]
    found: Any = reader.read((["a", "b"], (1, 3)))
    keys = "of k" if key_log else "of the capture"
    pieces = ((["a", "b"],), {"share": (1, 3), "secrets": keys})
    assert found == (((pieces, keys), FRAMES), {"conditions": ["some"]})
    assert seen == ["tuned"]


@pytest.mark.parametrize(
    ("sizes", "processors", "option", "tasks"),
    [
        ({"a.pcap": 0}, 4, "", 1),
        ({"a.pcap": 32 << 20}, 4, "", 1),
        ({"a.pcap": (32 << 20) + 1}, 4, "", 2),
        ({"a.pcap": 32 << 20, "b.pcap": 1}, 4, "", 2),
        ({"a.pcap": 900 << 20}, 4, "", 4),
        ({"a.pcap": 900 << 20}, None, "", 1),
        *(({f"a.pcap{end}": 8 << 20}, 4, "", 1) for end in (".gz", ".zst", ".zstd", ".bz2", ".xz", ".lz4")),
        *(({f"a.pcap{end}": (8 << 20) + 1}, 4, "", 2) for end in (".gz", ".zst", ".zstd", ".bz2", ".xz", ".lz4")),
        ({"a.gz.pcap": (8 << 20) + 1}, 4, "", 1),
        ({"a.pcap": 900 << 20}, 4, "7", 7),
    ],
)
def test_tasks_of_captures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: dict[str, int], processors: int, option: str, tasks: int
) -> None:
    for name, size in sizes.items():
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    paths = sorted(str(tmp_path / name) for name in sizes)
    found = CaptureReader(Options({"path": str(tmp_path), "partitions": option})).tasks()
    assert found == [(paths, (number, tasks)) for number in range(tasks)]


def test_options_of_logs() -> None:
    usual = LogReader(Options({"path": "a"}))
    assert usual._batches.keywords == {
        "failfast": False,
        "control": True,
        "hide": True,
        "limit": DEFAULT_LIMIT,
        "most": MAX_RECORD,
    }
    assert (usual._bounds, usual._selection, usual._decode) == (Bounds(), Selection(), None)
    given = {
        "mode": "failfast",
        "control": "false",
        "secrets": "keep",
        "limit": "5",
        "maxRecord": "6",
        "topics": "a,!b",
    }
    given |= {
        "states": "stray,delete",
        "checkpoints": "false",
        "record": "OffsetCommit",
        "maxDecoded": "7",
        "path": "a",
    }
    other = LogReader(Options(given))
    assert other._batches.keywords == {"failfast": True, "control": False, "hide": False, "limit": 5, "most": 6}
    assert other._selection == Selection(("a", "!b"), ("stray", "delete"), "false")
    assert other._decode is not None
    assert (other._decode.name, other._decode.protocol, other._decode.max_decoded) == ("OffsetCommit", PROTOCOL, 7)
    assert (usual.schema, other.schema.names[-5:]) == (RECORDS, ["reason", "version", "key", "value", "problem"])
    decode = LogReader(Options({"path": "a", "record": "TopicRecord"}))._decode
    assert decode is not None
    assert decode.max_decoded == MAX_DECODED


@pytest.mark.parametrize(
    ("conditions", "options", "names"),
    [
        ([], {}, ["a-0", "a-1", "b-0", "__consumer_offsets-3", ""]),
        ([Condition("topic", "=", "a")], {}, ["a-0", "a-1", ""]),
        ([Condition("partition", ">", 0)], {}, ["a-1", "__consumer_offsets-3", ""]),
        ([Condition("topic", "=", "a"), Condition("partition", "=", 0)], {}, ["a-0", ""]),
        ([], {"record": "OffsetCommit"}, ["__consumer_offsets-3"]),
        ([Condition("topic", "=", "a")], {"record": "OffsetCommit"}, []),
    ],
)
def test_segments_without_rows_that_are_wanted_are_not_read(
    tmp_path: Path, conditions: list[Condition], options: dict[str, str], names: list[str]
) -> None:
    """Of a file that is given alone, nobody knows the topic."""
    file = f"{0:020}.log"
    for name in ("a-0", "a-1", "b-0", "__consumer_offsets-3"):
        (tmp_path / "data" / name).mkdir(parents=True)
        (tmp_path / "data" / name / file).write_bytes(bytes(100))
    (tmp_path / file).write_bytes(bytes(100))
    reader = LogReader(Options({"paths": json.dumps([str(tmp_path / "data"), str(tmp_path / file)])} | options))
    reader.conditions = conditions
    found = {split.path for task in reader.tasks() for split in task}
    assert found == {str(tmp_path / "data" / name / file if name else tmp_path / file) for name in names}


@pytest.mark.parametrize(
    ("given", "bounds"),
    [
        ({"startOffset": "0"}, Bounds(first_offset=0)),
        ({"startOffset": "5", "endOffset": "9"}, Bounds(5, 8)),
        ({"endOffset": "0"}, Bounds(last_offset=-1)),
        ({"start": "0"}, Bounds(first_time=0)),
        ({"end": "0"}, Bounds(last_time=-1)),
        ({"start": "1.5", "end": "2.000001"}, Bounds(LOWEST, HIGHEST, 1_500_000, 2_000_000)),
    ],
)
def test_bounds_of_logs(given: dict[str, str], bounds: Bounds) -> None:
    assert LogReader(Options({"path": "a"} | given))._bounds == bounds


def test_options_of_text_logs_and_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for cls, schema in ((RequestLogReader, EXCHANGES), (ServerLogReader, REFUSALS)):
        usual, other = cls(Options({"path": "a"})), cls(
            Options({"path": "a", "timeZone": "Asia/Tokyo", "mode": "failfast", "maxLine": "7"})
        )
        assert usual.schema.names == schema.names
        assert usual._batches.keywords | {"zone": None} == {"zone": None, "failfast": False, "longest": LONGEST}
        told = other._batches.keywords
        assert (told["failfast"], told["longest"]) == (True, 7)
        moment = datetime(2026, 1, 1, tzinfo=UTC)
        assert moment.astimezone(told["zone"]).hour == 9
        assert (
            moment.astimezone(usual._batches.keywords["zone"]).hour
            == moment.astimezone(Options({}).time_zone("timeZone")).hour
        )
    for name in ("a", "b"):
        (tmp_path / name).write_text("x")
    metrics = MetricsReader(Options({"path": str(tmp_path)}))
    assert (metrics.schema, list(metrics.tasks())) == (COUNTED, [str(tmp_path / "a"), str(tmp_path / "b")])


def test_memory_is_tuned_once_for_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []

    def library(name: None) -> Any:
        return SimpleNamespace(mallopt=lambda *given: done.append(given))

    monkeypatch.setattr(ctypes, "CDLL", library)
    monkeypatch.setattr(gc, "freeze", lambda: done.append("freeze"))
    monkeypatch.setattr(gc, "set_threshold", lambda *given: done.append(given))
    monkeypatch.setattr(atexit, "register", lambda function: done.append(function))
    readers.tune_worker.cache_clear()
    for _ in range(2):
        readers.tune_worker()
    assert done == ["freeze", gc.unfreeze, (100_000, 10, 10), (-1, 64 << 20), (-3, 1 << 20)]
    readers.tune_worker.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    readers.tune_worker()
    readers.tune_worker.cache_clear()


def test_pandas_is_left_out_until_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    before, seen = [*sys.meta_path], []

    def array(values: list[int]) -> None:
        for name in ("pandas", "colorsys"):
            monkeypatch.delitem(sys.modules, name, raising=False)
            try:
                __import__(name)
                seen.append(f"{name} is there")
            except ModuleNotFoundError:
                seen.append(f"{name} is left out")

    monkeypatch.setattr(pa, "array", array)
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace())
    readers.leave_out_pandas()
    assert seen == []
    monkeypatch.delitem(sys.modules, "pandas")
    readers.leave_out_pandas()
    assert seen == ["pandas is left out", "colorsys is there"]
    assert sys.meta_path == before
    monkeypatch.setattr(pa, "array", lambda values: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        readers.leave_out_pandas()
    assert sys.meta_path == before


def test_inputs_have_no_tasks_without_files() -> None:
    assert not [*read_batches("records", replace(Inputs(), captures=("a",)))]
