"""Latency, errors and throttling: numbers on rows made by hand, and what is printed of them."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from kwire_inspect.reports.charts import PALETTE
from kwire_inspect.reports.latency import latency
from kwire_inspect.reports.over_time import MAX_ROWS, Steps, counted_over_time
from kwire_inspect.reports.report import Report
from kwire_inspect.reports.terminal import print_report
from tests.support.report_rows import START, exchange, exchanges_of, whole


@pytest.fixture(scope="module")
def report() -> Report:
    log = {"number": None, "source": "request.log", "queue_ms": 1.0, "local_ms": 2.0, "remote_ms": 3.0}
    return latency(
        exchanges_of(
            *(exchange(1, 12, at, latency_ms=float(at), throttle_ms=0) for at in range(1, 101)),
            exchange(3, 9, 5, latency_ms=7.5, error_codes=[3, 5]),
            exchange(3, 9, 4, latency_ms=2.5, error_codes=[3], throttle_ms=40, client_id="two"),
            exchange(3, 9, 6, latency_ms=1.0, throttle_ms=10, client_id="two", principal="User:bob"),
            exchange(3, 9, 7, outcome="unanswered", error_codes=None),
            exchange(3, 9, 8, outcome="undecodable", error_codes=None, latency_ms=1.5),
            exchange(3, 9, 9, error_codes=[1234], **log, latency_ms=6.0),
            exchange(3, 9, 0, error_codes=[3], latency_ms=None) | {"time": None, **log},
            exchange(999, 0, 1, outcome="none", error_codes=None),
            exchange(at=10, outcome=None, problem="cut off"),
        )
    )


def test_quantiles_per_api(report: Report) -> None:
    rows = {(row[0], row[1]): row[2:] for row in report.table("apis").rows}
    assert rows["Fetch", "capture"][:9] == (100, 0, 0, 0, 0.0, 50.0, 90.0, 99.0, 100.0)
    assert rows["Metadata", "capture"][:9] == (5, 1, 1, 2, 100 * 2 / 3, 1.5, None, None, 7.5)
    assert rows["key 999", "capture"] == (1, 0, 0, 0, None, *[None] * 7)


@pytest.mark.parametrize(
    ("count", "p90", "p99"), [(9, None, None), (10, 9.0, None), (99, 90.0, None), (100, 90.0, 99.0)]
)
def test_a_quantile_that_is_the_maximum_is_not_shown(count: int, p90: float | None, p99: float | None) -> None:
    unmeasured = [exchange(3, 9, at, latency_ms=None) for at in range(200)]
    report = latency(exchanges_of(*(exchange(3, 9, at, latency_ms=at + 1.0) for at in range(count)), *unmeasured))
    table = report.table("apis")
    assert (table.column("p90_ms"), table.column("p99_ms"), table.column("max_ms")) == ([p90], [p99], [count])
    expected = "99 ms at the 99th percentile." if p99 else f"{count} ms at most."
    (slowest,) = [sentence for sentence in report.summary if "is slowest" in sentence]
    assert slowest.endswith(expected)
    names = [trace["name"] for trace in report.charts[0].figure["data"]]
    assert names == ["p50", *(["p90"] if p90 else []), *(["p99"] if p99 else []), "max"]
    assert report.charts[0].figure["layout"]["yaxis"]["ticktext"] == ["Metadata"], "all are of captures"


def test_what_the_broker_spends_it_on(report: Report) -> None:
    rows = {(row[0], row[1]): row for row in report.table("apis").rows}
    assert rows["Metadata", "request_log"][-4:] == (6.0, 1.0, 2.0, 3.0)
    (chart,) = [chart for chart in report.charts if chart.name == "split"]
    assert [trace["x"] for trace in chart.figure["data"]] == [[1.0], [2.0], [3.0]]
    assert chart.figure["layout"]["yaxis"]["ticktext"] == ["Metadata (log)"]


def test_errors_over_time(report: Report) -> None:
    (chart,) = [chart for chart in report.charts if chart.name == "errors"]
    counts = {trace["name"]: sum(trace["y"]) for trace in chart.figure["data"]}
    assert counts == {"UNKNOWN_TOPIC_OR_PARTITION": 2, "LEADER_NOT_AVAILABLE": 1, "UNKNOWN_1234": 1}


def test_the_headline_counts_what_both_saw_once(report: Report) -> None:
    first, second, *_ = report.summary
    assert first == "106 requests, 1 unanswered, 2 answered with an error."  # not 108: two are of the log
    assert second.endswith("long polls, Metadata is slowest: 7.5 ms at most.")  # Fetch waits


def test_what_is_printed(report: Report, snapshot: SnapshotAssertion) -> None:
    text = io.StringIO()
    print_report(report, Console(file=text, width=150), rows=5)
    assert text.getvalue() == snapshot
    assert whole(report) == snapshot


def test_nothing_to_measure() -> None:
    empty = latency(exchanges_of())
    assert empty.summary == ("No requests found.",)
    assert not empty.charts


TIMES = st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))


@given(TIMES, TIMES)
def test_steps_are_as_few_as_a_chart_can_show(one: datetime, other: datetime) -> None:
    first, last = min(one, other), max(one, other)
    length = Steps.of(first, last).length
    assert (last - first) / length < MAX_ROWS


def test_usual_lengths_of_steps() -> None:
    spans = (1, 58, 59, 3600, 86400, 29 * 86400)
    assert [str(Steps.of(START, START + timedelta(seconds=span))) for span in spans] == [
        "1 s",
        "1 s",
        "5 s",
        "5 min",
        "30 min",
        "12 h",
    ]


def test_steps_in_which_nothing_happened_are_shown_and_rare_things_share_a_colour() -> None:
    counts = [(10, f"api {number}", "capture", 100 - number) for number in range(9)] + [(13, "api 8", "capture", 1)]
    chart = counted_over_time("t", "T", counts, Steps(timedelta(seconds=1)), unit="requests")
    assert chart is not None
    series = {trace["name"]: trace["y"] for trace in chart.figure["data"]}
    assert list(series) == [*(f"api {number}" for number in range(7)), "others"]
    assert series["others"] == [93 + 92, 0, 0, 1]


def test_as_many_things_as_there_are_colours_have_one_each() -> None:
    names = [f"api {number}" for number in range(PALETTE)]
    counts = [(10, name, "capture", 100 - number) for number, name in enumerate(names)]
    chart = counted_over_time("t", "T", counts, Steps(timedelta(seconds=1)), unit="requests")
    assert chart is not None
    assert [trace["name"] for trace in chart.figure["data"]] == names


def test_what_two_kinds_of_input_counted_is_counted_once() -> None:
    counts = [(1, "a", "capture", 3), (1, "a", "request_log", 5), (None, "a", "capture", 7)]
    chart = counted_over_time("t", "T", counts, Steps(timedelta(seconds=1)), unit="requests")
    assert chart is not None
    assert chart.figure["data"][0]["y"] == [5]


def test_of_all_tables_the_first_rows_are_shown_and_the_others_counted() -> None:
    rows = [
        exchange(key, at=at, latency_ms=1.0 + key, error_codes=[key], throttle_ms=key, client_id=str(key))
        for key in range(1, 5)
        for at in range(key)
    ]
    report = latency(exchanges_of(*rows), top=3)
    shown = [(report.table(name).more, len(report.table(name).rows)) for name in ("apis", "errors", "throttled")]
    assert shown == [(1, 3)] * 3
    assert report.table("apis").column("requests") == [4, 3, 2]
    assert report.table("errors").column("code") == [4, 3, 2]
    assert report.table("throttled").column("throttle_ms") == [16, 9, 4]
    slowest = report.table("slowest")
    assert (slowest.column("latency_ms")[:4], slowest.column("position")[:4]) == ([5.0] * 4, [0, 1000, 2000, 3000])
    assert report.summary[-1] == "At least 3 clients were throttled."
    one = [exchange(key, at=at, throttle_ms=9) for key in (1, 3) for at in (1, 2)]
    assert latency(exchanges_of(*one)).summary[-1] == "1 client was throttled."
    many = latency(exchanges_of(*(exchange(at=at, latency_ms=1.0) for at in range(21))))
    assert len(many.table("slowest").rows) == 20


@pytest.mark.parametrize("api", ["Fetch", "ShareFetch", "JoinGroup", "SyncGroup", "Heartbeat"])
def test_only_long_polls_are_slow_without_a_sentence(api: str) -> None:
    rows = [exchange(12, at=1, api=api, latency_ms=9.0), exchange(3, at=2, latency_ms=1.0)]
    slowest = api if api == "Heartbeat" else "Metadata"
    assert f"long polls, {slowest} is slowest: " in latency(exchanges_of(*rows)).summary[1]
