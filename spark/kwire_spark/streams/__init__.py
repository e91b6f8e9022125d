"""The same tables as streams: packets that arrive in a folder or a Kafka topic, and ``clients`` kept up to date.

::

    packets = spark.readStream.format("kafka_packets").load("/captures")     # or packets_in(a stream of Kafka's)
    exchanges = follow(packets, rows="exchanges")
    query = keep_clients(exchanges, "/tables").start()

Names are imported on first access: the command ``watch`` is known without Spark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire_spark.streams.connections import follow as follow
    from kwire_spark.streams.keeping import keep_clients as keep_clients
    from kwire_spark.streams.topic import packets_in as packets_in

_MODULES = {"follow": "connections", "keep_clients": "keeping", "packets_in": "topic"}

__all__ = list(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
