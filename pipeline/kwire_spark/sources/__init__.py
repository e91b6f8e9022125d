"""Spark data sources for the files of a Kafka cluster; ``register`` registers their names with a session."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCES = {
    "capture": "KafkaCapture",
    "log": "KafkaLog",
    "packets": "KafkaPackets",
    "request_log": "KafkaRequestLog",
    "server_log": "KafkaServerLog",
}
"""Module → the class in it; each is read with ``spark.read.format("kafka_" + module)``."""


def register(spark: SparkSession) -> None:
    """Register the sources of this package with ``spark``."""
    for module, name in SOURCES.items():
        if find_spec(f"{__name__}.{module}"):
            spark.dataSource.register(getattr(import_module(f"{__name__}.{module}"), name))
