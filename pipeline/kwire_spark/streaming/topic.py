"""Packets from a Kafka topic to which a capturing program wrote them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_spark.capture import Broken
from kwire_spark.capture.packets import LINKS, IncompletePacketError, Link, Packet, packet
from kwire_spark.capture.pcap import LATEST
from kwire_spark.columns import PACKETS
from kwire_spark.spark_types import spark_schema
from kwire_spark.streaming.packets import packet_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ETHERNET = 1


def packets_in(records: DataFrame, link_type: int = ETHERNET) -> DataFrame:
    """``PACKETS`` of a stream, or a table, with the columns of Spark's ``kafka`` source.

    The value of a record is one packet as captured on the link; ``link_type`` is the link's number in pcap files (1
    Ethernet, 101 IP, 113 and 276 Linux cooked). Its time is the record's timestamp, unless the first eight bytes of
    the key are another, in microseconds since the epoch, big-endian: a producer's clock has milliseconds. ``source``
    is topic and partition, ``position`` the offset. Packets other than TCP over IP are left out; a record without a
    valid time is reported in ``_corrupt``.
    """
    if link_type not in LINKS:
        raise ValueError(f"link type {link_type} is unknown, expected one of {', '.join(map(str, LINKS))}")
    columns = "topic", "partition", "offset", "unix_micros(timestamp) AS micros", "key", "value"
    return records.selectExpr(*columns).mapInArrow(partial(packet_rows, link_type), spark_schema(PACKETS))


def packet_rows(link_type: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """``PACKETS`` of records: topic, partition, offset, timestamp in microseconds, key, value."""
    for batch in batches:
        yield from packet_batches(_packets(batch, LINKS[link_type]))


def _packets(batch: pa.RecordBatch, link: Link) -> Iterator[Packet | Broken]:
    columns = [column.to_pylist() for column in batch.columns]
    for topic, partition, offset, micros, key, value in zip(*columns, strict=True):
        source, frame = f"{topic}-{partition}", value or b""
        time = _time(key or b"", micros)
        if time is None:
            yield Broken(source, offset, "neither key nor timestamp of this record is a time that is possible")
            continue
        try:
            found = packet(frame, 0, len(frame), len(frame), link.network, time / 1e6, source, offset)
        except IncompletePacketError as error:
            yield Broken(source, offset, str(error))
            continue
        if found is not None:
            yield found


def _time(key: bytes, micros: int | None) -> int | None:
    """The first that is possible. Producers choose their keys, so a key may be a name and not a time."""
    told = (int.from_bytes(key[:8], "big") if len(key) >= 8 else None, micros)
    return next((time for time in told if time is not None and 0 <= time < LATEST * 1_000_000), None)
