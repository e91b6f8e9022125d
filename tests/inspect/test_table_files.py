"""Tables as folders of files, without Spark: whole or not at all, private, and nobody else's."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

from kwire_inspect import rows
from kwire_inspect.command.engines import LocalEngine
from kwire_inspect.options import OptionError
from kwire_inspect.readers import stored
from kwire_inspect.readers.stored import TableReader
from kwire_inspect.schemas import EXCHANGES
from kwire_inspect.stored import UNKNOWN, Origin
from kwire_inspect.tables import files
from kwire_inspect.tables.files import LocalFiles, TableWriter
from kwire_inspect.tables.names import Typed
from kwire_inspect.tables.structs import ExchangeStructs
from kwire_kafka import PROTOCOL
from tests.support.report_rows import DATABASE, exchange, write_rows

NUMBERS = pa.schema([("number", pa.int64())])
TIMES = pa.schema([("time", pa.timestamp("us", "UTC")), ("number", pa.int64())])


def write(count: int, folder: str, name: str) -> str:
    """A table of so many numbers."""
    return write_rows([pa.record_batch([range(count)], schema=NUMBERS)], NUMBERS, folder, name)


class Killed(BaseException):
    """As if the process ended here."""


@pytest.mark.parametrize("step", range(0, 30, 2))
def test_a_kill_between_any_two_steps_is_put_right_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    write(3, str(tmp_path), "numbers")
    steps = 0

    def dying(real: Any) -> Any:
        def call(*given: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps > step:
                raise Killed
            return real(*given)

        return call

    with monkeypatch.context() as patched:
        for name in ("create", "delete", "exists", "rename", "_children"):
            patched.setattr(LocalFiles, name, dying(getattr(LocalFiles, name)))
        with suppress(Killed):
            write(4, str(tmp_path), "numbers")
    left = {name for name in ("numbers", "_numbers.replaced", "_numbers.writing") if (tmp_path / name).exists()}
    assert left & {"numbers", "_numbers.replaced"}  # a whole table at any time
    LocalFiles().restore(f"{tmp_path}/numbers")
    assert parquet.read_table(tmp_path / "numbers").num_rows in (3, 4)
    write(4, str(tmp_path), "numbers")
    assert parquet.read_table(tmp_path / "numbers").num_rows == 4
    assert [entry.name for entry in tmp_path.iterdir()] == ["numbers"]


@pytest.mark.parametrize("taken", ["numbers", "_numbers.writing", "_numbers.replaced"])
def test_a_folder_of_the_user_is_not_replaced(tmp_path: Path, taken: str) -> None:
    mine = tmp_path / taken / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    for _ in range(2):
        with pytest.raises(OptionError, match=f"{taken} was not written by kwire: move it"):
            write(3, str(tmp_path), "numbers")
    assert mine.read_text() == "mine"


@pytest.mark.parametrize(
    ("marker", "mine"),
    [
        (b"{}", "part-0.parquet"),
        (b"clients.html", "part-0.parquet"),
        (b"", "part-0.parquet"),
        (UNKNOWN.marker(), "mine.txt"),
        (UNKNOWN.marker(), ".git/HEAD"),
    ],
)
def test_a_marker_alone_makes_no_table(tmp_path: Path, marker: bytes, mine: str) -> None:
    """Whoever packed a folder may have put a marker into it."""
    file = tmp_path / "numbers" / mine
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    (tmp_path / "numbers" / "_kwire").write_bytes(marker)
    with pytest.raises(OptionError, match="numbers was not written by kwire: move it"):
        write(3, str(tmp_path), "numbers")
    assert file.read_text() == "mine"


@pytest.mark.parametrize("link", ["apis", "apis/Fetch"])
def test_no_link_leads_out_of_the_folder(tmp_path: Path, link: str) -> None:
    outside, out = tmp_path / "outside", tmp_path / "out"
    write(3, str(outside), "Fetch")
    (out / link).parent.mkdir(parents=True)
    (out / link).symlink_to(outside if link == "apis" else outside / "Fetch")
    before = sorted(outside.rglob("*"))
    with pytest.raises(OptionError, match=f"{link} is a symbolic link: remove it"):
        write(4, str(out), "apis/Fetch")
    assert sorted(outside.rglob("*")) == before


def test_a_deletion_that_was_interrupted_is_completed(tmp_path: Path) -> None:
    """Its marker goes last, and then the folder is empty."""
    for left in ("_numbers.writing", "_numbers.replaced"):
        path = Path(write(3, str(tmp_path), "numbers"))
        (tmp_path / left).mkdir()
        (tmp_path / left / "_kwire").write_bytes(UNKNOWN.marker())
        (tmp_path / left / "part-00000").touch()
        write(3, str(tmp_path), "numbers")
        (tmp_path / left).mkdir()
        write(3, str(tmp_path), "numbers")
        assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_failure_leaves_the_old_table(tmp_path: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch([[1]], schema=NUMBERS)
        raise KeyError

    write(3, str(tmp_path), "numbers")
    with pytest.raises(KeyError):
        write_rows(failing(), NUMBERS, str(tmp_path), "numbers")
    assert parquet.read_table(tmp_path / "numbers").num_rows == 3


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_only_the_user_can_read_a_table(tmp_path: Path) -> None:
    table = Path(write(3, str(tmp_path / "out"), "apis/numbers"))
    paths = (tmp_path / "out", table.parent, table, *table.rglob("*"))
    assert {path.stat().st_mode & 0o077 for path in paths} == {0}
    assert {path.name for path in table.iterdir()} == {"_kwire", "part-00000-00000.snappy.parquet"}


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    write(0, str(tmp_path), "numbers")
    assert parquet.read_table(tmp_path / "numbers").schema == NUMBERS


def test_rows_are_in_folders_by_their_date_in_utc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_OPEN", 1)
    monkeypatch.setattr(rows, "BATCH_BYTES", 0)  # nothing waits
    times = [datetime(1969, 12, 31, 23, tzinfo=UTC), None, datetime(2026, 1, 1, 23, 59, 59, tzinfo=UTC)]
    batch = pa.record_batch([times, [1, 2, 3]], schema=TIMES)
    write_rows([batch, batch], TIMES, str(tmp_path), "times", by_date=True)
    found = sorted(path.relative_to(tmp_path / "times").as_posix() for path in tmp_path.rglob("*.parquet"))
    folders = ["date=1969-12-31", "date=2026-01-01", "date=__HIVE_DEFAULT_PARTITION__"]
    assert sorted({path.partition("/")[0] for path in found}) == folders
    assert len(found) == 6  # with one file open at a time
    stored = dataset.dataset(tmp_path / "times", format="parquet").to_table()
    assert sorted(stored.column("number").to_pylist()) == [1, 1, 2, 2, 3, 3]


def test_a_table_is_deleted_marker_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the rest of a deletion that was interrupted is known as a table."""
    path = Path(write(3, str(tmp_path), "numbers"))
    removed: list[str] = []
    monkeypatch.setattr(LocalFiles, "_remove", lambda self, gone: removed.append(Path(gone).name))
    LocalFiles().delete(str(path))
    assert removed[-1] == path.name
    assert "_kwire" not in removed
    assert len(removed) > 1


def test_a_link_in_a_table_is_removed_and_not_what_it_leads_to(tmp_path: Path) -> None:
    table, outside = Path(write(3, str(tmp_path / "out"), "numbers")), tmp_path / "outside"
    outside.mkdir()
    (outside / "mine.txt").write_text("mine")
    (table / "part-00001").symlink_to(outside)
    write(4, str(tmp_path / "out"), "numbers")
    assert (outside / "mine.txt").read_text() == "mine"
    assert {path.name for path in table.iterdir()} == {"_kwire", "part-00000-00000.snappy.parquet"}


def test_large_rows_are_written_a_few_at_a_time(tmp_path: Path) -> None:
    schema = pa.schema([("value", pa.binary())])
    write_rows([pa.record_batch([[bytes(3 << 20)] * 4], schema=schema)], schema, str(tmp_path), "large")
    (file,) = (tmp_path / "large").glob("*.parquet")
    assert parquet.ParquetFile(file).num_row_groups == 4


@pytest.mark.slow
def test_few_rows_at_a_time_become_one_row_group(tmp_path: Path) -> None:
    """A writer keeps the places of all row groups in memory: those of millions of records took a gigabyte."""
    numbers = [pa.record_batch([[number]], schema=NUMBERS) for number in range(100)]
    large = pa.record_batch([[*range(100, 1 << 20)]], schema=NUMBERS)
    write_rows([*numbers, large, *numbers], NUMBERS, str(tmp_path), "numbers")
    (file,) = (tmp_path / "numbers").glob("*.parquet")
    found = parquet.ParquetFile(file)
    assert [found.metadata.row_group(group).num_rows for group in (0, 3)] == [100, 100]
    assert found.read().column("number").to_pylist() == [*range(1 << 20), *range(100)]


def test_rows_wait_until_there_are_enough_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "BATCH_BYTES", 3 * files.BATCH_OVERHEAD)
    numbers = [pa.record_batch([[number]], schema=NUMBERS) for number in range(12)]
    write_rows(numbers, NUMBERS, str(tmp_path), "numbers")
    (file,) = (tmp_path / "numbers").glob("*.parquet")
    assert parquet.ParquetFile(file).num_row_groups == 4


def test_rows_of_all_typed_tables_wait_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be a hundred of them. The largest is written first, so that row groups are large."""
    monkeypatch.setattr(rows, "BATCH_BYTES", 10 * files.BATCH_OVERHEAD)

    def of(kind: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from (batch for batch in batches if (batch["number"][0].as_py() % 10 == 0) == (kind == "rare"))

    functions = {str(tmp_path / kind): partial(of, kind) for kind in ("rare", "frequent")}
    numbers = [pa.record_batch([[number]], schema=NUMBERS) for number in range(40)]
    assert not [*TableWriter(functions, UNKNOWN, by_date=False)(numbers)]
    groups = {}
    for folder in functions:
        (file,) = Path(folder).glob("*.parquet")
        metadata = parquet.read_metadata(file)
        groups[Path(folder).name] = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    assert sum(groups["rare"]) == 4
    assert sum(groups["frequent"]) == 36
    assert len(groups["rare"]) == 1
    assert max(groups["frequent"]) <= 10


def test_a_file_has_some_row_groups_whose_places_are_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "BATCH_BYTES", 0)
    numbers = [pa.record_batch([[number]], schema=NUMBERS) for number in range(2 * files.MAX_GROUPS + 1)]
    path = Path(write_rows(numbers, NUMBERS, tmp_path, "numbers"))
    found = [parquet.read_metadata(file).num_row_groups for file in sorted(path.glob("*.parquet"))]
    assert found == [files.MAX_GROUPS, files.MAX_GROUPS, 1]


def test_a_table_that_was_written_is_read_some_rows_at_a_time_and_dealt_by_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "ROWS", 7)
    monkeypatch.setattr(rows, "BATCH_BYTES", 0)
    batches = [pa.record_batch([[*range(20)]], schema=NUMBERS)] * 3
    path = write_rows(batches, NUMBERS, tmp_path, "records")
    for tasks, expected in {1: [9], 2: [6, 3], 4: [3, 3, 3, 0]}.items():
        reader = TableReader(path, None, tasks)
        read = [[*reader.read(task)] for task in reader.tasks()]
        assert [len(found) for found in read] == expected
        assert {batch.num_rows for found in read for batch in found} == {7, 6}


def test_exchanges_of_an_api_that_is_unknown_are_in_no_table_of_an_api(tmp_path: Path) -> None:
    engine, origin = LocalEngine(), Origin("a capture")
    exchanges = pa.Table.from_pylist([exchange(), exchange(api_key=9999) | {"api": None}], EXCHANGES)
    written = engine.write(
        DATABASE.table(EXCHANGES).add(exchanges.to_batches()), EXCHANGES, str(tmp_path), "exchanges", origin=origin
    )
    typed = {ExchangeStructs(key).name: Typed(ExchangeStructs(key)) for key in PROTOCOL.api_keys}
    (only,) = engine.write_typed(written.table, str(tmp_path), typed, origin=origin)
    assert (only.name, only.path, only.count()) == ("Metadata", str(tmp_path / "Metadata"), 1)
    assert {path.name for path in tmp_path.iterdir()} == {"exchanges", "Metadata"}
    assert Origin.read(tmp_path / "Metadata") == origin


def test_of_a_table_that_is_dated_each_date_has_one_file_while_few_are_open(tmp_path: Path) -> None:
    days = [datetime(2026, 1, 1 + number, tzinfo=UTC) for number in range(files.MAX_OPEN // 2)]
    batch = pa.record_batch([days, [*range(len(days))]], schema=TIMES)
    path = write_rows([batch] * 3, TIMES, tmp_path, "times", by_date=True)
    assert path == str(tmp_path / "times")
    assert len([*(tmp_path / "times").rglob("*.parquet")]) == len(days)
    write_rows([], TIMES, str(tmp_path), "times", by_date=True)
    (only,) = (tmp_path / "times").rglob("*.parquet")
    assert only.parent == tmp_path / "times"


def test_large_values_are_not_copied_for_statistics_and_dictionaries(tmp_path: Path) -> None:
    """Only they are left out: other columns can still be filtered."""
    batch = pa.record_batch([pa.array([b"value"], pa.binary()), pa.array([1])], ["value", "number"])
    path = write_rows([batch], batch.schema, str(tmp_path), "t")
    (file,) = Path(path).glob("*.parquet")
    value, number = (parquet.read_metadata(file).row_group(0).column(index) for index in range(2))
    assert (value.is_stats_set, value.has_dictionary_page) == (False, False)
    assert (number.is_stats_set, number.has_dictionary_page) == (True, True)
