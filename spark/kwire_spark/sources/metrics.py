"""``kafka_metrics`` reads brokers' metrics dumps as counts of requests in deprecated versions, ``columns.COUNTED``.

::

    spark.read.format("kafka_metrics").load("metrics/broker-*.prom")

=================  ===================================================================================================
``path``           files, plain or compressed; folders, patterns. Text of the JMX exporter for Prometheus, what
                   Kafka's JmxTool prints, JSON of Jolokia and of Prometheus' API
``mode``           ``permissive`` (default): what cannot be read becomes a row with a ``problem``; ``failfast``: it is
                   an error
``protocol``       the generated package that defines the messages (default: kwire_kafka), installed on all workers
=================  ===================================================================================================

The source reads the DeprecatedRequestsPerSec series of brokers since 3.7. These count requests since the broker's
start by API, version and software. Rows have no client id, address or time. Provide one dump per broker, because the
counts of all files are added.
"""

from __future__ import annotations

from kwire_inspect.readers.metrics import MetricsReader
from kwire_spark.sources.base import Source


class KafkaMetrics(Source):
    """Data source ``kafka_metrics``."""

    reads = MetricsReader
    kind = "metrics"
