"""What a Python worker of Spark takes for hostile files, and what whole commands take: ``docs/security.md``.

``python -m tests.attack.worker_memory [--only WORD]`` makes each file and reads it in a process of its own, with the
imports of a worker and its output as an Arrow stream. With ``--engine local`` or ``spark``, commands read files; with
``local`` also those of ``kwire`` and ``kwirec``. The last rows have the largest figures of each command. Peaks are of
resident memory, as Linux counts it (VmHWM). Seconds are of processor time, of commands without that of Spark's
processes. Exits with 1 if either is above what is promised.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from kwire.connection import RequestEvent
from kwire.frames import frame
from tests.attack.command import taken
from tests.attack.files import FILES, MB, WHOLE, File
from tests.attack.worker import in_worker
from tests.runtime.client.loopback import Loopback

PROMISE = 450 * MB
"""Bytes of memory of a worker or a command, whatever it reads."""
MAX_SECONDS = 120
"""Processor time for a file, whatever it is."""
SLOW = {("14 million records", "offsets"): 300}
"""More for some: a file of 9 kB has 14 million records, and each of them takes 12 µs."""
LINE = "{:45} {:>9} {:>9} {:>7} {:>4}"
WIDE = "{:45} {:40} {:>4} {:>7} {:>7} {:>6}"
LOCAL, SPARK = ENGINES = ("local", "spark")
REPORTS = ("clients", "readiness --target 4.4.0", "census", "latency")
EXCHANGES = ("tables", *REPORTS)
OF_PIPELINE = {
    "kafka_capture": (*EXCHANGES, "tables --raw", "watch --once --settled 0"),
    "kafka_log": ("tables", "offsets"),
    "kafka_request_log": EXCHANGES,
    "kafka_server_log": EXCHANGES,
    "metrics": EXCHANGES,
}
"""The commands of ``kwire`` that read files of a source."""
OF_RUNTIME = {
    "kwire decode": tuple(
        f"decode --coding raw {how} FILE" for how in ("", "--format json", "--format message", "--html page")
    ),
    "kwire broker": ("broker AT", "broker AT --format json", "call AT Metadata", "call AT Metadata --trace"),
    "kwire call": ("call AT ListOffsets --version 7", "call AT ListOffsets --version 7 --trace"),
    "kwire encode": ("encode StreamsGroupDescribeResponse --json @FILE", "describe FetchRequest --format json"),
    "kwirec check": ("check FILE",),
    "kwirec": ("check FILE", "check --format junit FILE", "generate FILE --package made", "diff FILE FILE"),
}
"""Commands of ``kwire`` and ``kwirec`` that read a file in this process, or what a broker answers."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="files whose name contains this")
    parser.add_argument("--engine", choices=ENGINES, help="what commands take, with this engine")
    parser.add_argument("--command", default="", help="commands that contain this")
    given = parser.parse_args()
    if given.engine:
        print(WIDE.format("file", "command", "code", "seconds", "command", "worker"))
        files = (file for file in WHOLE if given.only in file.name)
        taken_by = [one for file in files for one in measured_commands(file, given.engine, given.command)]
        figures = [one[1:] for one in taken_by]
        for line in dict.fromkeys(one[0] for one in taken_by):
            most = [max(values) for values in zip(*(one[1:] for one in taken_by if one[0] == line), strict=True)]
            print(WIDE.format("all", line, "", f"{most[1]:.0f}", f"{most[0] / MB:.0f}", ""))
    else:
        print(LINE.format("file", "kB", "rows", "seconds", "MB"))
        figures = [(*measured(file), MAX_SECONDS) for file in FILES if given.only in file.name]
    sys.exit(any(peak > PROMISE or seconds > most for peak, seconds, most in figures))


def measured(file: File) -> tuple[int, float]:
    """Prints the row of a file; the peak of its worker, and its processor time."""
    with tempfile.TemporaryDirectory() as folder:
        path = written(file, folder)
        given = f"{path}!/{file.member}" if file.member else str(path)
        rows, peak, seconds = in_worker(file.source, given, file.options)
        size = path.stat().st_size
    print(
        LINE.format(file.name, f"{size / 1000:,.1f}", f"{rows:,}", f"{seconds:.0f}", f"{peak / MB:.0f}"), flush=True
    )
    return peak, seconds


def written(file: File, folder: str) -> Path:
    path = Path(folder, "in", file.path)
    path.parent.mkdir(parents=True)
    path.write_bytes(file.content())
    return path


def measured_commands(file: File, engine: str, only: str) -> Iterator[tuple[str, int, float, int]]:
    """Prints a row for each command; its line, its peak, or that of its largest worker, its processor time, and how
    much it may take."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        path = written(file, folder)
        broker = stack.enter_context(answering(path.read_bytes())) if file.path == "answer" else None
        for line in OF_PIPELINE.get(file.source, ()) + (OF_RUNTIME.get(file.source, ()) if engine == LOCAL else ()):
            watches = line.startswith("watch")
            if only not in line or (watches and engine == LOCAL):
                continue
            if file.source in OF_PIPELINE:
                args = [
                    "kwire",
                    *line.split(),
                    "in",
                    *([] if watches else ["--engine", engine]),
                    "--out",
                    "watched" if watches else "out",
                ]
            else:
                args = [file.source.split()[0], *line.replace("FILE", str(path)).split()]
            address = broker.address if broker else ""
            got = taken([address if word == "AT" else word for word in args], Path(folder))
            peaks = [f"{peak / MB:.0f}" for peak in (got.process, got.worker)]
            print(WIDE.format(file.name, line, got.code, f"{got.seconds:.0f}", *peaks), flush=True)
            if got.code not in (0, 1, 4):
                print(f"    {ascii(got.said)[:200]}")
            yield line, max(got.process, got.worker), got.seconds, SLOW.get((file.name, line), MAX_SECONDS)


def answering(answer: bytes) -> Loopback:
    """A broker that gives this answer, with the id of the request."""

    def answers(request: RequestEvent) -> bytes:
        return frame(request.data[4:8] + answer[4:])

    return Loopback({"Metadata": answers, "ListOffsets": answers})


if __name__ == "__main__":
    main()
