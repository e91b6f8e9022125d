"""Captures, log segments, request logs and server logs of Kafka clusters as tables in Spark.

::

    from kwire_spark import clients, read_exchanges, readiness, spark_session

    spark = spark_session()
    seen = read_exchanges("captures/*.pcap.gz", "logs/kafka-request.log*")
    clients(seen).createOrReplaceTempView("clients")
    spark.sql("SELECT client_id, api, version, sum(requests) FROM clients GROUP BY ALL").show()
    print(readiness(clients(seen), "4.1.1").summary)

Names are imported on first use: importing the package loads neither Spark nor Arrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire_spark.inputs import find as find
    from kwire_spark.reports.census import census as census
    from kwire_spark.reports.files import write_report as write_report
    from kwire_spark.reports.latency import latency as latency
    from kwire_spark.reports.offsets import log_ends as log_ends
    from kwire_spark.reports.offsets import offsets as offsets
    from kwire_spark.reports.readiness import readiness as readiness
    from kwire_spark.reports.terminal import print_report as print_report
    from kwire_spark.session import session as spark_session
    from kwire_spark.tables.clients import clients as clients
    from kwire_spark.tables.read import exchanges as read_exchanges
    from kwire_spark.tables.read import frames as read_frames
    from kwire_spark.tables.read import records as read_records
    from kwire_spark.tables.read import refusals as read_refusals
    from kwire_spark.tables.topics import topic_names as topic_names
    from kwire_spark.tables.topics import with_topic_names as with_topic_names
    from kwire_spark.tables.typed import messages as messages
    from kwire_spark.tables.typed import records as typed_records
    from kwire_spark.tables.write import write as write

_HOMES = {
    "census": "reports.census",
    "clients": "tables.clients",
    "find": "inputs",
    "latency": "reports.latency",
    "log_ends": "reports.offsets",
    "messages": "tables.typed",
    "offsets": "reports.offsets",
    "print_report": "reports.terminal",
    "readiness": "reports.readiness",
    "read_exchanges": "tables.read",
    "read_frames": "tables.read",
    "read_records": "tables.read",
    "read_refusals": "tables.read",
    "spark_session": "session",
    "topic_names": "tables.topics",
    "typed_records": "tables.typed",
    "with_topic_names": "tables.topics",
    "write": "tables.write",
    "write_report": "reports.files",
}
_NAMES = {
    "read_exchanges": "exchanges",
    "read_frames": "frames",
    "read_records": "records",
    "read_refusals": "refusals",
    "spark_session": "session",
    "typed_records": "records",
}
"""Exports whose name differs from the definition, to avoid clashes with modules."""

__all__ = [
    "census",
    "clients",
    "find",
    "latency",
    "log_ends",
    "messages",
    "offsets",
    "print_report",
    "read_exchanges",
    "read_frames",
    "read_records",
    "read_refusals",
    "readiness",
    "spark_session",
    "topic_names",
    "typed_records",
    "with_topic_names",
    "write",
    "write_report",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), _NAMES.get(name, name))


def __dir__() -> list[str]:
    return __all__
