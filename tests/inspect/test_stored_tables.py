"""Reports on tables that an earlier run wrote: the same as those on its inputs, and never more than these give."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pytest
from pyarrow import parquet

from kwire.command import main as run
from kwire_inspect.readers.stored import ROWS, stored_batches
from kwire_inspect.schemas import CLIENTS, EXCHANGES, PROBLEMS
from kwire_inspect.stored import Origin, StoredTable, are_complete, of_clients, parquet_files, stored_tables
from kwire_inspect.tables.clients import clients
from tests.inspect.test_late_captures import OTHER_PORTS
from tests.support.capture_files import Conversation, packets, recorded, write_pcap
from tests.support.report_rows import client, clients_of, exchange, write_rows
from tests.support.small_sample import left_behind

REPORTS: dict[str, list[str]] = {"clients": [], "readiness": ["--target", "4.1.1"], "census": [], "latency": []}
Told = tuple[int, str, str]
Call = Callable[..., Told]


@pytest.fixture
def call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs a command: its exit code, what it says, and its page without the time at which it was made."""

    def call(command: str, *given: object, out: str = "out") -> Told:
        arguments = [str(one) for one in given]
        code = run([command, *arguments, *REPORTS.get(command, []), "--out", str(tmp_path / out), "-q"])
        printed = capsys.readouterr()
        page = tmp_path / out / f"{command}.html"
        text = (printed.out + printed.err).replace(str(tmp_path / out), "OUT")
        shown = re.sub(r"Made on [^<]* UTC", "Made on MOMENT", page.read_text()) if page.exists() else ""
        return code, text, shown

    return call


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A little of everything, with a file that is skipped and a capture that is cut off."""
    folder = tmp_path / "inputs"
    folder.mkdir()
    left_behind(folder)
    shutil.rmtree(folder / "data")
    (folder / "notes.txt").write_text("nothing")
    talk, *_ = [one for one in recorded("aiokafka-on-4.1.1") if len(one.segments) > 20]
    cut = packets(Conversation(talk.segments, *OTHER_PORTS), size=100)[40:60]
    write_pcap(folder / "captures" / "cut.pcap", cut)
    return folder


@pytest.mark.slow
def test_a_report_on_the_tables_is_that_on_their_inputs(call: Call, inputs: Path, tmp_path: Path) -> None:
    all_of_it = "--min-coverage", 100
    code, head, _ = call("tables", inputs, *all_of_it, out="decoded")
    assert code == 4
    assert "INCOMPLETE: only 9" in head
    for command in REPORTS:
        told = call(command, inputs, *all_of_it, out="first")
        assert call(command, tmp_path / "decoded", *all_of_it, out="second") == told
        assert "skipped: no line looks like" in told[1]
        assert "Based on 2 captures (a.pcap.gz, cut.pcap), 2 request logs (" in told[1]
        assert told[0] == 4
    assert call("clients", tmp_path / "decoded")[0] == 0


@pytest.mark.slow
def test_every_report_leaves_a_table_for_others(call: Call, inputs: Path, tmp_path: Path) -> None:
    first = call("readiness", inputs, out="first")
    (tmp_path / "first").rename(tmp_path / "of monday")
    for name in ("clients", "problems"):
        (tmp_path / "of monday" / name).rename(tmp_path / "of monday" / f"all {name}")
    assert call("readiness", tmp_path / "of monday", out="second") == first
    assert call("readiness", tmp_path / "second", out="second") == first, "in place"
    code, _, page = call("census", tmp_path / "second", "--min-coverage", 100)
    assert (code, "Requests over time" in page) == (4, False), "the exchanges are not there"
    assert "latency needs the table exchanges" in call("latency", tmp_path / "second")[1]


def written(folder: Path, name: str, table: pa.Table, origin: Origin = Origin()) -> Path:  # noqa: B008
    """A table, with no problems beside it if it is one of clients."""
    if {*CLIENTS.names} <= {*table.column_names}:
        write_rows([], PROBLEMS, str(folder), "problems", origin=origin)
    path = write_rows(table.to_batches(), table.schema, str(folder), name, origin=origin)
    return Path(path)


def some(*rows: dict[str, Any]) -> pa.Table:
    """CLIENTS."""
    return pa.Table.from_batches(clients_of(*rows).table.batches(CLIENTS), CLIENTS)


@pytest.mark.parametrize("command", REPORTS)
def test_a_table_of_an_older_kwire_is_no_all_clear(call: Call, tmp_path: Path, command: str) -> None:
    written(tmp_path / "old", "clients", some(client()).drop_columns(["bytes", "begun"]))
    exchanges = pa.Table.from_pylist([exchange()], EXCHANGES)
    written(tmp_path / "old", "exchanges", exchanges.drop_columns(["unread", "packets"]))
    (tmp_path / "old" / "clients" / "_kwire").write_bytes(b"")
    code, told, _ = call(command, tmp_path / "old", "--min-coverage", 0)
    assert code == 4
    assert "INCOMPLETE: clients may be missing. A table does not record" in " ".join(told.split())


def test_clients_that_were_partly_counted_by_an_older_kwire_are_no_all_clear(call: Call, tmp_path: Path) -> None:
    old = clients_of(client(version=9, bytes=None, begun=None), client(version=10, bytes=10, begun=1))
    table = pa.Table.from_batches(clients(old, old).table.batches(CLIENTS), CLIENTS)
    written(tmp_path, "kept", table)
    assert call("readiness", tmp_path / "kept")[0] == 4


@pytest.mark.slow
def test_clients_without_the_problems_beside_them_are_no_all_clear(call: Call, tmp_path: Path) -> None:
    table = written(tmp_path, "clients", some(client()))
    assert call("readiness", table)[0] == 0
    shutil.rmtree(tmp_path / "problems")
    assert call("readiness", table)[0] == 4


@pytest.mark.slow
def test_a_report_next_to_the_tables_that_it_reads_leaves_them_alone(
    call: Call, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("tables", inputs, out="tables")
    before = {
        path: path.read_bytes() for name in ("clients", "problems") for path in (tmp_path / "tables" / name).iterdir()
    }
    assert call("clients", tmp_path / "tables", out="tables")[0] == 0
    assert {path: path.read_bytes() for path in before} == before
    monkeypatch.chdir(tmp_path)
    assert run(["clients", str(tmp_path / "tables"), "--out", "tables", "-q"]) == 0
    assert {path: path.read_bytes() for path in before} == before


def test_the_files_of_a_table_are_its_own_and_those_of_its_partitions(tmp_path: Path) -> None:
    names = ["a=1.parquet", "b.parquet", "date=1/hour=2/a.parquet", "date=1/c.parquet"]
    for name in [*names, "sub/d.parquet", ".e.parquet", "_f.parquet", "date=1/_g.parquet", "notes.txt", "_kwire"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [path.relative_to(tmp_path).as_posix() for path in parquet_files(tmp_path)] == [
        "a=1.parquet",
        "b.parquet",
        "date=1/c.parquet",
        "date=1/hour=2/a.parquet",
    ]


def test_which_tables_belong_together() -> None:
    """Those of one run in one folder; the problems of a run say what its clients lack."""

    def table(kind: str, day: str = "monday", folder: str = "a", complete: bool = True) -> StoredTable:
        return StoredTable(f"{folder}/{kind}", kind, Origin("captures", (), day), complete)

    seen, told, late = table("clients"), table("problems"), table("exchanges")
    assert of_clients([told, late, seen, seen]) == (seen, told)
    assert of_clients([seen, table("problems", "tuesday"), table("problems", folder="b")]) == (seen,)
    assert are_complete([seen, told])
    assert are_complete([late, told])
    assert are_complete([late])
    assert not are_complete([seen])
    assert not are_complete([seen, table("problems", "tuesday")])
    assert not are_complete([seen, told, table("clients", "tuesday")])
    assert not are_complete([table("clients", complete=False), told])
    assert not are_complete([table("exchanges", complete=False)])


def test_tables_of_several_days_are_added_up(call: Call, tmp_path: Path) -> None:
    for day in ("monday", "tuesday"):
        written(tmp_path / day, "clients", some(client(requests=3, begun=2)), Origin(f"captures of {day}"))
    code, told, _ = call("clients", tmp_path / "monday", tmp_path / "tuesday")
    assert code == 0
    assert "Based on captures of monday; captures of tuesday: 6 requests on 4 connections" in told


@pytest.mark.slow
def test_tables_of_other_runs_are_not_put_together(call: Call, inputs: Path, tmp_path: Path) -> None:
    call("tables", inputs, out="tables")
    assert "Requests over time" in call("census", tmp_path / "tables", out="out")[2]
    assert call("clients", inputs / "kafka-request.log", out="tables")[0] == 0
    assert "Requests over time" not in call("census", tmp_path / "tables", out="other")[2]


@pytest.mark.slow
@pytest.mark.parametrize("complete", [False, True])
def test_a_second_table_is_read_if_all_runs_have_it(call: Call, tmp_path: Path, complete: bool) -> None:
    for day in ("monday", "tuesday"):
        origin = Origin(f"captures of {day}", (), day)
        written(tmp_path / day, "clients", some(client()), origin)
        if complete or day == "monday":
            written(tmp_path / day, "exchanges", pa.Table.from_pylist([exchange()], EXCHANGES), origin)
    assert ("Requests over time" in call("census", tmp_path / "monday", tmp_path / "tuesday")[2]) == complete


def test_a_table_is_known_by_its_marker_and_its_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet.write_table(some(client()), (tmp_path / "clients.parquet"))
    table = written(tmp_path, "mine", some(client()))
    other = written(tmp_path, "exchanges", pa.table({"number": [1]}))
    hidden = tmp_path / "_mine.replaced"
    shutil.copytree(table, hidden)
    assert [(one.path, one.kind) for one in stored_tables(str(tmp_path))] == [
        (str(table), "clients"),
        (str(tmp_path / "problems"), "problems"),
    ]
    assert [one.path for one in stored_tables(str(table))] == [str(table), str(tmp_path / "problems")]
    assert stored_tables(str(other)) == stored_tables(str(tmp_path / "none")) == []
    for marker in (b"readiness.html\nclients.csv", b"[]", b"{", b'{"skipped": 3}', b"[" * 100_000):
        (table / "_kwire").write_bytes(marker)
        assert stored_tables(str(table)) == []
    with (table / "_kwire").open("wb") as endless:
        endless.truncate(1 << 40)  # without room on the disk
    assert stored_tables(str(table)) == []
    (table / "_kwire").unlink()
    assert stored_tables(str(table)) == []
    (table / "_kwire").mkdir()
    assert stored_tables(str(table)) == []
    assert stored_tables(str(tmp_path)) != []
    monkeypatch.setattr(Path, "iterdir", Mock(side_effect=PermissionError))
    assert stored_tables(str(tmp_path)) == []


def test_times_as_spark_writes_them_may_be_of_any_year(tmp_path: Path) -> None:
    late = datetime(9000, 1, 2, 3, 4, 5, 678_901, UTC)
    table = written(tmp_path, "clients", some(client(last_seen=late)))
    (file,) = table.glob("*.parquet")
    parquet.write_table(parquet.read_table(file), file, use_deprecated_int96_timestamps=True)
    found, _ = stored_tables(str(tmp_path))
    (batch,) = stored_batches(found, CLIENTS)
    assert batch.column("last_seen").to_pylist() == [late]


def test_of_a_table_some_rows_are_read_at_a_time(tmp_path: Path) -> None:
    """Each may have large values: all rows of a row group would be in memory."""
    written(tmp_path, "clients", pa.concat_tables([some(client())] * (2 * ROWS)).combine_chunks())
    table, _ = stored_tables(str(tmp_path))
    assert [batch.num_rows for batch in stored_batches(table, CLIENTS)] == [ROWS, ROWS]


def test_what_tables_cannot_answer(call: Call, tmp_path: Path, inputs: Path) -> None:
    table = written(tmp_path / "tables", "clients", some(client()))
    for command in ("tables", "offsets"):
        assert f"{table} is a table, but {command} reads captures and logs" in call(command, table)[1]
    assert "--ports and --start cannot be used with" in call("clients", table, "--start", 1, "--ports", 9092)[1]
    assert "specify either tables, or captures and logs" in call("clients", table, inputs)[1]
    written(tmp_path / "tables", "others", some(client()))
    assert "are tables of the same kind: specify only one of them" in call("clients", tmp_path / "tables")[1]


@pytest.mark.parametrize("engine", ["local"])
def test_broken_tables_are_one_line(call: Call, tmp_path: Path, engine: str) -> None:
    table = written(tmp_path, "clients", some(client()))
    (file,) = table.glob("*.parquet")
    place = CLIENTS.get_field_index("requests")
    parquet.write_table(some(client()).set_column(place, "requests", pa.array(["many"])), file)
    code, told, _ = call("clients", table, "--engine", engine)
    assert (code, told.count("\n")) == (3, 1)
    assert "not a table that kwire wrote" in told
    file.write_bytes(file.read_bytes()[:100] + file.read_bytes()[-8:])
    code, told, _ = call("clients", table, "--engine", engine)
    assert (code, told.count("\n")) == (2, 1)
    assert "no captures or broker logs in" in told


@pytest.mark.parametrize(
    ("name", "value"),
    [("requests", None), ("refused", -1), ("first_seen", 1 << 62), ("places", None), ("places", -1)],
)
def test_values_that_no_table_has_are_named(call: Call, tmp_path: Path, name: str, value: int | None) -> None:
    table = written(tmp_path, "clients", some(client()))
    schema, row = (PROBLEMS, {"problem": "x"}) if name == "places" else (CLIENTS, client())
    (file,) = (tmp_path / ("problems" if name == "places" else "clients")).glob("*.parquet")
    values = pa.array([value], pa.int64()).cast(schema.field(name).type)
    rows = pa.Table.from_pylist([row], schema)
    parquet.write_table(rows.set_column(schema.get_field_index(name), schema.field(name), values), file)
    code, told, _ = call("clients", table, "--engine", "local")
    assert (code, told.count("\n")) == (3, 1)
    assert f"not a table that kwire wrote: {name} " in told


@pytest.mark.slow
def test_a_marker_says_what_was_skipped(call: Call, tmp_path: Path) -> None:
    origin = Origin("2 captures", (("a\x1b[31m.pcap", "empty file"),))
    table = written(tmp_path, "clients", some(client()), origin)
    assert json.loads((table / "_kwire").read_bytes())["inputs"] == "2 captures"
    told = call("clients", table)[1]
    assert "skipped: empty file" in told
    assert "\x1b" not in told
    other = written(tmp_path / "other", "clients", some(client()), Origin("", (("b.pcap", "cut off"),)))
    (notes := tmp_path / "notes.txt").write_text("nothing of Kafka")
    told = call("clients", table, other, notes)[1]
    assert [reason for reason in ("empty file", "cut off", "no line looks") if reason not in told] == []


def test_inputs_in_a_marker_are_no_markup(call: Call, tmp_path: Path) -> None:
    table = written(tmp_path, "clients", some(client()), Origin("captures in [/x]\x1b[31m"))
    code, told, _ = call("clients", table)
    assert code == 0
    assert "captures in [/x]\\x1b[31m" in told
