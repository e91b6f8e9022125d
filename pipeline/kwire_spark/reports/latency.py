"""How long requests take, how many fail and with what, who is throttled: per API, from the table EXCHANGES.

Times are milliseconds. A capture sees them from where it was taken, a request log on the broker; only the log knows
what they were spent on. Quantiles are approximate, to about a thousandth of the rank.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from kwire_kafka.errors import ErrorCode
from kwire_spark.reports.client_usage import MAX_ROWS, WHO, Client, client_of, completed
from kwire_spark.reports.latency_charts import quantiles_chart, split_chart
from kwire_spark.reports.over_time import EPOCH, Steps, counted_over_time
from kwire_spark.reports.report import Chart, Column, Report, Table, cells, columns
from kwire_spark.reports.text import counted, file_name, number
from kwire_spark.tables.clients import CAPTURE, REQUEST_LOG

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TOP = 100
SLOWEST = 20
ACCURACY = 1000
WAITING = ("Fetch", "ShareFetch", "JoinGroup", "SyncGroup")
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
    """A report on latencies, errors and throttling. Captures and request logs are kept apart: they measure at
    different places."""
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
        Column("source", comment="File of the first.", brief=file_name),
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
    """By clients, as all reports have them: who logs in later is the same client."""
    from pyspark.sql import functions as F

    held = requests.where("throttle_ms > 0").groupBy("client_id", "client_host", "principal", "api", "seen_in")
    counts = (
        F.count("*").alias("responses"),
        F.sum("throttle_ms").alias("all"),
        F.max("throttle_ms").alias("longest"),
    )
    rows = [row.asDict() for row in held.agg(*counts).orderBy(F.desc("all")).limit(MAX_ROWS).collect()]
    whole = completed(client_of(row) for row in rows)
    groups: defaultdict[tuple[Client, str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[whole[client_of(row)], row["api"], row["seen_in"]].append(row)
    told = [
        (
            *(client.client_id, client.host, client.principal, api, seen_in),
            sum(row["responses"] for row in group),
            sum(row["all"] for row in group),
            max(row["longest"] for row in group),
        )
        for (client, api, seen_in), group in groups.items()
    ]
    told.sort(key=lambda row: (-row[6], *(str(cell or "") for cell in row[:5])))
    shape = columns(
        *(column for column in WHO if column.name != "software"),
        Column("api", "API"),
        Column("seen_in", "seen in"),
        "responses",
        Column("throttle_ms", "in all ms", comment="How long the client was asked to pause."),
        Column("max_ms", "max ms"),
    )
    more = max(len(told) - top, 0)
    return Table(
        "throttled", "Throttled clients", shape, tuple(told[:top]), more=more, empty="No client was throttled."
    )


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
        Column("source", brief=file_name),
        "position",
    )
    slow = requests.where("latency_ms is not null").select(*(column.name for column in shape))
    rows = slow.orderBy(F.desc("latency_ms"), "source", "position").limit(SLOWEST).collect()
    return Table("slowest", "The slowest requests", shape, cells(rows), empty="No request was answered.")


def _summary(times: Table, errors: Table, throttled: Table) -> tuple[str, ...]:
    if not times.rows:
        return ("No request was seen.",)
    once = _once(times)
    requests, unanswered, failed = (sum(row[name] for row in once) for name in ("requests", "unanswered", "failed"))
    told = [f"{counted(requests, 'request')}, {unanswered:,} unanswered, {failed:,} answered with an error."]
    slowest = max(
        (row for row in once if row["p99_ms"] is not None and row["api"] not in WAITING),
        key=lambda row: row["p99_ms"],
        default=None,
    )
    if slowest is not None:
        api, p99 = slowest["api"], number(slowest["p99_ms"])
        told.append(
            f"Apart from requests that wait for something, {api} is slowest: {p99} ms at the 99th percentile."
        )
    if errors.rows:
        api, _, _, error, responses, *_ = errors.rows[0]
        assert isinstance(responses, int)
        told.append(f"The most frequent error is {error} in {api}, in {counted(responses, 'response')}.")
    held = len({row[:3] for row in throttled.rows})
    if held:
        told.append(f"{counted(held, 'client')} {'was' if held == 1 else 'were'} throttled.")
    return tuple(told)


def _once(times: Table) -> list[dict[str, Any]]:
    """A row for each API: of what both captures and logs saw, that of the kind that saw more, which comes first."""
    names = [column.name for column in times.columns]
    most: dict[Any, dict[str, Any]] = {}
    for values in times.rows:
        row = dict(zip(names, values, strict=True))
        most.setdefault(row["api"], row)
    return [*most.values()]
