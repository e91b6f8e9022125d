"""Packet captures, log segments, logs and metrics of the brokers of a Kafka cluster as Spark tables and reports.

::

    from kwire_spark import clients, read_exchanges, readiness, spark_session

    spark = spark_session()
    exchanges = read_exchanges("captures/*.pcap.gz", "logs/kafka-request.log*")
    seen = clients(exchanges)
    seen.table.createOrReplaceTempView("clients")
    spark.sql("SELECT client_id, api, version, sum(requests) FROM clients GROUP BY ALL").show()
    print(readiness(seen, "4.1.1").summary)

Names are imported on first access, so that importing the package loads neither Spark nor Arrow.
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
    from kwire_spark.session import spark_session as spark_session
    from kwire_spark.tables.clients import clients as clients
    from kwire_spark.tables.read import read_clients as read_clients
    from kwire_spark.tables.read import read_exchanges as read_exchanges
    from kwire_spark.tables.read import read_frames as read_frames
    from kwire_spark.tables.read import read_records as read_records
    from kwire_spark.tables.read import read_refusals as read_refusals
    from kwire_spark.tables.topics import topic_names as topic_names
    from kwire_spark.tables.topics import with_topic_names as with_topic_names
    from kwire_spark.tables.typed import messages as messages
    from kwire_spark.tables.typed import typed_records as typed_records
    from kwire_spark.tables.write import write as write
    from kwire_spark.tables.write import write_clients as write_clients

_MODULES = {
    "census": "reports.census",
    "clients": "tables.clients",
    "find": "inputs",
    "latency": "reports.latency",
    "log_ends": "reports.offsets",
    "messages": "tables.typed",
    "offsets": "reports.offsets",
    "print_report": "reports.terminal",
    "read_clients": "tables.read",
    "read_exchanges": "tables.read",
    "read_frames": "tables.read",
    "read_records": "tables.read",
    "read_refusals": "tables.read",
    "readiness": "reports.readiness",
    "spark_session": "session",
    "topic_names": "tables.topics",
    "typed_records": "tables.typed",
    "with_topic_names": "tables.topics",
    "write": "tables.write",
    "write_clients": "tables.write",
    "write_report": "reports.files",
}

__all__ = list(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
