"""Compares the pipeline in Spark, on one and two cores, with plain loops of the same codecs over the same input.

``python -m benchmarks.pipeline_scale [--mb 100] [--large 1000] [--rounds 2] [--only captures logs typed large]``

A plain loop is a single Python process that reads and decodes the whole file and keeps nothing. The loop uses
ConnectionDecoder for captures, LogSegment for segments, JSON for request logs, and the classes of one API for typed
tables. The Spark job makes and discards all columns that its name mentions, with ``local[1]`` and ``local[2]``:

===============  =====================================================================================================
MB/s, rows/s     elapsed rates of local[1], without the first job of a session, which starts the workers
of plain         elapsed rate of local[1] divided by that of the plain loop (target: 80 %)
of plain, CPU    the same ratio in processor time of the Python workers and of the loop, which is meaningful even on
                 a busy machine
2 cores          elapsed rate of local[2] divided by that of local[1] (target: 1.7)
peak MB          the peak memory of a Python worker
===============  =====================================================================================================

The large capture is only read as frames, to compare the memory and the time per MB. Half of the bytes of a capture
are recorded traffic and half are large batches, on many connections. Files are written to build/.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.dataset

from benchmarks import pipeline_log, pipeline_text_logs
from benchmarks.pipeline_frames import decoded, traffic
from benchmarks.timing import table
from benchmarks.workers import Watch
from kwire.policy import LIKE_KAFKA
from kwire_inspect import schemas
from kwire_inspect.capture import Peer, read_pieces
from kwire_inspect.readers import tune_worker
from kwire_inspect.tables.clients import EXCHANGE_COLUMNS
from kwire_kafka import PROTOCOL
from kwire_spark import typed
from kwire_spark.session import spark_session
from tests.support.capture_files import merged, packets, write_pcap

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WITHOUT_BYTES = [name for name in schemas.EXCHANGES.names if name not in ("request", "response")]
FOLDER = Path(__file__).parents[1] / "build" / "scale"
TEMPLATE = 4_000_000
"""Bytes of recorded traffic, and bytes of large batches, that are repeated with further clients."""

EXCHANGES = ("rows", "exchanges")

CLIENT = Peer("10.77.66.55", 0)
"""Placeholder for the client's address in repeated traffic, whose bytes do not occur elsewhere in the traffic."""


@dataclass(frozen=True)
class Job:
    """A job to measure: its input size in bytes, the plain loop, and a function that returns the table in Spark."""

    name: str
    size: int
    plain: Callable[[], int]
    table: Callable[[SparkSession, int], DataFrame]


@dataclass(frozen=True)
class Figures:
    """Elapsed seconds, processor seconds of Python, and the peak memory of a worker in bytes."""

    seconds: float
    cpu: float
    memory: int = 0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mb", type=int, default=100)
    options.add_argument("--large", type=int, default=1000, help="size of the large capture in MB, or 0 for none")
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--only", nargs="*", choices=GROUPS, default=GROUPS)
    given = options.parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    tune_worker()
    try:
        jobs = [job for group, make in MAKERS.items() if group in given.only for job in make(given.mb)]
        large = large_capture(given.large) if given.large and LARGE in given.only else []
        plain = {job.name: plain_loop(job, 1 if job in large else given.rounds) for job in [*jobs, *large]}
        one, two = ({**spark(jobs, n, given.rounds), **spark(large, n, 1)} for n in (1, 2))
        print("\n" + report([*jobs, *large], plain, one, two))
    finally:
        shutil.rmtree(FOLDER)


def captures(mb: int) -> list[Job]:
    capture = write_capture(FOLDER / "capture.pcap", mb)
    return [
        capture_job("frames", capture),
        capture_job("frames without raw", capture, only=[one for one in schemas.FRAMES.names if one != "raw"]),
        capture_job("exchanges", capture, EXCHANGES),
        capture_job("exchanges without bytes", capture, EXCHANGES, only=WITHOUT_BYTES),
        capture_job("columns of clients", capture, EXCHANGES, only=EXCHANGE_COLUMNS),
    ]


def logs(mb: int) -> list[Job]:
    segment = FOLDER / "orders-0" / f"{0:020}.log"
    pipeline_log.write(segment, mb << 20, 100)
    log = pipeline_text_logs.made(pipeline_text_logs.JSON, FOLDER, mb)
    return [
        source_job("kafka_log", segment, lambda: pipeline_log.plain(segment)),
        source_job("kafka_request_log", log, lambda: pipeline_text_logs.loop(log)),
    ]


def typed_tables(mb: int) -> list[Job]:
    """Return jobs that decode the messages in stored exchanges."""
    capture, stored = write_capture(FOLDER / "typed.pcap", mb), FOLDER / "exchanges"
    running = spark_session("local[2]")
    running.read.format("kafka_capture").options(**dict([EXCHANGES])).load(str(capture)).write.parquet(str(stored))
    running.stop()
    return [typed_job("Fetch", stored), typed_job("Metadata", stored)]


MAKERS: dict[str, Callable[[int], list[Job]]] = {"captures": captures, "logs": logs, "typed": typed_tables}
LARGE = "large"
GROUPS = [*MAKERS, LARGE]


def large_capture(mb: int) -> list[Job]:
    return [capture_job("frames, large", write_capture(FOLDER / "large.pcap", mb))]


def write_capture(path: Path, mb: int) -> Path:
    """Write a capture of ``mb`` MB that repeats the same conversations with different clients."""
    conversations = [one for _, some in traffic(TEMPLATE) for one in some]
    from_port = [replace(one, client=Peer(CLIENT.host, 40000 + n)) for n, one in enumerate(conversations)]
    sent = merged(packets(one, acks=False) for one in from_port)
    template = write_pcap(path, sent).read_bytes()
    address = bytes(int(part) for part in CLIENT.host.split("."))
    assert template.count(address) == len(sent)
    with path.open("wb") as file:
        file.write(template[:24])
        for number in range(max(1, mb * 1_000_000 // len(template))):
            file.write(template[24:].replace(address, b"\x0a" + (number + 256).to_bytes(3, "big")))
    return path


def capture_job(name: str, path: Path, *options: tuple[str, str], only: Sequence[str] = ()) -> Job:
    def frames(spark: SparkSession, tasks: int) -> DataFrame:
        source = spark.read.format("kafka_capture").options(partitions=tasks, **dict(options))
        if only:
            full = source.load(str(path)).schema
            source = source.schema(type(full)([full[name] for name in only]))
        return source.load(str(path))

    return Job(f"kafka_capture: {name}", path.stat().st_size, lambda: decoded(read_pieces([str(path)])), frames)


def source_job(name: str, path: Path, plain: Callable[[], int]) -> Job:
    return Job(name, path.stat().st_size, plain, lambda spark, tasks: spark.read.format(name).load(str(path)))


def typed_job(api: str, stored: Path) -> Job:
    """Return a job that decodes one API's messages in a table of exchanges. Only these messages count as input."""
    request = PROTOCOL[f"{api}Request"]
    found = pyarrow.dataset.dataset(stored).to_table(
        ["version", "request", "response"], pyarrow.dataset.field("api") == api
    )
    rows = [row for row in zip(*(column.to_pylist() for column in found.columns), strict=True) if None not in row]
    assert request.API_KEY is not None
    api_key = request.API_KEY

    def plain() -> int:
        for version, asked, answered in rows:
            PROTOCOL.decode_request(asked, LIKE_KAFKA)
            PROTOCOL.decode_response(answered, api_key, version, LIKE_KAFKA)
        return len(rows)

    def made(spark: SparkSession, tasks: int) -> DataFrame:
        return typed.messages(spark.read.parquet(str(stored)).select("api_key", "version", *typed.PARTS), api)

    return Job(f"typed.messages: {api}", sum(len(one) + len(other) for _, one, other in rows), plain, made)


def plain_loop(job: Job, rounds: int) -> tuple[Figures, int]:
    """Return the figures of the fastest of several rounds, and the number of frames, records or lines."""
    figures, count = [], 0
    for _ in range(rounds):
        seconds, cpu = time.perf_counter(), time.process_time()
        count = job.plain()
        figures.append(Figures(time.perf_counter() - seconds, time.process_time() - cpu))
    return min(figures, key=lambda one: one.seconds), count


def spark(jobs: Sequence[Job], cores: int, rounds: int) -> dict[str, Figures]:
    """Return the figures of the fastest of several rounds of each job, all in one new session with new workers."""
    if not jobs:
        return {}
    found = {}
    running = spark_session(f"local[{cores}]", spark_sql_files_maxPartitionBytes=str(16 << 20))
    for job in jobs:
        made = job.table(running, cores)
        if rounds > 1:
            throw_away(made)  # starts the workers and warms up the JVM
        found[job.name] = min((measured(made) for _ in range(rounds)), key=lambda one: one.seconds)
        print(".", end="", flush=True)
    running.stop()
    return found


def measured(made: DataFrame) -> Figures:
    with Watch(os.getpid(), "pyspark.daemon") as workers:
        seconds = time.perf_counter()
        throw_away(made)
        seconds = time.perf_counter() - seconds
    return Figures(seconds, workers.cpu, workers.memory)


def throw_away(made: DataFrame) -> None:
    made.write.format("noop").mode("overwrite").save()


def report(
    jobs: Sequence[Job], plain: dict[str, tuple[Figures, int]], one: dict[str, Figures], two: dict[str, Figures]
) -> str:
    lines = []
    for job in jobs:
        (loop, rows), alone, both = plain[job.name], one[job.name], two[job.name]
        size = job.size / 1e6
        rates = [f"{size:,.0f}", f"{size / loop.seconds:.1f}", f"{size / alone.seconds:.1f}"]
        rates += [f"{rows / alone.seconds:,.0f}"]
        rates += [f"{loop.seconds / alone.seconds:.0%}", f"{loop.cpu / alone.cpu:.0%}"]
        peak = max(alone.memory, both.memory) / 1e6
        lines.append([job.name, *rates, f"{alone.seconds / both.seconds:.2f}", f"{peak:.0f}"])
    header = ["", "MB", "plain MB/s", "MB/s", "rows/s", "of plain", "of plain, CPU", "2 cores", "peak MB"]
    sizes = {job.name: job.size for job in jobs}
    small, large = "kafka_capture: frames", "kafka_capture: frames, large"
    more = ""
    if small in sizes and large in sizes:
        times, bytes_ = one[large].seconds / one[small].seconds, sizes[large] / sizes[small]
        more = f"\n\n{bytes_:.1f} times the capture takes {times:.1f} times as long on one core"
    return table(header, lines) + more


if __name__ == "__main__":
    main()
