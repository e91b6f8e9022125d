"""Provides the tables of ``kwire_inspect`` as streams. While packets arrive in a folder or Kafka topic, the table
``clients`` is kept up to date.

::

    packets = spark.readStream.format("kafka_packets").load("/captures")     # or packets_in(a stream of Kafka's)
    exchanges = follow(packets, rows="exchanges")
    query = keep_clients(exchanges, "/tables").start()

Names are imported on first access, so that the command ``watch`` is available without Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_rules.lazy import lazily

if TYPE_CHECKING:
    from kwire_spark.streams.connections import follow as follow
    from kwire_spark.streams.keeping import keep_clients as keep_clients
    from kwire_spark.streams.topic import packets_in as packets_in

_MODULES = {
    "follow": "kwire_spark.streams.connections",
    "keep_clients": "kwire_spark.streams.keeping",
    "packets_in": "kwire_spark.streams.topic",
}

__all__ = list(_MODULES)
__getattr__, __dir__ = lazily(__name__, _MODULES)
