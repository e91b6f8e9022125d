"""``kafka_request_log``: request logs of brokers as a table of requests with their responses, ``columns.EXCHANGES``.

::

    spark.read.format("kafka_request_log").option("timeZone", "Europe/Berlin").load("logs/kafka-request.log*")

=================  ===================================================================================================
``path``           files, plain or compressed; folders, patterns. Lines can have Kafka's own layout, that layout
                   wrapped by containers or journald, or JSON layouts.
``timeZone``       time zone of the brokers, such as ``Europe/Berlin`` or ``+02:00``, for layouts without one
                   (default: UTC)
``mode``           ``permissive`` (default): a half-written or broken line becomes a row with a ``problem``, and so
                   does a file without any request; ``failfast``: it is an error. Other lines are ignored.
``splitSize``      bytes of a file that one task reads (default: 64m, less for small inputs); a compressed file is one
                   task
``maxLine``        limit of the bytes of a line (default: 4m); a longer one is skipped, and a row with a ``problem``
``protocol``       the generated package that defines the messages (default: kwire_kafka), installed on all workers
``pushdown``       ``true`` lets filters of the query skip lines: for a DataFrame that only one query reads
=================  ===================================================================================================

Brokers from 2.8 on log requests and responses as JSON. They become ``request`` and ``response``, without secrets; the
records of Produce and Fetch are not in the log and therefore empty. Older brokers log text, from which rows get
header, times, connection, principal, error codes and throttle time. Before 1.0, the response is missing.

Columns that are not in a schema given by ``.schema("api string, version smallint")`` are not computed. Without
``request``, ``response`` and ``reason`` a log is read several times as fast. With ``pushdown`` (see ``kafka_log``),
filters on time, api, version and client spare the lines.
"""

from __future__ import annotations

from kwire_inspect.readers.text_log import RequestLogReader
from kwire_spark.sources.base import Source


class KafkaRequestLog(Source):
    """Registers as ``kafka_request_log``."""

    reads = RequestLogReader
    kind = "request_logs"
