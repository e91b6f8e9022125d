"""A real broker with real groups: what the tables of its internal topics say is what Kafka's own tools print."""

from __future__ import annotations

from functools import cache

import pytest
from pyspark.sql import SparkSession

from kwire_inspect.tables import groups
from kwire_spark.sources.log import KafkaLog
from tests.e2e_traffic.internal_topics import record
from tests.support.tool_checks import CHECKS, Rows


def test_tables_equal_what_kafka_prints(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("groups")
    record(folder)
    spark.dataSource.register(KafkaLog)

    @cache
    def table(name: str) -> Rows:
        records = spark.read.format("kafka_log").load(str(folder))
        return [row.asDict(recursive=True) for row in getattr(groups, name)(records).collect()]

    for check in CHECKS:
        check(folder, table)
