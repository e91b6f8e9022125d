"""Pieces and rows for tests, without any capture: conversations fed to what makes rows of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from kwire.connection import CLIENT, SERVER, Direction
from kwire.frames import frame
from kwire.message import Message
from kwire_inspect.capture import Broken, Connection, Peer, Piece
from kwire_inspect.connections import Condition, frame_batches
from kwire_inspect.connections.batches import TABLES, Table
from kwire_kafka import PROTOCOL
from tests.support.capture_files import EPOCH, Conversation, Segment

Cells = dict[str, Any]


def asked(message: Message, version: int, number: int, time: float = 0.0, client_id: str | None = "me") -> Segment:
    payload = PROTOCOL.encode_request(message, version, correlation_id=number, client_id=client_id)
    return CLIENT, time, frame(payload)


def answered(message: Message, version: int, number: int, time: float = 0.0) -> Segment:
    return SERVER, time, frame(PROTOCOL.encode_response(message, version, correlation_id=number))


def pieces(
    segments: Iterable[Segment | Piece],
    *,
    connection: Connection | None = None,
    complete: bool = True,
    source: str = "capture.pcap",
) -> list[Piece]:
    """The pieces of a whole connection; their positions count from 0."""
    connection = connection or Connection(Peer("10.0.0.1", 50412), Peer("10.0.0.9", 9092), EPOCH, complete)
    made: list[Piece] = []
    time = EPOCH
    for segment in segments:
        if isinstance(segment, Piece):
            made.append(segment)
            continue
        direction, seconds, data = segment
        time = EPOCH + seconds
        made.append(Piece(connection, "data", direction, data, len(data), time, source, len(made)))
    made.append(Piece(connection, "closed", CLIENT, b"", 0, time, source, len(made)))
    for number, piece in enumerate(made):
        piece.connection, piece.position = connection, number
    return made


def gap(direction: Direction, size: int, time: float = 0.0) -> Piece:
    """A piece for :func:`pieces` that says that something is missing."""
    connection = Connection(Peer("", 0), Peer("", 0), 0.0, True)
    return Piece(connection, "gap", direction, b"", size, EPOCH + time, "capture.pcap", 0)


def conversation_pieces(conversations: Sequence[Conversation], source: str = "capture.pcap") -> list[Piece]:
    """The pieces of whole connections, one after the other."""
    made: list[Piece] = []
    for one in conversations:
        connection = Connection(one.client, one.server, EPOCH + one.segments[0][1], True)
        made += pieces(one.segments, connection=connection, source=source)
    return made


def cells(
    given: Iterable[Piece | Broken],
    *columns: str,
    table: Table = "frames",
    conditions: Sequence[Condition] = (),
) -> list[Cells]:
    """The rows of pieces as dicts, with these columns, or all."""
    full = TABLES[table]
    schema = pa.schema([full.field(name) for name in columns]) if columns else full
    batches = list(frame_batches(given, schema, table=table, conditions=conditions))
    assert all(batch.schema.equals(schema) for batch in batches)
    return [row for batch in batches for row in batch.to_pylist()]


def values(given: Iterable[Piece | Broken], *columns: str, table: Table = "frames") -> list[Any]:
    """The rows of pieces as tuples of these columns; of a single column, its values."""
    rows = cells(given, *columns, table=table)
    return [row[columns[0]] if len(columns) == 1 else tuple(row[name] for name in columns) for row in rows]
