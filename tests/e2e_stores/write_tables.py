"""A job for the cluster: exchanges of a capture, and records of segments, as tables of this machine."""

from __future__ import annotations

import sys

from kwire_spark import read_exchanges, read_records, spark_session, write


def main(tasks: str, out: str, capture: str, segments: str) -> None:
    spark = spark_session()
    write(read_exchanges(capture, partitions=int(tasks), spark=spark), out, "exchanges")
    write(read_records(segments, spark=spark), out, "records")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
