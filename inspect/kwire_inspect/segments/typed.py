"""Converts records of one kind to a table whose keys and values are structs, for ``kafka_log`` with ``record=NAME``.

Unlike the typed tables of ``kwire_spark``, this table has a column ``problem``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from kwire_inspect.schemas import RECORDS
from kwire_inspect.tables.record_structs import RecordStructs
from kwire_inspect.tables.structs import schema_with

_NEEDED = ("topic", "control", "key", "value", "problem")
"""Columns from which records are selected and decoded."""


def typed_schema(decode: RecordStructs) -> pa.Schema:
    """Return the schema of the typed table of records."""
    return pa.schema([*schema_with(RECORDS, ("key", "value"), decode.fields()), RECORDS.field("problem")])


def raw_schema(asked: pa.Schema) -> pa.Schema:
    """Return the columns of RECORDS from which the columns of ``asked`` are computed."""
    return pa.schema([field for field in RECORDS if field.name in _NEEDED or field.name in asked.names])


def typed_batches(
    batches: Iterable[pa.RecordBatch], decode: RecordStructs, asked: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the records that ``decode`` accepts, and rows for broken input, with the columns of ``asked``.

    ``batches`` have the columns of ``raw_schema``.
    """
    for batch in batches:
        broken = batch.filter(pc.is_valid(batch.column("problem")))
        if broken.num_rows:
            yield _with_nulls(broken, asked)
        chosen = batch.filter(decode.of(batch)).drop_columns("problem")
        for made in decode([chosen]):
            yield _with_nulls(made, asked)


def _with_nulls(batch: pa.RecordBatch, asked: pa.Schema) -> pa.RecordBatch:
    """Return ``batch`` with the columns of ``asked``. Columns that ``batch`` lacks, or that have another type, are
    null.
    """
    fields = [
        (
            batch.column(field.name)
            if field.name in batch.schema.names and batch.schema.field(field.name).type == field.type
            else pa.nulls(batch.num_rows, field.type)
        )
        for field in asked
    ]
    return pa.RecordBatch.from_arrays(fields, schema=asked)
