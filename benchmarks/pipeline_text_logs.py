"""Measures request logs and server logs: rows and MB per second on one core, and in Spark.

``python -m benchmarks.pipeline_text_logs [--size MB] [--spark] [--json FILE]``

The logs are lines from real brokers, repeated to the requested size. ``lines`` only reads the lines, ``loop`` also
parses the lines about requests as JSON, and ``parse_line`` calls :func:`kwire.request_log.parse_line`. The other
cases make Arrow batches. ``facts`` makes all columns except the bytes of requests and responses and the reason.
``one api`` makes the same columns with a filter on the API. ``everything`` makes all columns. Spark makes the columns
of ``facts`` on one and on two cores. The fastest of three runs counts, which excludes the start of the workers.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC
from pathlib import Path

import pyarrow as pa

from benchmarks.timing import table
from kwire.request_log import MARK, parse_line
from kwire_inspect.rows import Condition, Projection
from kwire_inspect.schemas import EXCHANGES
from kwire_inspect.text_logs import Lines, Split, refusal_batches, request_batches

DATA = Path(__file__).parents[1] / "tests" / "data"
JSON, TEXT, SERVER = "request_logs/3.9.1", "request_logs/1.1.1", "server_logs/4.1.1"
BYTES = ("request", "response", "reason")
FACTS = [name for name in EXCHANGES.names if name not in BYTES]
LONGEST = 20_000
"""Maximum size of a line, in bytes. Longer lines, with thousands of settings, do not occur in practice."""

Figures = list[tuple[str, float, int]]
"""Name, seconds and number of rows of each step."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--size", type=float, default=20, help="size of each log in MB")
    options.add_argument("--spark", action="store_true", help="also measure Spark's source for request logs")
    options.add_argument("--json", type=Path, help="JSON file to which the figures are also written")
    given = options.parse_args()
    found: dict[str, float] = {}
    print(f"Python {platform.python_version()}, pyarrow {pa.__version__}, {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory() as scratch:
        for name in (JSON, TEXT, SERVER):
            path = made(name, Path(scratch), given.size)
            figures = measured(path, name) + (in_spark(path) if given.spark and name == JSON else [])
            size = path.stat().st_size / 1e6
            rows = [[what, f"{size / seconds:.1f}", f"{rows / seconds:,.0f}"] for what, seconds, rows in figures]
            print(table([f"{name}, {size:.0f} MB", "MB/s", "rows/s"], rows), end="\n\n")
            found |= {f"{name}, {what}": size / seconds for what, seconds, _ in figures}
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


def made(name: str, folder: Path, size: float) -> Path:
    lines = gzip.decompress((DATA / f"{name}.log.gz").read_bytes()).splitlines(keepends=True)
    data = b"".join(line for line in lines if len(line) < LONGEST)
    path = folder / name.replace("/", "-")
    path.write_bytes(data * max(1, int(size * 1e6 / len(data))))
    return path


def measured(path: Path, name: str) -> Figures:
    split = Split(str(path))

    def of(batches: Iterator[pa.RecordBatch]) -> int:
        return sum(batch.num_rows for batch in batches)

    def requests(columns: Sequence[str], *conditions: Condition) -> int:
        schema = pa.schema([EXCHANGES.field(column) for column in columns])
        return of(request_batches(split, Projection("logged_exchanges", schema, conditions), UTC))

    calls: dict[str, Callable[[], int]] = {"lines": lambda: sum(1 for _ in Lines(str(path)))}
    if name == SERVER:
        calls["everything"] = lambda: of(refusal_batches(split, Projection("refusals"), UTC))
        return [timed(what, call) for what, call in calls.items()]
    if name == JSON:
        calls["loop"] = lambda: loop(path)
    calls |= {
        "parse_line": lambda: sum(parse_line(line.decode()) is not None for _, line in Lines(str(path))),
        "facts": lambda: requests(FACTS),
        "one api": lambda: requests(FACTS, Condition("api", "=", "JoinGroup")),
        "everything": lambda: requests(EXCHANGES.names),
    }
    return [timed(what, call) for what, call in calls.items()]


def loop(path: Path) -> int:
    rows = 0
    decoder = json.JSONDecoder()
    for _, line in Lines(str(path)):
        start = line.find(MARK.encode())
        if start >= 0:
            decoder.raw_decode(line.decode(), start + len(MARK))
            rows += 1
    return rows


def timed(what: str, call: Callable[[], int]) -> tuple[str, float, int]:
    """Return the name, processor seconds and rows of the faster of two runs. Only the first run may build models."""
    best, rows = float("inf"), 0
    for _ in range(2):
        start = time.process_time()
        rows = call()
        best = min(best, time.process_time() - start)
    return what, best, rows


def in_spark(path: Path) -> Figures:
    from kwire_spark.session import spark_session
    from kwire_spark.sources.request_log import KafkaRequestLog

    figures = []
    for cores in (1, 2):
        spark = spark_session(f"local[{cores}]")
        spark.dataSource.register(KafkaRequestLog)
        split = str(max(1 << 20, path.stat().st_size // 4))
        names = ", ".join(f"`{name}`" for name in FACTS)
        kinds = spark.read.format("kafka_request_log").load(str(path)).schema
        source = spark.read.format("kafka_request_log").option("splitSize", split)
        logs = (
            source.schema(type(kinds)([kinds[name] for name in FACTS])).load(str(path)).selectExpr(names.split(", "))
        )
        best, rows = float("inf"), 0
        for _ in range(3):
            start = time.perf_counter()
            logs.write.format("noop").mode("overwrite").save()
            best = min(best, time.perf_counter() - start)
        rows = logs.count()
        figures.append((f"Spark, {cores} cores", best, rows))
        spark.stop()
    return figures


if __name__ == "__main__":
    main()
