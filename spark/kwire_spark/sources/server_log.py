"""``kafka_server_log`` reads requests that brokers refused without a response, ``columns.REFUSALS``.

::

    spark.read.format("kafka_server_log").load("logs/server.log*")

=================  ===================================================================================================
``path``           files, plain or compressed; folders, patterns. Lines can have Kafka's own layout, that layout
                   wrapped by containers or journald, or JSON layouts.
``timeZone``       time zone of the brokers, such as ``Europe/Berlin`` or ``+02:00`` (default: UTC)
``mode``           ``permissive`` (default): an entry that ends before its reason becomes a row with a ``problem``;
                   ``failfast``: it is an error
``splitSize``      bytes of a file that one task reads (default: 64m, less for small inputs); a compressed file is one
                   task
``maxLine``        limit of the bytes of a line (default: 4m); a longer one is skipped, and a row with a ``problem``
``protocol``       the generated package that defines the messages (default: kwire_kafka), installed on all workers
``pushdown``       ``true`` lets filters of the query skip lines: for a DataFrame that only one query reads
=================  ===================================================================================================

Brokers since 4.0 report unsupported versions only in the server log. Older brokers report APIs that a listener does
not serve, and requests that cannot be parsed. These also become rows with the facts from their entries. All other
entries are ignored. A log without refusals is not an error.
"""

from __future__ import annotations

from kwire_inspect.readers.text_log import ServerLogReader
from kwire_spark.sources.base import Source


class KafkaServerLog(Source):
    """Data source ``kafka_server_log``."""

    reads = ServerLogReader
    kind = "server_logs"
