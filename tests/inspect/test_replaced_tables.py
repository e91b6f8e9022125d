"""Tables as folders that are replaced: what is there before and after, and which file has which rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyarrow import parquet

from kwire_inspect import rows
from kwire_inspect.options import OptionError
from kwire_inspect.readers.stored import TableReader, read_table
from kwire_inspect.stored import UNKNOWN, Origin
from kwire_inspect.tables import files
from kwire_inspect.tables.files import BATCH_OVERHEAD, LocalFiles, ParquetTable, write_parquet

FILES = LocalFiles()
MARKER = UNKNOWN.marker()
DATED = pa.schema([("time", pa.timestamp("us", "UTC")), ("number", pa.int64())])


def make(folder: Path, name: str, content: str) -> None:
    """A table with one file."""
    FILES.create(f"{folder}/{name}/_kwire", MARKER)
    FILES.create(f"{folder}/{name}/part-0", content.encode())


def contents(folder: Path) -> dict[str, str]:
    """All files below a folder but markers of tables, and tables without files."""
    found = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.name != "_kwire"}
    return {
        name: path.read_text() if path.is_file() else "folder"
        for name, path in found.items()
        if path.is_file() or (name.endswith(("t", "writing", "replaced")) and not [*path.iterdir()])
    }


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        ("", ""),
        ("t", "t"),
        ("_t.writing", ""),
        ("_t.replaced", "_t.replaced"),
        ("t _t.writing", "t"),
        ("t _t.replaced", "t"),
        ("_t.writing _t.replaced", "_t.replaced"),
        ("t _t.writing _t.replaced", "t"),
    ],
)
@pytest.mark.parametrize("outcome", ["made", "nothing", "fails", "interrupted"])
@pytest.mark.parametrize("name", ["t", "apis/t"])
def test_a_table_is_replaced_whatever_an_earlier_run_left(
    tmp_path: Path, before: str, kept: str, outcome: str, name: str
) -> None:
    """``kept`` is the whole table among what was left."""
    inner = (tmp_path / name).parent
    for left in before.split():
        make(inner, left, left)
    errors: dict[str, BaseException] = {"fails": KeyError(), "interrupted": KeyboardInterrupt()}
    stays = {f"{name}/part-0": kept} if kept else {}
    raised = None
    try:
        with FILES.replacing(f"{tmp_path}/", name) as folder:
            assert folder == f"{inner}/_t.writing"
            assert contents(tmp_path) == stays, "the earlier table is there until the new one is whole"
            if outcome != "nothing":
                make(inner, "_t.writing", "new")
            if error := errors.get(outcome):
                raise error
    except BaseException as error:
        raised = error
    assert raised is errors.get(outcome)
    assert contents(tmp_path) == ({f"{name}/part-0": "new"} if outcome == "made" else stays)


def test_an_error_is_told_even_if_what_was_written_cannot_be_removed(tmp_path: Path) -> None:
    with pytest.raises(KeyError), FILES.replacing(str(tmp_path), "t") as folder:  # noqa: PT012
        FILES.create(f"{folder}/mine.txt", b"mine")
        raise KeyError
    assert contents(tmp_path) == {"_t.writing/mine.txt": "mine"}


def test_the_earlier_table_is_kept_until_the_new_one_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "t", "old")
    (tmp_path / "link").symlink_to("t")
    rename = LocalFiles.rename

    def failing(of: LocalFiles, old: str, new: str) -> None:
        if old.endswith(".writing"):
            raise OSError(5, "Input/output error")
        rename(of, old, new)

    monkeypatch.setattr(LocalFiles, "rename", failing)
    with suppress(OSError), FILES.replacing(str(tmp_path), "t") as folder:
        make(tmp_path, Path(folder).name, "new")
    assert contents(tmp_path) | {"link": ""} == {"_t.replaced/part-0": "old", "_t.writing/part-0": "new", "link": ""}
    FILES.restore(f"{tmp_path}/t")
    assert contents(tmp_path)["t/part-0"] == "old"
    with pytest.raises(OptionError, match="link is a symbolic link"), FILES.replacing(str(tmp_path), "link"):
        pytest.fail("nothing can be written")


@pytest.mark.parametrize("foreign", ["t", "_t.writing", "_t.replaced"])
@pytest.mark.parametrize("entry", ["mine.txt", ".git/HEAD", "a folder/x", "part", "=x", "-part-0"])
def test_nothing_changes_if_a_folder_of_another_program_would_be_replaced(
    tmp_path: Path, foreign: str, entry: str
) -> None:
    for left in ("t", "_t.writing", "_t.replaced"):
        make(tmp_path, left, left)
    FILES.create(f"{tmp_path}/{foreign}/{entry}", b"mine")
    before = contents(tmp_path)
    with pytest.raises(OptionError) as refused, FILES.replacing(str(tmp_path), "t"):
        pytest.fail("nothing can be written")
    assert str(refused.value) == (f"{tmp_path}/{foreign} was not written by kwire: move it, or choose another folder")
    if foreign == "_t.writing":
        del before["_t.replaced/part-0"]  # which is known to be superfluous by then
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("names", "marker", "is_table"),
    [
        ([], None, True),
        ([], b"", True),
        ([], b"?", True),
        (["part-00000"], MARKER, True),
        (["part-0", "_SUCCESS", "._SUCCESS.crc", ".part-0.crc", "date=2026-01-01/x", "a=b\nc/y"], MARKER, True),
        (["part-00000"], None, False),
        (["part-00000"], b"", False),
        (["part-00000"], b"{}", False),
        (["part-00000", "mine"], MARKER, False),
        (["mine"], MARKER, False),
        ([".hidden"], MARKER, False),
        (["x.crc"], MARKER, False),
        (["_SUCCESS"], None, False),
    ],
)
def test_what_is_a_table_of_kwire(tmp_path: Path, names: list[str], marker: bytes | None, is_table: bool) -> None:
    (tmp_path / "t").mkdir()
    for name in names:
        FILES.create(f"{tmp_path}/t/{name}", b"")
    if marker is not None:
        FILES.create(f"{tmp_path}/t/_kwire", marker)
    before = contents(tmp_path)
    try:
        FILES.delete(f"{tmp_path}/t")
        assert is_table
        assert contents(tmp_path) == {}
        assert not (tmp_path / "t").exists()
    except OptionError:
        assert not is_table
        assert contents(tmp_path) == before


def test_a_file_and_a_link_that_leads_nowhere_are_no_tables(tmp_path: Path) -> None:
    FILES.check(f"{tmp_path}/none")
    FILES.delete(f"{tmp_path}/none")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("file", "link"):
        for function in (FILES.check, FILES.delete):
            with pytest.raises(OptionError, match=f"{name} was not written by kwire"):
                function(f"{tmp_path}/{name}")
    assert (tmp_path / "link").is_symlink()


def test_of_a_marker_no_more_than_a_limit_is_read_and_no_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "t", "x")
    for most, is_table in ((len(MARKER), True), (len(MARKER) - 1, False)):
        monkeypatch.setattr(files, "MAX_MARKER", most)
        with nullcontext() if is_table else pytest.raises(OptionError):
            FILES.check(f"{tmp_path}/t")
    (tmp_path / "t" / "_kwire").unlink()
    os.mkfifo(tmp_path / "t" / "_kwire")
    with pytest.raises(OSError, match="not a regular file"):
        FILES.check(f"{tmp_path}/t")


def test_files_of_a_table_are_private_and_not_overwritten(tmp_path: Path) -> None:
    FILES.create(f"{tmp_path}/a/b/c", b"one")
    with pytest.raises(FileExistsError):
        FILES.create(f"{tmp_path}/a/b/c", b"two")
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/c")]
    assert (modes, contents(tmp_path)) == ([0o700, 0o700, 0o600], {"a/b/c": "one"})


@pytest.mark.parametrize("before", ["", "file:"])
@pytest.mark.parametrize("link", ["apis", "apis/Fetch"])
def test_a_link_is_refused_wherever_it_is_in_the_name_of_a_table(tmp_path: Path, before: str, link: str) -> None:
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path / "elsewhere")
    folder = f"{before}{tmp_path}"
    with pytest.raises(OptionError) as refused:
        files._refuse_links(folder, "apis/Fetch")
    assert str(refused.value) == f"{folder}/{link} is a symbolic link: remove it, or choose another folder"
    files._refuse_links(folder, "Fetch")


def dated(*numbers: int) -> pa.RecordBatch:
    """A row for each number: that of the day in January, or without a time for 0."""
    days = [datetime(2026, 1, number % 100, 23, 59, tzinfo=UTC) if number else None for number in numbers]
    return pa.record_batch([days, [*numbers]], schema=DATED)


def groups(folder: Path) -> dict[str, list[list[int]]]:
    """The numbers of each row group of each file."""
    found = {}
    for path in sorted(folder.rglob("*.parquet")):
        file = parquet.ParquetFile(path)
        parts = [file.read_row_group(number)["number"].to_pylist() for number in range(file.num_row_groups)]
        found[path.relative_to(folder).as_posix().replace(".snappy.parquet", "")] = parts
    return found


def test_rows_wait_for_others_of_their_date_and_are_counted_while_they_wait(tmp_path: Path) -> None:
    folder, origin = tmp_path / "t", Origin("a capture")
    table = ParquetTable(str(folder), origin, by_date=True)
    assert table.held == 0
    first, second = dated(1, 2, 0, 101), dated(2)
    table.write(first)
    assert not folder.exists()
    table.write(second)
    assert 0 <= table.held - 4 * BATCH_OVERHEAD - 5 * 16 < 8  # four parts of five rows of 16 bytes, and bits of nulls
    table.flush()
    assert table.held == 0
    table.flush()
    table.write(dated(2, 1))
    assert 0 < table.held < 3 * BATCH_OVERHEAD
    table.close()
    assert groups(folder) == {
        "date=2026-01-01/part-00000-00000": [[1, 101], [1]],
        "date=2026-01-02/part-00000-00000": [[2, 2], [2]],
        "date=__HIVE_DEFAULT_PARTITION__/part-00000-00000": [[0]],
    }
    assert Origin.read(folder) == origin
    assert {path.stat().st_mode & 0o077 for path in (folder, *folder.rglob("*"))} == {0}


def test_the_files_that_were_written_longest_ago_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_OPEN", 2)
    table = ParquetTable(str(tmp_path), UNKNOWN, by_date=True)
    for number in (1, 2, 101, 3, 201, 102):
        table.write(dated(number))
        table.flush()
    table.close()
    assert groups(tmp_path) == {
        "date=2026-01-01/part-00000-00000": [[1], [101], [201]],
        "date=2026-01-02/part-00000-00000": [[2]],
        "date=2026-01-02/part-00000-00001": [[102]],
        "date=2026-01-03/part-00000-00000": [[3]],
    }


def test_row_groups_are_counted_for_each_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_GROUPS", 2)
    table = ParquetTable(str(tmp_path), UNKNOWN, by_date=True)
    for number in (1, 101, 2, 201, 301, 401, 102):
        table.write(dated(number))
        table.flush()
    table.close()
    assert groups(tmp_path) == {
        "date=2026-01-01/part-00000-00000": [[1], [101]],
        "date=2026-01-01/part-00000-00001": [[201], [301]],
        "date=2026-01-01/part-00000-00002": [[401]],
        "date=2026-01-02/part-00000-00000": [[2], [102]],
    }


def test_large_rows_follow_those_that_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = dated(1, 101), dated(*[1] * 8)
    monkeypatch.setattr(rows, "BATCH_BYTES", small.nbytes)
    table = ParquetTable(str(tmp_path), UNKNOWN, by_date=False)
    for batch in (small.slice(0, 1), small.slice(1), large, small):
        table.write(pa.RecordBatch.from_pylist(batch.to_pylist(), DATED))
    assert table.held == small.nbytes + BATCH_OVERHEAD
    table.close()
    assert groups(tmp_path) == {"part-00000-00000": [[1, 101], [1] * 8, [1, 101]]}


@pytest.mark.parametrize(
    ("process", "expected"),
    [("3", "part-00003-00001"), ("12345", "part-12345-00000"), ("MainProcess", "part-00000-00002")],
)
def test_a_file_has_the_number_of_its_process_and_no_name_that_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, process: str, expected: str
) -> None:
    for taken in ("part-00000-00000", "part-00000-00001", "part-00003-00000"):
        (tmp_path / f"{taken}.snappy.parquet").write_text("taken")
    monkeypatch.setattr(files, "current_process", lambda: SimpleNamespace(name=process))
    with files._new_part(tmp_path) as file:
        file.write(b"new")
    assert (tmp_path / f"{expected}.snappy.parquet").read_text() == "new"
    assert (tmp_path / f"{expected}.snappy.parquet").stat().st_mode & 0o777 == 0o600
    assert len([*tmp_path.iterdir()]) == 4


Rows = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]


def of(remainder: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows whose numbers have this remainder, without batches that have none."""
    for batch in batches:
        if found := [row for row in batch.to_pylist() if row["number"] % 3 == remainder]:
            yield pa.RecordBatch.from_pylist(found, DATED)


def test_several_tables_are_written_of_the_same_rows_and_those_without_rows_stay(tmp_path: Path) -> None:
    functions: dict[str, Rows] = {f"m/{remainder}": partial(of, remainder) for remainder in range(3)}
    made: list[list[str]] = []
    for given in ([dated(1, 2), dated(4, 5)], [dated(7, 3)], []):

        def read(transform: Rows, given: list[pa.RecordBatch] = given) -> Iterator[pa.RecordBatch]:
            assert not [*transform(iter(given))]
            return iter(())

        made.append(
            write_parquet(read, str(tmp_path), functions, by_date=len(made) == 1, origin=Origin(str(len(made))))
        )
    assert made == [["m/1", "m/2"], ["m/0", "m/1"], []]
    assert groups(tmp_path) == {
        "m/0/date=2026-01-03/part-00000-00000": [[3]],
        "m/1/date=2026-01-07/part-00000-00000": [[7]],
        "m/2/part-00000-00000": [[2, 5]],
    }
    origins = [Origin.read(tmp_path / name) for name in functions]
    assert [origin and origin.inputs for origin in origins] == ["1", "1", "0"]
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == ["0", "1", "2"]


def test_a_table_is_read_again_with_its_dates_and_only_columns_that_are_asked_for(tmp_path: Path) -> None:
    table = ParquetTable(str(tmp_path / "t"), UNKNOWN, by_date=True)
    for batch in (dated(1, 2), dated(101, 0), dated(201)):
        table.write(batch)
        table.flush()
    table.close()
    reader = TableReader(str(tmp_path / "t"), None, 2)
    assert reader.schema.names == ["time", "number", "date"]
    dealt = [[row for batch in reader.read(task) for row in batch.to_pylist()] for task in reader.tasks()]
    days = [[(row["date"], row["time"], row["number"]) for row in found] for found in dealt]

    def row(number: int) -> tuple[date | None, datetime | None, int]:
        (only,) = dated(number).to_pylist()
        return only["time"] and only["time"].date(), only["time"], number

    assert days == [[row(1), row(201), row(2), row(0)], [row(101)]]
    seen: list[int] = []

    def note(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            seen.append(batch.num_rows)
            yield batch

    found = read_table(str(tmp_path / "t"), columns=["number", "date"], transform=note)
    assert [tuple(one.values()) for batch in found for one in batch.to_pylist()] == [
        (number, date(2026, 1, number % 100) if number else None) for number in (1, 101, 201, 2, 0)
    ]
    assert seen == [1] * 5
