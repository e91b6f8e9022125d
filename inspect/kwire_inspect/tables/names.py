"""Names of topics by their ids, and next to these in Arrow columns: what ``tables.topics`` needs no Spark for."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import compute

from kwire_inspect.tables.relations import R, query

NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The id of all zeros, which means that there is no id."""
NAMES = ("name", "topic", "topic_name")
"""Possible names of the field for the topic's name next to ``topic_id``; if there is none, ``topic`` is added."""
TOPICS = pa.schema([(name, pa.string()) for name in ("topic_id", "topic", "cluster_id")])
"""The columns of the table of names."""


def topic_names_in(messages: pa.StructArray, topics: str | None, name: str) -> pa.RecordBatch:
    """The names in a column of messages: in the structs of its list ``topics``, or in the messages themselves."""
    found, clusters = messages, pa.nulls(len(messages), pa.string())
    if topics is not None:
        lists = compute.struct_field(messages, topics)
        found, parents = compute.list_flatten(lists), compute.list_parent_indices(lists)
        if messages.type.get_field_index("cluster_id") >= 0:
            clusters = compute.struct_field(messages, "cluster_id")
        clusters = clusters.take(parents)
    fields = [compute.struct_field(found, field) for field in ("topic_id", name)]
    return pa.RecordBatch.from_arrays([*fields, clusters], schema=TOPICS)


def names_of(told: R) -> R:
    """``TOPICS``, a row for each id, from all that was told: rows with a cluster take precedence."""
    return query(
        f"""
        SELECT topic_id, min_by(topic, struct(CASE WHEN cluster_id IS NULL THEN 1 ELSE 0 END, topic)) AS topic,
            max(cluster_id) AS cluster_id
        FROM {{told}} WHERE topic_id <> '{NO_ID}' AND topic <> '' GROUP BY topic_id""",
        told=told,
    )


def with_names(batch: pa.RecordBatch, ids: pa.Array, names: pa.Array) -> pa.RecordBatch:
    """A typed table with names next to each ``topic_id`` in its columns, at any depth: see
    :func:`kwire_spark.topics.with_topic_names`. ``ids`` have the ``names`` at the same places."""
    columns = [_filled(column, ids, names) for column in batch.columns]
    fields = [field.with_type(column.type) for field, column in zip(batch.schema, columns, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def named(batch: pa.RecordBatch, ids: pa.Array, names: pa.Array) -> pa.RecordBatch:
    """A batch with names next to each ``topic_id``, its own column of that name too."""
    rows = pa.RecordBatch.from_arrays([batch.to_struct_array()], ["row"])
    return pa.RecordBatch.from_struct_array(with_names(rows, ids, names).column("row"))


def _has_ids(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return _has_ids(kind.value_type)
    return pa.types.is_struct(kind) and any(field.name == "topic_id" or _has_ids(field.type) for field in kind)


def _filled(column: pa.Array, ids: pa.Array, names: pa.Array) -> pa.Array:
    """The column with missing names filled in; only structs that have ids are rebuilt."""
    if not _has_ids(column.type):
        return column
    if pa.types.is_list(column.type):
        values = _filled(column.values, ids, names)
        kind = pa.list_(column.type.value_field.with_type(values.type))
        return pa.ListArray.from_arrays(column.offsets, values, type=kind, mask=column.is_null())
    fields = list(column.type)
    # flatten() would put nulls into the fields of null structs, and Parquet refuses those in fields that have none.
    columns = [_filled(column.field(place), ids, names) for place in range(len(fields))]
    fields = [field.with_type(child.type) for field, child in zip(fields, columns, strict=True)]
    places = [field.name for field in fields]
    if "topic_id" in places:
        name = names.take(compute.index_in(columns[places.index("topic_id")], ids))
        targets = [places.index(target) for target in NAMES if target in places]
        for place in targets:
            columns[place] = _first(columns[place], name)
        if not targets:
            columns.append(name)
            fields.append(pa.field("topic", pa.string()))
    return pa.StructArray.from_arrays(columns, fields=fields, mask=column.is_null())


def _first(present: pa.Array, name: pa.Array) -> pa.Array:
    """What is there, unless that is empty."""
    return compute.coalesce(compute.if_else(compute.equal(present, ""), None, present), name, present)
