"""The pipeline beside Wireshark's and Kafka's own tools: whole commands on the same files.

A capture of traffic for ``tshark -T fields`` and ``kwire-spark clients``; a segment of records of 100 bytes for
``kafka-dump-log`` and the columns that ``kafka_log`` makes of it. Starting Python and Java is included.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import pipeline_log
from benchmarks.codecs import ROOT
from benchmarks.peers.programs import Unavailable
from benchmarks.pipeline_scale import write_capture

MB = 100
RELEASE = "4.1.1"
COLUMNS = (
    "import sys; from pathlib import Path; from benchmarks import pipeline_log; "
    "print(pipeline_log.columns(Path(sys.argv[1])))"
)
FIELDS = ("frame.time_epoch", "ip.src", "tcp.srcport", "kafka.api_key", "kafka.api_version", "kafka.client_id")


def measure() -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Seconds of every command that can run here, and the reasons for the others."""
    rows, missing = [], {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        capture = write_capture(folder / "capture.pcap", MB)
        segment = folder / "orders-0" / f"{0:020}.log"
        records = pipeline_log.write(segment, MB << 20, 100)
        spark = [sys.executable, "-m", "kwire_spark", "clients", str(capture)]
        jobs: tuple[tuple[str, Path, Callable[[], list[str]], tuple[bytes, int] | None], ...] = (
            ("kwire-spark clients", capture, lambda: spark, None),
            ("tshark -T fields", capture, lambda: tshark(capture), None),
            ("kafka_log", segment, lambda: [sys.executable, "-c", COLUMNS, str(segment)], None),
            ("kafka-dump-log", segment, lambda: dump_log(segment), (b"| offset: ", records)),
        )
        for title, path, command, expected in jobs:
            try:
                facts = {"program": title, "input": path.suffix, "bytes": path.stat().st_size}
                rows.append(facts | run(command(), folder, expected))
            except Unavailable as problem:
                missing[title] = str(problem)
    return rows, missing


def tshark(capture: Path) -> list[str]:
    if not shutil.which("tshark"):
        raise Unavailable("tshark is not installed")
    fields = [f"-e{field}" for field in FIELDS]
    return ["tshark", "-r", str(capture), "-d", "tcp.port==9092,kafka", "-T", "fields", *fields]


def dump_log(segment: Path) -> list[str]:
    from tests.real_kafka.jars import classpath

    for tool in ("java", "mvn"):
        if not shutil.which(tool):
            raise Unavailable(f"{tool} is not installed")
    tool = "kafka.tools.DumpLogSegments"
    return ["java", "-cp", classpath(RELEASE), tool, "--print-data-log", "--files", str(segment)]


def run(command: Sequence[str], folder: Path, expected: tuple[bytes, int] | None) -> dict[str, float]:
    """Runs a command whose output must have the expected number of a mark, if there is one."""
    output = folder / "output"
    with output.open("wb") as out:
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, cwd=ROOT) as process:
            assert process.stderr
            said = process.stderr.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        taken = time.perf_counter() - start
    if process.returncode:
        raise Unavailable(f"it failed: {said.decode(errors='replace').strip()[-300:]}")
    if expected and output.read_bytes().count(expected[0]) != expected[1]:
        raise Unavailable(f"it did not print {expected[1]} records")
    cpu = used.ru_utime + used.ru_stime
    return {"seconds": round(taken, 2), "cpu": round(cpu, 2)}
