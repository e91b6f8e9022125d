"""Provides the tables of :mod:`kwire_inspect` on Spark, through data sources, streams and typed tables.

::

    from kwire_inspect import clients, readiness
    from kwire_spark import read_exchanges, spark_session

    spark = spark_session()
    exchanges = read_exchanges("captures/*.pcap.gz", "logs/kafka-request.log*")
    seen = clients(exchanges)
    seen.table.createOrReplaceTempView("clients")
    spark.sql("SELECT client_id, api, version, sum(requests) FROM clients GROUP BY ALL").show()
    print(readiness(seen, "4.1.1").summary)

Names are imported on first access, so that importing the package loads neither Spark nor Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_rules.lazy import lazily

if TYPE_CHECKING:
    from kwire_inspect.tables.names import topic_names as topic_names
    from kwire_spark.reading import read_clients as read_clients
    from kwire_spark.reading import read_exchanges as read_exchanges
    from kwire_spark.reading import read_frames as read_frames
    from kwire_spark.reading import read_records as read_records
    from kwire_spark.reading import read_refusals as read_refusals
    from kwire_spark.session import spark_session as spark_session
    from kwire_spark.typed import messages as messages
    from kwire_spark.typed import typed_records as typed_records
    from kwire_spark.writing import write as write
    from kwire_spark.writing import write_clients as write_clients

_MODULES = {
    "messages": "kwire_spark.typed",
    "read_clients": "kwire_spark.reading",
    "read_exchanges": "kwire_spark.reading",
    "read_frames": "kwire_spark.reading",
    "read_records": "kwire_spark.reading",
    "read_refusals": "kwire_spark.reading",
    "spark_session": "kwire_spark.session",
    "topic_names": "kwire_inspect.tables.names",
    "typed_records": "kwire_spark.typed",
    "write": "kwire_spark.writing",
    "write_clients": "kwire_spark.writing",
}

__all__ = list(_MODULES)
__getattr__, __dir__ = lazily(__name__, _MODULES)
