"""Who speaks what: the table CLIENTS from exchanges and refusals, in one pass over them.

Takes DataFrames of EXCHANGES, from captures and request logs alike, and of REFUSALS; of each only the columns in
``EXCHANGE_COLUMNS`` and ``REFUSAL_COLUMNS`` are needed. What the rows are is told by their columns.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from kwire.connection.decoder import ENDED
from kwire.connection.events import SERVER
from kwire_spark.columns import CLIENTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CAPTURE, REQUEST_LOG, SERVER_LOG = "capture", "request_log", "server_log"
CLOSED = f"{ENDED}: the {SERVER} closed it"
"""How a request looks in a capture that the server refused. So do those at hand when a server stops; but not those
whose client did not wait, and those at the end of the capture."""

IDENTITY = ("client_id", "software_name", "software_version", "principal")
KEYS = ("seen_in", "client_host", "server_port", *IDENTITY, "api_key", "api", "version")

REFUSAL_COLUMNS = (
    *("source", "position", "connection", "client_host", "server_port", "time", "api_key", "api", "version"),
    *("principal", "message", "_corrupt"),
)
EXCHANGE_COLUMNS = (
    *(
        "source",
        "position",
        "connection",
        "client_host",
        "server_port",
        "number",
        "time",
        "api_key",
        "api",
        "version",
    ),
    *(*IDENTITY, "outcome", "error_codes", "reason", "_corrupt"),
)
_COUNTED = (*KEYS, "source", "position", "connection", "time", "error", "refused", "_corrupt")


def clients(*tables: DataFrame) -> DataFrame:
    """``columns.CLIENTS`` of exchanges and refusals, any number of each; ``ValueError`` without any.

    Rows of what is broken, and of requests so broken that not even their API is known, are not among them.
    """
    return tally(*tables).where("_corrupt IS NULL AND api_key IS NOT NULL").select(*CLIENTS.names)


def tally(*tables: DataFrame) -> DataFrame:
    """CLIENTS, and in the same pass what is broken: further rows have that in ``_corrupt``, and where it is."""
    from pyspark.sql import functions as F

    if not tables:
        raise ValueError("expected at least one table of exchanges or refusals")
    seen = reduce(lambda left, right: left.unionByName(right), [_seen(table) for table in tables])
    first = F.min(F.struct(F.coalesce("time", F.to_timestamp(F.lit("9999-12-31"))), "source", "position"))
    place = [
        F.when(F.col("_corrupt").isNotNull(), F.col(name)).alias(f"broken_{name}") for name in ("source", "position")
    ]
    counted = seen.groupBy(*KEYS, "_corrupt", *place).agg(
        F.min("time").alias("first_seen"),
        F.max("time").alias("last_seen"),
        F.count("*").alias("requests"),
        F.sum("error").alias("errors"),
        F.sum("refused").alias("refused"),
        F.count_distinct("connection").alias("connections"),
        first.alias("first"),
    )
    return counted.select(
        *[name for name in CLIENTS.names if name not in ("source", "position")],
        F.col("first.source").alias("source"),
        F.col("first.position").alias("position"),
        "_corrupt",
    )


def _seen(table: DataFrame) -> DataFrame:
    """Rows as they are counted, each with where it was seen, and whether it is an error and a refusal (0 or 1)."""
    from pyspark.sql import functions as F

    if "outcome" in table.columns:
        seen_in = F.when(F.col("number").isNull(), REQUEST_LOG).otherwise(CAPTURE)
        failed = F.coalesce(F.size("error_codes") > 0, F.lit(False))
        ended = (F.col("outcome") == "unanswered") & (F.col("reason") == CLOSED)
        table = table.withColumns(
            {"seen_in": seen_in, "error": _number(failed), "refused": _number(F.coalesce(ended, F.lit(False)))}
        )
    elif "message" in table.columns:
        unknown = F.lit(None).cast("string")
        names = [name for name in IDENTITY if name not in table.columns]
        one, none = F.lit(1).cast("long"), F.lit(0).cast("long")
        table = table.withColumns(
            {"seen_in": F.lit(SERVER_LOG), "error": none, "refused": one, **dict.fromkeys(names, unknown)}
        )
    else:
        raise ValueError(f"neither exchanges nor refusals: the columns are {', '.join(table.columns)}")
    return table.select(*_COUNTED)


def _number(holds: Column) -> Column:
    return holds.cast("long")
