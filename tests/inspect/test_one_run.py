"""One call of a command: what it asks of its engine, what it writes and prints, and where. Needs no input."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from kwire.protocol import MessageRegistry
from kwire_inspect.command import common
from kwire_inspect.command.common import Run, only_writer, with_inputs
from kwire_inspect.command.engines import LocalEngine, Written
from kwire_inspect.command.writing import Tables
from kwire_inspect.inputs import Inputs, find
from kwire_inspect.options import BrokenInputError, OptionError
from kwire_inspect.readers import TABLES
from kwire_inspect.reasons import TLS
from kwire_inspect.reports.formats import FORMATS
from kwire_inspect.reports.report import Report, Table
from kwire_inspect.schemas import CLIENTS, COUNTED, EXCHANGES, PROBLEMS, REFUSALS
from kwire_inspect.stored import Origin, StoredTable
from kwire_inspect.tables.clients import REFUSAL_COLUMNS, Clients, clients
from kwire_inspect.tables.names import TOPICS
from kwire_inspect.tables.record_structs import record_kinds
from kwire_kafka.errors import ErrorCode
from kwire_kafka.releases import RELEASES
from tests.support.report_rows import client, exchange, table_of

SKIPPED = (("a.txt", "empty file"), ("b.txt", "cut off"))
INPUTS = Inputs(captures=("/data/a.pcap",), skipped=SKIPPED)
UNREAD = {"problem": TLS, "places": 1, "connections": 1, "unread": 10**9, "source": "a.pcap", "position": 7}


class Engine:
    """Has a few rows of each table, and notes what it is asked."""

    label = "Read by a test."

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.rows: dict[str, list[dict[str, Any]]] = {
            "clients": [client(requests=5)],
            "problems": [UNREAD],
            "refusals": [],
            "metrics": [client(1, 11, 3, input_kind="metrics")],
        }

    def read(self, table: str, inputs: Inputs, columns: Any, options: Any) -> Any:
        self.asked.append((table, inputs, tuple(columns), dict(options)))
        schema = {"clients": CLIENTS, "problems": PROBLEMS, "refusals": REFUSALS, "metrics": COUNTED}[table]
        return table_of(schema, *self.rows[table])

    def counted(self, inputs: Inputs, options: Any) -> Any:
        self.asked.append(("counted", inputs, dict(options)))
        return table_of(COUNTED, client(requests=7))

    def cached(self, table: Any) -> Any:
        self.asked.append("cached")
        return table

    def write(self, table: Any, schema: pa.Schema, folder: str, name: str, *, origin: Origin) -> None:
        self.asked.append((name, table, schema, folder, origin))


def run_of(inputs: Inputs = INPUTS, out: str = "out", **options: str) -> Run:
    """A run whose terminal is written to memory."""
    said, progress = (Console(file=io.StringIO(), width=300) for _ in range(2))
    engine: Any = Engine()
    return Run(inputs, out, engine, options, said, progress, 80.0)


def asked_of(run: Run) -> list[Any]:
    engine: Any = run.engine
    return [one for one in engine.asked if one != "cached"]


def test_pages_are_on_this_machine() -> None:
    assert [run_of(out=out).pages for out in ("out", "/a/b", "s3://bucket/a", "hdfs://a/b")] == [
        *("out", "/a/b"),
        *("kwire-out", "kwire-out"),
    ]


def test_messages_error_codes_and_releases_are_those_of_the_package(newer: MessageRegistry) -> None:
    usual, other = run_of(), run_of(protocol=newer.package)
    assert (usual.protocol.package, other.protocol.package) == ("kwire_kafka", newer.package)
    assert usual.error_codes is ErrorCode
    assert other.error_codes is sys.modules[f"{newer.package}.errors"].ErrorCode is not ErrorCode
    assert usual.releases(None) is RELEASES
    assert other.releases("kwire_kafka") is RELEASES
    assert other.releases(None) is not RELEASES


def test_each_table_gets_the_options_that_it_has() -> None:
    given = {"ports": "9092", "time_zone": "+02:00", "mode": "failfast", "start": "1", "key_log": "k"}
    run = replace(run_of(), options=given)
    expected = {
        "frames": {"ports", "mode", "start", "key_log"},
        "exchanges": {"ports", "time_zone", "mode", "start", "key_log"},
        "refusals": {"time_zone", "mode"},
        "records": {"mode", "start"},
        "metrics": {"mode"},
        "clients": set(),
    }
    for table, names in expected.items():
        assert run.options_of(table) == {name: given[name] for name in names}
    more = run.options_of("exchanges", bodies="codes", mode="permissive", topics="x")
    assert more == given | {"bodies": "codes", "mode": "permissive"}


def test_a_table_is_read_of_all_inputs_or_of_those_that_are_named() -> None:
    run, others = run_of(mode="failfast"), Inputs(server_logs=("b.log",))
    run.read("refusals", "api", "version")
    run.read("refusals", inputs=others, time_zone="UTC")
    assert asked_of(run) == [
        ("refusals", INPUTS, ("api", "version"), {"mode": "failfast"}),
        ("refusals", others, (), {"mode": "failfast", "time_zone": "UTC"}),
    ]


def test_the_origin_of_tables_is_that_of_their_run() -> None:
    run = run_of()
    assert replace(run.origin, written="") == Origin("1 capture (a.pcap)", SKIPPED)
    assert abs(datetime.fromisoformat(run.origin.written) - datetime.now(UTC)) < timedelta(minutes=5)
    assert run.origin is run.origin


def stored(kind: str, *, complete: bool = True, folder: str = "tables") -> StoredTable:
    return StoredTable(f"{folder}/{kind}", kind, Origin("captures", (), "monday"), complete)


def seen_rows(seen: Clients[Any]) -> list[tuple[Any, ...]]:
    names = "input_kind", "api", "version", "requests", "refused"
    return sorted(tuple(row[name] for name in names) for row in seen.table.rows())


REFUSAL = {"source": "s.log", "position": 3, "client_host": "10.0.0.9", "api_key": 0, "api": "Produce", "version": 2}


@pytest.mark.parametrize("metrics", [(), ("m.prom",)])
def test_clients_are_counted_once_in_all_inputs(metrics: tuple[str, ...]) -> None:
    inputs = replace(INPUTS, metrics=metrics)
    run = run_of(inputs, mode="failfast", ports="9092")
    engine: Any = run.engine
    engine.rows["refusals"] = [REFUSAL]
    seen = run.clients()
    expected = [("capture", "Metadata", 9, 7, 0), ("server_log", "Produce", 2, 1, 1)]
    assert seen_rows(seen) == sorted([*expected, *[("metrics", "Fetch", 11, 3, 0)][: len(metrics)]])
    assert (seen.origin, seen.complete) == (run.origin, True)
    counted = [("counted", inputs, {"mode": "failfast", "ports": "9092", "bodies": "codes"})]
    refusals = [("refusals", inputs, REFUSAL_COLUMNS, {"mode": "failfast"})]
    assert sorted(asked_of(run)) == sorted(
        [*counted, *refusals, *[("metrics", inputs, (), {"mode": "failfast"})][: len(metrics)]]
    )
    assert engine.asked.count("cached") == 1


def test_exchanges_that_were_read_before_are_counted() -> None:
    run = run_of()
    rows = [exchange(), exchange(0, 8), exchange(0, 8, at=1)]
    assert seen_rows(run.clients(table_of(EXCHANGES, *rows))) == [
        ("capture", "Metadata", 9, 1, 0),
        ("capture", "Produce", 8, 2, 0),
    ]
    assert [one[0] for one in asked_of(run)] == ["refusals"]


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("problems", [True, False])
def test_clients_that_were_written_before_are_read(complete: bool, problems: bool) -> None:
    tables = (stored("clients", complete=complete), *[stored("problems")][:problems])
    run = run_of(Inputs(tables=tables))
    seen = run.clients()
    assert seen_rows(seen) == [("capture", "Metadata", 9, 5, 0)]
    assert [row["problem"] for row in seen.problems.rows()] == [TLS]
    assert (seen.origin, seen.complete) == (run.origin, complete and problems)
    assert asked_of(run) == [(name, run.inputs, (), {}) for name in ("clients", "problems")]
    engine: Any = run.engine
    assert engine.asked.count("cached") == 1


def test_problems_are_written_before_the_clients() -> None:
    """A report on the tables begins when there are clients, and needs both."""
    run, origin = run_of(), Origin("of these clients")
    seen = clients(table_of(CLIENTS, client()), origin=origin)
    run.write_clients(seen)
    (first, problems, *of_first), (second, table, *of_second) = asked_of(run)
    assert (first, of_first) == ("problems", [PROBLEMS, "out", origin])
    assert (second, of_second) == ("clients", [CLIENTS, "out", origin])
    assert ({*table.columns}, {*problems.columns}) == ({*CLIENTS.names}, {*PROBLEMS.names})


class Writing(Engine):
    """Has no rows, and keeps what is written."""

    def read(self, table: str, inputs: Inputs, columns: Any, options: Any) -> Any:
        self.asked.append((table, inputs, tuple(columns), dict(options)))
        return table_of(pa.schema([TABLES[table].field(name) for name in columns or TABLES[table].names]))

    def write(self, table: Any, schema: pa.Schema, folder: str, name: str, **how: Any) -> Any:
        self.asked.append((f"write {name}", schema.names, folder, how))
        return Written(name, f"{folder}/{name}", table, lambda: len(name))

    def write_typed(self, table: Any, folder: str, typed: Any, **how: Any) -> Any:
        for name, one in typed.items():
            names = None if one.names is None else [column.to_pylist() for column in one.names]
            self.asked.append((f"typed {name}", one.structs.protocol.package, names, folder, how))
        return []


@pytest.mark.parametrize("raw", [False, True])
def test_what_is_read_and_written_for_each_table(newer: MessageRegistry, raw: bool) -> None:
    """Each table has its own options, and typed tables have the package and the names of topics."""
    kinds: Any = {"captures": ("a.pcap",), "request_logs": ("r.log",), "server_logs": ("s.log",), "logs": ("d",)}
    inputs, engine = Inputs(**kinds, metrics=("m.prom",)), Writing()
    own = {"ports": "9092", "time_zone": "+02:00", "topics": "a*"}
    shared = {"protocol": newer.package, "mode": "failfast"}
    run = replace(run_of(inputs, **shared, **own), engine=engine)
    written, how = Tables(run, raw), {"origin": run.origin}
    assert written.clients() is not None
    tables = {
        "frames": ("ports",), "exchanges": ("ports", "time_zone"), "refusals": ("time_zone",), "records": ("topics",),
    }  # fmt: skip
    names = {name: [one for one in TABLES[name].names if raw or one != "raw"] for name in tables}
    of = {name: {key: own[key] for key in keys} | shared for name, keys in tables.items()}
    typed = {f"apis/{newer.api_name(key)}" for key in newer.api_keys}
    assert [one for one in engine.asked if not one[0].startswith("typed")] == [
        *(
            call
            for name in tables
            for call in (
                (name, inputs, tuple(names[name]), of[name]),
                (f"write {name}", names[name], "out", how | {"by_date": True}),
            )
        ),
        ("write topics", TOPICS.names, "out", how),
        ("metrics", inputs, (), shared),
        ("write clients", CLIENTS.names, "out", how),
        ("write problems", PROBLEMS.names, "out", how),
    ]
    assert sorted(one for one in engine.asked if one[0].startswith("typed")) == sorted(
        (f"typed {name}", newer.package, [[], []], "out", how)
        for name in typed | {f"internal/{name}" for name in record_kinds(newer)}
    )
    assert written.rows == [(name, len(name), f"out/{name}") for name in (*tables, "topics", "clients", "problems")]


def test_clients_that_are_the_input_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("out")
    given = (stored("problems", folder=f"{tmp_path}/out"), stored("clients", folder=f"{tmp_path}/out"))
    for out, count in (("out", 0), (f"{tmp_path}/out", 0), ("link", 0), ("other", 2)):
        run = run_of(Inputs(tables=given), out)
        run.write_clients(clients(table_of(CLIENTS, client())))
        assert len(asked_of(run)) == count


def test_a_table_of_an_older_version_has_an_unknown_basis() -> None:
    seen = clients(table_of(CLIENTS, client()))
    for flags in ((True, True), (True, False), (False, False), ()):
        tables = tuple(stored("clients", complete=flag) for flag in flags)
        assert run_of(Inputs(tables=tables)).basis(seen).known == all(flags)


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("unread", [0, 10**9])
@pytest.mark.parametrize("requests", [0, 1])
def test_enough_input_without_a_request_is_wrong_usage(counted: bool, unread: int, requests: int) -> None:
    """With too little input, the report says so instead. A broken place is no request, even if its API is known."""
    broken = {"source": "a.pcap", "position": 7, "problem": TLS, "unread": unread, "api_key": 3, "version": 9}
    table = table_of(EXCHANGES, *[exchange(request_size=50)] * requests, *[broken] * bool(unread))
    run, given = run_of(), clients(table) if counted else table
    if requests:
        run.check_requests(given)
        return
    if unread:
        run.check_requests(given)
        run = replace(run, min_coverage=0)
    with pytest.raises(OptionError) as raised:
        run.check_requests(given)
    reason, _, advice = (
        str(raised.value).removeprefix("no requests found in 1 capture (a.pcap)").partition(": decrypt")
    )
    assert (reason, advice[:12]) == ((f": {TLS}", " the traffic") if unread else ("", ""))


UNREAD_HALF = {"problem": TLS, "unread": 1000, "source": "a.pcap", "position": 7}
REPORT = Report("x", "Title", ("Nothing to do.",), (Table("t", "Rows", rows=(("10.0.0.1",),)).with_columns("a"),))


@pytest.mark.parametrize("least", [0.0, 80.0, 100.0])
def test_a_report_says_how_much_was_read(least: float) -> None:
    """Half of the bytes were read; the files that were skipped are named."""
    run = replace(run_of(), min_coverage=least)
    table = table_of(EXCHANGES, exchange(3, 99, request_size=1000), UNREAD_HALF)
    report = run.completed(REPORT, run.basis(table), table)
    told = "\n".join(report.summary)
    assert report.exit_code == (4 if least else 0)
    assert ("INCOMPLETE: only 50.0 % of the bytes" in told) == bool(least)
    assert "Based on 1 capture (a.pcap): 1 request" in told
    assert "newer" in told, "the request of version 99"
    (places,) = [table for table in report.tables if table.name == "problems"]
    assert [[name for name in ("a.pcap", "a.txt", "b.txt") if name in str(row)] for row in places.rows] == [
        *(["a.pcap"], ["a.txt"], ["b.txt"])
    ]


@pytest.mark.parametrize("form", ["text", "json", "markdown", "junit"])
@pytest.mark.parametrize("code", [0, 1])
def test_a_report_is_written_and_then_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, code: int
) -> None:
    """Files first; other formats go to the standard output, and nothing else does. A long path stays in one line."""
    terminals = (
        Console(file=io.StringIO(), width=60, force_terminal=True, color_system="standard") for _ in range(2)
    )
    run = replace(run_of(out=str(tmp_path / "[red]out[/x]")), console=next(terminals), progress=next(terminals))
    assert run.publish(replace(REPORT, exit_code=code), form) == code
    said, progress = (console.file.getvalue() for console in (run.console, run.progress))  # type: ignore[attr-defined]
    page = tmp_path / "[red]out[/x]" / "x.html"
    done = f"Report: \x1b[1m{page}\x1b[0m (tables in the same folder). Read by a test.\n"
    printed = capsys.readouterr().out
    assert {path.name for path in page.parent.iterdir()} >= {"x.html", "x-t.csv", "x-t.parquet"}
    if form == "text":
        assert "Nothing to do." in said
        assert said.endswith(f"\n\n{done}")
        assert (progress, printed) == ("", "")
    else:
        assert (said, progress) == ("", done)
        assert printed == FORMATS[form](replace(REPORT, exit_code=code))


Called = tuple[Result, list[Any]]


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Called]:
    """Calls a command with shared options: its result, and the runs, engines and claims that it made."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, stored: tuple[str, ...] = ("clients", "exchanges")) -> Called:
        made: list[Any] = []

        @click.command()
        @click.option("--more", default="usual")
        @with_inputs(stored=stored)
        def census(run: Run, more: str) -> int:
            made.append((run, more))
            return 7

        monkeypatch.setattr(common, "checked_key_log", lambda path: f"/somewhere/{path}")

        def engine(*given: Any) -> LocalEngine:
            made.append(given)
            return LocalEngine()

        monkeypatch.setattr(common, "engine_for", engine)
        return CliRunner().invoke(census, arguments, standalone_mode=False), made

    return call


def test_a_command_gets_its_inputs_and_options_as_a_run(called: Callable[..., Called], tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("x with unsupported version y")
    given = ["--ports", "9092", "--start", "1", "--end", "2", "--time-zone", "+02:00", "--mode", "failfast"]
    more = ["--protocol", "kwire_kafka", "--key-log", "keys", "--min-coverage", "50", "--more", "x", "-q"]
    engine = ["--engine", "local", "--processes", "3", "--table-format", "csv", "--master", "local[2]"]
    result, ((name, inputs, *others), (run, other)) = called("server.log", *given, *more, *engine, "--out", "there")
    assert (result.return_value, other) == (7, "x")
    assert (name, others) == ("local", ["there", "csv", "local[2]", 3])
    assert inputs == run.inputs == Inputs(server_logs=("server.log",))
    assert (run.out, run.min_coverage, run.progress.quiet, run.progress.stderr) == ("there", 50, True, True)
    assert run.options == {
        "ports": "9092",
        "start": "1",
        "end": "2",
        "time_zone": "+02:00",
        "mode": "failfast",
        "protocol": "kwire_kafka",
        "key_log": "/somewhere/keys",
    }
    result, ((name, *_, processes), (run, other)) = called("server.log")
    assert (name, processes, run.out, run.min_coverage, run.options) == ("auto", None, "kwire-out", 90, {})
    assert (other, run.progress.quiet, run.console.width) == ("usual", False, common.WIDTH)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [], "nothing was written"


def test_a_terminal_has_its_own_width(called: Callable[..., Called], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("server.log").write_text("x with unsupported version y")
    monkeypatch.setenv("COLUMNS", "77")
    monkeypatch.setattr(common, "sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))
    _, (_, (run, _)) = called("server.log")
    assert run.console.width == 77


@pytest.mark.parametrize("out", ["there", "hdfs://name/there"])
def test_a_command_claims_the_folder_of_its_pages_before_it_reads(
    called: Callable[..., Called], monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    """An address is Spark's to create; the pages are then in the usual folder of this machine."""
    Path("server.log").write_text("x with unsupported version y")
    done = list[Any]()

    def forwarding(paths: Any, progress: Console) -> Any:
        done.append(paths)
        return nullcontext()

    def noted(paths: Any) -> Inputs:
        done.extend(path.name for path in Path().iterdir() if path.is_dir())
        with (
            pytest.raises(OptionError, match="another kwire process is writing to this folder"),
            only_writer(done[-1]),
        ):
            pass
        return find(paths)

    monkeypatch.setattr(common, "find", noted)
    monkeypatch.setattr(common, "checked_output", lambda out: out)
    monkeypatch.setattr(common, "forward_sigint_to_writer", forwarding)
    result, ((_, _, told, *_), (run, _)) = called("server.log", "--out", out)
    assert result.exit_code == 0
    assert done == [("server.log",), "kwire-out" if "://" in out else "there"]
    assert (told, run.out) == (out, out)
    assert {path.name for path in Path().iterdir()} == {"server.log"}


def test_only_one_run_writes_to_a_folder_and_what_it_wrote_stays(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    for _ in range(2):
        with only_writer(str(out)):
            assert out.stat().st_mode & 0o077 == 0
            assert not [*out.iterdir()]
        assert not out.exists()
    with only_writer(str(out)):
        (out / "page.html").touch()
    assert [path.name for path in out.iterdir()] == ["page.html"]
    with pytest.raises(KeyError), only_writer(str(tmp_path / "failed")):
        raise KeyError
    assert not (tmp_path / "failed").exists()
    with only_writer("s3://bucket/a"), only_writer("s3://bucket/a"):
        assert not Path("s3:").exists()


def test_a_folder_that_cannot_be_claimed_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on file systems without locks."""
    monkeypatch.setattr(common, "claimed", lambda _: only_writer("a://b"))  # yields None
    with only_writer(str(tmp_path / "out")):
        assert (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--ports", "1"], "--ports cannot be used with the table t/clients: use it when writing the table"),
        (["--time-zone", "Z", "--key-log", "k"], "--key-log and --time-zone cannot be used with the"),
        (["--protocol", "kwire_kafka", "--mode", "failfast"], "--mode cannot be used with the table t/clients"),
        (["--protocol", "kwire_kafka", "--min-coverage", "3"], ""),
    ],
)
def test_options_of_sources_are_for_inputs_and_not_for_tables(
    called: Callable[..., Called], monkeypatch: pytest.MonkeyPatch, options: list[str], told: str
) -> None:
    monkeypatch.setattr(common, "find", lambda _: Inputs(tables=(stored("clients", folder="t"),)))
    monkeypatch.setattr(StoredTable, "size", 3)
    result, made = called("t", *options)
    assert str(result.exception or "").startswith(told)
    assert bool(made) == (not told)


def named(name: str, day: str = "monday", folder: str = "a", *skipped: str) -> StoredTable:
    kind = name.partition("-")[0]
    return StoredTable(f"{folder}/{name}", kind, Origin("x", tuple((one, "cut off") for one in skipped), day), True)


SEEN, TOLD, READ = (
    named("clients", "monday", "a", "1", "2"),
    named("problems"),
    named("exchanges", "monday", "a", "3"),
)
LATER = [named(name, "tuesday", "b") for name in ("clients", "problems", "exchanges")]
OTHER = named("problems", "tuesday", "a")
UNDATED = [named("clients", "", "c"), named("exchanges", "", "c")]


@pytest.mark.parametrize(
    ("wanted", "given", "read"),
    [
        (["clients"], [SEEN, TOLD, READ], [SEEN, TOLD]),
        (["clients"], [READ, TOLD, SEEN], [SEEN, TOLD]),
        (["clients"], [SEEN, OTHER], [SEEN]),
        (["clients"], [SEEN], [SEEN]),
        (["exchanges"], [SEEN, TOLD, READ], [READ]),
        (["clients", "exchanges"], [SEEN, TOLD, READ], [SEEN, TOLD, READ]),
        (["clients", "exchanges"], [SEEN, TOLD, LATER[2]], [SEEN, TOLD]),
        (["clients", "exchanges"], [SEEN, TOLD, READ, *LATER], [SEEN, LATER[0], TOLD, LATER[1], READ, LATER[2]]),
        (["clients", "exchanges"], [SEEN, TOLD, READ, *LATER[:2]], [SEEN, LATER[0], TOLD, LATER[1]]),
        (["clients", "exchanges"], UNDATED, UNDATED[:1]),  # perhaps of different runs
        ([], [SEEN], "a/clients is a table, but census reads captures and logs"),
        (
            ["exchanges"],
            [SEEN, TOLD],
            "census needs the table exchanges, which `kwire tables` writes, but found a/clients",
        ),
        (
            ["clients"],
            [SEEN, named("clients-2")],
            "a/clients and a/clients-2 are tables of the same kind: specify only one of",
        ),
        (["clients"], [SEEN, READ, named("exchanges-2")], [SEEN]),
    ],
)
def test_which_stored_tables_a_command_reads(
    called: Callable[..., Called],
    monkeypatch: pytest.MonkeyPatch,
    wanted: list[str],
    given: list[StoredTable],
    read: list[StoredTable] | str,
) -> None:
    """The size is that of these, and the skipped files are those of these and of the search."""
    found = Inputs(tables=tuple(given), skipped=(("0", "empty file"), ("2", "cut off")))
    monkeypatch.setattr(common, "find", lambda _: found)
    monkeypatch.setattr(StoredTable, "size", property(lambda table: 1 << (given.index(table))))
    result, made = called("a", stored=tuple(wanted))
    if isinstance(read, str):
        assert str(result.exception).startswith(read)
        assert not made
        return
    inputs = made[0][1]
    assert list(inputs.tables) == read
    assert inputs.size == sum(1 << given.index(table) for table in read)
    skipped = {path for table in read for path, _ in table.origin.skipped} | {"0", "2"}
    assert sorted(path for path, _ in inputs.skipped) == sorted(skipped)


@pytest.mark.parametrize("mode", [None, "permissive", "failfast"])
def test_a_file_that_cannot_be_read_ends_a_command_that_fails_fast(
    called: Callable[..., Called], monkeypatch: pytest.MonkeyPatch, mode: str | None
) -> None:
    """A file that is something else does not, and is told."""
    skipped = (("a.txt", "no log"), ("[b].gz", "cut off"), ("c.gz", "cut off"))
    for unreadable in ((), ("[b].gz", "c.gz")):
        inputs = Inputs(server_logs=("s.log",), skipped=skipped, unreadable=frozenset(unreadable))
        monkeypatch.setattr(common, "find", lambda _, inputs=inputs: inputs)
        result, made = called("x", *(["--mode", mode] if mode else []))
        assert result.stderr == "skipped a.txt: no log\nskipped [b].gz: cut off\nskipped c.gz: cut off\n"
        failed = mode == "failfast" and unreadable
        assert bool(made) == (not failed)
        if failed:
            assert isinstance(result.exception, BrokenInputError)
            assert str(result.exception) == "[b].gz: cut off"


def test_inputs_without_anything_to_read_are_wrong_usage(
    called: Callable[..., Called], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(common, "find", lambda _: Inputs(skipped=SKIPPED))
    result, made = called("a", "b", "-q")
    assert (str(result.exception), made, result.stderr) == ("no captures or broker logs in a, b", [], "")


@pytest.mark.parametrize("option", [["--protocol", "kwire_none"], ["--out", "s3://a:b@c/d"], ["--processes", "0"]])
def test_a_wrong_option_is_told_before_anything_is_searched(
    called: Callable[..., Called], monkeypatch: pytest.MonkeyPatch, option: list[str]
) -> None:
    monkeypatch.setattr(common, "find", lambda _: pytest.fail("searched"))
    result, made = called("a", *option)
    assert isinstance(result.exception, OptionError | click.UsageError)
    assert not made
    assert not Path("kwire-out").exists()
