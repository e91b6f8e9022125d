"""``kafka_metrics`` reads brokers' metrics dumps as counts of requests in deprecated versions, ``schemas.COUNTED``.

::

    spark.read.format("kafka_metrics").load("metrics/broker-*.prom")

=================  ===================================================================================================
``path``           Files, plain or compressed, and folders or patterns. The formats are Prometheus text from the JMX
                   exporter, output of Kafka's JmxTool, and JSON from Jolokia or the Prometheus API.
``mode``           ``permissive`` (default) turns unreadable parts into rows with a ``problem``. ``failfast`` raises
                   an error.
``protocol``       Generated package that defines the messages (default: kwire_kafka), installed on all workers
=================  ===================================================================================================

The source reads the DeprecatedRequestsPerSec series of brokers since 3.7. The series count requests since the start
of the broker by API, version and software. Rows have no client id, address or time. Provide one dump per broker,
because the counts of all files are added up.
"""

from __future__ import annotations

from kwire_inspect.readers.metrics import MetricsReader
from kwire_spark.sources.base import Source


class KafkaMetrics(Source):
    """Data source ``kafka_metrics``."""

    reads = MetricsReader
    kind = "metrics"
