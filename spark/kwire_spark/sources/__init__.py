"""Spark data sources for the files of a Kafka cluster. ``register`` makes them available in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Register the data sources of this package with ``spark``."""
    from kwire_spark.sources.capture import KafkaCapture
    from kwire_spark.sources.log import KafkaLog
    from kwire_spark.sources.metrics import KafkaMetrics
    from kwire_spark.sources.packets import KafkaPackets
    from kwire_spark.sources.request_log import KafkaRequestLog
    from kwire_spark.sources.server_log import KafkaServerLog

    for source in (KafkaCapture, KafkaLog, KafkaMetrics, KafkaPackets, KafkaRequestLog, KafkaServerLog):
        spark.dataSource.register(source)
