"""A job for the cluster: exchanges and clients of a capture, and records of segments if they are given, as tables.

Arguments: number of tasks, folder, capture, segments.
"""

from __future__ import annotations

import sys

from kwire_inspect import clients
from kwire_spark import read_exchanges, read_records, spark_session, write


def main(tasks: str, out: str, capture: str, segments: str = "") -> None:
    spark = spark_session()
    exchanges = read_exchanges(capture, partitions=int(tasks), spark=spark)
    write(exchanges, out, "exchanges", by_date=True)
    write(clients(exchanges).table, out, "clients")
    if segments:
        write(read_records(segments, spark=spark), out, "records")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
