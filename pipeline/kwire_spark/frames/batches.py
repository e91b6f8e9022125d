"""Pieces of all connections to Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from kwire_spark.capture import Broken, Connection, Piece
from kwire_spark.frames.connection import ConnectionRows
from kwire_spark.frames.facts import Row, peers
from kwire_spark.frames.layout import arrow_batch, corrupt
from kwire_spark.frames.wanted import Condition, Table, Wanted
from kwire_spark.options import BrokenInput

__all__ = ["BATCH_BYTES", "BATCH_ROWS", "Connections", "arrow_batch", "frame_batches"]

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
            rows += wanted.rows([corrupt(table, piece.source, piece.position, piece.reason)])
            continue
        rows += connections.feed(piece)
        if wanted.shown:
            size += len(piece.data)
        if len(rows) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield wanted.batch(rows)
            rows, size = [], 0
    if rows:
        yield wanted.batch(rows)


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
