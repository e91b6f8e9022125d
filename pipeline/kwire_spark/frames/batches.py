"""Pieces of all connections to Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from kwire_spark.capture import Broken, Connection, Piece
from kwire_spark.frames.connection import ConnectionRows
from kwire_spark.frames.facts import Row, corrupt, peers
from kwire_spark.frames.wanted import TABLES, Condition, Table, Wanted
from kwire_spark.options import BrokenInput

BATCH_ROWS = 4096
BATCH_BYTES = 4 << 20


def frame_batches(
    pieces: Iterable[Piece | Broken],
    schema: pa.Schema | None = None,
    *,
    table: Table = "frames",
    conditions: Sequence[Condition] = (),
    failfast: bool = False,
) -> Iterator[pa.RecordBatch]:
    """The rows of all connections, with the columns of ``schema``: by default all of the ``table``.

    Rows have to pass ``conditions``. What is broken about a file is a ``_corrupt`` row, or with ``failfast`` a
    :class:`BrokenInput`. A batch has 4,096 rows or a few more, or about 4 MB of bytes.
    """
    wanted = Wanted(table, schema, conditions)
    connections = Connections(wanted)
    rows: list[Row] = []
    size = 0
    for piece in pieces:
        if isinstance(piece, Broken):
            if failfast:
                raise BrokenInput(piece.source, piece.position, piece.reason)
            rows += wanted.rows([corrupt(TABLES[table], piece.source, piece.position, piece.reason)])
            continue
        rows += connections.feed(piece)
        if wanted.shown:
            size += len(piece.data)
        if len(rows) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield arrow_batch(rows, wanted.schema)
            rows, size = [], 0
    if rows:
        yield arrow_batch(rows, wanted.schema)


class Connections:
    """All connections that are open. Those that cannot have any row that is wanted cost next to nothing."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._open: dict[int, tuple[Connection, ConnectionRows | None]] = {}  # by identity: hashing takes long

    def feed(self, piece: Piece) -> list[Row]:
        """The rows that a piece completes."""
        connection = piece.connection
        known = self._open.get(id(connection))
        if known is None:
            wanted = self._wanted.takes(peers(connection))
            known = connection, ConnectionRows(connection, self._wanted) if wanted else None
            self._open[id(connection)] = known
        if piece.kind == "closed":
            del self._open[id(connection)]
        rows = known[1]
        return [] if rows is None else rows.feed(piece)


def arrow_batch(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    """Rows as an Arrow batch, column by column. A number that its column cannot hold becomes null."""
    if not schema.names:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * len(rows), pa.struct([])))
    columns = zip(*rows, strict=True)
    arrays = [_array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except (OverflowError, pa.ArrowInvalid, UnicodeEncodeError):
        return pa.array([_fitting(value, kind) for value in values], kind)


def _fitting(value: Any, kind: pa.DataType) -> Any:
    try:
        pa.scalar(value, kind)
    except (OverflowError, pa.ArrowInvalid, UnicodeEncodeError):
        return None
    return value
