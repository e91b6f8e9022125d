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
from kwire_inspect.reports.over_time import MAX_ROWS, Count, Steps, counted_over_time
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
    assert second.endswith("long polls, Metadata is slowest, with 7.5 ms at most.")  # Fetch waits


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
    assert f"long polls, {slowest} is slowest, with " in latency(exchanges_of(*rows)).summary[1]


def test_the_whole_report_on_ties_and_on_what_is_nothing(snapshot: SnapshotAssertion) -> None:
    """APIs, errors, clients and requests that are equal in number are in the order of their names and places."""
    log = {"number": None, "source": "request.log"}
    spent = {"queue_ms": 0.0, "local_ms": 0.1, "remote_ms": None}
    bob, long = {"client_id": "two", "principal": "User:bob"}, "x" * 1000
    rows = [
        exchange(3, 9, 2, error_codes=[3, 5], latency_ms=4.0, source="b.pcap"),
        exchange(12, 4, 2, api="Heartbeat", error_codes=[3], latency_ms=4.0, source="b.pcap"),
        exchange(3, 9, 1, error_codes=[3], latency_ms=4.0, position=9),
        exchange(12, 3, 1, api="Heartbeat", error_codes=[5], latency_ms=4.0, position=9),
        exchange(3, 9, 3, error_codes=[5, 5], latency_ms=0.0, **log, **spent),
        exchange(3, 9, 3, error_codes=[3], latency_ms=0.5, time=None, position=1, **log, **spent | {"local_ms": 0.2}),
        exchange(12, 4, 3, api="Heartbeat", outcome="unanswered", error_codes=None, **log),
        exchange(None, None, 9, outcome="undecodable", error_codes=None, latency_ms=2.0),
        exchange(3, 9, 9, throttle_ms=5, client_id="two"),
        exchange(3, 9, 9, throttle_ms=3, **bob),
        exchange(12, 4, 9, api="Heartbeat", throttle_ms=2, **bob),
        exchange(3, 9, 9, throttle_ms=8, client_id="b", client_host="10.0.0.2"),
        exchange(3, 9, 9, throttle_ms=8, client_id="b", client_host=None),
        exchange(3, 9, 9, throttle_ms=1, client_id=f"{long}y"),
        exchange(3, 9, 9, throttle_ms=1, client_id=f"{long}z", **log),
        exchange(3, 9, 9, throttle_ms=4, client_id=f"{long}z"),
        exchange(3, 9, 5, error_codes=[6], latency_ms=99.0, throttle_ms=7, problem="cut off"),
        exchange(3, 9, 5, error_codes=[6], latency_ms=99.0, throttle_ms=7, outcome=None),
    ]
    for given_rows in (rows, rows[::-1]):
        assert whole(latency(exchanges_of(*given_rows))).replace(long, "X") == snapshot(name="ties")
    assert latency(exchanges_of(*rows[:2])).summary == (
        "2 requests, 0 unanswered, 2 answered with an error.",
        "Apart from long polls, Heartbeat is slowest, with 4 ms at most.",
        "The most frequent error is UNKNOWN_TOPIC_OR_PARTITION in 1 response of Heartbeat.",
    )


@pytest.mark.parametrize(
    ("span", "length"),
    [
        (timedelta(seconds=0), "1 s"),
        (timedelta(seconds=59) - timedelta(microseconds=1), "1 s"),
        (timedelta(seconds=59), "5 s"),
        (timedelta(seconds=590), "30 s"),
        (timedelta(minutes=59), "5 min"),
        (timedelta(hours=59), "3 h"),
        (timedelta(days=59), "7 d"),
        (timedelta(days=59 * 7), "30 d"),
        (timedelta(days=59 * 30) - timedelta(microseconds=1), "30 d"),
        (timedelta(days=59 * 30), "31 d"),
        (timedelta(days=59 * 31 - 1), "31 d"),
        (timedelta(days=59 * 31), "32 d"),
    ],
)
def test_the_length_of_steps_for_a_span(span: timedelta, length: str) -> None:
    assert str(Steps.of(START, START + span)) == length


def test_names_for_lengths_of_steps() -> None:
    lengths = [
        (1, "1 s"),
        (59, "59 s"),
        (60, "1 min"),
        (90, "90 s"),
        (3600, "1 h"),
        (5400, "90 min"),
        (90000, "25 h"),
    ]
    assert [(seconds, str(Steps(timedelta(seconds=seconds)))) for seconds, _ in lengths] == lengths


def test_counts_over_time_are_in_their_steps() -> None:
    """Step 0 begins in 1970. A name that is as rare as another comes after it by its letters."""
    steps = Steps(timedelta(minutes=1))
    counts: list[Count] = [
        (1, "b", "capture", 2),
        (0, "a", "capture", 1),
        (3, "a", "request_log", 1),
        (0, "a", "forwarded", 3),
    ]
    counts += [(3, "a", "capture", 2), (None, "a", "capture", 99), (-1, "c", "capture", 5)]
    chart = counted_over_time("t", "T", counts, steps, unit="requests")
    assert chart is not None
    assert (chart.name, chart.title, chart.note) == ("t", "T", "")
    found = {trace["name"]: trace["y"] for trace in chart.figure["data"]}
    assert [*found.items()] == [("a", [0, 3, 0, 0, 2]), ("c", [5, 0, 0, 0, 0]), ("b", [0, 0, 2, 0, 0])]
    assert chart.figure["data"][0]["text"][:3:2] == ["1969-12-31 23:59:00 UTC", "1970-01-01 00:01:00 UTC"]
    assert chart.figure["data"][0]["x"][0] == "1969-12-31 23:59:30"
    assert chart.figure["data"][0]["width"] == 60_000
    assert chart.figure["layout"]["yaxis"]["title"]["text"] == "requests in 1 min"
    assert chart.figure["layout"]["xaxis"]["range"] == ["1969-12-31 23:59:00", "1970-01-01 00:04:00"]
    names = [(0, name, "capture", 1) for name in "hgfedcbai"]
    others = counted_over_time("t", "T", names, steps, unit="requests")
    assert others is not None
    assert {trace["name"]: trace["y"] for trace in others.figure["data"]} == {
        **{name: [1] for name in "abcdefg"},
        "others": [2],
    }
    assert counted_over_time("t", "T", counts[-2:-1], steps, unit="requests") is None


def test_charts_name_the_input_if_there_are_several() -> None:
    log = exchange(0, 9, 1, latency_ms=2.0, number=None)
    for rows, names in (
        ([log], ["Produce"]),
        ([log, exchange(latency_ms=1.0), exchange(12, latency_ms=None)], ["Metadata (capture)", "Produce (log)"]),
        ([exchange(0, latency_ms=1.0), exchange(latency_ms=0.0)], ["Metadata", "Produce"]),
    ):
        assert latency(exchanges_of(*rows)).charts[0].figure["layout"]["yaxis"]["ticktext"] == names


@pytest.mark.parametrize(
    ("places", "first"),
    [
        ([(1.5, "a", 3), (1.25, "z", 8), (1.75, "a", 1)], ("z", 8)),
        ([(1.5, "b", 3), (1.5, "a", 8), (1.5, "a", 9)], ("a", 8)),
        ([(None, "a", 1), (900, "c", 3), (7, "d", 4)], ("d", 4)),
        ([(None, "b", 1), (None, "a", 3)], ("a", 3)),
    ],
)
def test_the_example_of_an_error_is_its_first_response(
    places: list[tuple[float | None, str, int]], first: tuple[str, int]
) -> None:
    """By its time, then by its place; a response without a time comes last."""
    rows = [
        exchange(3, 9, at or 0, error_codes=[3], source=source, position=position)
        | ({"time": None} if at is None else {})
        for at, source, position in places
    ]
    errors = latency(exchanges_of(*rows)).table("errors")
    assert [row[4:] for row in errors.rows] == [(len(places), *first)]
