"""The clients that the readiness report names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kwire_spark.reports.readiness import readiness
from kwire_spark.tables.clients import clients
from kwire_spark.tables.read import read_exchanges, read_refusals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def named(paths: Sequence[str], target: str, spark: SparkSession) -> set[str]:
    """Who is refused by ``target``, by client id, according to captures and logs."""
    return {str(client) for client in readiness(spoken(paths, spark), target).tables[0].column("client_id")}


def spoken(paths: Sequence[str], spark: SparkSession) -> DataFrame:
    """CLIENTS of captures and logs."""
    return clients(read_exchanges(*paths, spark=spark), read_refusals(*paths, spark=spark))
