"""A job for Spark: ``clients`` and ``exchanges`` of the packets in a topic."""

from __future__ import annotations

import sys

from kwire_inspect.schemas import EXCHANGES
from kwire_spark import spark_session, write
from kwire_spark.streams import follow, keep_clients, packets_in
from kwire_spark.types import spark_schema


def main(bootstrap: str, topic: str, connector: str, out: str) -> None:
    spark = spark_session(spark_jars=connector)
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    exchanges = follow(packets_in(spark.readStream.format("kafka").options(**options).load()), rows="exchanges")
    rows = exchanges.writeStream.format("parquet").option("checkpointLocation", f"{out}/_rows.checkpoint")
    for query in (rows.option("path", f"{out}/rows"), keep_clients(exchanges, out)):
        query.trigger(availableNow=True).start().awaitTermination()
    write(spark.read.schema(spark_schema(EXCHANGES)).parquet(f"{out}/rows"), out, "exchanges")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
