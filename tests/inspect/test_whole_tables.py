"""All columns of all rows: of captures and logs with two of everything, and however these are cut, dealt and read."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyarrow import parquet
from syrupy.assertion import SnapshotAssertion

from kwire.command import main as run
from kwire_inspect.capture import Peer
from kwire_inspect.connections import batches
from kwire_inspect.connections.batches import Table
from kwire_inspect.options import BrokenInputError, Options
from kwire_inspect.readers import Reader
from kwire_inspect.readers.capture import CaptureReader
from kwire_inspect.readers.log import LogReader
from kwire_inspect.readers.metrics import MetricsReader
from kwire_inspect.readers.text_log import RequestLogReader, ServerLogReader
from kwire_inspect.rows import Condition
from kwire_inspect.schemas import EPOCH as START
from tests.support.capture_files import EPOCH, TcpPacket, merged, write_pcap
from tests.support.small_cluster import metrics, request_log, server_log, traffic, write_captures, write_logs

PEERS = ("client_host", "client_port", "server_host", "server_port")
Rows = list[dict[str, Any]]


def captured(files: Sequence[Path], schema: pa.Schema | None = None, **options: str) -> Rows:
    """The rows of captures, as all tasks read them."""
    reader = CaptureReader(Options({"path": str(files[0].parent), **options}), schema)
    paths = [str(file) for file in files]
    found = [batch for _, share in reader.tasks() for batch in reader.read((paths, share))]
    return [row for batch in found for row in batch.to_pylist()]


def lines(rows: Iterable[dict[str, Any]], folder: Path) -> str:
    """Each row as a line of what is not null in it. The ends of a connection are in its name."""
    told = []
    for row in rows:
        ends: list[Any] = [row.get(name) for name in PEERS]
        named = f"{Peer(*ends[:2])}-{Peer(*ends[2:])}@" if None not in ends else None
        known = PEERS if named and row["connection"].startswith(named) else ()
        shown = {name: value for name, value in row.items() if value is not None and name not in known}
        told.append(" ".join(f"{name}={_text(value, folder)}" for name, value in shown.items()))
    return "\n".join(told)


def _text(value: Any, folder: Path) -> str:
    if isinstance(value, bytes):
        return value.hex() or "empty"
    if isinstance(value, datetime):
        return value.strftime("%H:%M:%S.%f")
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value).replace(f"{folder}/", "").replace(f"{folder.parent}/", "")


@pytest.mark.parametrize("table", ["frames", "exchanges"])
def test_captures(tmp_path: Path, snapshot: SnapshotAssertion, table: str) -> None:
    assert lines(captured(write_captures(tmp_path), rows=table), tmp_path) == snapshot


TRAFFIC = merged(traffic())
TABLES: list[Table] = ["frames", "exchanges"]


def placeless(rows: Rows) -> list[str]:
    """Rows in an order of their own, without their places."""
    return sorted(repr({**row, "source": None, "position": None}) for row in rows)


def write_parts(folder: Path, made: Sequence[TcpPacket], cuts: Sequence[int] = ()) -> list[Path]:
    """Files of packets, cut before these numbers; names do not tell their order."""
    ends = [0, *cuts, len(made)]
    return [
        write_pcap(folder / f"{10 - number}.pcap", made[start:end])
        for number, (start, end) in enumerate(pairwise(ends))
    ]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    """The rows of all packets in one file."""
    files = write_parts(tmp_path_factory.mktemp("plain"), TRAFFIC)
    return {table: captured(files, rows=table) for table in TABLES}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("cuts", [(1,), (20, 21, 50), tuple(range(1, len(TRAFFIC), 9))])
def test_packets_in_several_files(
    tmp_path: Path, plain: dict[str, Rows], table: Table, cuts: tuple[int, ...]
) -> None:
    """In whatever order they are named, the files are one capture."""
    files = write_parts(tmp_path, TRAFFIC, cuts)
    for given in (files, files[::-1]):
        assert placeless(captured(given, rows=table)) == placeless(plain[table])


@pytest.mark.parametrize("table", TABLES)
def test_connections_in_files_of_their_own(tmp_path: Path, plain: dict[str, Rows], table: Table) -> None:
    files = [write_pcap(tmp_path / f"{number}.pcap", one) for number, one in enumerate(traffic())]
    assert placeless(captured(files, rows=table)) == placeless(plain[table])


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("partitions", ["2", "5"])
def test_several_tasks(tmp_path: Path, plain: dict[str, Rows], table: Table, partitions: str) -> None:
    """Each row is that of one task, with its place."""
    found = captured(write_parts(tmp_path, TRAFFIC), rows=table, partitions=partitions)
    assert placeless(found) == placeless(plain[table])
    assert sorted(row["position"] for row in found) == sorted(row["position"] for row in plain[table])


@pytest.mark.parametrize("table", TABLES)
def test_packets_captured_twice(tmp_path: Path, plain: dict[str, Rows], table: Table) -> None:
    """By two interfaces, or at the ends of two hosts."""
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
    twice = [packet for packet in TRAFFIC for _ in range(2)]
    for files in (write_parts(one, twice), [*write_parts(one, TRAFFIC), *write_parts(other, TRAFFIC)]):
        found = [
            row for row in captured(files, rows=table) if row["source"].startswith(str(one)) or row["connection"]
        ]
        assert placeless(found) == placeless(plain[table])


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("start", "end"), [(0.02, None), (None, 0.25), (0.021, 0.334)])
def test_a_part_of_the_time(tmp_path: Path, table: Table, start: float | None, end: float | None) -> None:
    """As if the other packets were not there; the start is included, the end is not."""
    first, last = (bound and EPOCH + bound for bound in (start, end))
    kept = [one for one in TRAFFIC if (not first or one.time >= first) and (not last or one.time < last)]
    assert 0 < len(kept) < len(TRAFFIC)
    limits = {name: str(bound) for name, bound in (("start", first), ("end", last)) if bound}
    found = captured(write_parts(tmp_path, TRAFFIC), rows=table, **limits)
    assert placeless(found) == placeless(captured(write_parts(tmp_path, kept), rows=table))


@pytest.mark.parametrize("table", TABLES)
def test_some_ports(tmp_path: Path, table: Table) -> None:
    """As if the other connections were not there; the port says who the client is."""
    kept = [one for one in TRAFFIC if {one.source.port, one.target.port} & {9093, 5008}]
    found = captured(write_parts(tmp_path, TRAFFIC), rows=table, ports="9093,5008")
    (unseen,) = [row for row in found if row["server_port"] == 5008]
    assert (unseen["client_port"], unseen["problem"]) == (5007, unseen["problem"])
    assert placeless(found) == placeless(captured(write_parts(tmp_path, kept), rows=table, ports="9093,5008"))


class Input(NamedTuple):
    """A reader, and its files below a folder."""

    reader: type[Reader]
    write: Callable[[Path], list[Path]]
    options: dict[str, str]


def _text_file(name: str, text: Callable[[], str]) -> Callable[[Path], list[Path]]:
    def write(folder: Path) -> list[Path]:
        (folder / name).write_text(text())
        return [folder / name]

    return write


INPUTS = {
    "frames": Input(CaptureReader, write_captures, {"rows": "frames"}),
    "exchanges": Input(CaptureReader, write_captures, {"rows": "exchanges"}),
    "logged": Input(RequestLogReader, _text_file("kafka-request.log", request_log), {}),
    "refusals": Input(ServerLogReader, _text_file("server.log", server_log), {}),
    "records": Input(LogReader, write_logs, {}),
    "metrics": Input(MetricsReader, _text_file("broker.prom", metrics), {}),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """The files of each input."""
    return {name: one.write(tmp_path_factory.mktemp(name)) for name, one in INPUTS.items()}


def rows_of(
    name: str,
    files: Sequence[Path],
    schema: pa.Schema | None = None,
    conditions: Sequence[Condition] = (),
    **options: str,
) -> Rows:
    """The rows of all tasks in their order."""
    given = {"paths": json.dumps([str(file) for file in files])} | INPUTS[name].options | options
    reader = INPUTS[name].reader(Options(given), schema)
    reader.conditions = conditions
    return [row for task in reader.tasks() for batch in reader.read(task) for row in batch.to_pylist()]


LOGS = [name for name in INPUTS if name not in TABLES]


@pytest.mark.parametrize("name", LOGS)
def test_logs(inputs: dict[str, list[Path]], snapshot: SnapshotAssertion, name: str) -> None:
    folder = inputs[name][0].parent if name != "records" else inputs[name][0].parents[1]
    assert lines(rows_of(name, inputs[name]), folder) == snapshot


@pytest.mark.parametrize("name", INPUTS)
def test_columns_alone_and_in_another_order(inputs: dict[str, list[Path]], name: str) -> None:
    files = inputs[name]
    whole = rows_of(name, files)
    schema = INPUTS[name].reader.columns(Options({"path": "x"} | INPUTS[name].options))
    assert [[*row.items()] for row in rows_of(name, files, pa.schema([*schema][::-1]))] == [
        [*row.items()][::-1] for row in whole
    ]
    for field in schema:
        assert rows_of(name, files, pa.schema([field])) == [{field.name: row[field.name]} for row in whole]


@pytest.mark.slow
@pytest.mark.parametrize("size", ["1", "100", "1000"])
@pytest.mark.parametrize("name", ["logged", "refusals", "records"])
def test_files_in_parts_of_any_size(inputs: dict[str, list[Path]], name: str, size: str) -> None:
    assert rows_of(name, inputs[name], splitSize=size) == rows_of(name, inputs[name])


@pytest.mark.parametrize("name", INPUTS)
def test_a_problem_is_an_error_if_it_is_to_be(inputs: dict[str, list[Path]], name: str) -> None:
    """The first, with its place. The end of the newest segment is none."""
    first, *_ = [row for row in rows_of(name, inputs[name]) if row["problem"]]
    with pytest.raises(BrokenInputError) as raised:
        rows_of(name, inputs[name], mode="FAILFAST")
    problem = raised.value
    assert (problem.source, problem.position, problem.reason) == (
        first["source"],
        first["position"],
        first["problem"],
    )


ASKED = {
    "frames": ("api", "version", "client_host", "time"),
    "exchanges": ("api", "server_port", "correlation_id", "unread"),
    "logged": ("api", "version", "client_id", "time", "latency_ms"),
    "refusals": ("api", "version", "time"),
    "records": ("offset", "time", "topic", "partition"),
}


def conditions(column: str, rows: Rows) -> Iterator[Condition]:
    """All tests with the least, the greatest and another value of a column, and their negations."""
    values = sorted({row[column] for row in rows} - {None})
    known = [_stored(value) for value in {0: values[0], 1: values[len(values) // 2], 2: values[-1]}.values()]
    tests = [(test, value) for test in ("=", "<", "<=", ">", ">=") for value in known]
    tests += [("in", known[:1]), ("in", known[1:]), ("null", None)]
    if isinstance(values[0], str):
        tests += [(test, value[:3]) for test in ("starts with", "ends with", "contains") for value in known]
    for test, value in tests:
        yield Condition(column, test, value)
        if test in ("=", "in", "null"):
            yield Condition(column, test, value, negated=True)


def _stored(value: Any) -> Any:
    return value if not isinstance(value, datetime) else (value - START) // timedelta(microseconds=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_conditions_leave_out_only_what_they_exclude(inputs: dict[str, list[Path]], name: str) -> None:
    whole = rows_of(name, inputs[name])
    for column in ASKED[name]:
        for condition in conditions(column, whole):
            found = rows_of(name, inputs[name], conditions=[condition])
            passed, expected = (
                [row for row in rows if condition.holds(_stored(row[column]))] for rows in (found, whole)
            )
            assert passed == expected, condition
            assert all(row in whole for row in found), condition


@pytest.mark.parametrize("name", TABLES)
def test_what_waits_is_dropped_alike_with_conditions(
    inputs: dict[str, list[Path]], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of connections that have no such rows, nothing waits."""
    monkeypatch.setattr(batches, "TURN", 1)
    whole = rows_of(name, inputs[name], maxHeld="2")
    assert whole != rows_of(name, inputs[name])
    for host in ("10.0.0.3", "2001:db8::1"):
        condition = Condition("client_host", "=", host)
        expected = [row for row in whole if row["client_host"] == host]
        assert rows_of(name, inputs[name], conditions=[condition], maxHeld="2") == expected


class Written(NamedTuple):
    """What ``kwire tables`` makes of all inputs: what it prints, and the tables by name."""

    printed: str
    tables: dict[str, Rows]


def written(monkeypatch: pytest.MonkeyPatch, folder: Path, out: str, *options: str) -> Written:
    """Run ``kwire tables`` in a folder with the inputs; ``out`` is the folder of the tables."""
    monkeypatch.chdir(folder)
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert run(["tables", "in", "--out", out, *options]) == 4, "much was not read"
    return Written(printed.getvalue(), stored(Path(out)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with all inputs in its folder ``in``."""
    made = tmp_path_factory.mktemp("command")
    (made / "in").mkdir()
    for one in INPUTS.values():
        one.write(made / "in")
    return made


@pytest.fixture(scope="module")
def everything(folder: Path) -> Written:
    """What is written with all that there is."""
    with pytest.MonkeyPatch.context() as patch:
        return written(patch, folder, "out", "--raw", "--topics", "*")


@pytest.mark.slow
def test_tables_as_the_command_writes_them(folder: Path, everything: Written, snapshot: SnapshotAssertion) -> None:
    """Frames, exchanges and so on are the rows of the readers; the tables that are made of these are listed."""
    files = {name: [*folder.glob(f"in/{pattern}")] for name, pattern in PATTERNS.items()}
    kinds = {"exchanges": ("exchanges", "logged"), **{name: (name,) for name in ("frames", "refusals", "records")}}
    more = dict(everything.tables)
    for table, names in kinds.items():
        rows = [row for name in names for row in rows_of(name, files[name])]
        assert [*map(repr, more.pop(table))] == sorted(map(repr, rows)), table
    listed = [f"{name}:\n{lines(rows, folder / 'in')}" for name, rows in sorted(more.items())]
    assert "\n".join([everything.printed, *listed]) == snapshot


PATTERNS = {
    **dict.fromkeys(("frames", "exchanges"), "*.pcap*"),
    "logged": "kafka-request.log",
    "refusals": "server.log",
    "records": "*/*.log",
}


@pytest.mark.slow
def test_tables_without_bytes_and_of_internal_topics_alone(
    folder: Path, everything: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they are without options."""
    printed, tables = written(monkeypatch, folder, "plain")
    expected = {name: rows for name, rows in everything.tables.items() if not name.startswith("tables-")}
    expected["frames"] = [{key: row[key] for key in row if key != "raw"} for row in expected["frames"]]
    expected["records"] = [row for row in expected["records"] if row["topic"] and row["topic"].startswith("__")]
    del expected["internal/EndTxnMarker"]
    assert {name: rows for name, rows in tables.items() if not name.startswith("tables-")} == expected
    assert len(tables["tables-written"]) == len(expected)
    assert "checksum" in everything.printed
    assert "checksum" not in printed


@pytest.mark.long
def test_tables_by_several_processes(folder: Path, everything: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables have the same rows, and the report is the same."""
    found = written(monkeypatch, folder, "new", "--raw", "--topics", "*", "--processes", "3")
    assert found.printed.replace("new/", "out/") == everything.printed
    tables = everything.tables | {"tables-written": found.tables["tables-written"]}
    assert found.tables == tables


def stored(out: Path) -> dict[str, Rows]:
    """The rows of all tables of Parquet files below a folder, by name, in an order of their own."""
    found: dict[str, Rows] = {}
    for file in sorted(out.rglob("*.parquet")):
        name = "/".join(part for part in file.parent.relative_to(out).parts if "=" not in part)
        found.setdefault(name or file.stem, []).extend(parquet.ParquetFile(file).read().to_pylist())
    return {name: sorted(rows, key=repr) for name, rows in found.items()}
