"""TCP packets as rows: what a stream carries from where packets are found to where connections are put together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from kwire_spark.capture import Broken
from kwire_spark.capture.packets import Packet, reverse
from kwire_spark.columns import CORRUPT, PLACE, TIME
from kwire_spark.frames.context import Row, corrupt
from kwire_spark.frames.layout import arrow_batch

BATCH_ROWS = 4096
BATCH_BYTES = 4 << 20

PACKETS: pa.Schema = pa.schema(
    [
        *PLACE,
        pa.field("time", TIME, metadata={"comment": "When the packet was seen."}),
        pa.field("flow", pa.binary(), metadata={"comment": "Names the two ends: the same for both directions."}),
        pa.field(
            "key", pa.binary(), metadata={"comment": "Addresses and ports of source and target, as on the wire."}
        ),
        pa.field("seq", pa.int64(), metadata={"comment": "TCP sequence number."}),
        pa.field("ack", pa.int64(), metadata={"comment": "TCP acknowledgement number."}),
        pa.field("flags", pa.int16(), metadata={"comment": "TCP flags."}),
        pa.field("data", pa.binary(), metadata={"comment": "What was captured of the payload."}),
        pa.field("missing", pa.int32(), metadata={"comment": "How many bytes of the payload were not captured."}),
        *CORRUPT,
    ]
)


def packet_batches(found: Iterable[Packet | Broken]) -> Iterator[pa.RecordBatch]:
    """Packets as batches of ``PACKETS``; what is broken about a file is a ``_corrupt`` row."""
    rows: list[Row] = []
    size = 0
    for one in found:
        if isinstance(one, Broken):
            rows.append(corrupt(PACKETS, one.source, one.position, one.reason))
        else:
            rows.append(_row(one))
            size += len(one.data)
        if len(rows) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield arrow_batch(rows, PACKETS)
            rows, size = [], 0
    if rows:
        yield arrow_batch(rows, PACKETS)


def packet_of(row: Any) -> Packet:
    """The packet of a row of ``PACKETS``, with its time as ``micros``."""
    return Packet(
        bytes(row.key),
        row.micros / 1e6,
        row.source,
        row.position,
        row.seq,
        row.ack,
        row.flags,
        bytes(row.data),
        row.missing,
    )


def _row(one: Packet) -> Row:
    flow = min(one.key, reverse(one.key))
    time = round(one.time * 1e6)
    return (one.source, one.position, time, flow, one.key, one.seq, one.ack, one.flags, one.data, one.missing, None)
