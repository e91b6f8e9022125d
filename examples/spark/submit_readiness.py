"""Readiness as a program for ``spark-submit``, which prints refused clients and writes the report and its tables.

::

    spark-submit --master spark://HOST:7077 submit_readiness.py TARGET OUT INPUT...

All workers must have the INPUTs, and the driver and workers OUT, at the same paths. Every worker needs an environment
with ``kwire[spark]``, named by PYSPARK_PYTHON. The exit code is 1 if a client is refused. It is 4 if no client is
refused but too little was read.
"""

from __future__ import annotations

import sys

from rich.console import Console

from kwire_inspect import clients, print_report, readiness, write_report
from kwire_inspect.inputs import find
from kwire_inspect.stored import Origin
from kwire_inspect.tables.clients import EXCHANGE_COLUMNS, REFUSAL_COLUMNS
from kwire_spark import read_exchanges, read_refusals, spark_session, write_clients

TASKS_PER_CORE = 3


def main(target: str, out: str, *paths: str) -> int:
    spark, inputs = spark_session(), find(paths)
    tasks = (
        TASKS_PER_CORE * spark.sparkContext.defaultParallelism
    )  # by default, sources use the number of the driver's cores
    exchanges = read_exchanges(inputs, columns=EXCHANGE_COLUMNS, partitions=tasks, bodies="codes")
    refusals = read_refusals(inputs, columns=REFUSAL_COLUMNS)
    found = clients(exchanges, refusals, origin=Origin(str(inputs), inputs.skipped))
    with found.kept() as seen:  # reads the inputs only once
        write_clients(seen, out)
        report = readiness(seen, target)
    print_report(report, Console(width=140))
    write_report(report, out)
    return report.exit_code


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    spark_session().stop()
    sys.exit(code)
