"""``kafka_server_log`` reads requests that brokers refused without a response, ``schemas.REFUSALS``.

::

    spark.read.format("kafka_server_log").load("logs/server.log*")

=================  ===================================================================================================
``path``           Files, plain or compressed, and folders or patterns. Lines may be in Kafka's own layout, with or
                   without a container or journald prefix, or in a JSON layout.
``timeZone``       Time zone of the brokers, such as ``Europe/Berlin`` or ``+02:00`` (default: UTC)
``mode``           ``permissive`` (default) turns an entry that ends before its reason into a row with a ``problem``.
                   ``failfast`` raises an error.
``splitSize``      Number of bytes of a file to read per task (default: 64m, less for small inputs). A compressed file
                   is a single task.
``maxLine``        Maximum size of a line in bytes (default: 4m). A row with a ``problem`` reports each longer line.
``protocol``       Generated package that defines the messages (default: kwire_kafka), installed on all workers
``pushdown``       ``true`` lets the query's filters skip lines. Use this only if a single query reads the DataFrame.
=================  ===================================================================================================

Brokers since 4.0 report unsupported versions only in the server log. Older brokers report APIs that a listener does
not serve, and requests that cannot be parsed. All such reports become rows with all facts in the log entry. All other
entries are ignored. A log without refusals is not an error.
"""

from __future__ import annotations

from kwire_inspect.readers.text_log import ServerLogReader
from kwire_spark.sources.base import Source


class KafkaServerLog(Source):
    """Data source ``kafka_server_log``."""

    reads = ServerLogReader
    kind = "server_logs"
