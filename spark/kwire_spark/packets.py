"""TCP packets as rows. A stream passes these rows from its packet source to the reassembly of connections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from kwire_inspect.capture import Broken
from kwire_inspect.capture.packets import Packet, reverse
from kwire_inspect.rows import LAYOUTS, Row
from kwire_inspect.schemas import PACKETS

BATCH_ROWS = 4096
BATCH_BYTES = 4 << 20

_LAYOUT = LAYOUTS["packets"]


def packet_batches(found: Iterable[Packet | Broken], schema: pa.Schema = PACKETS) -> Iterator[pa.RecordBatch]:
    """Yield packets as Arrow batches with columns of ``PACKETS``. Broken parts of a file become rows with a
    ``problem``."""
    rows: list[Row] = []
    size = 0
    for one in found:
        if isinstance(one, Broken):
            unread, packets = one.unread or None, one.packets or None
            rows.append(_LAYOUT.corrupt(one.source, one.position, one.reason, unread=unread, packets=packets))
        else:
            rows.append(_row(one))
            size += len(one.data)
        if len(rows) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield _LAYOUT.batch(rows, schema)
            rows, size = [], 0
    if rows:
        yield _LAYOUT.batch(rows, schema)


def packet_of(row: Any) -> Packet:
    """Return the packet in a row of ``PACKETS`` whose time is in the column ``micros``."""
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


def _row(packet: Packet) -> Row:
    return _LAYOUT.row(
        source=packet.source,
        position=packet.position,
        time=round(packet.time * 1e6),
        flow=min(packet.key, reverse(packet.key)),
        key=packet.key,
        seq=packet.seq,
        ack=packet.ack,
        flags=packet.flags,
        data=packet.data,
        missing=packet.missing,
    )
