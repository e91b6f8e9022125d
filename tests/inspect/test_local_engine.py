"""The engine of this machine: what its readers are told, and all files of the tables that it writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from kwire_inspect import readers
from kwire_inspect.command.engines import LocalEngine, Written
from kwire_inspect.inputs import Inputs
from kwire_inspect.schemas import COUNTED, EXCHANGES, TIME
from kwire_inspect.stored import Origin
from kwire_inspect.tables.clients import EXCHANGE_COLUMNS, counted
from kwire_inspect.tables.relations import collect, map_batches
from tests.support.report_rows import exchange

ORIGIN = Origin("2 captures", (("a.txt", "empty file"),), "monday")
INPUTS = Inputs(captures=("a.pcap", "b.pcap"))
NUMBERS = pa.schema([("time", TIME), ("number", pa.int64())])


class Given:
    """Rows as a table that the engine writes, and with how many processes they were asked for."""

    def __init__(self, schema: pa.Schema, *batches: list[Any]) -> None:
        self.schema = schema
        self.batches = [pa.RecordBatch.from_pylist(batch, schema) for batch in batches]
        self.asked: list[Any] = []

    def mapped(self, schema: pa.Schema, function: Any, **how: Any) -> Iterable[pa.RecordBatch]:
        self.asked.append((schema, how))
        return list(function(iter(self.batches)))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the engine asks of readers, which have the same two rows of one connection each time."""
    found: list[Any] = []

    def read(table: str, inputs: Inputs, columns: Any = (), options: Any = None, **how: Any) -> Iterator[Any]:
        transform = how.pop("transform", iter)
        found.append((table, inputs, tuple(columns), options, how))
        wanted = pa.schema([EXCHANGES.field(name) for name in columns or EXCHANGES.names])
        rows = [exchange(position=number) for number in (1, 2)]
        yield from transform(iter([pa.RecordBatch.from_pylist(rows, EXCHANGES).select(wanted.names)]))

    monkeypatch.setattr(readers, "read_batches", read)
    return found


def test_reading_is_prepared_once_for_each_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[str] = []
    for name in ("leave_out_pandas", "tune_worker"):
        monkeypatch.setattr(readers, name, partial(prepared.append, name))
    engine = LocalEngine()
    assert prepared == ["leave_out_pandas", "tune_worker"]
    assert engine.database is engine.database
    assert engine.label == "Engine: local."


@pytest.mark.parametrize("columns", [("position", "api"), ()])
@pytest.mark.parametrize("processes", [1, 3])
def test_a_table_has_the_columns_that_are_asked_for_and_its_reader_the_options(
    asked: list[Any], columns: tuple[str, ...], processes: int
) -> None:
    table = LocalEngine(processes).read("exchanges", INPUTS, columns, {"ports": "9092"})
    wanted = columns or tuple(EXCHANGES.names)
    assert table.schema.names == table.columns == [*wanted]
    assert asked == [], "nothing is read before it is needed"
    rows = collect("SELECT position, api FROM {t} ORDER BY position", t=table)
    assert rows == [{"position": 1, "api": "Metadata"}, {"position": 2, "api": "Metadata"}]
    ((name, inputs, of, options, how),) = asked
    assert (name, inputs, options, how) == ("exchanges", INPUTS, {"ports": "9092"}, {"processes": processes})
    assert {"position", "api"} <= {*of} <= {*wanted}


@pytest.mark.parametrize("processes", [1, 3])
def test_each_process_counts_a_connection_by_itself(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    """One process adds up what a connection did; several may have parts of the same connection."""
    told: list[Any] = []

    def mapped(table: Any, takes: pa.Schema, function: Any, gives: pa.Schema) -> Any:
        told.append((takes.names, gives, getattr(function, "func", function), getattr(function, "keywords", {})))
        return map_batches(table, takes, function, gives)

    monkeypatch.setattr("kwire_inspect.tables.relations.map_batches", mapped)
    table = LocalEngine(processes).counted(INPUTS, {"bodies": "codes"})
    rows = collect("SELECT client_id, api, requests FROM {t}", t=table)
    assert rows == [{"client_id": "one", "api": "Metadata", "requests": 2}]
    assert told == [([*EXCHANGE_COLUMNS], COUNTED, counted, {"most": 0} if processes > 1 else {})]
    assert asked == [("exchanges", INPUTS, EXCHANGE_COLUMNS, {"bodies": "codes"}, {"processes": processes})]


def test_a_table_that_is_kept_is_read_once(asked: list[Any]) -> None:
    engine = LocalEngine()
    table: Any = engine.read("exchanges", INPUTS, ("position",), {})
    kept = engine.cached(table)
    for _ in range(2):
        assert collect("SELECT sum(position) AS total FROM {t}", t=kept) == [{"total": 3}]
    assert len(asked) == 1
    assert engine.cached(kept) is kept


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def rows_of(written: Written) -> list[dict[str, Any]]:
    """The rows as they are read back, where ``date`` is null in a table that is not dated."""
    rows = collect("SELECT * FROM {t}", t=written.table)
    return sorted(({name: row[name] for name in row if name != "date"} for row in rows), key=str)


@pytest.mark.parametrize("processes", [1, 3])
@pytest.mark.parametrize("by_date", [False, True])
@pytest.mark.parametrize("ending", ["", "/"])
def test_a_written_table_is_read_back_with_its_origin(
    tmp_path: Path, processes: int, by_date: bool, ending: str
) -> None:
    days = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 2)]
    rows = [{"time": day, "number": number} for number, day in enumerate(days)]
    given, engine = Given(NUMBERS, rows[:1], rows[1:]), LocalEngine(processes)
    for _ in range(2):  # the second replaces the first
        written = engine.write(given, NUMBERS, f"{tmp_path}{ending}", "numbers", origin=ORIGIN, by_date=by_date)
    assert (written.name, written.path, written.count()) == ("numbers", f"{tmp_path}/numbers", 3)
    assert rows_of(written) == rows
    assert Origin.read(tmp_path / "numbers") == ORIGIN
    folders = Counter(Path(file).parent.as_posix() for file in files(tmp_path) if file.endswith(".parquet"))
    dated = {"numbers/date=2026-01-01": 1, "numbers/date=2026-01-02": 1}
    assert folders == (dated if by_date else {"numbers": 1})
    assert given.asked == [(NUMBERS, {"processes": processes})] * 2


@pytest.mark.parametrize("by_date", [False, True])
def test_a_table_without_rows_has_its_columns_and_its_origin(tmp_path: Path, by_date: bool) -> None:
    written = LocalEngine().write(Given(NUMBERS), NUMBERS, str(tmp_path), "numbers", origin=ORIGIN, by_date=by_date)
    assert (written.count(), rows_of(written)) == (0, [])
    assert Origin.read(tmp_path / "numbers") == ORIGIN
    (file,) = (tmp_path / "numbers").rglob("*.parquet")
    assert parquet.read_schema(file).names == NUMBERS.names


class Kind:
    """The rows of one number, as a typed table."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if found := [{"n": row["number"]} for row in batch.to_pylist() if row["number"] == self.number]:
                yield pa.RecordBatch.from_pylist(found)


@pytest.mark.parametrize("ending", ["", "/"])
def test_typed_tables_are_written_for_the_kinds_that_there_are(tmp_path: Path, ending: str) -> None:
    day = datetime(2026, 1, 1, tzinfo=UTC)
    given = Given(NUMBERS, *([{"time": day, "number": number}] for number in (7, 5, 7)))
    kinds: Any = {"apis/seven": Kind(7), "apis/six": Kind(6), "apis/five": Kind(5)}
    engine = LocalEngine(2)
    written = engine.write_typed(given, f"{tmp_path}{ending}", kinds, origin=ORIGIN)
    assert [(one.name, one.path, one.count(), rows_of(one)) for one in written] == [
        ("apis/five", f"{tmp_path}/apis/five", 1, [{"n": 5}]),
        ("apis/seven", f"{tmp_path}/apis/seven", 2, [{"n": 7}, {"n": 7}]),
    ]
    assert [Origin.read(Path(one.path)) for one in written] == [ORIGIN, ORIGIN]
    assert {Path(file).parent.as_posix() for file in files(tmp_path)} == {"apis/five", "apis/seven"}
    assert given.asked == [(NUMBERS, {"processes": 2})]
