"""``kafka_metrics``: dumps of brokers' metrics as counts of requests of deprecated versions, ``columns.COUNTED``.

::

    spark.read.format("kafka_metrics").load("metrics/broker-*.prom")

=================  ===================================================================================================
``path``           files, plain or compressed; folders, patterns. Text of the JMX exporter for Prometheus, what
                   Kafka's JmxTool prints, JSON of Jolokia and of Prometheus' API
``mode``           ``permissive`` (default): what cannot be read becomes a row with a ``problem``; ``failfast``: it is
                   an error
``protocol``       the generated package that defines the messages (default: kwire_kafka), installed on all workers
=================  ===================================================================================================

The source reads series of DeprecatedRequestsPerSec, which brokers have from 3.7 on. They count since the broker's
start, by API, version and software. Rows have neither client id nor address nor time. One dump of each broker is
needed, because the counts of several files are added up.
"""

from __future__ import annotations

from kwire_inspect.readers.metrics import MetricsReader
from kwire_spark.sources.base import Source


class KafkaMetrics(Source):
    """Registers as ``kafka_metrics``."""

    reads = MetricsReader
    kind = "metrics"
