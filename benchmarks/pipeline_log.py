"""Compares ``kafka_log`` with a plain loop over the same segment: ``python -m benchmarks.pipeline_log [--mb 200]``.

The plain loop is ``for batch in segment.batches(): batch.records()``. "columns" makes Arrow batches of all columns
without Spark. "spark" reads all columns of the source in Spark, on one and on two cores. The times of the first two
are processor times, and those of Spark are elapsed times.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.timing import table
from kwire.logs import LogSegment
from kwire.records import Record, encode_batch
from kwire_inspect.schemas import RECORDS
from kwire_inspect.segments import record_batches, segment_files, splits

START = 1_700_000_000_000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mb", type=int, default=200)
    options.add_argument("--value", type=int, default=100, help="bytes per value")
    options.add_argument("--records", type=int, default=100, help="records per batch")
    options.add_argument("--codec", type=int, default=0, help="codec: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd")
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "orders-0" / f"{0:020}.log"
        rows = write(path, given.mb << 20, given.value, given.records, given.codec)
        size = path.stat().st_size / 1e6
        times = {"plain loop": best(lambda: plain(path), given.rounds, time.process_time)}
        times["columns"] = best(lambda: columns(path), given.rounds, time.process_time)
        times |= {f"spark, {cores} cores": spark_time(path, cores, given.rounds) for cores in (1, 2)}
    plain_time = times["plain loop"]
    lines = [
        [name, f"{size / each:.0f}", f"{rows / each / 1000:.0f}", f"{plain_time / each:.0%}"]
        for name, each in times.items()
    ]
    print(table(("", "MB/s", "1000 rows/s", "of the plain loop"), lines))


def write(path: Path, size: int, value: int, count: int = 100, codec: int = 0) -> int:
    """Write a segment with batches of ``count`` records, and return the total number of records."""
    path.parent.mkdir()
    noise, offset = random.Random(1), 0
    with path.open("wb") as file:
        while file.tell() < size:
            numbers = range(offset, offset + count)
            rows = [Record(b"key-%d" % each, noise.randbytes(value), (), START + each, each) for each in numbers]
            file.write(encode_batch(rows, codec=codec))
            offset += count
    return offset


def plain(path: Path) -> int:
    return sum(len(batch.records()) for batch in LogSegment(path).batches())


def columns(path: Path) -> int:
    groups = splits(segment_files([str(path)]))
    return sum(batch.num_rows for group in groups for batch in record_batches(group, RECORDS))


def spark_time(path: Path, cores: int, rounds: int) -> float:
    """Return the shortest elapsed time in which a new session makes and discards all columns, in seconds."""
    from kwire_spark.session import spark_session
    from kwire_spark.sources.log import KafkaLog

    spark = spark_session(f"local[{cores}]")
    try:
        spark.dataSource.register(KafkaLog)
        log = spark.read.format("kafka_log").load(str(path))
        return best(lambda: log.write.format("noop").mode("overwrite").save(), rounds, time.perf_counter)
    finally:
        spark.stop()


def best(call: Callable[[], object], rounds: int, clock: Callable[[], float]) -> float:
    times = []
    for _ in range(rounds):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


if __name__ == "__main__":
    main()
