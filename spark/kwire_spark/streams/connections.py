"""Converts a stream of packets to frames or exchanges. The state of each connection is kept between batches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire.frames import MAX_DECODED
from kwire_inspect.connections.batches import BUDGET, TABLES, Budget, ConnectionProjection, Table
from kwire_inspect.rows import Row
from kwire_inspect.tls import followed_key_log, growing_key_log
from kwire_kafka import PROTOCOL
from kwire_spark.packets import packet_of
from kwire_spark.streams.ends import NO_KEYS, STATE, Ends, OtherVersionError
from kwire_spark.types import spark_schema

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.state import GroupState

    from kwire.protocol import MessageRegistry

ROWS_AT_ONCE = 4096

UPDATED = "kwire was updated since the last batch: the state of these connections is lost, and they restart here"
"""Reason why connections are read as if the capture had started in the middle of them."""


def follow(
    packets: DataFrame,
    *,
    rows: Table = "frames",
    columns: Sequence[str] = (),
    ports: Collection[int] = (),
    late: str = "10 minutes",
    idle_seconds: float = 600,
    protocol: MessageRegistry = PROTOCOL,
    max_decoded: int = MAX_DECODED,
    max_held: int = STATE,
    key_log: str = "",
) -> DataFrame:
    """Return a stream of packets (``PACKETS``) as ``schemas.FRAMES`` or ``schemas.EXCHANGES``, with rows for broken
    input.

    Only ``columns`` are computed, or all columns by default. Packets of a connection may be spread over batches, and
    be out of order within a batch. ``late`` limits how far a connection's packets may lag behind other packets, for
    example if several hosts deliver captures. Spark drops later packets and counts them in the query's progress as
    ``numRowsDroppedByWatermark``. A connection without events for ``idle_seconds`` in packet time is considered
    closed.

    ``ports`` are the server ports, if known. ``protocol`` provides the messages, by default Kafka's. ``max_decoded``
    corresponds to the option ``maxDecoded`` of ``kafka_capture``. Between batches, each connection keeps up to
    ``max_held`` bytes of incomplete frames and pending requests. ``key_log`` is the path, on all workers, of a file
    to which clients write TLS secrets. The state contains no TLS secrets.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.streaming.state import GroupStateTimeout

    full = TABLES[rows]
    schema = pa.schema([full.field(name) for name in columns]) if columns else full
    budget = Budget(max_decoded, max(BUDGET.held, max_held))
    projection = ConnectionProjection(rows, schema, budget=budget, protocol=protocol)
    job = Follower(projection, frozenset(ports), int(idle_seconds * 1000), max_held, growing_key_log(key_log))
    return (
        packets.withColumn("micros", F.unix_micros("time"))
        .withWatermark("time", late)
        .groupBy("flow")
        .applyInPandasWithState(
            job.advance, spark_schema(schema), "state binary", "append", GroupStateTimeout.EventTimeTimeout
        )
    )


@dataclass(frozen=True, slots=True)
class Follower:
    """Processes packets between two endpoints. Spark calls ``advance`` for each pair of endpoints in each batch."""

    projection: ConnectionProjection
    ports: Collection[int]
    idle_ms: int
    held: int = STATE
    key_log: str = ""

    def advance(self, flow: tuple[Any], parts: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        """Yield the rows that ``parts`` complete. ``parts`` are pandas DataFrames of ``PACKETS`` with a column
        ``micros``. ``state`` contains a serialized ``Ends``.

        All packets of a pair of endpoints in a batch are held in memory at the same time, so that they can be sorted.
        """
        if flow[0] is None:
            yield from self._frames(self._broken(parts))
            return
        keys = followed_key_log(self.key_log) if self.key_log else NO_KEYS
        ends = Ends(flow[0], self.ports, self.projection, keys)
        if state.exists:
            try:
                ends = Ends.restored(bytes(state.get[0]), self.projection, keys)
            except OtherVersionError:
                yield from self._frames(iter(self.projection.broken("checkpoint", 0, UPDATED, 0, 0)))
        if state.hasTimedOut:
            state.remove()
            yield from self._frames(ends.close())
            return
        packets = [packet_of(row) for part in parts for row in part.itertuples(index=False)]
        packets.sort(key=lambda packet: (packet.time, packet.source, packet.position))
        yield from self._frames(row for packet in packets for row in ends.add(packet))
        yield from self._frames(ends.pause(self.held))
        state.update((ends.stored(),))
        state.setTimeoutTimestamp(max(ends.closes_ms(self.idle_ms), state.getCurrentWatermarkMs() + 1))

    def _broken(self, parts: Iterator[pd.DataFrame]) -> Iterator[Row]:
        """Yield rows for broken parts of a file, which do not belong to any endpoints."""
        for part in parts:
            columns = ("source", "position", "problem", "unread", "packets")
            for source, position, reason, unread, packets in zip(*(part[name] for name in columns), strict=True):
                yield from self.projection.broken(source, position, reason, _count(unread), _count(packets))

    def _frames(self, rows: Iterator[Row]) -> Iterator[pd.DataFrame]:
        """Yield non-empty DataFrames with a limited number of rows."""
        while some := list(islice(rows, ROWS_AT_ONCE)):
            yield self.projection.batch(some).to_pandas(integer_object_nulls=True)


def _count(value: float | None) -> int:
    """Return a column's value as an integer, or 0 if it is missing. Pandas converts Arrow's nulls to NaN."""
    return 0 if value is None or value != value else int(value)


def too_late(progress: Iterable[StreamingQueryProgress]) -> int:
    """Return the number of packets in these batches that Spark dropped because they arrived too late."""
    return sum(state["numRowsDroppedByWatermark"] for batch in progress for state in batch["stateOperators"])
