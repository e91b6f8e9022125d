"""Records of internal topics that nobody can read, and why: what the tables of these topics pass over.

Takes Arrow batches of RECORDS, gives Arrow batches of :data:`UNDECODABLE`, a row for each such record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from kwire_spark.columns import RECORDS, schema
from kwire_spark.state.replay import COLUMNS, logged, rows_of

UNDECODABLE = schema(
    ("topic", pa.string(), "The internal topic."),
    ("partition", pa.int32(), "Its partition."),
    ("offset", pa.int64(), "Of the record."),
    ("source", pa.string(), "Path of the file in which it stands."),
    ("position", pa.int64(), "Byte offset of its batch in that file."),
    ("kind", pa.string(), "The kind of record, if that can be told, as OffsetCommit."),
    ("reason", pa.string(), "Why it cannot be read."),
)
NEEDED = tuple(dict.fromkeys((*COLUMNS, *(name for name in UNDECODABLE.names if name in RECORDS.names))))
"""Columns of RECORDS from which this is found."""


def undecodable_records(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Those that cannot be read."""
    for batch in batches:
        found = []
        for row in rows_of(batch, NEEDED):
            record = logged(row).record
            if record.reason is not None:
                found.append(row | {"kind": record.name, "reason": record.reason})
        if found:
            yield pa.RecordBatch.from_pylist(
                [{name: row[name] for name in UNDECODABLE.names} for row in found], UNDECODABLE
            )
