"""How long requests take, how many fail and with what, who is throttled: per API, from the table EXCHANGES.

Times are milliseconds. A capture sees them from where it was taken, a request log on the broker; only the log knows
what they were spent on. Quantiles are approximate, to about a thousandth of the rank.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kwire_kafka.errors import ErrorCode
from kwire_spark.reports.latency_charts import quantiles_chart, split_chart
from kwire_spark.reports.over_time import EPOCH, Steps, counted_over_time
from kwire_spark.reports.report import Chart, Column, Report, Table, cells, columns
from kwire_spark.reports.text import counted, number
from kwire_spark.tables.clients import CAPTURE, REQUEST_LOG

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TOP = 100
SLOWEST = 20
ACCURACY = 1000
LONG_POLLS = "Fetch, ShareFetch, JoinGroup and SyncGroup wait for something to happen: long is normal there."
TIMES = columns(
    Column("api", "API"),
    Column("seen_in", "seen in"),
    "requests",
    "unanswered",
    "undecodable",
    Column("failed", "errors", comment="Answered with an error code in any part of the response."),
    Column("failed_percent", "errors %", comment="Of the requests that were answered."),
    Column("p50_ms", "p50 ms"),
    Column("p90_ms", "p90 ms"),
    Column("p99_ms", "p99 ms"),
    Column("max_ms", "max ms"),
    Column("queue_ms", "queues ms", comment="Mean time in queues and in sending (request logs)."),
    Column("local_ms", "local ms", comment="Mean time at work on the leader (request logs)."),
    Column("remote_ms", "remote ms", comment="Mean time waiting for others (request logs)."),
)


def latency(exchanges: DataFrame, *, top: int = TOP) -> Report:
    """The report. What captures and what request logs saw is told apart: they measure at different places."""
    requests = _requests(exchanges)
    times, steps = _times(requests, top)
    errors, over_time = _errors(requests, steps, top)
    throttled = _throttled(requests, top)
    found = (quantiles_chart(times, LONG_POLLS), split_chart(times), over_time)
    summary, tables = _summary(times, errors, throttled), (times, errors, throttled, _slowest(requests))
    return Report("latency", "How long requests take", summary, tables, tuple(chart for chart in found if chart))


def _requests(exchanges: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return exchanges.where("_corrupt is null and outcome is not null").withColumns(
        {
            "api": F.coalesce("api", F.concat(F.lit("key "), "api_key"), F.lit("unknown")),
            "seen_in": F.when(F.isnull("number"), REQUEST_LOG).otherwise(CAPTURE),
        }
    )


def _times(requests: DataFrame, top: int) -> tuple[Table, Steps]:
    """The table, and steps for charts of the time in which there are requests."""
    from pyspark.sql import functions as F

    rows = (
        requests.groupBy("api", "seen_in")
        .agg(
            F.count("*").alias("requests"),
            *(F.count_if(F.col("outcome") == one).alias(one) for one in ("answered", "unanswered", "undecodable")),
            F.count_if(F.size("error_codes") > 0).alias("failed"),
            F.percentile_approx("latency_ms", [0.5, 0.9, 0.99], ACCURACY).alias("quantiles"),
            F.max("latency_ms").alias("max_ms"),
            *(F.avg(part).alias(part) for part in ("queue_ms", "local_ms", "remote_ms")),
            F.min("time").alias("first"),
            F.max("time").alias("last"),
        )
        .collect()
    )
    told = sorted((_told(row) for row in rows), key=lambda row: (-row[2], *row[:2]))
    moments = [moment for row in rows for moment in (row["first"], row["last"]) if moment is not None] or [EPOCH]
    steps = Steps.of(min(moments), max(moments))
    more = max(len(told) - top, 0)
    return Table("apis", "Per API", TIMES, tuple(told[:top]), LONG_POLLS, more, "No request was seen."), steps


def _told(row: Any) -> tuple[Any, ...]:
    counts = (row.requests, row.unanswered, row.undecodable, row.failed)
    share = 100 * row.failed / row.answered if row.answered else None
    quantiles = tuple(row.quantiles or (None, None, None))
    return (row.api, row.seen_in, *counts, share, *quantiles, row.max_ms, row.queue_ms, row.local_ms, row.remote_ms)


def _errors(requests: DataFrame, steps: Steps, top: int) -> tuple[Table, Chart | None]:
    from pyspark.sql import functions as F

    shape = columns(
        Column("api", "API"),
        Column("seen_in", "seen in"),
        "code",
        "error",
        Column("responses", comment="With this code at least once."),
        Column("source", comment="File of the first."),
        Column("position", comment="Where in that file."),
    )
    each = requests.select("api", "seen_in", "time", "source", "position", F.explode("error_codes").alias("code"))
    counts = (F.count("*").alias("responses"), F.min_by(F.struct("source", "position"), "time").alias("example"))
    rows = each.groupBy(steps.number("time").alias("at"), "api", "seen_in", "code").agg(*counts).collect()
    totals: Counter[tuple[str, str, int]] = Counter()
    examples: dict[tuple[str, str, int], Any] = {}
    moments: Counter[tuple[int | None, str, str]] = Counter()
    for row in sorted(rows, key=lambda row: (row.at is None, row.at)):
        key = (row.api, row.seen_in, row.code)
        totals[key] += row.responses
        examples.setdefault(key, row.example or (None, None))
        moments[row.at, ErrorCode(row.code).name, row.seen_in] += row.responses
    told = [(*key, ErrorCode(key[2]).name, totals[key], *examples[key]) for key in totals]
    told.sort(key=lambda row: (-row[4], *row[:3]))
    empty = "No response has an error code."
    table = Table("errors", "Errors", shape, tuple(told[:top]), more=max(len(told) - top, 0), empty=empty)
    flat = ((*moment, count) for moment, count in moments.items())
    return table, counted_over_time("errors", "Errors over time", flat, steps, unit="responses")


def _throttled(requests: DataFrame, top: int) -> Table:
    from pyspark.sql import functions as F

    held = requests.where("throttle_ms > 0").groupBy("client_id", "principal", "api", "seen_in")
    table = held.agg(F.count("*"), F.sum("throttle_ms").alias("throttle_ms"), F.max("throttle_ms"))
    rows = table.orderBy(F.desc("throttle_ms"), "client_id", "principal", "api", "seen_in").limit(top).collect()
    more = table.count() - top if len(rows) == top else 0
    shape = columns(
        Column("client_id", "client"),
        "principal",
        Column("api", "API"),
        Column("seen_in", "seen in"),
        "responses",
        Column("throttle_ms", "in all ms", comment="How long the client was asked to pause."),
        Column("max_ms", "max ms"),
    )
    return Table("throttled", "Throttled clients", shape, cells(rows), more=more, empty="No client was throttled.")


def _slowest(requests: DataFrame) -> Table:
    from pyspark.sql import functions as F

    shape = columns(
        Column("latency_ms", "ms"),
        Column("api", "API"),
        "version",
        Column("seen_in", "seen in"),
        Column("client_id", "client"),
        Column("client_host", "address"),
        "time",
        "source",
        "position",
    )
    slow = requests.where("latency_ms is not null").select(*(column.name for column in shape))
    rows = slow.orderBy(F.desc("latency_ms"), "source", "position").limit(SLOWEST).collect()
    return Table("slowest", "The slowest requests", shape, cells(rows), empty="No request was answered.")


def _summary(times: Table, errors: Table, throttled: Table) -> tuple[str, ...]:
    if not times.rows:
        return ("No request was seen.",)
    requests, unanswered, failed = (int(sum(_numbers(times, name))) for name in ("requests", "unanswered", "failed"))
    told = [f"{counted(requests, 'request')}, {unanswered:,} unanswered, {failed:,} answered with an error."]
    slowest = max(_numbers(times, "p99_ms"), default=None)
    if slowest is not None:
        api = times.column("api")[times.column("p99_ms").index(slowest)]
        told.append(f"The slowest API at the 99th percentile is {api} with {number(slowest)} ms.")
    if errors.rows:
        api, _, _, error, responses = errors.rows[0][:5]
        told.append(f"The most frequent error is {error} in {api}, in {responses:,} responses.")
    held = len(set(throttled.column("client_id")))
    if held:
        told.append(f"{counted(held, 'client')} {'was' if held == 1 else 'were'} throttled.")
    return tuple(told)


def _numbers(table: Table, name: str) -> list[float]:
    return [cell for cell in table.column(name) if isinstance(cell, int | float)]
