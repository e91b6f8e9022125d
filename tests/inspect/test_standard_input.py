"""Captures and logs from the standard input, for every command that reads them, and how it can end."""

from __future__ import annotations

import gzip
import io
import os
import re
import signal
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from rich.console import Console

from kwire.command import main as run
from kwire_inspect.command.engines import LocalEngine, engine_for
from kwire_inspect.command.interrupts import forward_sigint_to_writer
from kwire_inspect.inputs import Inputs, find
from kwire_inspect.options import OptionError, Options
from kwire_inspect.storage import STDIN, Window, opened, standard_input
from kwire_inspect.storage.places import PEEK, StandardInput
from kwire_spark.sources.capture import KafkaCapture
from tests.support.capture_files import beginning
from tests.support.small_sample import TRAFFIC

CAPTURE = beginning(TRAFFIC / "traffic.pcap.gz", packets=300)
LOG = b"".join(gzip.decompress((TRAFFIC / "kafka-request.log.gz").read_bytes()).splitlines(keepends=True)[:50])
COMMANDS = ("clients", "readiness", "census", "latency", "tables")
Piped = Callable[[bytes], None]


class Pipe(io.BytesIO):
    """A few bytes at a time, and none twice."""

    def read1(self, size: int | None = -1) -> bytes:
        return super().read1(min(1000, len(self.getbuffer()) if size in (None, -1) else size or 0))

    def seek(self, offset: int, whence: int = 0) -> int:
        raise io.UnsupportedOperation("seek")


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> Piped:
    """Makes bytes the standard input of this process."""
    return lambda data: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Pipe(data)))


def tables(folder: Path) -> dict[str, list[str]]:
    """The rows of all tables below a folder, without the names of inputs."""
    found: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("*.parquet")):
        rows = [str(row) for row in parquet.ParquetFile(file).read().to_pylist()]
        name = "/".join(part for part in file.relative_to(folder).parent.parts if "=" not in part) or file.name
        found.setdefault(name, []).extend(row.replace(str(folder.parent / "a.input"), "-") for row in rows)
    return {name: [row.replace(str(folder), "OUT") for row in rows] for name, rows in found.items()}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("data", [CAPTURE, gzip.compress(CAPTURE), LOG], ids=["pcap", "gzip", "log"])
@pytest.mark.long
def test_it_gives_the_same_tables_as_a_file(
    tmp_path: Path, piped: Piped, capsys: pytest.CaptureFixture[str], command: str, data: bytes
) -> None:
    (tmp_path / "a.input").write_bytes(data)
    options = ["--target", "4.1.1"] if command == "readiness" else []
    piped(data)
    codes, told = [], []
    for name, given in (("file", str(tmp_path / "a.input")), ("pipe", STDIN)):
        codes.append(run([command, given, *options, "--out", str(tmp_path / name), "-q"]))
        told.append(capsys.readouterr().out.replace("(a.input)", "(standard input)").splitlines()[:3])
    assert codes[0] == codes[1]
    assert tables(tmp_path / "file") == tables(tmp_path / "pipe") != {}
    assert told[0] == told[1]


@pytest.mark.slow
def test_several_tables_are_read_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piped: Piped) -> None:
    monkeypatch.setattr("kwire_inspect.storage.places.PEEK", 1000)  # fewer bytes than there are
    piped(CAPTURE)
    run(["tables", STDIN, "--out", str(tmp_path), "-q"])
    found = tables(tmp_path)
    assert min(len(found["frames"]), len(found["exchanges"])) > 1


def test_it_is_one_input_of_several(tmp_path: Path, piped: Piped) -> None:
    (tmp_path / "a.log").write_bytes(LOG)
    piped(CAPTURE)
    found = find([STDIN, tmp_path / "a.log"])
    assert (found.captures, found.request_logs) == ((STDIN,), (str(tmp_path / "a.log"),))
    assert found.has_standard_input


def test_what_is_no_input_is_said(piped: Piped, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for data, reason in ((b"", "empty file"), (b"milk\n", "no line looks like a broker log entry")):
        piped(data)
        assert run(["clients", STDIN, "--out", str(tmp_path)]) == 2
        told = " ".join(capsys.readouterr().err.split())
        assert told == f"skipped -: {reason} kwire: no captures or broker logs in -"


def test_a_terminal_and_a_closed_one_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(Pipe())
    stream.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", stream)
    assert find([STDIN]).skipped == ((STDIN, "standard input is a terminal: pipe a capture or a log into it"),)
    monkeypatch.setattr(sys, "stdin", None)
    assert find([STDIN]).skipped == ((STDIN, "standard input is closed"),)


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--engine spark", ("spark", "out", "parquet", None)),
        ("--master", ("auto", "out", "parquet", "local[1]")),
        ("--table-format csv", ("auto", "out", "csv", None)),
    ],
)
def test_spark_cannot_read_it(option: str, values: tuple[str, str, str, str | None]) -> None:
    name, *others = values
    with pytest.raises(OptionError, match=f"^{option.replace('[', '.')} cannot be used with standard input"):
        engine_for(name, Inputs(captures=(STDIN,)), *others)  # type: ignore[arg-type]


def test_neither_submission_nor_size_chooses_spark_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASTER", "local[1]")
    chosen = engine_for("auto", Inputs(captures=(STDIN,), size=1 << 40), "out", "parquet", None)
    assert isinstance(chosen, LocalEngine)


def test_the_sources_of_spark_refuse_it() -> None:
    for options in ({"path": STDIN}, {"paths": f'["a.pcap", "{STDIN}"]'}):
        source = KafkaCapture(options)
        with pytest.raises(OptionError, match="standard input, which Spark cannot read"):
            source.reader(source.schema())
    assert Options({"path": STDIN}).files() == [STDIN]


def test_its_beginning_can_be_read_again_and_everything_if_kept(piped: Piped) -> None:
    data = os.urandom(3 * PEEK)
    for keep in (False, True):
        piped(data)
        for _ in range(3):
            with opened(STDIN, peek=True) as file:
                assert file.read() == data[:PEEK]
        if keep:
            standard_input().keep()
        with opened(STDIN) as file:
            assert file.read() == data
        with opened(STDIN) as file:
            if keep:
                assert file.read() == data
            else:
                with pytest.raises(OSError, match="can be read only once"):
                    file.read()


def test_a_long_stream_takes_no_memory() -> None:
    class Endless(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            return bytes(1 << 16)

    window_file = StandardInput(Endless()).opened()
    tracemalloc.start()
    for _ in range(400):
        assert len(window_file.read(1 << 18)) == 1 << 18
    assert tracemalloc.get_traced_memory()[1] < 8 * PEEK
    tracemalloc.stop()


def test_a_cut_packet_is_reported_with_its_position(
    tmp_path: Path, piped: Piped, capsys: pytest.CaptureFixture[str]
) -> None:
    piped(CAPTURE[:-7])
    assert run(["clients", STDIN, "--out", str(tmp_path / "out")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert re.search(r"truncated: the last packet is only \d+ bytes long 1 - \d+ ", told)


COMMAND = [sys.executable, "-m", "kwire", "clients", STDIN, "--out"]


@pytest.mark.parametrize("interrupted", [False, True])
def test_what_ctrl_c_does_is_as_before_when_all_is_read(interrupted: bool) -> None:
    before = signal.getsignal(signal.SIGINT)
    with forward_sigint_to_writer([STDIN], Console(file=io.StringIO())):
        assert signal.getsignal(signal.SIGINT) is not before
        if interrupted:
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is before, "a second one ends this process"
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_is_as_before_if_nothing_is_piped_or_another_thread_reads() -> None:
    before, told, found = signal.getsignal(signal.SIGINT), io.StringIO(), list[Any]()

    def read(paths: list[str]) -> None:
        with forward_sigint_to_writer(paths, Console(file=told)):
            found.append(signal.getsignal(signal.SIGINT))

    read(["a.pcap"])
    (thread := threading.Thread(target=read, args=[[STDIN]])).start()
    thread.join()
    assert found == [before, before]
    with suppress(KeyError), forward_sigint_to_writer(["a.pcap", STDIN], Console(file=told, width=200)):
        signal.raise_signal(signal.SIGINT)
        raise KeyError
    assert signal.getsignal(signal.SIGINT) is before
    assert told.getvalue() == "interrupted: reporting what was captured. Interrupt again to stop\n"


@pytest.mark.slow
def test_a_writer_that_is_interrupted_with_this_process_is_read_to_its_end(tmp_path: Path) -> None:
    """As by Ctrl-C, which the terminal sends to both: the writer writes what it has, and ends."""
    half = len(CAPTURE) // 2
    with subprocess.Popen(
        [*COMMAND, str(tmp_path / "out")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(bytes(CAPTURE[:half]))
        process.stdin.flush()
        _wait_for(process, "kwire_spark")
        process.send_signal(signal.SIGINT)
        told, errors = process.communicate(CAPTURE[half:], timeout=60)
    assert process.returncode == 0, errors
    assert b"Report:" in told
    assert b"interrupted: reporting what was captured" in errors


def _wait_for(process: subprocess.Popen[bytes], name: str) -> None:
    """Until a process has taken all bytes from its pipe, and so handles signals."""
    import fcntl
    import termios
    import time

    assert process.stdin is not None
    while int.from_bytes(fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)), sys.byteorder):
        assert process.poll() is None
        time.sleep(0.02)


def test_a_stream_that_is_cut_anywhere_is_read_to_there(piped: Piped) -> None:
    for size in (24, 25, 40, 41, 1000, 5000):
        piped(CAPTURE[:size])
        window = Window(STDIN)
        while window.advance(0):
            pass
        assert window.buffer == CAPTURE[:size]
