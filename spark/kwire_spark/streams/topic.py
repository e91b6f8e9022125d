"""Reads packets that a capture program wrote to a Kafka topic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire_inspect.capture import Broken
from kwire_inspect.capture.layers import ETHERNET
from kwire_inspect.capture.packets import LINKS, Link, Packet, packet
from kwire_inspect.capture.pcap import LATEST, MAGICS, Report
from kwire_inspect.capture.pcapng import MAGIC
from kwire_inspect.capture.unwrapping import Unwrapper
from kwire_inspect.reasons import NO_PACKET
from kwire_inspect.schemas import PACKETS
from kwire_spark.packets import packet_batches
from kwire_spark.types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def packets_in(records: DataFrame, link_type: int = ETHERNET) -> DataFrame:
    """Return the ``PACKETS`` in a stream or table that has the columns of Spark's ``kafka`` source.

    The value of each record is a packet as captured on the link. ``link_type`` is the link type as in pcap files (1
    for Ethernet, 101 for IP, 113 and 276 for Linux cooked). A packet's time is the record's timestamp. Producers'
    timestamps are in milliseconds, so the first eight bytes of the key may contain a more precise time, as big-endian
    microseconds since the epoch. ``source`` is the topic and partition, and ``position`` is the offset. Tunnels are
    decapsulated as in capture files. Packets other than TCP are omitted. ``problem`` reports records without a valid
    time, unsupported encapsulations, and records that are not packets.
    """
    if link_type not in LINKS:
        raise ValueError(f"unknown link type {link_type}, expected one of {', '.join(map(str, LINKS))}")
    columns = "topic", "partition", "offset", "unix_micros(timestamp) AS micros", "key", "value"
    return records.selectExpr(*columns).mapInArrow(partial(packet_rows, link_type), spark_schema(PACKETS))


def packet_rows(link_type: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield ``PACKETS`` for records with a topic, partition, offset, timestamp in microseconds, key and value."""
    return packet_batches(_packets(batches, LINKS[link_type]))


def _packets(batches: Iterable[pa.RecordBatch], link: Link) -> Iterator[Packet | Broken]:
    unwrappers: dict[str, Unwrapper] = {}
    for topic, partition, offset, micros, key, value in _records(batches):
        source, frame = f"{topic}-{partition}", value or b""
        unwrapper = unwrappers.setdefault(source, Unwrapper(Report(source)))
        if other := _other(frame):
            unwrapper.report.count(offset, f"{NO_PACKET}: {other}", 0)
            continue
        time = _time(key or b"", micros)
        if time is None:
            yield Broken(source, offset, "neither the key nor the timestamp of this record is a plausible time")
            continue
        found = packet(frame, 0, len(frame), len(frame), link, time / 1e6, source, offset)
        if found is not None:
            yield found
            continue
        yield from unwrapper.add(frame, 0, len(frame), len(frame), link.layer, time / 1e6, offset)
    for unwrapper in unwrappers.values():
        unwrapper.has_tcp = True  # other records have unknown contents and may contain TCP
        yield from unwrapper.close()
        yield from unwrapper.report.take()


def _records(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _other(value: bytes) -> str:
    """Return a description of a record value that is certainly not a packet, or an empty string for other values. A
    packet never consists entirely of text, because of the TCP flags.
    """
    if not value:
        return "empty"
    if value[:4] in (*MAGICS, MAGIC):
        return "a capture file"
    return "text" if not _CONTROLS.search(value) else ""


def _time(key: bytes, micros: int | None) -> int | None:
    """Return the time in the key or, if it is implausible, the timestamp, in microseconds since the epoch. Return
    ``None`` if both are implausible. A producer's key may be a name instead of a time.
    """
    told = (int.from_bytes(key[:8], "big") if len(key) >= 8 else None, micros)
    return next((time for time in told if time is not None and 0 <= time < LATEST * 1_000_000), None)
