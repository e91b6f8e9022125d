"""The census: numbers on rows made by hand, and what is printed of them."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from kwire_inspect.reports.census import census
from kwire_inspect.reports.release_support import deprecated_in, is_known, refused_by, spans
from kwire_inspect.reports.report import Report
from kwire_inspect.reports.terminal import print_report
from tests.support.report_rows import START, client, clients_of, exchange, exchanges_of, whole


@pytest.fixture(scope="module")
def report() -> Report:
    clients = clients_of(
        client(0, 2, 5, client_id="old", refused=1),
        client(0, 2, 7, client_id="old", server_port=9093, last_seen=START + timedelta(hours=1)),
        client(0, 2, 10, client_id="old", input_kind="request_log", principal="User:alice"),
        client(0, 2, 1, client_id=None, client_host="10.0.0.2", input_kind="server_log", refused=1),
        client(11, 1, 3, client_id="joins", software_name="librdkafka", software_version="2.10", errors=2),
        client(3, 9, 4, client_id="joins", client_host="10.0.0.3"),
        client(3, 1, 2, client_id="joins", first_seen=START - timedelta(hours=1), principal="User:ANONYMOUS"),
        client(999, 0, 1, api=None),
    )
    exchanges = exchanges_of(
        *(exchange(0, 2, at) for at in (0, 10, 3000)),
        *(exchange(3, 9, at, number=None) for at in (0, 10)),
        exchange(3, 9, 20),
        exchange(999, 0, 3000),
        exchange(at=9_000_000, problem="cut off"),
    )
    return census(clients, exchanges)


def test_what_is_counted_over_time(report: Report) -> None:
    figure = report.charts[0].figure
    series = {trace["name"]: [count for count in trace["y"] if count] for trace in figure["data"]}
    assert series == {"Produce": [2, 1], "Metadata": [2], "unknown": [1]}
    assert figure["data"][0]["text"][0] == "2026-01-02 12:00:00 UTC"


def test_the_heat_map_has_a_field_for_each_pair(report: Report) -> None:
    trace = report.charts[1].figure["data"][0]
    assert report.charts[1].figure["layout"]["yaxis"]["ticktext"] == ["Produce", "Metadata", "JoinGroup", "key 999"]
    assert report.charts[1].figure["layout"]["xaxis"]["ticktext"] == ["0", "1", "2", "9"]
    assert trace["customdata"] == [[0, 0, 13, 0], [0, 2, 0, 4], [0, 3, 0, 0], [1, 0, 0, 0]]
    assert trace["z"][0][0] is None


def test_what_is_printed(report: Report, snapshot: SnapshotAssertion) -> None:
    text = io.StringIO()
    print_report(report, Console(file=text, width=150))
    assert text.getvalue() == snapshot
    assert whole(report) == snapshot


def test_no_more_rows_than_asked_for() -> None:
    names = "abcdef"
    clients = clients_of(*(client(version=at, requests=at + 1, client_id=name) for at, name in enumerate(names)))
    shown = census(clients, top=4)
    versions = shown.table("versions")
    assert versions.column("version") == [2, 3, 4, 5]
    assert versions.more == 2
    assert shown.summary[0].startswith("6 clients used 1 API in 6 versions")
    assert census(clients_of(*(client(version=version) for version in range(201)))).table("versions").more == 1


def test_requests_of_brokers_are_left_out_and_counted() -> None:
    clients = clients_of(client(1, 13, 7, client_id="broker-2-fetcher-0"), client(requests=5))
    report = census(clients)
    assert "Excludes 7 requests from brokers and controllers." in report.summary
    assert report.table("versions").column("requests") == [5]


def test_a_client_was_first_seen_where_it_was_first_seen_even_without_an_address() -> None:
    """Forwarded requests have no address and come after those that have."""
    early, late = START - timedelta(hours=1), START + timedelta(minutes=1)
    forwarded = client(32, 4, 2, client_id="a", input_kind="forwarded", client_host=None, first_seen=early)
    report = census(clients_of(client(3, 9, 5, client_id="a"), forwarded))
    counts = (7, 0, 0, early, late)
    assert report.table("clients").rows == (("a", "10.0.0.1", None, None, 2, 2, *counts),)
    assert report.table("software").rows == (("unknown", 1, *counts),)


def test_nothing_was_seen() -> None:
    empty = census(clients_of(), exchanges_of())
    assert empty.summary[0] == "No requests found."
    assert not empty.charts


def test_what_is_accepted_only_where_it_is_switched_on_is_not_current() -> None:
    versions = census(clients_of(client(22, 5), client(22, 6))).table("versions")
    assert list(zip(versions.column("version"), versions.column("state"), strict=True)) == [
        (6, "unstable"),
        (5, "current"),
    ]


def test_join_group_was_refused_by_one_release_alone() -> None:
    assert refused_by(11, 1) == ("4.0.0",)
    assert spans(refused_by(0, 2)) == "4.0.0 and newer"
    assert spans(deprecated_in(18, 0)) == ""
    assert not refused_by(3, 13)
    assert is_known(3, 13)
    assert not is_known(3, 99)
    assert not is_known(999, 0)


def test_the_whole_census_of_ties_brokers_and_versions_that_are_unknown(snapshot: SnapshotAssertion) -> None:
    """What is equal in number is in the order of its cells. Steps have the requests of every client."""
    hour = timedelta(hours=1)
    unversioned = {"input_kind": "server_log", "client_id": None, "requests": 0, "refused": 4}
    rows = [
        client(3, 9, 4, client_id="b", first_seen=None, last_seen=None),
        client(3, 9, 4, client_id="a", client_host="10.0.0.2", errors=1),
        client(0, 9, 4, client_id="a", client_host="10.0.0.3", software_name="kgo", software_version="1"),
        client(0, 9, 3, client_id="a", client_host="10.0.0.3", input_kind="request_log", errors=3, refused=2),
        client(0, 9, 2, client_id="a", client_host="10.0.0.3", input_kind="request_log", server_port=9093),
        client(0, 3, 4, client_id="c", last_seen=START + hour),
        client(0, 2, 8, client_id="c", first_seen=START - hour),
        client(77, 1, 1, client_id="c", api=None, input_kind="forwarded"),
        client(77, 1, 1, client_id="c", api="Named"),
        client(78, 1, 1, client_id=None, api=None),
        client(22, 6, 1, client_id="c", api="InitProducerId"),
        client(3, 0, 1, client_id="c") | unversioned | {"version": None},
        client(58, 0, 5, client_id="1", api="Envelope"),
        client(1, 9, 6, client_id="1"),
        client(1, 9, 7, client_id="1", input_kind="request_log"),
        client(1, 3, 2, client_id="raft-client-1"),
    ]
    seen = [exchange(key, 9, at) for key, at in ((0, 0), (0, 3599), (3, 3600), (77, 3600))]
    seen += [exchange(0, 9, 0, number=None) | {"position": at} for at in range(3)]
    seen += [exchange(3, 9) | {"time": None}, exchange(None, None, 7200), exchange(3, 9, 7200, problem="cut off")]
    for given in (rows, rows[::-1]):
        assert whole(census(clients_of(*given), exchanges_of(*seen))) == snapshot(name="ties")
    few = census(clients_of(*rows), top=2)
    assert [(table.name, len(table.rows), table.more) for table in few.tables[:3]] == [
        ("versions", 2, 6),
        ("clients", 2, 3),
        ("software", 2, 0),
    ]
    assert few.summary[0].startswith("5 clients used 2 APIs in 8 versions, from ")
