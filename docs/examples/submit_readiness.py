"""Who breaks on a release, as a program for ``spark-submit``: prints what is refused, writes the page and tables.

::

    spark-submit --master spark://HOST:7077 submit_readiness.py TARGET OUT INPUT...

Every worker sees the INPUTs, and the driver and every worker sees OUT, under the same paths; every worker has an
environment with ``kwire[spark]``, named by PYSPARK_PYTHON. Exit code 1 says that some client is refused.
"""

from __future__ import annotations

import sys

from rich.console import Console

from kwire_spark import print_report, read_exchanges, read_refusals, readiness, spark_session, write, write_report
from kwire_spark.columns import CLIENTS
from kwire_spark.inputs import find
from kwire_spark.tables.clients import EXCHANGE_COLUMNS, REFUSAL_COLUMNS, tally

TASKS_PER_CORE = 3


def main(target: str, out: str, *paths: str) -> int:
    spark, inputs = spark_session(), find(paths)
    tasks = TASKS_PER_CORE * spark.sparkContext.defaultParallelism  # by itself a source counts the driver's cores
    seen = read_exchanges(inputs, columns=EXCHANGE_COLUMNS, partitions=tasks)
    refused = read_refusals(inputs, columns=REFUSAL_COLUMNS)
    counted = tally(seen, refused).persist()  # one pass over the inputs
    clients = counted.where("_corrupt IS NULL AND api_key IS NOT NULL").select(*CLIENTS.names)
    write(clients.coalesce(1), out, "clients")
    write(counted.where("_corrupt IS NOT NULL").select("source", "position", "_corrupt"), out, "problems")
    report = readiness(clients, target)
    print_report(report, Console(width=140))
    write_report(report, out)
    return report.exit_code


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    spark_session().stop()
    sys.exit(code)
