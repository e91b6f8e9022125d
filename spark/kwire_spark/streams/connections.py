"""Conversion of a stream of packets to frames or exchanges. It keeps the state of every connection between
batches."""

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

UPDATED = "kwire was updated since the last batch: what its state had of these connections is lost, they begin here"
"""Reason to read a connection from this packet on, as if the capture had begun late."""


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
    """Return the ``columns.FRAMES`` or ``columns.EXCHANGES`` of a stream of ``PACKETS``, with rows for broken input.

    Only ``columns`` are computed, all unless given. Packets of a connection may be spread over batches, and
    disordered within one batch. ``late`` limits how late packets may arrive compared with packets of other
    connections, such as when several hosts deliver captures. Spark drops later packets, and counts them in
    ``numRowsDroppedByWatermark`` of the query's progress. A connection without events for ``idle_seconds``, by the
    packets' clock, counts as closed.

    ``ports`` are the server ports, if known. ``protocol`` has the messages, by default Kafka's messages. The source
    ``kafka_capture`` describes ``max_decoded``. Each connection keeps up to ``max_held`` bytes of unfinished frames
    and waiting requests between batches. ``key_log`` is the path, on all workers, of a file to which clients write
    the secrets of TLS connections. The state contains none of these secrets.
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
    """Processor of the packets between two endpoints. ``advance`` is called for each pair in each batch."""

    projection: ConnectionProjection
    ports: Collection[int]
    idle_ms: int
    held: int = STATE
    key_log: str = ""

    def advance(self, flow: tuple[Any], parts: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        """Yield the rows of ``parts``, frames of ``PACKETS`` with ``micros``. The state is an ``Ends``, as bytes.

        All packets that a batch has of one pair of ends are in memory at once, to be put in order.
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
        """Yield rows for broken parts of a file, which have no endpoints."""
        for part in parts:
            columns = ("source", "position", "problem", "unread", "packets")
            for source, position, reason, unread, packets in zip(*(part[name] for name in columns), strict=True):
                yield from self.projection.broken(source, position, reason, _count(unread), _count(packets))

    def _frames(self, rows: Iterator[Row]) -> Iterator[pd.DataFrame]:
        """Yield rows a few at a time, and no frame without rows."""
        while some := list(islice(rows, ROWS_AT_ONCE)):
            yield self.projection.batch(some).to_pandas(integer_object_nulls=True)


def _count(value: float | None) -> int:
    """Return a number of a column. Pandas has NaN where Arrow has null."""
    return 0 if value is None or value != value else int(value)


def too_late(progress: Iterable[StreamingQueryProgress]) -> int:
    """Return the number of packets in these batches that came so late that Spark dropped them."""
    return sum(state["numRowsDroppedByWatermark"] for batch in progress for state in batch["stateOperators"])
