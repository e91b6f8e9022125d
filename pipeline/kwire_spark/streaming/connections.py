"""Packets to frames or exchanges, as a stream: the state of every connection is kept between its batches."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kwire_spark.capture import Piece, TcpConnection
from kwire_spark.capture.packets import Packet
from kwire_spark.frames.connection import ConnectionRows
from kwire_spark.frames.facts import Row
from kwire_spark.frames.layout import corrupt
from kwire_spark.frames.wanted import TABLES, Table, Wanted
from kwire_spark.spark_types import spark_schema
from kwire_spark.streaming.packets import packet_of

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.state import GroupState


def follow(
    packets: DataFrame,
    *,
    rows: Table = "frames",
    ports: Collection[int] = (),
    late: str = "10 minutes",
    idle_seconds: float = 600,
) -> DataFrame:
    """``columns.FRAMES``, or ``columns.EXCHANGES``, of a stream of ``PACKETS``, with rows for what is broken.

    Packets of a connection may be spread over batches, and disordered within one. ``late`` is by how much packets may
    come after later ones of other connections, as happens where several hosts deliver captures: Spark drops what is
    later still, and counts it in ``numRowsDroppedByWatermark`` of the query's progress. A connection in which nothing
    happens for ``idle_seconds`` by the packets' clock is taken for closed. ``ports`` are those of servers, if known.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.streaming.state import GroupStateTimeout

    job = Follower(rows, frozenset(ports), int(idle_seconds * 1000))
    return (
        packets.withColumn("micros", F.unix_micros("time"))
        .withWatermark("time", late)
        .groupBy("flow")
        .applyInPandasWithState(
            job.advance, spark_schema(TABLES[rows]), "state binary", "append", GroupStateTimeout.EventTimeTimeout
        )
    )


class Follower:
    """What is done with the packets between two ends: ``advance`` is called for each such pair in each batch."""

    def __init__(self, table: Table, ports: Collection[int], idle_ms: int) -> None:
        self._wanted = Wanted(table)
        self._ports = ports
        self._idle_ms = idle_ms

    def advance(self, flow: tuple[Any], parts: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        """The rows of ``parts``, frames of ``PACKETS`` with ``micros``; the state is an ``Ends``, pickled."""
        if flow[0] is None:  # rows that say what is broken about a file
            for part in parts:
                places = zip(part["source"], part["position"], part["_corrupt"], strict=True)
                yield self._frame([corrupt(self._wanted.table, *place) for place in places])
            return
        ends = pickle.loads(state.get[0]) if state.exists else Ends(bytes(flow[0]), self._ports)
        if state.hasTimedOut:
            state.remove()
            yield self._frame(ends.close())
            return
        packets = [packet_of(row) for part in parts for row in part.itertuples(index=False)]
        packets.sort(key=lambda packet: packet.time)
        yield self._frame([row for packet in packets for row in ends.add(packet, self._wanted)])
        state.update((pickle.dumps(ends, pickle.HIGHEST_PROTOCOL),))
        state.setTimeoutTimestamp(max(int(ends.time * 1000), state.getCurrentWatermarkMs()) + self._idle_ms)

    def _frame(self, rows: Sequence[Row]) -> pd.DataFrame:
        if not rows:
            return self._wanted.schema.empty_table().to_pandas()
        return self._wanted.batch(rows).to_pandas(integer_object_nulls=True)


class Ends:
    """All that is known of two ends: what TCP has in hand, and the connection that is open between them."""

    def __init__(self, key: bytes, ports: Collection[int]) -> None:
        self._tcp = TcpConnection(key, ports)
        self._open: ConnectionRows | None = None
        self._place = ("", 0)
        self.time = 0.0

    def add(self, packet: Packet, wanted: Wanted) -> list[Row]:
        """The rows that a packet completes."""
        self.time = max(self.time, packet.time)
        self._place = packet.source, packet.position
        return self._rows(self._tcp.add(packet), wanted)

    def close(self) -> list[Row]:
        """The rows of what is left."""
        rows = self._rows(self._tcp.close(), None)
        return rows if self._open is None else rows + self._open.close(self.time, *self._place)

    def _rows(self, pieces: Sequence[Piece], wanted: Wanted | None) -> list[Row]:
        rows: list[Row] = []
        for piece in pieces:
            if (self._open is None or self._open.connection is not piece.connection) and wanted is not None:
                self._open = ConnectionRows(piece.connection, wanted)
            if self._open is not None:
                rows += self._open.feed(piece)
            if piece.kind == "closed":
                self._open = None
        return rows
