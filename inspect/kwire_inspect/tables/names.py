"""Topic names by topic id, and typed tables with these names filled in.

Newer versions of Fetch, Produce, OffsetCommit and other APIs identify topics only by id [KAFKA-WIRE 46].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import compute

from kwire_inspect.schemas import EXCHANGES, RECORDS
from kwire_inspect.tables.record_structs import RecordStructs, record_kinds
from kwire_inspect.tables.relations import R, Relation, map_batches, query, to_arrow
from kwire_inspect.tables.structs import ExchangeStructs
from kwire_kafka import PROTOCOL

if TYPE_CHECKING:
    from kwire.protocol import MessageRegistry

NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""Topic id that consists of zeros and stands for a missing id."""
NAMES = ("name", "topic", "topic_name")
"""Possible names of the topic name field next to ``topic_id``. If none of them exists, ``topic`` is added."""
TOPICS = pa.schema([(name, pa.string()) for name in ("topic_id", "topic", "cluster_id")])
"""Columns of a table of topic names. ``cluster_id`` is set if the response contains it, as Metadata responses since
version 2 do.
"""
Names = tuple[pa.Array, pa.Array]
"""Topic ids, and the topic names at the same positions."""
Structs = ExchangeStructs | RecordStructs
"""Function that converts the rows of one API, or of one kind of record."""


def topic_names_in(messages: pa.StructArray, topics: str | None) -> pa.RecordBatch:
    """Return the topic names in a column of messages. ``topics`` is the list field that contains the topics, or
    ``None`` if each message describes one topic."""
    found, clusters = messages, pa.nulls(len(messages), pa.string())
    if topics is not None:
        lists = compute.struct_field(messages, topics)
        found, parents = compute.list_flatten(lists), compute.list_parent_indices(lists)
        if messages.type.get_field_index("cluster_id") >= 0:
            clusters = compute.struct_field(messages, "cluster_id")
        clusters = clusters.take(parents)
    fields = [compute.struct_field(found, field) for field in ("topic_id", "name")]
    return pa.RecordBatch.from_arrays([*fields, clusters], schema=TOPICS)


def topic_names(*tables: R, protocol: MessageRegistry = PROTOCOL) -> R:
    """Return a table with the columns :data:`TOPICS`, one row per topic id in tables of EXCHANGES and RECORDS.

    Names come from Metadata and CreateTopics responses, and from topic records of ``__cluster_metadata``. Topic ids
    are random 128-bit numbers, unique across clusters. Names from a known cluster take precedence.
    """
    if not tables:
        raise ValueError("expected at least one table of exchanges or records")
    told = {f"told{number}": _told(table, protocol) for number, table in enumerate(tables)}
    every = " UNION ALL ".join(f"SELECT * FROM {{{name}}}" for name in told)
    return query(
        f"""
        SELECT topic_id, min_by(topic, struct(CASE WHEN cluster_id IS NULL THEN 1 ELSE 0 END, topic)) AS topic,
            max(cluster_id) AS cluster_id
        FROM ({every}) AS told WHERE topic_id <> '{NO_ID}' AND topic <> '' GROUP BY topic_id""",
        **told,
    )


def names_by_id(names: Relation) -> Names:
    """Return the ids in a table with the columns ``topic_id`` and ``topic``, and the names at the same positions."""
    known = query("SELECT DISTINCT topic_id, topic FROM {names} WHERE topic_id IS NOT NULL", names=names)
    found = to_arrow(known, pa.schema([TOPICS.field(name) for name in ("topic_id", "topic")]))
    ids, topics = (column.combine_chunks() for column in found.columns)
    return ids, topics


@dataclass(frozen=True)
class Typed:
    """Converts the rows of one API or kind of record to a typed table with topic ``names`` filled in, and omits other
    rows. Instances can be pickled.
    """

    structs: Structs
    names: Names | None = None

    def fields(self) -> list[pa.Field]:
        """Return the columns that replace the binary columns."""
        fields = self.structs.fields()
        if self.names is None:
            return fields
        return list(with_names(pa.RecordBatch.from_pylist([], pa.schema(fields)), *self.names).schema)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            mine = self.structs.of(batch)
            if compute.any(mine).as_py():
                for typed in self.structs([batch.filter(mine)]):
                    yield with_names(typed, *self.names) if self.names else typed


def _told(table: R, protocol: MessageRegistry) -> R:
    """Return a table with the columns ``TOPICS``, which lists the topic names in ``table``."""
    if "response" in table.columns:
        requests = [protocol[name] for name in ("MetadataRequest", "CreateTopicsRequest") if name in protocol]
        structs: list[Structs] = [ExchangeStructs(cls.API_KEY or 0, ("response",), protocol) for cls in requests]
        takes = pa.schema([EXCHANGES.field(name) for name in ("api_key", "version", "response")])
    elif "key" in table.columns:
        kinds = record_kinds(protocol)
        structs = [RecordStructs(kinds[name], protocol) for name in ("TopicRecord",) if name in kinds]
        takes = pa.schema([RECORDS.field(name) for name in ("topic", "control", "key", "value")])
    else:
        raise ValueError(f"expected exchanges with responses, or records, got columns {', '.join(table.columns)}")
    where = " OR ".join(f"({one.where})" for one in structs) or "false"
    return map_batches(table, takes, partial(_names_in, structs=structs), TOPICS, where=where)


def _names_in(batches: Iterable[pa.RecordBatch], structs: Sequence[Structs]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for one in structs:
            for typed in Typed(one)([batch]):
                column, topics = ("response", "topics") if isinstance(one, ExchangeStructs) else ("value", None)
                yield topic_names_in(typed.column(column), topics)


def with_names(batch: pa.RecordBatch, ids: pa.Array, names: pa.Array) -> pa.RecordBatch:
    """Return a typed batch with topic names next to each ``topic_id`` in its columns, at any depth.

    Names are written to the name field if it is empty, or to a new field ``topic`` if there is no name field. Names
    of unknown ids stay empty.
    """
    columns = [_filled(column, ids, names) for column in batch.columns]
    fields = [field.with_type(column.type) for field, column in zip(batch.schema, columns, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def named(batch: pa.RecordBatch, ids: pa.Array, names: pa.Array) -> pa.RecordBatch:
    """Return a batch with topic names next to each ``topic_id``, including a top-level column ``topic_id``."""
    rows = pa.RecordBatch.from_arrays([batch.to_struct_array()], ["row"])
    return pa.RecordBatch.from_struct_array(with_names(rows, ids, names).column("row"))


def _has_ids(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return _has_ids(kind.value_type)
    return pa.types.is_struct(kind) and any(field.name == "topic_id" or _has_ids(field.type) for field in kind)


def _filled(column: pa.Array, ids: pa.Array, names: pa.Array) -> pa.Array:
    """Return the column with missing names filled in. Only structs with topic ids are rebuilt."""
    if not _has_ids(column.type):
        return column
    if pa.types.is_list(column.type):
        values = _filled(column.values, ids, names)
        kind = pa.list_(column.type.value_field.with_type(values.type))
        return pa.ListArray.from_arrays(column.offsets, values, type=kind, mask=column.is_null())
    fields = list(column.type)
    # flatten() would put nulls into the fields of null structs, but Parquet refuses nulls in required fields.
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
    """Return the names in ``present``, with empty and missing names replaced by ``name``."""
    # In pyarrow before 24, a scalar null would break the offsets of a sliced text array.
    none = pa.nulls(len(present), present.type)
    return compute.coalesce(compute.if_else(compute.equal(present, ""), none, present), name, present)
