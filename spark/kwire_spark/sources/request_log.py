"""``kafka_request_log`` reads brokers' request logs as a table of requests with responses, ``schemas.EXCHANGES``.

::

    spark.read.format("kafka_request_log").option("timeZone", "Europe/Berlin").load("logs/kafka-request.log*")

=================  ===================================================================================================
``path``           Files, plain or compressed, and folders or patterns. Lines may be in Kafka's own layout, with or
                   without a container or journald prefix, or in a JSON layout.
``timeZone``       Time zone of the brokers, such as ``Europe/Berlin`` or ``+02:00``, for layouts without one
                   (default: UTC)
``mode``           ``permissive`` (default) turns incomplete or broken lines, and files without any request, into rows
                   with a ``problem``. ``failfast`` raises an error. Lines without a request are ignored.
``splitSize``      Number of bytes of a file to read per task (default: 64m, less for small inputs). A compressed file
                   is a single task.
``maxLine``        Maximum size of a line in bytes (default: 4m). A row with a ``problem`` reports each longer line.
``protocol``       Generated package that defines the messages (default: kwire_kafka), installed on all workers
``pushdown``       ``true`` lets the query's filters skip lines. Use this only if a single query reads the DataFrame.
=================  ===================================================================================================

Brokers since 2.8 log requests and responses as JSON, which becomes ``request`` and ``response``, without secrets.
Produce and Fetch records are not logged, and therefore empty. Older brokers log text, which provides the header,
times, connection, principal, error codes and throttle time. Brokers before 1.0 do not log responses.

A schema such as ``.schema("api string, version smallint")`` limits the columns to compute. A log is read several
times faster without ``request``, ``response`` and ``reason``. With ``pushdown`` (see ``kafka_log``), filters on
time, api, version and client skip lines.
"""

from __future__ import annotations

from kwire_inspect.readers.text_log import RequestLogReader
from kwire_spark.sources.base import Source


class KafkaRequestLog(Source):
    """Data source ``kafka_request_log``."""

    reads = RequestLogReader
    kind = "request_logs"
