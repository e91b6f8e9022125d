"""Names of topics by their ids, and typed tables in which names are filled in.

Newer versions of Fetch, Produce, OffsetCommit and others refer to topics by id alone [KAFKA-WIRE 46]. The names
are in responses to Metadata and CreateTopics, and in the topic records of ``__cluster_metadata``.

Topic ids are random numbers of 128 bits, unique across clusters. ``cluster_id`` is the cluster of a name if the
response has it, as Metadata responses do from version 2 on.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StructType

from kwire_inspect.tables.names import NAMES, names_of
from kwire_kafka import PROTOCOL
from kwire_spark.typed import messages, typed_records

if TYPE_CHECKING:
    from kwire.protocol import MessageRegistry


def topic_names(*tables: DataFrame, protocol: MessageRegistry = PROTOCOL) -> DataFrame:
    """``topic_id``, ``topic`` and ``cluster_id``, a row for each id, from EXCHANGES and RECORDS, any number of each.

    Rows with a cluster take precedence.
    """
    if not tables:
        raise ValueError("expected at least one table of exchanges or records")
    told = [part for table in tables for part in _names_in(table, protocol)]
    return names_of(reduce(lambda left, right: left.union(right), told))


def with_topic_names(typed: DataFrame, names: DataFrame) -> DataFrame:
    """A typed table with names next to each ``topic_id`` in its columns, at any depth.

    Names go into the field for the name if that is empty, or into a new one, ``topic``, if there is no such field;
    they stay empty for ids that ``names`` lacks. ``names`` has to fit into the memory of a worker.
    """
    by_id = names.where("topic_id IS NOT NULL").agg(
        F.map_from_entries(F.collect_list(F.struct("topic_id", "topic"))).alias("_names")
    )
    filled = {
        field.name: _filled(F.col(f"`{field.name}`"), field.dataType, F.col("_names"))
        for field in typed.schema
        if _has_ids(field.dataType)
    }
    return typed.crossJoin(F.broadcast(by_id)).withColumns(filled).drop("_names") if filled else typed


def _names_in(table: DataFrame, protocol: MessageRegistry) -> list[DataFrame]:
    no_cluster = F.lit(None).cast("string").alias("cluster_id")
    if "response" in table.columns:
        answered = table.where("outcome = 'answered' AND response IS NOT NULL")
        answered = answered.select("api_key", "version", "request", "response")
        return [
            messages(answered, api, ("response",), protocol)
            .select(F.explode("response.topics").alias("topic"), cluster)
            .select("topic.topic_id", F.col("topic.name").alias("topic"), "cluster_id")
            for api, cluster in (("Metadata", F.col("response.cluster_id")), ("CreateTopics", no_cluster))
        ]
    if "key" in table.columns:
        created = typed_records(table.select("topic", "control", "key", "value"), "TopicRecord", protocol)
        return [created.select("value.topic_id", F.col("value.name").alias("topic"), no_cluster)]
    raise ValueError(f"expected exchanges with responses, or records, got columns {', '.join(table.columns)}")


def _has_ids(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return _has_ids(kind.elementType)
    return isinstance(kind, StructType) and (
        "topic_id" in kind.names or any(_has_ids(field.dataType) for field in kind)
    )


def _filled(column: Column, kind: DataType, names: Column) -> Column:
    """The column with missing names filled in; only structs that have ids are rebuilt."""
    if isinstance(kind, ArrayType):
        element_kind = kind.elementType
        return F.transform(column, lambda element: _filled(element, element_kind, names))
    assert isinstance(kind, StructType)
    for field in kind:
        if _has_ids(field.dataType):
            column = column.withField(f"`{field.name}`", _filled(column[field.name], field.dataType, names))
    if "topic_id" in kind.names:
        name = names[column["topic_id"]]
        targets = [target for target in NAMES if target in kind.names]
        for target in targets:
            present = F.when(column[target] != "", column[target])
            column = column.withField(target, F.coalesce(present, name, column[target]))
        if not targets:
            column = column.withField("topic", name)
    return column
