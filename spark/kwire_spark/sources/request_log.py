"""``kafka_request_log`` reads brokers' request logs as a table of requests with responses, ``columns.EXCHANGES``.

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

Brokers since 2.8 log requests and responses as JSON. These become ``request`` and ``response``, without secrets.
Records of Produce and Fetch are not logged and therefore empty. Older brokers log text, which provides the header,
times, connection, principal, error codes and throttle time. Brokers before 1.0 do not log responses.

A schema such as ``.schema("api string, version smallint")`` limits the columns to compute. Without ``request``,
``response`` and ``reason``, a log is read several times as fast. With ``pushdown`` (see ``kafka_log``), filters on
time, api, version and client skip lines.
"""

from __future__ import annotations

from kwire_inspect.readers.text_log import RequestLogReader
from kwire_spark.sources.base import Source


class KafkaRequestLog(Source):
    """Data source ``kafka_request_log``."""

    reads = RequestLogReader
    kind = "request_logs"
