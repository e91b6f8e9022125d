"""The table CLIENTS from exchanges and refusals, in one pass over them.

Takes DataFrames of EXCHANGES, from captures and request logs alike, and of REFUSALS, recognized by their columns.
Only the columns in ``EXCHANGE_COLUMNS`` and ``REFUSAL_COLUMNS`` are needed.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from kwire.connection.decoder import ENDED
from kwire.connection.events import SERVER
from kwire_spark.columns import CLIENTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CAPTURE, REQUEST_LOG, SERVER_LOG = "capture", "request_log", "server_log"
CLOSED = f"{ENDED}: the {SERVER} closed it"
"""The reason of a request in a capture that the server refused. In-flight requests of a server that stops look the
same; those of a client that did not wait, and those at the end of a capture, do not."""

IDENTITY = ("client_id", "software_name", "software_version", "principal")
KEYS = ("seen_in", "client_host", "server_port", *IDENTITY, "api_key", "api", "version")

_SHARED = ("source", "position", "connection", "client_host", "server_port", "time", "api_key", "api", "version")
REFUSAL_COLUMNS = (*_SHARED, "principal", "message", "_corrupt")
EXCHANGE_COLUMNS = (*_SHARED, "number", *IDENTITY, "outcome", "error_codes", "reason", "_corrupt")
_COUNTED = (*KEYS, "source", "position", "connection", "time", "error", "refused", "_corrupt")


def clients(*tables: DataFrame) -> DataFrame:
    """``columns.CLIENTS`` of exchanges and refusals, any number of each; ``ValueError`` without any."""
    return identified(tally(*tables))


def identified(counted: DataFrame) -> DataFrame:
    """CLIENTS of a :func:`tally`, without broken input and requests with an unknown API."""
    return counted.where("_corrupt IS NULL AND api_key IS NOT NULL").select(*CLIENTS.names)


def tally(*tables: DataFrame) -> DataFrame:
    """CLIENTS and, in the same pass, rows for broken input, with ``_corrupt``, ``source`` and ``position``."""
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
        "first.source",
        "first.position",
        "_corrupt",
    )


def _seen(table: DataFrame) -> DataFrame:
    """The rows to count, with the type of input, and 1 or 0 for ``error`` and ``refused``."""
    from pyspark.sql import functions as F

    if "outcome" in table.columns:
        added = {
            "seen_in": F.when(F.col("number").isNull(), REQUEST_LOG).otherwise(CAPTURE),
            "error": F.size("error_codes") > 0,
            "refused": (F.col("outcome") == "unanswered") & (F.col("reason") == CLOSED),
        }
    elif "message" in table.columns:
        added = {name: F.lit(None).cast("string") for name in IDENTITY if name not in table.columns}
        added |= {"seen_in": F.lit(SERVER_LOG), "error": F.lit(False), "refused": F.lit(True)}
    else:
        raise ValueError(f"expected exchanges or refusals, got columns {', '.join(table.columns)}")
    added |= {name: F.coalesce(added[name], F.lit(False)).cast("long") for name in ("error", "refused")}
    return table.withColumns(added).select(*_COUNTED)
