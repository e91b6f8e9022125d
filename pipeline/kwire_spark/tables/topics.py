"""Topic ids to names: what clusters told about their topics, and typed tables in which names are filled in.

Newer versions of Fetch, Produce, OffsetCommit and others name topics by id alone [KAFKA-WIRE 46]. The names are in
responses to Metadata and CreateTopics, and in the records of topics of ``__cluster_metadata``.

An id is a random number of 128 bits: no two topics share one, in whatever cluster. So names need no cluster to be
found; ``cluster_id`` says where a name comes from, as far as the response tells, which Metadata does from version 2.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from kwire_spark.tables.typed import messages, records

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""What stands where there is no id."""
NAMES = ("name", "topic", "topic_name")
"""What the name beside an id is called; where there is none, one is put there as ``topic``."""


def topic_names(*tables: DataFrame) -> DataFrame:
    """``topic_id``, ``topic`` and ``cluster_id``, a row for each id, from EXCHANGES and RECORDS, any number of each.

    Of a topic that was told more than once, the row that knows its cluster goes first.
    """
    from pyspark.sql import functions as F

    if not tables:
        raise ValueError("topics of what? give tables of exchanges or records")
    told = reduce(lambda left, right: left.union(right), [part for table in tables for part in _told(table)])
    real = told.where((F.col("topic_id") != NO_ID) & (F.col("topic") != ""))
    return real.groupBy("topic_id").agg(
        F.min_by("topic", F.isnull("cluster_id")).alias("topic"), F.max("cluster_id").alias("cluster_id")
    )


def with_topic_names(typed: DataFrame, names: DataFrame) -> DataFrame:
    """The typed table with the name of each ``topic_id`` in its columns, at any depth.

    The name fills the field for it in the same struct if that is empty, or a new field ``topic`` if there is none.
    Ids that ``names`` lacks stay without. ``names`` has to fit into the memory of a worker.
    """
    from pyspark.sql import functions as F

    found = names.where("topic_id IS NOT NULL").agg(
        F.map_from_entries(F.collect_list(F.struct("topic_id", "topic"))).alias("_names")
    )
    filled = {
        field.name: _filled(F.col(f"`{field.name}`"), field.dataType, F.col("_names"))
        for field in typed.schema
        if _has_ids(field.dataType)
    }
    return typed.crossJoin(F.broadcast(found)).withColumns(filled).drop("_names") if filled else typed


def _told(table: DataFrame) -> list[DataFrame]:
    from pyspark.sql import functions as F

    if "response" in table.columns:
        asked = table.where("outcome = 'answered' AND response IS NOT NULL").select(
            "api_key", "version", "request", "response"
        )
        metadata, created = (messages(asked, api, ("response",)) for api in ("Metadata", "CreateTopics"))
        return [
            metadata.select("response.cluster_id", F.explode("response.topics").alias("one")).select(
                "one.topic_id", F.col("one.name").alias("topic"), "cluster_id"
            ),
            created.select(F.explode("response.topics").alias("one")).select(
                "one.topic_id", F.col("one.name").alias("topic"), F.lit(None).cast("string").alias("cluster_id")
            ),
        ]
    if "key" in table.columns:
        logged = records(table.select("topic", "control", "key", "value"), "TopicRecord")
        return [
            logged.select(
                "value.topic_id", F.col("value.name").alias("topic"), F.lit(None).cast("string").alias("cluster_id")
            )
        ]
    raise ValueError(f"neither exchanges with responses nor records: the columns are {', '.join(table.columns)}")


def _has_ids(kind: DataType) -> bool:
    from pyspark.sql.types import ArrayType, StructType

    if isinstance(kind, ArrayType):
        return _has_ids(kind.elementType)
    if not isinstance(kind, StructType):
        return False
    return "topic_id" in kind.names or any(_has_ids(field.dataType) for field in kind)


def _filled(column: Column, kind: DataType, names: Column) -> Column:
    """The column with names where they were missing; what has no ids is left as it is, not built anew."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, StructType

    if isinstance(kind, ArrayType):
        element = kind.elementType
        return F.transform(column, lambda one: _filled(one, element, names))
    assert isinstance(kind, StructType)
    for field in kind:
        if _has_ids(field.dataType):
            column = column.withField(f"`{field.name}`", _filled(column[field.name], field.dataType, names))
    if "topic_id" in kind.names:
        found = names[column["topic_id"]]
        beside = [name for name in NAMES if name in kind.names]
        for name in beside:
            given = F.when(column[name] != "", column[name])
            column = column.withField(name, F.coalesce(given, found, column[name]))
        if not beside:
            column = column.withField("topic", found)
    return column
