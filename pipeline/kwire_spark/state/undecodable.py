"""Records of internal topics that cannot be decoded, which the tables of these topics skip: where, and why.

Takes Arrow batches of RECORDS and returns Arrow batches of :data:`UNDECODABLE`, with a row for each such record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from kwire_spark.columns import RECORDS, schema
from kwire_spark.state.replay import COLUMNS, logged, rows_of

UNDECODABLE = schema(
    ("topic", pa.string(), "The internal topic."),
    ("partition", pa.int32(), "Its partition."),
    ("offset", pa.int64(), "Offset of the record."),
    ("source", pa.string(), "Path of its file."),
    ("position", pa.int64(), "Byte offset of its batch in that file."),
    ("kind", pa.string(), "Kind of record, such as OffsetCommit, if known."),
    ("reason", pa.string(), "Why it cannot be decoded."),
)
NEEDED = tuple(dict.fromkeys((*COLUMNS, *(name for name in UNDECODABLE.names if name in RECORDS.names))))
"""Columns of RECORDS that are needed."""


def undecodable_records(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A batch of :data:`UNDECODABLE` for each batch with such records."""
    for batch in batches:
        undecodable = [
            row | {"kind": record.name, "reason": record.reason}
            for row in rows_of(batch, NEEDED)
            if (record := logged(row).record).reason is not None
        ]
        if undecodable:
            yield pa.RecordBatch.from_pylist(undecodable, UNDECODABLE)
