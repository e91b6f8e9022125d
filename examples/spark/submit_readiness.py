"""A program for ``spark-submit`` that prints refused clients, and writes the readiness report and its tables.

::

    spark-submit --master spark://HOST:7077 submit_readiness.py TARGET OUT INPUT...

Every INPUT must have the same path on all workers. OUT must have the same path on the driver and on all workers. On
every worker, PYSPARK_PYTHON must name a Python with ``kwire[spark]``. The exit code is 1 if a client is refused, and
4 if no client is refused but too little of the input was read.
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
    tasks = TASKS_PER_CORE * spark.sparkContext.defaultParallelism  # the default is the number of the driver's cores
    exchanges = read_exchanges(inputs, columns=EXCHANGE_COLUMNS, partitions=tasks, bodies="codes")
    refusals = read_refusals(inputs, columns=REFUSAL_COLUMNS)
    found = clients(exchanges, refusals, origin=Origin(str(inputs), inputs.skipped))
    with found.kept() as seen:  # so that the inputs are read only once
        write_clients(seen, out)
        report = readiness(seen, target)
    print_report(report, Console(width=140))
    write_report(report, out)
    return report.exit_code


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    spark_session().stop()
    sys.exit(code)
