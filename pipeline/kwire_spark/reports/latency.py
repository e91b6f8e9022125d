"""Latency, errors and throttling of requests per API, from the table EXCHANGES.

Times are in milliseconds. Captures measure them where they were taken, request logs on the broker; only the latter
know how the time was spent. Quantiles are approximate, to about a thousandth of the rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kwire_kafka.errors import ErrorCode
from kwire_spark.columns import EPOCH
from kwire_spark.reports import charts
from kwire_spark.reports.client_usage import MAX_ROWS, WHO, client_of, completed, grouped
from kwire_spark.reports.over_time import Steps, counted_over_time
from kwire_spark.reports.report import Chart, Column, Report, Table
from kwire_spark.reports.text import counted, file_name, number
from kwire_spark.tables.clients import CAPTURE, REQUEST_LOG

TOP = 100
SLOW_ROWS = 20
ACCURACY = 1000
WAITING = ("Fetch", "ShareFetch", "JoinGroup", "SyncGroup")
LONG_POLLS = "Fetch, ShareFetch, JoinGroup and SyncGroup wait for data or members: long times are normal."
QUANTILES = {"p50": "p50_ms", "p90": "p90_ms", "p99": "p99_ms", "max": "max_ms"}
PARTS = {"queues": "queue_ms", "local": "local_ms", "remote": "remote_ms"}
PARTS_NOTE = (
    "Mean per request, from request logs: waiting in queues, at work on the leader, waiting for other brokers."
)

TIMES = Table("apis", "Per API", note=LONG_POLLS, empty="No requests found.").with_columns(
    Column("api", "API"),
    "seen_in",
    "requests",
    "unanswered",
    "undecodable",
    Column("failed", "errors", comment="Answered with an error code in any part of the response."),
    Column("failed_percent", "errors %", comment="Of the answered requests."),
    "p50_ms",
    "p90_ms",
    "p99_ms",
    "max_ms",
    Column("queue_ms", "queues ms", comment="Mean time in queues and in sending (request logs)."),
    Column("local_ms", "local ms", comment="Mean processing time on the leader (request logs)."),
    Column("remote_ms", "remote ms", comment="Mean time waiting for other brokers (request logs)."),
)
ERRORS = Table("errors", "Errors", empty="No response has an error code.").with_columns(
    Column("api", "API"),
    "seen_in",
    "code",
    "error",
    Column("responses", comment="With this code at least once."),
    Column("source", comment="File of the first.", brief=file_name),
    Column("position", comment="Byte offset in that file."),
)
THROTTLED = Table("throttled", "Throttled clients", empty="No client was throttled.").with_columns(
    *(column for column in WHO if column.name != "software"),
    Column("api", "API"),
    "seen_in",
    "responses",
    Column("throttle_ms", "total ms", comment="How long the client was asked to pause."),
    "max_ms",
)
SLOWEST = Table("slowest", "Slowest requests", empty="No answered requests found.").with_columns(
    Column("latency_ms", "ms"),
    Column("api", "API"),
    "version",
    "seen_in",
    Column("client_id", "client"),
    Column("client_host", "address"),
    "time",
    Column("source", brief=file_name),
    "position",
)


def latency(exchanges: DataFrame, *, top: int = TOP) -> Report:
    """A report on latencies, errors and throttling. Captures and request logs are kept apart: they measure at
    different places."""
    requests = _requests(exchanges)
    times, steps = _times(requests, top)
    errors, over_time = _errors(requests, steps, top)
    throttled = _throttled(requests, top)
    drawn = (
        _chart(times, "quantiles", "Latency per API", charts.points, QUANTILES, LONG_POLLS),
        _chart(times, "split", "How brokers spend the time", charts.bars, PARTS, PARTS_NOTE),
        over_time,
    )
    summary, tables = _summary(times, errors, throttled), (times, errors, throttled, _slowest(requests))
    return Report("latency", "Latency of requests", summary, tables, tuple(chart for chart in drawn if chart))


def _requests(exchanges: DataFrame) -> DataFrame:
    return exchanges.where("_corrupt is null and outcome is not null").withColumns(
        {
            "api": F.coalesce("api", F.concat(F.lit("key "), "api_key"), F.lit("unknown")),
            "seen_in": F.when(F.isnull("number"), REQUEST_LOG).otherwise(CAPTURE),
        }
    )


def _times(requests: DataFrame, top: int) -> tuple[Table, Steps]:
    """The table, and the steps for charts over the time of the requests."""
    rows = (
        requests.groupBy("api", "seen_in")
        .agg(
            F.count("*").alias("requests"),
            *(F.count_if(F.col("outcome") == name).alias(name) for name in ("answered", "unanswered", "undecodable")),
            F.count_if(F.size("error_codes") > 0).alias("failed"),
            F.percentile_approx("latency_ms", [0.5, 0.9, 0.99], ACCURACY).alias("quantiles"),
            F.max("latency_ms").alias("max_ms"),
            *(F.avg(part).alias(part) for part in PARTS.values()),
            F.min("time").alias("first"),
            F.max("time").alias("last"),
        )
        .collect()
    )
    moments = [moment for row in rows for moment in (row["first"], row["last"]) if moment is not None] or [EPOCH]
    steps = Steps.of(min(moments), max(moments))
    rows.sort(key=lambda row: (-row["requests"], row["api"], row["seen_in"]))
    return TIMES.with_rows(row.asDict() | _derived(row) for row in rows).limited(top), steps


def _derived(row: Any) -> dict[str, Any]:
    quantiles = zip(("p50_ms", "p90_ms", "p99_ms"), row.quantiles or (None, None, None), strict=True)
    return {"failed_percent": 100 * row.failed / row.answered if row.answered else None, **dict(quantiles)}


def _errors(requests: DataFrame, steps: Steps, top: int) -> tuple[Table, Chart | None]:
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
    codes = [(*key, ErrorCode(key[2]).name, totals[key], *examples[key]) for key in totals]
    codes.sort(key=lambda row: (-row[4], *row[:3]))
    flat = ((*moment, count) for moment, count in moments.items())
    table = replace(ERRORS, rows=tuple(codes)).limited(top)
    return table, counted_over_time("errors", "Errors over time", flat, steps, unit="responses")


def _throttled(requests: DataFrame, top: int) -> Table:
    """By client, with requests before and after its login, as in all reports."""
    throttled = requests.where("throttle_ms > 0").groupBy("client_id", "client_host", "principal", "api", "seen_in")
    counts = (
        F.count("*").alias("responses"),
        F.sum("throttle_ms").alias("all"),
        F.max("throttle_ms").alias("longest"),
    )
    rows = [row.asDict() for row in throttled.agg(*counts).orderBy(F.desc("all")).limit(MAX_ROWS).collect()]
    complete = completed(client_of(row) for row in rows)
    groups = grouped(rows, lambda row: (complete[client_of(row)], row["api"], row["seen_in"]))
    clients = [
        (
            *(client.client_id, client.host, client.principal, api, seen_in),
            sum(row["responses"] for row in group),
            sum(row["all"] for row in group),
            max(row["longest"] for row in group),
        )
        for (client, api, seen_in), group in groups.items()
    ]
    clients.sort(key=lambda row: (-row[6], *(str(cell or "") for cell in row[:5])))
    return replace(THROTTLED, rows=tuple(clients)).limited(top)


def _slowest(requests: DataFrame) -> Table:
    slow = requests.where("latency_ms is not null").select(*(column.name for column in SLOWEST.columns))
    return SLOWEST.with_rows(slow.orderBy(F.desc("latency_ms"), "source", "position").limit(SLOW_ROWS).collect())


def _summary(times: Table, errors: Table, throttled: Table) -> tuple[str, ...]:
    if not times.rows:
        return ("No requests found.",)
    apis = _once(times)
    requests, unanswered, failed = (sum(row[name] for row in apis) for name in ("requests", "unanswered", "failed"))
    sentences = [f"{counted(requests, 'request')}, {unanswered:,} unanswered, {failed:,} answered with an error."]
    if measured := [row for row in apis if row["p99_ms"] is not None and row["api"] not in WAITING]:
        slowest = max(measured, key=itemgetter("p99_ms"))
        p99 = number(slowest["p99_ms"])
        sentences.append(f"Apart from long polls, {slowest['api']} is slowest: {p99} ms at the 99th percentile.")
    if errors.rows:
        api, _, _, error, responses, *_ = errors.rows[0]
        assert isinstance(responses, int)
        sentences.append(f"The most frequent error is {error} in {api}, in {counted(responses, 'response')}.")
    if clients := len({row[:3] for row in throttled.rows}):
        sentences.append(f"{counted(clients, 'client')} {'was' if clients == 1 else 'were'} throttled.")
    return tuple(sentences)


def _once(times: Table) -> list[dict[str, Any]]:
    """One row per API: the first one, which is of the input type with the most requests."""
    names = [column.name for column in times.columns]
    rows = [dict[str, Any](zip(names, values, strict=True)) for values in times.rows]
    return [group[0] for group in grouped(rows, itemgetter("api")).values()]


def _chart(
    times: Table, name: str, title: str, draw: Callable[..., charts.Figure], measures: Mapping[str, str], note: str
) -> Chart | None:
    """A chart of the rows with any of ``measures``, columns by their label; ``None`` if there is no such row."""
    columns = [times.column(measure) for measure in measures.values()]
    places = [place for place in range(len(times.rows)) if any(column[place] is not None for column in columns)]
    if not places:
        return None
    names, seen = times.column("api"), times.column("seen_in")
    if len(set(seen)) > 1:
        names = [f"{api} ({str(where).removeprefix('request_')})" for api, where in zip(names, seen, strict=True)]
    labels = [str(names[place]) for place in places]
    series = {label: [column[place] for place in places] for label, column in zip(measures, columns, strict=True)}
    return Chart(name, title, draw(labels, series, unit="milliseconds"), note)
