"""Latency, errors and throttling of requests by API, from the table EXCHANGES.

Times are in milliseconds. Captures measure times at the place of the capture, and request logs measure times on the
broker. Only request logs show how the time was spent. The rank of a quantile is accurate to about a thousandth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import IntEnum
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from kwire_inspect.reports import charts
from kwire_inspect.reports.client_usage import MAX_ROWS, WHO, client_of, completed, grouped
from kwire_inspect.reports.over_time import Steps, counted_over_time
from kwire_inspect.reports.report import Chart, Column, Report, Table
from kwire_inspect.reports.text import counted, file_name, number
from kwire_inspect.schemas import EPOCH
from kwire_inspect.tables.clients import INPUT_KIND, MAX_IDENTITY
from kwire_inspect.tables.relations import collect, query
from kwire_kafka.errors import ErrorCode

if TYPE_CHECKING:
    from kwire_inspect.tables.relations import Relation, Row

TOP = 100
SLOW_ROWS = 20
ACCURACY = 1000
WAITING = ("Fetch", "ShareFetch", "JoinGroup", "SyncGroup")
LONG_POLLS = "Fetch, ShareFetch, JoinGroup and SyncGroup wait for data or members, so long times are normal."
MIN_MEASURED = {"p90_ms": 10, "p99_ms": 100}
"""Minimum number of measured requests to report each quantile. With fewer requests, the quantile would equal the
maximum."""
FEW = "p90 requires 10 measured requests, and p99 requires 100. With fewer requests, both would equal the maximum."
QUANTILES = {"p50": "p50_ms", "p90": "p90_ms", "p99": "p99_ms", "max": "max_ms"}
PARTS = {"queues": "queue_ms", "local": "local_ms", "remote": "remote_ms"}
PARTS_NOTE = (
    "Mean times per request, from request logs: in queues, processing on the leader, and waiting for other brokers."
)

TIMES = Table("apis", "Per API", note=f"{LONG_POLLS} {FEW}", empty="No requests found.").with_columns(
    Column("api", "API"),
    "input_kind",
    "requests",
    "unanswered",
    "undecodable",
    Column("failed", "errors", comment="Requests whose response contains an error code in any part."),
    Column(
        "failed_percent", "errors %", comment="Percentage of answered requests whose response contains an error code."
    ),
    "p50_ms",
    Column("p90_ms", comment=FEW),
    Column("p99_ms", comment=FEW),
    "max_ms",
    Column("queue_ms", "queues ms", comment="Mean time in queues and while sending (request logs)."),
    Column("local_ms", "local ms", comment="Mean processing time on the leader (request logs)."),
    Column("remote_ms", "remote ms", comment="Mean time waiting for other brokers (request logs)."),
)
ERRORS = Table("errors", "Errors", empty="No response has an error code.").with_columns(
    Column("api", "API"),
    "input_kind",
    "code",
    "error",
    Column("responses", comment="Responses that contain this code at least once."),
    Column("source", comment="File that contains the first response with this code.", brief=file_name),
    Column("position", comment="Byte offset of that response in the file."),
)
THROTTLED = Table("throttled", "Throttled clients", empty="No client was throttled.").with_columns(
    *(column for column in WHO if column.name != "software"),
    Column("api", "API"),
    "input_kind",
    "responses",
    Column("throttle_ms", "total ms", comment="Total time in milliseconds that brokers asked the client to wait."),
    "max_ms",
)
SLOWEST = Table("slowest", "Slowest requests", empty="No answered requests found.").with_columns(
    Column("latency_ms", "ms"),
    Column("api", "API"),
    "version",
    "input_kind",
    Column("client_id", "client"),
    Column("client_host", "address"),
    "time",
    Column("source", brief=file_name),
    "position",
)


def latency(exchanges: Relation, *, top: int = TOP, codes: type[IntEnum] = ErrorCode) -> Report:
    """Return a report on latency, errors and throttling. ``codes`` is an enum with the names of the error codes.

    Captures and request logs are reported separately, because they measure times in different places.
    """
    times, steps = _times(exchanges, top)
    errors, over_time = _errors(exchanges, steps, top, codes)
    throttled = _throttled(exchanges, top)
    drawn = (
        _chart(times, "quantiles", "Latency per API", charts.points, QUANTILES, f"{LONG_POLLS} {FEW}"),
        _chart(times, "split", "How brokers spend their time", charts.bars, PARTS, PARTS_NOTE),
        over_time,
    )
    summary, tables = _summary(times, errors, throttled), (times, errors, throttled, _slowest(exchanges))
    return Report("latency", "Latency of requests", summary, tables, tuple(chart for chart in drawn if chart))


def _requests(columns: str) -> str:
    """Return a query for these columns of ``{exchanges}``, the API name, and the input type. Rows that report broken
    input are excluded.
    """
    return f"""
        SELECT coalesce(api, 'key ' || api_key, 'unknown') AS api, {INPUT_KIND} AS input_kind, {columns}
        FROM {{exchanges}} WHERE problem IS NULL AND outcome IS NOT NULL"""


def _times(exchanges: Relation, top: int) -> tuple[Table, Steps]:
    """Return the table of times per API, and the time steps for charts."""
    outcomes = (
        f"sum(CASE WHEN outcome = '{name}' THEN 1 ELSE 0 END) AS {name}"
        for name in ("answered", "unanswered", "undecodable")
    )
    shares = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99}
    quantiles = (f"percentile_approx(latency_ms, {share}, {ACCURACY}) AS {name}" for name, share in shares.items())
    rows = collect(
        f"""
        SELECT api, input_kind, count(*) AS requests, {", ".join(outcomes)},
            sum(CASE WHEN size(error_codes) > 0 THEN 1 ELSE 0 END) AS failed,
            {", ".join(quantiles)}, max(latency_ms) AS max_ms, count(latency_ms) AS measured,
            {", ".join(f"avg({part}) AS {part}" for part in PARTS.values())},
            min(time) AS first_seen, max(time) AS last_seen
        FROM ({_requests("outcome, error_codes, latency_ms, queue_ms, local_ms, remote_ms, time")}) AS requests
        GROUP BY api, input_kind""",
        exchanges=exchanges,
    )
    seen = [row[name] for row in rows for name in ("first_seen", "last_seen")]
    moments = [moment for moment in seen if moment is not None] or [EPOCH]
    steps = Steps.of(min(moments), max(moments))
    rows.sort(key=lambda row: (-row["requests"], row["api"], row["input_kind"]))
    return TIMES.with_rows(row | _derived(row) for row in rows).limited(top), steps


def _derived(row: Row) -> Row:
    """Return the derived cells of a row, without misleading digits.

    Means are rounded, because engines add numbers in different orders, so the last digits may differ. Quantiles of
    too few requests are empty.
    """
    quantiles = {name: row[name] if row["measured"] >= least else None for name, least in MIN_MEASURED.items()}
    means = {part: None if row[part] is None else round(row[part], 9) for part in PARTS.values()}
    return means | quantiles | {"failed_percent": 100 * row["failed"] / row["answered"] if row["answered"] else None}


def _errors(exchanges: Relation, steps: Steps, top: int, names: type[IntEnum]) -> tuple[Table, Chart | None]:
    place = "struct(CASE WHEN time IS NULL THEN 1 ELSE 0 END, time, source, position) AS place"
    rows = collect(
        f"""
        SELECT step, api, input_kind, code, count(*) AS responses,
            min_by(source, place) AS source, min_by(position, place) AS position
        FROM ({_requests(f"{steps.number('time')} AS step, code, source, position, {place}")}) AS requests
        GROUP BY step, api, input_kind, code""",
        exchanges=query("SELECT *, explode(error_codes) AS code FROM {exchanges}", exchanges=exchanges),
    )
    totals: Counter[tuple[str, str, int]] = Counter()
    examples: dict[tuple[str, str, int], Any] = {}
    moments: Counter[tuple[int | None, str, str]] = Counter()
    for row in sorted(rows, key=lambda row: (row["step"] is None, row["step"])):
        key = (row["api"], row["input_kind"], row["code"])
        totals[key] += row["responses"]
        examples.setdefault(key, (row["source"], row["position"]))
        moments[row["step"], names(row["code"]).name, row["input_kind"]] += row["responses"]
    codes = [(*key, names(key[2]).name, totals[key], *examples[key]) for key in totals]
    codes.sort(key=lambda row: (-row[4], *row[:3]))
    flat = ((*moment, count) for moment, count in moments.items())
    table = replace(ERRORS, rows=tuple(codes)).limited(top)
    return table, counted_over_time("errors", "Errors over time", flat, steps, unit="responses")


def _throttled(exchanges: Relation, top: int) -> Table:
    """Return the table of throttled clients. As in all reports, requests before and after a login are combined."""
    who = ", ".join(f"substr({one}, 1, {MAX_IDENTITY}) AS {one}" for one in ("client_id", "principal"))
    rows = collect(
        f"""
        SELECT client_id, client_host, principal, api, input_kind, count(*) AS responses, sum(throttle_ms) AS total,
            max(throttle_ms) AS longest
        FROM ({_requests(f"{who}, client_host, throttle_ms")} AND throttle_ms > 0) AS requests
        GROUP BY client_id, client_host, principal, api, input_kind ORDER BY total DESC LIMIT {MAX_ROWS}""",
        exchanges=exchanges,
    )
    complete = completed(client_of(row) for row in rows)
    groups = grouped(rows, lambda row: (complete[client_of(row)], row["api"], row["input_kind"]))
    clients = [
        (
            *(client.client_id, client.host, client.principal, api, input_kind),
            sum(row["responses"] for row in group),
            sum(row["total"] for row in group),
            max(row["longest"] for row in group),
        )
        for (client, api, input_kind), group in groups.items()
    ]
    clients.sort(key=lambda row: (-row[6], *(str(cell or "") for cell in row[:5])))
    return replace(THROTTLED, rows=tuple(clients)).limited(top)


def _slowest(exchanges: Relation) -> Table:
    others = [column.name for column in SLOWEST.columns if column.name not in ("api", "input_kind")]
    rows = collect(
        f"""
        SELECT * FROM ({_requests(", ".join(others))} AND latency_ms IS NOT NULL) AS requests
        ORDER BY latency_ms DESC, source, position, api, version LIMIT {SLOW_ROWS}""",
        exchanges=exchanges,
    )
    return SLOWEST.with_rows(rows)


def _summary(times: Table, errors: Table, throttled: Table) -> tuple[str, ...]:
    if not times.rows:
        return ("No requests found.",)
    apis = _once(times)
    requests, unanswered, failed = (sum(row[name] for row in apis) for name in ("requests", "unanswered", "failed"))
    sentences = [f"{counted(requests, 'request')}, {unanswered:,} unanswered, {failed:,} answered with an error."]
    for name, where in (("p99_ms", "at the 99th percentile"), ("max_ms", "at most")):
        if measured := [row for row in apis if row[name] is not None and row["api"] not in WAITING]:
            slowest = max(measured, key=itemgetter(name))
            duration = number(slowest[name])
            sentences.append(f"Apart from long polls, {slowest['api']} is slowest, with {duration} ms {where}.")
            break
    if errors.rows:
        api, _, _, error, responses, *_ = errors.rows[0]
        assert isinstance(responses, int)
        sentences.append(f"The most frequent error is {error} in {counted(responses, 'response')} of {api}.")
    if clients := len({row[:3] for row in throttled.rows}):
        least = "At least " if throttled.more else ""
        sentences.append(f"{least}{counted(clients, 'client')} {'was' if clients == 1 else 'were'} throttled.")
    return tuple(sentences)


def _once(times: Table) -> list[dict[str, Any]]:
    """Return the first row of each API, which is for the input type with the most requests."""
    names = [column.name for column in times.columns]
    rows = [dict[str, Any](zip(names, values, strict=True)) for values in times.rows]
    return [group[0] for group in grouped(rows, itemgetter("api")).values()]


def _chart(
    times: Table, name: str, title: str, draw: Callable[..., charts.Figure], measures: Mapping[str, str], note: str
) -> Chart | None:
    """Return a chart of the rows that contain at least one of ``measures``, or ``None`` if no row does.

    ``measures`` maps labels to column names.
    """
    columns = [times.column(measure) for measure in measures.values()]
    places = [place for place in range(len(times.rows)) if any(column[place] is not None for column in columns)]
    if not places:
        return None
    names, seen = times.column("api"), times.column("input_kind")
    if len(set(seen)) > 1:
        names = [f"{api} ({str(where).removeprefix('request_')})" for api, where in zip(names, seen, strict=True)]
    labels = [str(names[place]) for place in places]
    values = ([column[place] for place in places] for column in columns)
    series = {label: cells for label, cells in zip(measures, values, strict=True) if cells != [None] * len(cells)}
    return Chart(name, title, draw(labels, series, unit="milliseconds"), note)
