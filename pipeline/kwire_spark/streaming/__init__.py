"""The same tables as streams: packets that arrive in a folder or a Kafka topic, and ``clients`` kept up to date.

::

    packets = spark.readStream.format("kafka_packets").load("/captures")     # or packets_in(a stream of Kafka's)
    exchanges = follow(packets, rows="exchanges")
    query = keep_clients(exchanges, "/tables").start()
"""

from kwire_spark.streaming.connections import follow
from kwire_spark.streaming.keeping import keep_clients
from kwire_spark.streaming.topic import packets_in

__all__ = ["follow", "keep_clients", "packets_in"]
