"""The command kwire: usage, errors in one line, exit codes; and from files to reports."""

from __future__ import annotations

import errno
import gzip
import json
import os
import shutil
from datetime import timedelta
from io import BytesIO as TemporaryFileOf
from io import StringIO
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import click
import duckdb
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from pyarrow import dataset
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from kwire.command import group
from kwire.command import main as run
from kwire.errors import KwireError, UnknownReleaseError
from kwire.logs import LogSegment
from kwire.protocol import TAKE_IN
from kwire_inspect.command import Command, FailedError, one_line, reports
from kwire_inspect.command.common import Run, only_writer
from kwire_inspect.command.engines import LocalEngine
from kwire_inspect.command.reports import SHOWN, clients_report, usage_of
from kwire_inspect.inputs import Inputs, find
from kwire_inspect.options import BrokenInputError, OptionError
from kwire_inspect.reports import client_usage
from kwire_inspect.schemas import RECORDS
from kwire_inspect.segments import record_batches, splits
from kwire_inspect.storage import Window
from kwire_inspect.tables.files import ParquetTable
from kwire_kafka.errors import ErrorCode
from kwire_spark.command.watch_inputs import FolderInput, TopicInput
from kwire_spark.session import JavaMissingError
from tests.support.capture_files import beginning, packets, recorded, write_pcap
from tests.support.report_rows import START, client, clients_of, whole

FULL_DATABASE = 'Could not write all bytes to file "a/duckdb_temp_storage": No space left on device'
DATA = Path(__file__).parents[1] / "data"
WORKER_TRACE = """Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times
Traceback (most recent call last):
  File "worker.py", line 1, in main
kwire_inspect.options.BrokenInputError: a.pcap, byte 40: cut off

\tat org.apache.spark.api.python.BasePythonRunner"""


COMMANDS = ("tables", "clients", "readiness", "census", "latency", "offsets", "watch")


class Closed(StringIO):
    """A terminal whose reader has gone."""

    def write(self, text: str) -> int:
        raise OSError("nobody reads")


def test_help_names_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    told = capsys.readouterr().out
    assert all(f"\n  {name} " in told for name in COMMANDS)
    for name in COMMANDS:
        assert run([name, "--help"]) == 0
        assert ("FOLDER" if name == "watch" else "INPUT...") in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["readiness", "--target", "4.1.1"], "Missing argument 'INPUT...'"),
        (["readiness", "here"], "Missing option '--target'"),
        (["readiness", "--target", "4.1.1", "missing.pcap"], "missing.pcap: no such file"),
        (["readiness", "--target", "4.1.1", str(DATA / "logs" / "README.md")], "no captures or broker logs"),
        (["readiness", "--target", "4.9", str(DATA / "request_logs")], "unknown release '4.9'"),
        (["expand"], "No such command 'expand'"),
        (["clients", "--mode", "dropmalformed", "x"], "is not one of 'permissive', 'failfast'"),
    ],
)
def test_wrong_usage_is_told_in_a_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    output = capsys.readouterr()
    assert told in output.err
    assert "Traceback" not in output.err
    assert not output.out


def test_two_runs_do_not_write_to_one_folder(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with only_writer("kwire-out"):
        assert run(["clients", str(DATA / "request_logs")]) == 2
        assert run(["watch", "."]) == 2
    assert capsys.readouterr().err.count("another kwire process is writing to this folder") == 2
    assert not (tmp_path / "kwire-out").exists()  # since nothing was written


def test_tables_do_not_replace_folders_of_the_user(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    capture = DATA / "traffic"
    (tmp_path / "a.pcap").write_bytes(beginning(capture / "4.1.1" / "traffic.pcap.gz", packets=120))
    for name in ("frames", "clients"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.txt").write_text("mine")
    for command in ("tables", "clients"):
        assert run([command, "a.pcap", "--out", str(tmp_path), "-q"]) == 2
        assert "was not written by kwire: move it, or choose another folder" in capsys.readouterr().err
    assert [(tmp_path / name / "mine.txt").read_text() for name in ("frames", "clients")] == ["mine", "mine"]


def test_pipes_and_devices_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "00000000000000000000.log")
    os.mkfifo(tmp_path / "a.pcap")
    (tmp_path / "server.log").symlink_to("/dev/zero")
    assert {reason for _, reason in find([tmp_path]).skipped} == {"not a regular file"}
    for reader in (Window(str(tmp_path / "a.pcap")), Window(str(tmp_path / "server.log"))):
        with pytest.raises(OSError, match="not a regular file"):
            reader.advance(0)
    (group,) = splits([LogSegment(str(tmp_path / "00000000000000000000.log"))])
    (batch,) = record_batches(group, RECORDS)
    assert batch.column("problem").to_pylist() == ["cannot be read: not a regular file"]


def test_without_java_the_command_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(master: str | None, *, brief: bool) -> SparkSession:
        raise JavaMissingError("There is no Java.\nInstall one")

    monkeypatch.setattr("kwire_spark.session.spark_session", missing)
    assert run(["clients", str(DATA / "request_logs"), "--engine", "spark", "--out", str(tmp_path), "-q"]) == 3
    instead = "Or read the inputs without Spark: --engine local"
    assert capsys.readouterr().err == f"kwire: There is no Java.\nInstall one\n{instead}\n"


@pytest.mark.parametrize(
    ("error", "told", "usage"),
    [
        (OptionError("no such file"), "no such file", True),
        (BrokenInputError("a.pcap", 7, "cut off"), "a.pcap, byte 7: cut off", False),
        (KwireError("bad"), "bad", False),
        (PySparkException(WORKER_TRACE), "a.pcap, byte 40: cut off", False),
        (PySparkException("trace\nkwire_spark.options.OptionError: the option x"), "the option x", True),
        (PySparkException("a.OptionError: first\nb\nc.KwireError: the cause\nd"), "the cause", False),
        (
            PySparkException("trace\njava.lang.OutOfMemoryError: Java heap space\n\tat x"),
            "OutOfMemoryError: Java heap space",
            False,
        ),
        (
            PySparkException("An error occurred while calling o1.save.\n: java.io.IOException: no folder /x\n\tat y"),
            "IOException: no folder /x",
            False,
        ),
        (
            PySparkException(": a.ExecutionException: Boxed\n\tat x\nCaused by: a.StackOverflowError\n\tat y"),
            "StackOverflowError",
            False,
        ),
        (PySparkException(": a.Failed: b\nCaused by: c.Timeout$ReadException: d\n\tat e"), "ReadException: d", False),
        (ValueError("a\nb"), "ValueError: a", False),
        (KeyError(), "KeyError", False),
    ],
)
def test_errors_are_one_line(error: Exception, told: str, usage: bool) -> None:
    assert one_line(error) == (told, usage)


def test_the_page_is_there_even_if_nobody_reads_the_terminal_to_its_end(tmp_path: Path) -> None:
    closed = Console(file=Closed())
    call = Run(Inputs(), str(tmp_path), LocalEngine(), {}, closed, closed, 90)
    with pytest.raises(OSError, match="nobody"):
        call.publish(clients_report([], 0))
    assert (tmp_path / "clients.html").exists()


def test_from_a_request_log_to_readiness(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = str(DATA / "request_logs" / "3.9.1.log.gz")
    assert run(["readiness", "--target", "4.1.1", log, "--out", str(tmp_path)]) == 1
    told = capfd.readouterr()
    assert "Kafka 4.1.1 refuses 1 of" in told.out
    assert "WARN" not in told.err
    names = {path.name for path in tmp_path.iterdir()}
    assert {"readiness.html", "readiness-refused.csv", "readiness-clients.parquet", "clients"} <= names
    refused = parquet.read_table(tmp_path / "readiness-refused.parquet").to_pylist()
    (creating,) = [row for row in refused if row["api"] == "CreateTopics"]
    assert (creating["client_id"], creating["versions"], creating["newest_common"]) == ("kwire", [0, 1], 7)
    assert creating["evidence"].startswith(log)


@pytest.mark.slow
def test_decode_writes_the_same_tables_each_time(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """From a request log with a line half-written, and the beginning of a capture."""
    given, out = tmp_path / "given", tmp_path / "out"
    given.mkdir()
    (given / "a.pcap").write_bytes(beginning(DATA / "traffic" / "4.1.1" / "traffic.pcap.gz", packets=120))
    lines = gzip.decompress((DATA / "request_logs" / "4.1.1.log.gz").read_bytes()).splitlines(keepends=True)
    chosen = [line for line in lines if b'"API_VERSIONS"' in line or b'"METADATA"' in line][:20]
    (given / "kafka-request.log").write_bytes(
        b"".join(chosen) + b'[2026-01-02 12:00:00,000] INFO Completed request:{"is'
    )
    written = []
    for _ in range(2):
        assert run(["tables", str(given), "--out", str(out), "-q"]) == 0
        written.append(tables(out))
    assert written[0] == written[1]
    assert {"frames", "exchanges", "clients", "topics", "apis/Metadata", "apis/ApiVersions"} <= written[0].keys()
    assert all(written[0].values())
    assert "Some input could not be read. The last table lists 1 reason" in capfd.readouterr().out
    metadata = parquet.read_table(out / "apis" / "Metadata").to_pylist()
    assert {row["response"] is None for row in metadata} == {False}
    names = {row["topic_id"]: row["topic"] for row in parquet.read_table(out / "topics").to_pylist()}
    told = {topic["topic_id"]: topic["name"] for row in metadata for topic in row["response"]["topics"]}
    told.pop(None, None)  # of versions without ids
    assert told.items() == names.items()


def tables(out: Path) -> dict[str, list[str]]:
    """The rows of all tables of Parquet files below a folder, by name, whatever files they are in."""
    found: dict[str, list[str]] = {}
    for file in sorted(out.rglob("*.parquet")):
        name = "/".join(part for part in file.parent.relative_to(out).parts if "=" not in part)
        if name:  # else a table of the page
            found.setdefault(name, []).extend(map(str, parquet.ParquetFile(file).read().to_pylist()))
    return {name: sorted(rows) for name, rows in found.items()}


def test_nothing_to_judge_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "server.log"
    log.write_text("[2026-01-02 12:00:00,000] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)\n")
    assert run(["readiness", "--target", "4.1.1", str(log), "--out", str(tmp_path / "out"), "-q"]) == 2
    assert "no requests found in 1 server log" in capsys.readouterr().err


def test_a_misspelled_command_is_suggested(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["readyness", "a.pcap"]) == 2
    assert "Did you mean 'readiness'?" in capfd.readouterr().err
    assert run(["xyz"]) == 2
    assert "No such command 'xyz'" in capfd.readouterr().err


def test_a_folder_that_cannot_be_written_is_found_before_anything_is_read(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(LocalEngine, "read", lambda *_: pytest.fail("read"))
    log = str(DATA / "request_logs" / "3.9.1.log.gz")
    for out in (tmp_path / "file", tmp_path / "file" / "out"):
        assert run(["clients", log, "--out", str(out)]) == 2
        assert f"{out}: cannot write here" in capfd.readouterr().err


def test_a_disk_that_is_full_is_found_before_anything_is_read(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(TemporaryFileOf):
        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("kwire_inspect.command.common.TemporaryFile", lambda dir: Full())
    monkeypatch.setattr("kwire_inspect.command.common.find", lambda _: pytest.fail("read"))
    assert run(["clients", "a.pcap", "--out", str(tmp_path / "out")]) == 2
    told = capfd.readouterr().err
    assert told.startswith(f"kwire: {tmp_path / 'out'}: cannot write here: No space left on device. Choose")


@pytest.mark.parametrize("command", ["clients", "tables"])
def test_a_disk_that_becomes_full_is_one_line_and_nothing_half_written_is_left(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def full(self: ParquetTable, batch: pa.RecordBatch) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ParquetTable, "write", full)
    log = str(DATA / "request_logs" / "3.9.1.log.gz")
    assert run([command, log, "--out", str(tmp_path / "out"), "-q"]) == 3
    told = capfd.readouterr().err
    assert told.startswith("kwire: the output folder: no space left on device: free some space there or in ")
    assert told.count("\n") == 1
    assert [path.name for path in tmp_path.rglob("*") if "writing" in path.name] == []


def test_what_the_system_refuses_is_one_line() -> None:
    missing = FileNotFoundError(errno.ENOENT, "No such file or directory", "a/b")
    assert one_line(missing) == ("a/b: no such file or directory", False)
    full_disks = (OSError(number, os.strerror(number), "a") for number in (errno.ENOSPC, errno.EDQUOT))
    for full in (*full_disks, duckdb.IOException(FULL_DATABASE)):
        assert "choose another folder with --out" in one_line(full)[0]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOENT, "No such file", "a/b"), "a/b: no such file"),
        (OSError(errno.EBADF, "Bad file descriptor", 7), "the output folder: bad file descriptor"),
        (OSError(errno.EIO, "Input/output error", ""), "the output folder: input/output error"),
        (OSError("the store is gone"), "OSError: the store is gone"),
        (OSError(errno.ENOSPC, "Full", "a/b"), "a/b: full: free some space, or choose another folder with --out"),
        (
            OSError(errno.EDQUOT, "Full"),
            f"the output folder: full: free some space there or in {gettempdir()}, "
            "or choose another folder with --out",
        ),
        (UnknownReleaseError("5.0", ["4.0"]), f"{UnknownReleaseError('5.0', ['4.0'])}; {TAKE_IN}"),
        (PySparkException("only a text\nin two lines"), "PySparkException: only a text"),
        (PySparkException("a.OptionError: old\njava.io.IOException: x"), "old"),
        (RuntimeError("a.OptionError: of another library"), "RuntimeError: a.OptionError: of another library"),
    ],
)
def test_what_is_told_of_an_error(error: Exception, told: str) -> None:
    usage = isinstance(error, UnknownReleaseError) or told == "old"
    assert one_line(error) == (told, usage)


def failing(error: BaseException) -> click.Command:
    def fail() -> None:
        raise error

    fail.__module__ = "kwire_spark.command.watch"
    return Command("watch", callback=fail)


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (OptionError("first\nsecond\x1b[31m"), 2, "kwire: first\nsecond\\x1b[31m\n"),
        (KwireError("bad"), 3, "kwire: bad\n"),
        (ModuleNotFoundError("x", name="pyspark"), 2, "kwire: watch needs pyspark: pip install 'kwire[spark]'\n"),
        (ModuleNotFoundError("no module", name="kwire_x.y"), 3, "kwire: ModuleNotFoundError: no module\n"),
        (ModuleNotFoundError("no module"), 3, "kwire: ModuleNotFoundError: no module\n"),
        (ImportError("no name", name="pyspark"), 3, "kwire: ImportError: no name\n"),
    ],
)
@pytest.mark.parametrize("debug", [None, "", "1", "yes"])
def test_a_failed_command_says_why_unless_the_trace_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    code: int,
    told: str,
    debug: str | None,
) -> None:
    monkeypatch.delenv("KWIRE_DEBUG", raising=False)
    if debug is not None:
        monkeypatch.setenv("KWIRE_DEBUG", debug)
    with pytest.raises(type(error) if debug else FailedError) as raised:
        failing(error).main([], standalone_mode=False)
    if isinstance(raised.value, FailedError):
        assert (raised.value.exit_code, raised.value.__cause__) == (code, error)
        raised.value.show()
        raised.value.show(noted := StringIO())
        assert capsys.readouterr() == ("", told)
        assert noted.getvalue() == told


@pytest.mark.parametrize(
    "error", [BrokenPipeError("the reader is gone"), click.Abort(), click.UsageError("x"), click.exceptions.Exit(7)]
)
def test_what_the_main_command_handles_passes(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, click.Context(command := failing(error)) as context:
        command.invoke(context)
    assert raised.value is error


def test_a_terminal_does_not_act_on_what_an_error_quotes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["clients", "\x1b(B.pcap", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == "kwire: \\x1b(B.pcap: no such file or folder\n"


def test_a_package_without_error_codes_has_those_of_kafka() -> None:
    given: Any = {"inputs": Inputs(), "out": "out", "engine": None, "console": None, "progress": None}
    for package in ("clockwork_wire", "kwire_kafka"):
        assert Run(**given, options={"protocol": package}, min_coverage=0).error_codes is ErrorCode


@pytest.mark.slow
def test_reports_read_no_bodies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, str]] = []
    counted = LocalEngine.counted

    def noted(self: LocalEngine, inputs: Inputs, options: dict[str, str]) -> Any:
        given.append(options)
        return counted(self, inputs, options)

    monkeypatch.setattr(LocalEngine, "counted", noted)
    capture = write_pcap(tmp_path / "a.pcap", packets(recorded("kafka-python-on-3.9.1")[0]))
    for command in (["clients"], ["readiness", "--target", "4.1.1"], ["census"]):
        run([*command, str(capture), "--ports", "9092", "--engine", "local", "-q", "--out", str(tmp_path / "out")])
    assert given == [{"ports": "9092", "bodies": "codes"}] * 2


def test_clients_are_counted_as_reports_count_them() -> None:
    def seen(client_id: str | None, api_key: int = 3, input_kind: str = "capture", **known: Any) -> dict[str, Any]:
        who = {"client_id": client_id, "client_host": "10.0.0.1", **dict.fromkeys(SHOWN[2:]), **known}
        facts = {"api": "Metadata", "versions": [9], "requests": 1, "errors": 0, "refused": 0, "last_seen": None}
        return {"input_kind": input_kind, **who, "api_key": api_key, **facts}

    rows = [seen("one"), seen("one", principal="User:a"), seen(None, input_kind="server_log"), seen("two", 1)]
    report = clients_report(rows, 0)
    assert report.summary == ("2 clients seen.",)
    assert report.table("list").column("api") == ["Metadata"] * 4
    assert clients_report(rows[:1], 7).summary == ("At least 1 client seen.",)


@pytest.mark.parametrize("limited", [reports, client_usage])
def test_of_very_many_clients_some_are_listed_and_the_others_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, limited: object
) -> None:
    """Whether the rows of the table are many, or those of the report."""
    monkeypatch.setattr(limited, "MAX_ROWS", 1)
    capture = write_pcap(tmp_path / "a.pcap", packets(recorded("kafka-python-on-3.9.1")[0]))
    assert run(["clients", str(capture), "--format", "json", "--out", str(tmp_path / "out"), "-q"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["summary"][0] == "At least 1 client seen."
    assert (len(told["tables"]["list"]["rows"]), told["tables"]["list"]["more"]) == (1, 1)


def test_the_whole_report_on_clients(snapshot: SnapshotAssertion) -> None:
    sarama = {"software_name": "sarama", "software_version": "1.20", "principal": "User:a"}
    rows = [
        client(0, 1, 5, **sarama, errors=1, refused=2),
        client(0, 7, 4, **sarama, last_seen=START + timedelta(hours=1)),
        client(0, 7, 3, **sarama, input_kind="request_log"),
        client(0, 8, 1, **sarama, client_host="10.0.0.2", server_port=9093),
        client(9999, 0, 1, api=None, client_id=None) | {"last_seen": None},
        client(0, 2, 3, client_id=None, input_kind="server_log", refused=3) | {"version": None},
        client(58, 0, 2, client_id="1", api="Envelope"),
        client(1, 12, 2, client_id="1"),
    ]
    usage = usage_of(clients_of(*rows[::-1]).table.rows())
    assert whole(clients_report(usage, 0)) == snapshot


def described(parameter: click.Parameter) -> str:
    """What a user has to know of an option or argument; how click prints it depends on its release."""
    kind = ", ".join(parameter.type.choices) if isinstance(parameter.type, click.Choice) else parameter.type.name
    if isinstance(parameter.type, click.IntRange | click.FloatRange):
        kind += f" from {parameter.type.min} to {parameter.type.max}"
    facts = [" ".join(parameter.opts), f"{parameter.metavar or 'no metavar'} ({kind})"]
    facts += ["several"] if parameter.multiple or parameter.nargs < 0 else []
    facts += ["required"] if parameter.required else []
    if isinstance(parameter, click.Option):
        facts += ["flag"] if parameter.is_flag else []
        facts += [f"default {parameter.default}"] if parameter.show_default else []
        facts.append(parameter.help or "no help")
    return "; ".join(facts)


@pytest.mark.parametrize("name", COMMANDS)
def test_options(name: str, snapshot: SnapshotAssertion) -> None:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    told = " ".join((command.help or "").split())
    assert "\n".join([told, *map(described, command.params)]) == snapshot


TRAFFIC = DATA / "traffic" / "4.1.1"
COUNTED = {"clients", "problems"}
OF_EXCHANGES = {"exchanges", "topics", *COUNTED}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a.pcap", {"frames", "apis/ApiVersions", "apis/Metadata", *OF_EXCHANGES}),
        ("kafka-request.log", {"apis/ApiVersions", *OF_EXCHANGES}),
        ("server.log", {"refusals", *COUNTED}),
        ("data", {"records", "topics", "internal/OffsetCommit", "internal/GroupMetadata"}),
        ("metrics.prom", COUNTED),
    ],
)
@pytest.mark.parametrize("raw", [False, True])
def test_which_tables_are_decoded_of_which_inputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str, expected: set[str], raw: bool
) -> None:
    (tmp_path / "in").mkdir()
    if given == "a.pcap":
        write_pcap(tmp_path / "in" / given, packets(recorded("kafka-python-on-3.9.1")[0]))
    elif given == "kafka-request.log":
        lines = gzip.decompress((TRAFFIC / "kafka-request.log.gz").read_bytes()).splitlines(keepends=True)
        (tmp_path / "in" / given).write_bytes(next(line for line in lines if b'"API_VERSIONS"' in line))
    elif given == "server.log":
        (tmp_path / "in" / given).write_bytes(gzip.decompress((TRAFFIC / "server.log.gz").read_bytes())[:20_000])
    elif given == "data":
        for name in ("__consumer_offsets-0", "orders-0"):
            shutil.copytree(DATA / "logs" / "4.1.1" / "__consumer_offsets-0", tmp_path / "in" / name)
    else:
        (tmp_path / "in" / given).write_bytes((DATA / "metrics" / "exporter.prom").read_bytes())
    options = ["--raw"] if raw else []
    code = run(["tables", str(tmp_path / "in"), *options, "--out", str(tmp_path / "out")])
    told = " ".join(capsys.readouterr().out.split())
    assert code == 0
    written = {
        row["table"]: row for row in parquet.read_table(tmp_path / "out" / "tables-written.parquet").to_pylist()
    }
    assert expected <= written.keys()
    assert {name for name in written if "/" not in name} == {name for name in expected if "/" not in name}
    for name, row in written.items():
        assert row["path"] == str(tmp_path / "out" / name)
        assert row["rows"] == dataset.dataset(row["path"], format="parquet").count_rows()
    if given == "a.pcap":
        frames = dataset.dataset(tmp_path / "out" / "frames", format="parquet")
        assert ("raw" in frames.schema.names) == raw
    if given == "data":
        records = dataset.dataset(tmp_path / "out" / "records", format="parquet").to_table()
        assert {*records["topic"].to_pylist()} == {"__consumer_offsets"}, "as --topics has it"
    assert "Based on 1 " in told


@pytest.mark.parametrize(
    ("count", "more"), [(1, []), (5, []), (6, ["skipped 1 more file"]), (8, ["skipped 3 more files"])]
)
def test_of_many_skipped_files_some_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int, more: list[str]
) -> None:
    """Nothing in a name acts on the terminal."""
    for number in range(count):
        (tmp_path / f"{number}[red]\x1b[31m\n.pcap").touch()
    assert run(["clients", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err.split("\n")
    named = [f"skipped {tmp_path}/{number}[red]\\x1b[31m\\n.pcap: empty file" for number in range(min(count, 5))]
    assert told[: len(named + more)] == named + more
    assert told[len(named + more) : -1] == [f"kwire: no captures or broker logs in {tmp_path}"]


class Reading:
    """Stands in for what Spark reads a stream with, and notes what it is told."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}
        self.readStream = self

    def format(self, name: str) -> Reading:
        self.told["format"] = name
        return self

    def option(self, name: str, value: Any) -> Reading:
        return self.options(**{name: value})

    def options(self, **options: Any) -> Reading:
        self.told |= options
        return self

    def load(self, *path: str) -> Reading:
        self.told["path"] = path
        return self

    def selectExpr(self, *columns: str) -> Reading:  # as Spark has it
        return self

    def mapInArrow(self, work: Any, schema: Any) -> Reading:
        self.told["link"] = work.args
        return self


def test_a_folder_is_watched_for_settled_files(tmp_path: Path) -> None:
    spark: Any = Reading()
    given = FolderInput(str(tmp_path), 7)
    given.packets(spark)
    assert spark.told == {"format": "kafka_packets", "settled": 7, "path": (str(tmp_path),)}
    assert (given.name, given.settings, given.dropped, given.problem, given.end()) == (
        *(f"captures in {tmp_path}", {}),
        *(0, "", False),
    )


def test_a_topic_is_read_from_its_beginning_with_the_settings_of_a_consumer(tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_text("security.protocol=SSL\n")
    for name in ("b.jar", "a.jar", "c.txt"):
        (tmp_path / name).touch()
    spark: Any = Reading()
    given = TopicInput("packets", "a:1", str(tmp_path / "a.properties"), 113, str(tmp_path))
    given.packets(spark)
    assert spark.told == {
        "format": "kafka",
        "kafka.security.protocol": "SSL",
        "kafka.bootstrap.servers": "a:1",
        "subscribe": "packets",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "200000",
        "path": (),
        "link": (113,),
    }
    assert given.name == "packets in the topic packets"
    assert given.settings == {"spark_jars": f"{tmp_path}/a.jar,{tmp_path}/b.jar"}
    assert TopicInput("packets", "a:1", None, 1, None).settings == {}
