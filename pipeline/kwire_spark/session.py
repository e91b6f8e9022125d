"""A Spark session that is quiet, bounded and local unless told otherwise."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOPBACK = "127.0.0.1"

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.shuffle.partitions": "8",
}
LOCAL = {
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.host": LOOPBACK,
    "spark.driver.memory": "2g",
}


def session(master: str | None = None, **settings: str) -> SparkSession:
    """A session with kwire's sources registered: that of ``spark-submit`` if it started us, else on this machine.

    ``settings`` are Spark's, with ``_`` for ``.``; the workers run the Python that runs this.
    """
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("kwire")
    master = master or os.environ.get("MASTER") or f"local[{os.cpu_count() or 1}]"
    chosen = {**SETTINGS, **(LOCAL if master.startswith("local") else {})}
    chosen |= {name.replace("_", "."): value for name, value in settings.items()}
    for name, value in chosen.items():
        builder = builder.config(name, value)
    spark = builder.master(master).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark
