"""A job for the cluster: the exchanges of a capture as a table. Arguments: number of tasks, folder, captures."""

from __future__ import annotations

import sys

from kwire_spark import read_exchanges, spark_session, write


def main(tasks: str, out: str, *captures: str) -> None:
    spark = spark_session()
    write(read_exchanges(*captures, partitions=int(tasks), spark=spark), out, "exchanges", by_date=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
