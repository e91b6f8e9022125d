"""Who breaks on a release: each rule on a few rows made by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire.errors import UnknownReleaseError
from kwire.releases import Release
from kwire.releases.table import Releases
from kwire_inspect.reports import client_usage
from kwire_inspect.reports.census import census
from kwire_inspect.reports.client_usage import Client, Use, uses_of
from kwire_inspect.reports.counted import ALONE, COUNTED, with_counted
from kwire_inspect.reports.judgement import Judgement, addresses_of, judged
from kwire_inspect.reports.owners import Owners
from kwire_inspect.reports.readiness import LOGS_ALONE, readiness, report_on
from kwire_inspect.reports.release_support import judge
from kwire_inspect.reports.report import Report
from kwire_inspect.schemas import CLIENTS
from kwire_inspect.tables.clients import Clients
from kwire_kafka.releases import RELEASES
from tests.support.report_rows import START, client, clients_of, whole

PRODUCE, FETCH, METADATA, LEADER_AND_ISR, JOIN_GROUP, API_VERSIONS, OFFSET_COMMIT = 0, 1, 3, 4, 11, 18, 8
ENVELOPE, LIST_OFFSETS = 58, 2
ONE = Client("one", "10.0.0.1", None, None)


def use(api_key: int, version: int, **facts: Any) -> Use:
    return replace(Use(ONE, api_key, f"key {api_key}", version), **facts)


def told(target: str, *uses: Use) -> Report:
    return report_on(uses, RELEASES[target])


def full(**facts: Any) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(CLIENTS.names) | client(**facts)
    return row


@pytest.mark.parametrize(
    ("target", "api_key", "version", "state"),
    [
        ("4.1.1", PRODUCE, 2, "refused"),  # though it is advertised
        ("4.1.1", PRODUCE, 3, "ok"),
        ("3.9.1", PRODUCE, 2, "deprecated"),
        ("4.0.0", JOIN_GROUP, 1, "refused"),
        ("4.0.1", JOIN_GROUP, 1, "ok"),
        ("4.1.1", JOIN_GROUP, 0, "ok"),
        ("4.1.1", METADATA, 0, "ok"),
        ("4.1.1", LEADER_AND_ISR, 7, "refused"),
        ("4.1.1", OFFSET_COMMIT, 10, "unsure"),  # unstable
        ("3.9.1", OFFSET_COMMIT, 10, "refused"),  # as it is known to others
        ("4.0.0", 22, 6, "refused"),  # if only as unstable
        ("4.1.1", 9999, 0, "unknown"),
        ("4.1.1", FETCH, 3000, "unknown"),
        ("2.8.2", API_VERSIONS, 4, "ok"),  # always answered, if only by version 0
    ],
)
def test_a_version_is_judged_by_what_the_release_accepts(target: str, api_key: int, version: int, state: str) -> None:
    assert judge(api_key, version, RELEASES[target]).state == state


@pytest.mark.slow
def test_no_version_that_a_release_accepts_is_refused_and_none_that_it_dropped_is_not() -> None:
    for name, release in RELEASES.items():
        for key, api in RELEASES["3.9.1"].apis.items():
            for version in api.accepted:
                state = judge(key, version, release).state
                accepted = key in release.apis and version in release.apis[key].accepted
                assert (state in ("ok", "deprecated")) == (
                    accepted or (key == API_VERSIONS and key in release.apis)
                ) or (version in release.apis[key].unstable), (name, key, version)


def test_the_first_release_that_refuses_and_the_first_that_deprecates_are_told() -> None:
    verdict = judge(PRODUCE, 1, RELEASES["4.1.1"])
    assert (verdict.first, verdict.deprecated) == ("4.0.0", "3.7.0")
    assert judge(JOIN_GROUP, 0, RELEASES["4.0.0"]).reason == "refused by 4.0.0"


def test_a_newer_version_is_no_danger_to_a_client_that_asks() -> None:
    newer = RELEASES["4.1.1"].apis[FETCH].accepted[-1]
    assert judge(FETCH, newer, RELEASES["4.0.0"], negotiates=True).state == "ok"
    assert judge(FETCH, newer, RELEASES["4.0.0"], negotiates=False).state == "refused"
    later_dropped = judge(LEADER_AND_ISR, 7, RELEASES["2.8.2"], negotiates=True)
    assert (later_dropped.state, later_dropped.first) == ("ok", "4.0.0")
    assert told("4.0.0", use(FETCH, newer), use(API_VERSIONS, 3)).exit_code == 0
    assert (
        told("4.0.0", use(FETCH, newer), use(API_VERSIONS, 3, client=Client("two", None, None, None))).exit_code == 1
    )


def test_a_client_newer_than_all_known_releases_is_judged_by_what_is_known() -> None:
    newest = RELEASES.newest
    assert judge(FETCH, 99, newest, negotiates=True).state == "ok"
    assert judge(PRODUCE, 99, RELEASES["0.9.0"], negotiates=True).state == "unknown"  # newer clients have 3 and later
    for version in (newest.apis[FETCH].all_accepted(unstable=True).stop, 99):
        silent = judge(FETCH, version, newest)
        assert (silent.state, silent.reason) == (
            "unknown",
            f"newer than Kafka {newest.name}, the newest known release",
        )
    report = told(newest.name, use(FETCH, 99), use(API_VERSIONS, 99), use(PRODUCE, 1), use(PRODUCE, 99))
    assert report.table("clients").column("verdict") == ["refused"]
    assert report.table("refused").column("newest_common") == [None]
    assert not report.table("doubtful").rows


def test_what_newer_clients_may_have_dropped_is_unsure() -> None:
    newest = RELEASES.newest.apis[PRODUCE].accepted[-1]
    verdict = judge(PRODUCE, newest, RELEASES["0.9.0"], negotiates=True)
    assert (verdict.state, "accepts only older versions" in verdict.reason) == ("unsure", True)


def test_what_no_release_has_or_is_not_sure_to_take_is_no_version_in_common() -> None:
    unstable = told("4.1.1", use(OFFSET_COMMIT, 1), use(OFFSET_COMMIT, 9), use(OFFSET_COMMIT, 10)).table("refused")
    unknown = told("4.1.1", use(PRODUCE, 1), use(PRODUCE, 7), use(PRODUCE, 3000)).table("refused")
    assert (unstable.column("newest_common"), unknown.column("newest_common")) == ([9], [7])


def test_what_brokers_say_among_themselves_is_apart() -> None:
    again = use(LEADER_AND_ISR, 5, client=at(2))
    report = told("4.1.1", use(LEADER_AND_ISR, 5), use(LEADER_AND_ISR, 4), use(FETCH, 12), again)
    assert report.exit_code == 0
    assert report.table("between-brokers").column("state") == ["refused"]
    assert report.table("between-brokers").column("versions") == [(4, 5)]
    assert report.table("clients").column("verdict") == ["ok"]


def test_what_administrators_send_is_not_said_between_brokers() -> None:
    for key in (57, 64):  # UpdateFeatures, UnregisterBroker
        report = told("4.1.1", use(key, 0))
        assert (report.table("clients").column("verdict"), report.table("between-brokers").rows) == (["ok"], ())


def test_refusals_without_a_version_are_told() -> None:
    report = report_on([use(METADATA, 1)], RELEASES["4.1.1"], unjudged=2)
    assert report.exit_code == 0
    assert report.summary[1] == 'Server logs contain 2 refusals without a version. See "Clients".'
    assert len(report_on([], RELEASES["4.1.1"], unjudged=1).summary) == 2


def test_unknown_apis_are_told_and_not_refused() -> None:
    report = told("4.1.1", use(9999, 0))
    assert report.exit_code == 0
    assert report.table("doubtful").column("state") == ["unknown"]


def test_deprecated_versions_are_told_and_not_refused() -> None:
    report = told("3.9.1", use(PRODUCE, 1))
    assert (report.exit_code, report.table("doubtful").column("state")) == (0, ["deprecated"])


def test_the_worst_comes_first() -> None:
    two = Client("two", None, None, None)
    report = told("4.0.0", use(METADATA, 1), use(JOIN_GROUP, 1, client=two))
    assert report.table("clients").column("client_id") == ["two", "one"]
    assert [verdict.state for _, verdict in judged([use(METADATA, 1), use(PRODUCE, 0)], RELEASES["4.0.0"])] == [
        "refused",
        "ok",
    ]


def test_the_chart_has_the_clients_that_break_on_each_release() -> None:
    other = Client("two", "10.0.0.2", None, None)
    (chart,) = told("4.1.1", use(JOIN_GROUP, 1), use(METADATA, 9, client=other)).charts
    refused, accepted = (list(trace["y"]) for trace in chart.figure["data"])
    layout = chart.figure["layout"]
    newest = list(RELEASES)[-1]
    assert layout["xaxis"]["ticktext"] == ["3.9.2", "4.0.0", "4.0.1 to 4.1.0", "4.1.1: target", f"4.1.2 to {newest}"]
    assert refused == [0, 1, 0, 0, 0]  # JoinGroup 1 is back in 4.0.1
    assert accepted == [2, 1, 2, 2, 2]
    assert [(shape["x0"], shape["x1"]) for shape in layout["shapes"]] == [(2.5, 3.5)]
    assert not told("4.1.1", use(METADATA, 1)).charts


def test_what_was_seen_twice_counts_once() -> None:
    captured, logged = full(requests=5), full(input_kind="request_log", requests=3, principal="User:ANONYMOUS")
    other_port = full(requests=4, server_port=9093)
    (found,) = uses_of([logged, captured, other_port])
    assert found.requests == 9
    assert found.place == "a.pcap:0"


def test_refusals_that_were_seen_twice_count_once() -> None:
    (found,) = uses_of([full(refused=2), full(input_kind="request_log", refused=1)])
    assert found.refusals == 2
    assert uses_of([full(version=None)]) == []


ALICE, BOB = {"principal": "User:alice"}, {"principal": "User:bob"}
OLD, NEW = ({"software_name": "librdkafka", "software_version": version} for version in ("2.0.0", "2.3.0"))


def who(*rows: dict[str, Any]) -> set[tuple[str | None, str | None]]:
    return {(one.client.software, one.client.principal) for one in uses_of(rows)}


def test_what_one_client_tells_later_holds_for_what_it_sent_before() -> None:
    assert who(full(), full(**ALICE), full(version=1, **ALICE, **NEW)) == {("librdkafka 2.3.0", "User:alice")}
    assert who(full(principal="User:ANONYMOUS"), full(**NEW)) == {("librdkafka 2.3.0", None)}


def test_software_and_principal_tell_clients_apart() -> None:
    assert who(full(), full(**ALICE), full(**BOB)) == {(None, None), (None, "User:alice"), (None, "User:bob")}
    assert who(full(**ALICE), full(**OLD), full(**NEW)) == {
        (None, "User:alice"),
        ("librdkafka 2.0.0", "User:alice"),
        ("librdkafka 2.3.0", "User:alice"),
    }
    assert who(full(), full(client_host="10.0.0.2", **ALICE), full(client_id="two", **NEW)) == {
        (None, None),
        (None, "User:alice"),
        ("librdkafka 2.3.0", None),
    }


def test_a_client_that_told_its_software_negotiates() -> None:
    """As franz-go with a login, of which a request log has no ApiVersions."""
    logged = full(api_key=PRODUCE, version=13, input_kind="request_log", **ALICE)
    assert report_on(uses_of([logged | NEW]), RELEASES["4.0.0"]).exit_code == 0
    assert report_on(uses_of([logged]), RELEASES["4.0.0"]).exit_code == 1


def test_a_client_in_several_rows_is_one_and_all_of_its_uses_count() -> None:
    report = report_on(
        uses_of([full(api_key=PRODUCE, version=1), full(**ALICE), full(**ALICE, **NEW)]), RELEASES["4.1.1"]
    )
    assert report.summary[0] == "Kafka 4.1.1 refuses 1 of 1 client: one at 10.0.0.1."
    assert [row[:6] for row in report.table("clients").rows] == [
        ("one", "10.0.0.1", None, "librdkafka 2.3.0", "User:alice", "refused")
    ]


def test_whose_requests_a_server_log_saw_is_not_guessed() -> None:
    unnamed = {"client_id": None}
    logged = full(input_kind="server_log", api_key=PRODUCE, version=1, **unnamed)
    assert {(one.version, one.client.principal) for one in uses_of([full(**unnamed, **ALICE), logged])} == {
        (9, "User:alice"),
        (1, None),
    }


def test_a_request_that_a_broker_passed_on_is_of_the_client_that_sent_it() -> None:
    sent = full(api_key=19, version=5, requests=2, input_kind="request_log")
    passed_on = sent | {"client_host": None}
    (found,) = uses_of([passed_on, sent])
    assert (found.client.host, found.requests) == ("10.0.0.1", 2)
    (alone,) = uses_of([passed_on])  # nothing but the controller's log
    assert (alone.client.client_id, alone.client.host) == ("one", None)


def test_a_server_log_adds_only_what_nothing_else_saw() -> None:
    nameless = {"input_kind": "server_log", "client_id": None, "api_key": PRODUCE, "refused": 1}
    rows = [full(api_key=PRODUCE, version=1), full(version=1, **nameless), full(version=2, **nameless)]
    refused = report_on(uses_of(rows), RELEASES["4.1.1"]).table("refused")
    versions = zip(refused.column("client_id"), refused.column("versions"), strict=True)
    assert [*versions] == [(None, (2,)), ("one", (1,))]


def test_an_unknown_target_names_those_that_are_known() -> None:
    with pytest.raises(UnknownReleaseError, match=r"4\.0\.0, 4\.0\.1, 4\.0\.2, 4\.1\.0"):
        readiness(None, "4.9")  # type: ignore[arg-type]


def test_many_clients_are_counted_in_the_summary() -> None:
    uses = [use(PRODUCE, 0, client=Client(f"c{number:02}", None, None, None)) for number in range(12)]
    first, *_ = told("4.1.1", *uses).summary
    assert first.startswith("Kafka 4.1.1 refuses 12 of 12 clients: c00; c01; ")
    assert first.endswith("c09; and 2 more.")
    assert told("4.1.1", use(METADATA, 1)).summary == ("Kafka 4.1.1 refuses none of 1 client.",)
    assert told("4.1.1").summary == ("No clients found.",)


def clients_in(*rows: dict[str, Any]) -> tuple[set[Any], list[Any]]:
    """Who is a client, and the APIs between brokers."""
    report = report_on(uses_of(rows), RELEASES["4.1.1"])
    return {row[0] for row in report.table("clients").rows}, report.table("between-brokers").column("api")


def test_a_broker_is_no_client_but_one_that_sends_anything_else_is() -> None:
    broker = [full(client_id="1", api_key=key, api=str(key)) for key in (ENVELOPE, FETCH, API_VERSIONS)]
    follower = [full(client_id="broker-2-fetcher-0", api_key=key, api=str(key)) for key in (FETCH, LIST_OFFSETS)]
    assert clients_in(*broker, *follower, full()) == ({"one"}, ["1", "18", "58", "2"])
    for other in (broker, follower):
        produced = full(client_id=other[0]["client_id"], api_key=PRODUCE, version=2, api="Produce")
        report = report_on(uses_of([*other, produced]), RELEASES["4.1.1"])
        assert report.exit_code == 1, "no client hides behind an API of brokers"
    passed = full(client_id="1", api_key=30, version=2, api="CreateAcls", input_kind="forwarded")
    assert clients_in(*broker, passed)[0] == set(), "what it passes on is of others"
    elsewhere = full(client_id="1", client_host="10.0.0.2", api_key=FETCH, version=3, api="Fetch")
    assert report_on(uses_of([*broker, elsewhere]), RELEASES["4.1.1"]).exit_code == 1
    nameless = [full(client_id=None, api_key=ENVELOPE), full(client_id=None, api_key=FETCH, version=3, api="Fetch")]
    assert clients_in(*nameless)[0] == {None}


def test_a_forwarded_request_is_that_of_its_client_and_counts_once() -> None:
    seen = {"api_key": 19, "api": "CreateTopics", "version": 5}
    direct, passed = full(**seen, requests=2), full(**seen, requests=2, input_kind="forwarded", server_port=9093)
    (one,) = uses_of([direct, passed])
    assert (one.client, one.requests) == (ONE, 2)
    (other,) = uses_of([passed])
    assert (other.client, other.requests) == (ONE, 2), "its listener was not captured"


def at(number: int, client_id: str | None = "one", software: str | None = None) -> Client:
    return Client(client_id, f"10.0.0.{number}", software, None)


def rows_of(report: Report, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [*zip(*map(report.table(table).column, columns), strict=True)]


def test_a_client_at_many_addresses_is_one() -> None:
    many = [use(PRODUCE, 1, client=at(number), requests=2, refusals=1) for number in range(1, 13)]
    accepted = use(METADATA, 9, client=at(1, "two"))
    report = told("4.1.1", *many, accepted)
    assert report.summary[0] == "Kafka 4.1.1 refuses 1 of 2 clients: one (12 addresses)."
    who = ("client_id", "client_host", "addresses", "requests")
    assert rows_of(report, "refused", *who, "refusals") == [("one", None, 12, 24, 12)]
    assert rows_of(report, "clients", *who) == [("one", None, 12, 24), ("two", "10.0.0.1", None, 1)]
    assert report.table("advice").column("clients") == [1]
    refused, others = (list(trace["y"]) for trace in report.charts[0].figure["data"])
    assert (max(refused), {one + other for one, other in zip(refused, others, strict=True)}) == (1, {2})
    assert set(rows_of(report, "addresses", "client_id", "client_host", "verdict")) == {
        *(("one", one.client.host, "refused") for one in many),
        ("two", "10.0.0.1", "ok"),
    }


def test_checks_keep_their_names_when_addresses_change() -> None:
    names = [[check.name for check in told("4.1.1", *map(produced, hosts)).checks] for hosts in ([1], [2, 3, 4])]
    assert names == [["one"], ["one"]]
    facts = at(1)._replace(software="librdkafka 2.3.0", principal="User:alice")
    assert told("4.1.1", use(PRODUCE, 1, client=facts)).checks[0].name == "one (librdkafka 2.3.0, User:alice)"


def produced(number: int) -> Use:
    return use(PRODUCE, 1, client=at(number))


def test_clients_of_one_verdict_are_in_the_order_of_their_software_whatever_their_addresses() -> None:
    uses = [use(PRODUCE, 9, client=at(number, software=f"lib {9 - number}")) for number in (1, 2, 3)]
    assert rows_of(told("4.1.1", *uses), "clients", "software") == [("lib 6",), ("lib 7",), ("lib 8",)]


def test_a_client_at_one_address_has_no_table_of_addresses() -> None:
    report = told("4.1.1", produced(1), use(METADATA, 9, client=at(2, "two")))
    assert "addresses" not in [table.name for table in report.tables]
    assert rows_of(report, "refused", "client_id", "client_host", "addresses") == [("one", "10.0.0.1", None)]


def test_each_address_negotiates_by_itself_and_the_worst_verdict_counts() -> None:
    newer = RELEASES["4.1.1"].apis[FETCH].accepted[-1]
    uses = [use(FETCH, newer, client=at(number)) for number in (1, 2)]
    report = told("4.0.0", *uses, use(API_VERSIONS, 3, client=at(1)))
    assert rows_of(report, "clients", "client_id", "addresses", "verdict") == [("one", 2, "refused")]
    assert rows_of(report, "addresses", "client_host", "verdict") == [("10.0.0.2", "refused"), ("10.0.0.1", "ok")]
    assert rows_of(report, "refused", "versions") == [((newer,),)]


def test_software_tells_clients_of_many_addresses_apart_and_so_do_addresses_without_ids() -> None:
    softwares = ("a 1", "a 1", "a 2")
    uses = [use(PRODUCE, 1, client=at(number, software=name)) for number, name in enumerate(softwares)]
    nameless = [use(PRODUCE, 1, client=at(number, None)) for number in (7, 8)]
    found = rows_of(told("4.1.1", *uses, *nameless), "clients", "client_id", "software", "client_host", "addresses")
    assert set(found) == {
        ("one", "a 1", None, 2),
        ("one", "a 2", "10.0.0.2", None),
        (None, None, "10.0.0.7", None),
        (None, None, "10.0.0.8", None),
    }


def test_a_client_at_addresses_of_two_owners_is_two(tmp_path: Path) -> None:
    (tmp_path / "owners.csv").write_text("owner,address\nBilling,10.0.0.0/30\nPayments,10.0.0.0/24\n")
    owners = Owners.read(tmp_path / "owners.csv")
    report = report_on(map(produced, (1, 2, 9)), RELEASES["4.1.1"], owners=owners)
    assert rows_of(report, "owners", "owner", "clients") == [("Billing", 1), ("Payments", 1)]
    assert set(rows_of(report, "refused", "owner", "addresses")) == {("Billing", 2), ("Payments", None)}
    assert [check.name for check in report.checks] == ["one (Billing)", "one (Payments)"]


def all_of(*targets: str) -> list[Release]:
    return [RELEASES[name] for name in targets]


def test_a_check_for_each_client() -> None:
    asker = Client("two", "10.0.0.2", "librdkafka 2.3.0", None)
    report = told(
        "4.1.1", use(PRODUCE, 1), use(PRODUCE, 2), use(9999, 0, client=asker), use(METADATA, 9, client=asker)
    )
    first, second = report.checks
    assert (first.name, first.state) == ("one", "failed")
    assert first.message == "key 0 1: refused by 4.0.0 and newer; key 0 2: refused by 4.0.0 and newer"
    assert (second.name, second.state) == ("two (librdkafka 2.3.0)", "skipped")
    (check,) = told("4.0.0", use(JOIN_GROUP, 1), use(PRODUCE, 1), use(METADATA, 9)).checks
    assert check.message == "key 0 1: refused by 4.0.0 and newer; key 11 1: refused by 4.0.0"


def test_owners_have_a_column_and_a_table() -> None:
    owners = Owners(((((("client_id", lambda text: text == "one")),), "Billing"),))
    two = Client("two", None, None, None)
    report = report_on([use(PRODUCE, 1), use(METADATA, 9, client=two)], RELEASES["4.1.1"], owners=owners)
    assert report.table("owners").rows == (("Billing", 1, 1, 1), ("(nobody)", 1, 0, 1))
    assert report.table("refused").column("owner") == ["Billing"]
    assert dict(zip(*map(report.table("clients").column, ("client_id", "owner")), strict=True)) == {
        "one": "Billing",
        "two": None,
    }


def changes(before: list[Use], now: list[Use], *targets: str) -> tuple[str, list[tuple[Any, ...]]]:
    report = report_on(now, all_of(*targets), before=before)
    table = report.table("changes")
    columns = [table.column(name) for name in ("client_id", "target", "change", "before", "now")]
    return report.summary[-1], [*zip(*columns, strict=True)]


def test_what_changed_since_an_earlier_run() -> None:
    worse, new, gone, better, same, moved = (Client(name, "10.0.0.1", "a 1", None) for name in "wngbsm")
    upgraded = moved._replace(software="a 2")
    elsewhere = same._replace(host="10.0.0.9")
    before = [
        use(PRODUCE, 9, client=worse),
        use(PRODUCE, 1, client=gone),
        use(PRODUCE, 1, client=better),
        use(PRODUCE, 9, client=same),
        use(PRODUCE, 9, client=moved),
    ]
    now = [
        use(PRODUCE, 1, client=worse),
        use(PRODUCE, 9, client=worse),
        use(PRODUCE, 1, client=new),
        use(PRODUCE, 9, client=better),
        use(PRODUCE, 9, client=elsewhere),
        use(PRODUCE, 9, client=upgraded),
    ]
    said, rows = changes(before, now, "4.1.1")
    assert rows == [
        ("w", "4.1.1", "worse", "ok", "refused"),
        ("n", "4.1.1", "new", None, "refused"),
        ("b", "4.1.1", "better", "refused", "ok"),
        ("g", "4.1.1", "gone", "refused", None),
        ("m", "4.1.1", "other software", "ok", "ok"),
    ]
    assert said == 'Since the earlier run: 2 clients newly refused, 2 no longer refused. See "Since the earlier run".'


def test_a_client_that_stays_refused_is_neither_newly_refused_nor_no_longer() -> None:
    one, other = (Client("one", "10.0.0.1", software, None) for software in ("a 1", "a 2"))
    said, rows = changes([use(PRODUCE, 1, client=one)], [use(PRODUCE, 2, client=other)], "4.1.1")
    assert rows == [("one", "4.1.1", "other software", "refused", "refused")]
    assert said == 'Since the earlier run: 0 clients newly refused, 0 no longer refused. See "Since the earlier run".'


@pytest.mark.parametrize(("api", "version"), [(PRODUCE, 9), (OFFSET_COMMIT, 10)], ids=["ok", "unsure"])
def test_of_clients_with_one_id_the_worst_verdict_counts(api: int, version: int) -> None:
    alice, bob = (Client("one", "10.0.0.1", None, f"User:{name}") for name in ("alice", "bob"))
    both = [use(PRODUCE, 1, client=alice), use(api, version, client=bob)]
    assert changes([use(PRODUCE, 9, client=alice)], both, "4.1.1")[1] == [("one", "4.1.1", "worse", "ok", "refused")]


def test_a_topic_that_a_broker_creates_under_the_id_of_a_client_is_no_request_of_it() -> None:
    logged = full(input_kind="request_log", software_name="librdkafka", software_version="2.3.0")
    created = full(input_kind="forwarded", api_key=19, version=7, client_host=None)
    assert [use.client.host for use in uses_of([logged, created])] == ["10.0.0.1"]
    here = full(input_kind="forwarded", api_key=19, version=7)
    assert [use.api_key for use in uses_of([logged, here])] == [METADATA]
    for alone in (created, here):
        assert [use.api_key for use in uses_of([alone])] == [19], "nobody saw whether the client sent it"
    older = uses_of([logged, created | {"version": 6}])
    assert [use.api_key for use in older] == [METADATA, 19], "those brokers pass on what clients send"


def test_what_a_broker_forwards_is_of_the_only_client_of_this_id() -> None:
    logged = full(input_kind="request_log", software_name="librdkafka", software_version="2.3.0")
    forwarded = full(input_kind="forwarded", api_key=20, version=1, client_host=None)
    assert {use.client for use in uses_of([logged, forwarded])} == {
        Client("one", "10.0.0.1", "librdkafka 2.3.0", None)
    }
    elsewhere = full(input_kind="request_log", client_host="10.0.0.2")
    assert {use.client.host for use in uses_of([logged, elsewhere, forwarded])} == {"10.0.0.1", "10.0.0.2", None}


def test_brokers_that_verify_transactions_are_no_clients() -> None:
    asked = [
        full(client_id="AddPartitionsManager-client-1", api_key=key, version=version)
        for key, version in ((24, 5), (18, 4))
    ]
    assert [use.between_brokers for use in uses_of(asked)] == [True, True]
    sent = [uses_of([full(api_key=24, version=version)])[0].between_brokers for version in (3, 4)]
    assert sent == [False, True]


def test_the_whole_report(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """Each kind of client, seen in each kind of input, with all that can be said of it."""
    sarama = {"client_id": "old", "software_name": "sarama", "software_version": "1.20", "principal": "User:a"}
    kgo = {"client_id": None, "client_host": None, "software_name": "kgo", "software_version": "1.0"}
    later, early = {"last_seen": START + timedelta(hours=1)}, {"first_seen": START - timedelta(hours=1)}
    joins = client(JOIN_GROUP, 1, 3, client_id="joins", errors=1)
    rows = [
        client(PRODUCE, 1, 5, **sarama, refused=2, source="b.pcap", position=7, **later),
        client(PRODUCE, 7, 4, **sarama, **early),
        client(PRODUCE, 1, 9, **sarama, input_kind="request_log", source="request.log"),
        client(PRODUCE, 2, 2, client_host="10.0.0.2", **sarama),
        joins,
        client(FETCH, 17, 6, client_id="newer", client_host="10.0.0.3"),
        client(API_VERSIONS, 3, 1, client_id="newer", client_host="10.0.0.3"),
        client(9999, 0, 1, client_id="fork", api=None),
        client(OFFSET_COMMIT, 10, 1, client_id="tests", api="OffsetCommit"),
        client(METADATA, 0, 7, client_id=None, client_host="10.0.0.4"),
        client(PRODUCE, 2, 3, client_id=None, client_host="10.0.0.5", input_kind="server_log", refused=3),
        client(PRODUCE, 2, 8, client_id=None, client_host="10.0.0.6", input_kind="server_log")
        | {"version": None, "refused": 8},
        client(ENVELOPE, 0, 2, client_id="1", api="Envelope"),
        client(FETCH, 3, 2, client_id="1"),
        client(FETCH, 2, 20, **kgo, input_kind="metrics", source="m.prom", position=3),
        client(PRODUCE, 1, 50, **kgo | {"software_name": "sarama", "software_version": "1.20"}, input_kind="metrics"),
    ]
    before = [client(PRODUCE, 7, 4, **sarama), joins | {"version": 5}, client(METADATA, 9, client_id="gone")]
    (tmp_path / "owners.csv").write_text("owner,client_id\nBilling,old\nPayments,joins\n")
    report = readiness(
        clients_of(*rows),
        ("3.9.1", "4.0.0", "4.1.1"),
        owners=Owners.read(tmp_path / "owners.csv"),
        before=clients_of(*before),
    )
    assert whole(report) == snapshot


@pytest.mark.parametrize(
    ("inputs", "noted"), [(("metrics",), True), (("capture",), False), (("capture", "metrics"), False)]
)
def test_only_what_metrics_alone_saw_is_said_to_be_known_by_software_alone(
    inputs: tuple[str, ...], noted: bool
) -> None:
    report = report_on(
        [Use(Client("a", None, "x 1", None), PRODUCE, "Produce", 1, input_kind=inputs)], RELEASES["4.1.1"]
    )
    (reason,) = report.table("refused").column("reason")
    assert str(reason).endswith(" (from metrics, by software only)") == noted


@pytest.mark.slow
@pytest.mark.parametrize(("most", "more"), [(4, 0), (3, 1)])
def test_of_too_many_rows_those_that_are_accepted_are_left_out(
    monkeypatch: pytest.MonkeyPatch, most: int, more: int
) -> None:
    expected = {"refused", "newer", "a"} | ({"b"} if not more else set())
    monkeypatch.setattr(client_usage, "MAX_ROWS", most)
    rows = [client(METADATA, 9, client_id="b"), client(PRODUCE, 2, client_id="refused")]
    rows += [client(PRODUCE, 3, client_id="a"), client(PRODUCE, 99, client_id="newer")]
    for order in (rows, rows[::-1]):
        report = readiness(clients_of(*order), ("4.1.1", "4.0.0"))
        assert {*report.table("clients").column("client_id")} == expected
        assert report.table("clients").more == more
        said = "Omits 1 row of clients, APIs and versions, beginning with accepted versions."
        assert (said in report.summary) == bool(more)
    for refused in (1, RELEASES["4.0.0"].apis[JOIN_GROUP].accepted.stop):
        mixed = [client(JOIN_GROUP, refused, client_id="a")]
        mixed += [client(METADATA, version, client_id=str(version)) for version in (9, 10, 11)]
        for order in (mixed, mixed[::-1]):
            report = readiness(clients_of(*order), ("4.1.1", "4.0.0"))
            assert "a" in report.table("clients").column("client_id")
    least = census(clients_of(*(one | {"requests": number} for number, one in enumerate(rows))))
    assert {*least.table("clients").column("client_id")} == expected
    said = "Omits 1 row of clients, APIs and versions with the fewest requests."
    assert (said in least.summary) == bool(more)


def test_the_whole_report_on_one_target(snapshot: SnapshotAssertion) -> None:
    """With clients at several addresses, two owners, an earlier run, and rows that were left out."""
    first, second, third = (START + timedelta(hours=hour) for hour in (0, 1, 2))
    new, old, nobody = at(1)._replace(software="sarama 1.20"), at(2, "old"), at(7, None)
    uses = [
        use(PRODUCE, 2, client=at(3), requests=4, refusals=1, last_seen=second, place="c:3", input_kind=("capture",)),
        use(PRODUCE, 1, client=at(2), requests=3, refusals=2, last_seen=third, place="b:2", input_kind=("a", "b")),
        use(PRODUCE, 1, client=at(9), requests=2, refusals=4, last_seen=None, place="a:1", input_kind=("b", "c")),
        use(PRODUCE, 7, client=at(9), requests=9, refusals=7, last_seen=third, place="d:4"),
        use(PRODUCE, 5, client=at(2), requests=1, last_seen=first),
        use(FETCH, 3, client=at(2), requests=5, refusals=1, last_seen=first, input_kind=("metrics",)),
        use(FETCH, 4, client=new, requests=6),
        use(JOIN_GROUP, 1, client=old, requests=7, refusals=1, place="e:5"),
        use(OFFSET_COMMIT, 10, client=old, requests=8, place="f:6"),
        use(PRODUCE, 1, client=nobody, requests=1, refusals=1),
        use(PRODUCE, 1, client=at(8, None), requests=1),
        use(9999, 0, client=at(8, None), requests=2, place="g:7"),
        use(METADATA, 9, client=at(5, "well")._replace(principal="User:w"), requests=3),
        use(LEADER_AND_ISR, 5, client=at(4, "1"), requests=2, place="h:8"),
        use(LEADER_AND_ISR, 2, client=at(5, "2"), requests=3, place="i:9"),
        use(FETCH, 12, client=at(4, "1"), requests=4, place="j:10", of_broker=True),
        use(FETCH, 3, client=at(4, "1"), requests=5, place="k:11", of_broker=True),
    ]
    owners = Owners(((((("host", lambda text: text in ("10.0.0.2", "10.0.0.7")),)), "Billing"),))
    before = [use(PRODUCE, 9, client=at(9)), use(METADATA, 9, client=at(5, "well"), requests=9), *uses[7:8]]
    report = report_on(uses, RELEASES["4.1.1"], 3, 2, owners=owners, before=before)
    assert whole(report) == snapshot
    assert whole(report_on(uses[::-1], RELEASES["4.1.1"], 3, 2, owners=owners, before=iter(before))) == whole(report)


@pytest.mark.parametrize(("clients", "end"), [(1, "c00."), (2, "c00; c01."), (10, "; c09."), (11, "; and 1 more.")])
def test_ten_clients_are_named(clients: int, end: str) -> None:
    uses = [use(PRODUCE, 0, client=Client(f"c{number:02}", None, None, None)) for number in range(clients)]
    first, *_ = told("4.1.1", *uses, *(use(METADATA, 9, client=one.client) for one in uses)).summary
    several = f"{clients} clients" if clients > 1 else "1 client"
    assert first.startswith(f"Kafka 4.1.1 refuses {clients} of {several}: c00")
    assert first.endswith(end)


def joining(name: str, *versions: int) -> list[Use]:
    return [use(JOIN_GROUP, version, client=Client(name, None, None, None)) for version in versions]


def producing(name: str, *versions: int) -> list[Use]:
    return [use(PRODUCE, version, client=Client(name, None, None, None)) for version in versions]


@pytest.mark.parametrize(
    ("target", "uses", "said"),
    [
        ("4.1.1", producing("a", 9), []),
        ("4.1.1", producing("a", 1),
         ["The newest release before 4.1.1 that refuses none of these clients is 3.9.2."]),
        ("4.0.0", joining("a", 1), ["The newest release before 4.0.0 that refuses none of these clients is 3.9.2."]),
        ("4.0.1", joining("a", 1),
         ["On the way to 4.0.1, do not stop at 4.0.0. There, 1 client that 4.0.1 accepts is refused."]),
        ("4.1.1", [*joining("a", 1), *joining("b", 0), *producing("b", 1), *joining("c", 0, 1)],
         ["The newest release before 4.1.1 that refuses none of these clients is 3.9.2.",
          "On the way to 4.1.1, do not stop at 4.0.0. There, 2 clients that 4.1.1 accepts are refused."]),
        ("3.9.1", producing("a", 1), []),
        ("4.0.0", [*producing("a", 1), *producing("b", 13)], []),
    ],
)  # fmt: skip
def test_sentences_on_the_way_to_a_target(target: str, uses: list[Use], said: list[str]) -> None:
    refused = told(target, *uses).exit_code
    advice = ['Upgrade or reconfigure these clients before the brokers. See "What to do".'] * refused
    assert [*told(target, *uses).summary[1:]] == [*said, *advice]
    broker = replace(RELEASES[target], name="b:9092")
    assert [*report_on(uses, broker).summary[1:]] == advice, "its place among the releases is unknown"


@pytest.mark.parametrize(
    ("kinds", "version", "noted"),
    [
        ("request_log", 9, True),
        ("request_log forwarded", 9, True),
        ("request_log metrics", 9, True),
        ("request_log", 1, False),
        ("request_log capture", 9, False),
        ("request_log server_log", 9, False),
        ("forwarded", 9, False),
        ("capture", 9, False),
    ],
)
def test_request_logs_alone_are_no_proof_that_nobody_is_refused(kinds: str, version: int, noted: bool) -> None:
    rows = [client(PRODUCE, version, input_kind=kind, server_port=at) for at, kind in enumerate(kinds.split())]
    report = readiness(clients_of(*rows), "4.1.1")
    assert (LOGS_ALONE in report.summary, report.exit_code) == (noted, int(version == 1))


def test_refusals_of_several_targets_are_the_most_of_any() -> None:
    uses = [use(JOIN_GROUP, 1, refusals=5), use(PRODUCE, 1, refusals=2), use(METADATA, 9, refusals=9)]
    several = "7 requests of these clients were already refused."
    assert several in report_on(uses, all_of("4.1.1", "4.0.0")).summary
    assert several in report_on(uses, all_of("4.0.0", "4.1.1")).summary
    assert "1 request of these clients was already refused." in told("4.1.1", use(PRODUCE, 1, refusals=1)).summary


def test_the_client_with_the_worst_verdicts_of_all_targets_comes_first() -> None:
    unsure = use(OFFSET_COMMIT, 10, client=Client("b", None, None, None))
    for targets in (("4.1.1", "3.9.1"), ("3.9.1", "4.1.1")):
        report = report_on([*joining("a", 1), *producing("c", 1), unsure], all_of(*targets))
        assert rows_of(report, "clients", "client_id", *(f"verdict_{name}" for name in ("4.1.1", "3.9.1"))) == [
            ("b", "unsure", "refused"),
            ("c", "refused", "deprecated"),
            ("a", "ok", "deprecated"),
        ]
        assert (report.exit_code, [check.state for check in report.checks].count("failed")) == (1, 2)
    second = report_on(iter(joining("a", 1)), all_of("4.1.1", "4.0.0"))
    assert second.exit_code == 1, "any of them refuses it"
    assert second.summary == (
        "Kafka 4.1.1 refuses none of 1 client.",
        "On the way to 4.1.1, do not stop at 4.0.0. There, 1 client that 4.1.1 accepts is refused.",
        "Kafka 4.0.0 refuses 1 of 1 client: a.",
        "The newest release before 4.0.0 that refuses none of these clients is 3.9.2.",
        'Upgrade or reconfigure these clients before the brokers. See "What to do".',
    )
    assert report_on([], all_of("4.1.1", "4.0.0"), more=3).summary == ("No clients found.",)


def test_what_metrics_count_beside_what_other_inputs_saw() -> None:
    """Refused versions come first, then those that nothing else saw, then those that are counted most."""
    kgo, sarama = ({"software_name": name, "software_version": "1"} for name in ("kgo", "sarama"))
    metrics = {"input_kind": "metrics", "client_id": None, "client_host": None}
    counted = [
        full(version=0, requests=9, **metrics, **kgo),
        full(version=1, requests=8, **metrics),
        full(api_key=JOIN_GROUP, version=0, api="JoinGroup", requests=5, **metrics, **sarama),
        full(api_key=PRODUCE, version=2, api="Produce", requests=7, **metrics, **kgo),
        full(api_key=PRODUCE, version=1, api="Produce", requests=3, **metrics),
        full(api_key=PRODUCE, version=1, api="Produce", requests=4, **metrics, **sarama),
    ]
    produce = {"api_key": PRODUCE, "version": 1}
    seen = [
        full(**produce, requests=2, **kgo),
        full(**produce, requests=3, input_kind="request_log", **kgo),
        full(**produce, requests=1, client_host="10.0.0.2", **sarama),
        full(**produce, requests=1, client_id="two", **sarama),
        full(version=1, requests=8),
        full(version=2, requests=9),
    ]
    empty = Report("r", "R", ("s",), (), exit_code=1)
    targets = all_of("3.9.1", "4.0.0", "4.1.1")
    report = with_counted(empty, [*counted, *seen], targets, RELEASES)
    rows: list[tuple[Any, ...]] = [
        ("Produce", 2, "kgo 1", 7, 0, (), ("4.0.0", "4.1.1")),
        ("JoinGroup", 0, "sarama 1", 5, 0, (), ("4.0.0",)),
        ("Produce", 1, "sarama 1", 4, 2, ("one", "two"), ("4.0.0", "4.1.1")),
        ("Produce", 1, None, 3, 5, ("one", "two"), ("4.0.0", "4.1.1")),
        ("Metadata", 0, "kgo 1", 9, 0, (), ()),
        ("Metadata", 1, None, 8, 8, ("one",), ()),
    ]
    see = 'See "Deprecated versions counted by brokers".'
    more = f"Metrics count more requests of 4 deprecated versions than other inputs contain. {see}"
    assert report == replace(empty, summary=("s", more), tables=(replace(COUNTED, rows=tuple(rows)),))
    assert with_counted(empty, seen, targets, RELEASES) == empty
    saw_all = with_counted(empty, [counted[1], counted[4], *seen], targets, RELEASES)
    assert saw_all.summary == ("s", "Other inputs contain all requests with deprecated versions that metrics count.")
    alone = with_counted(empty, counted, targets, RELEASES)
    assert alone.summary == ("s", ALONE)
    assert alone.tables[0].column("seen") == [0] * 6


def test_each_change_of_clients_of_one_id() -> None:
    """Of two targets. The worst of all clients of an id counts, and their software and requests are added up."""

    def of(name: str | None, host: str, software: str | None = None) -> Client:
        return Client(name, host, software, None)

    before = [
        use(JOIN_GROUP, 1, client=of("two", "h1", "b 1"), requests=7),
        use(PRODUCE, 9, client=of("two", "h2", "a 1"), requests=2),
        use(PRODUCE, 1, client=of("gone", "h1"), requests=5),
        use(PRODUCE, 1, client=of("same", "h1", "x 1"), requests=5),
        use(METADATA, 9, client=of(None, "h1"), requests=1),
        use(METADATA, 9, client=of("lost", "h1", "x 1")),
    ]
    now = [
        use(PRODUCE, 1, client=of("two", "h3", "c 1"), requests=4),
        use(PRODUCE, 9, client=of("two", "h4", "a 1"), requests=8),
        use(PRODUCE, 9, client=of("two", "h5"), requests=16),
        use(PRODUCE, 2, client=of("same", "h2", "x 1"), requests=6),
        use(METADATA, 9, client=of(None, "h2"), requests=3),
        use(PRODUCE, 9, client=of("fresh", "h2", "y 1"), requests=3),
        use(METADATA, 9, client=of("lost", "h1")),
    ]
    report = report_on(now, all_of("4.0.0", "4.1.1"), before=before)
    assert report.tables[0] == report.table("changes")
    nameless = ("a client without an id at h1", "a client without an id at h2")
    assert report.table("changes").rows == (
        ("two", "4.1.1", "worse", "ok", "refused", ("a 1", "b 1"), ("a 1", "c 1"), 28),
        *((nameless[1], name, "new", None, "ok", (), (), 3) for name in ("4.0.0", "4.1.1")),
        *(("fresh", name, "new", None, "ok", (), ("y 1",), 3) for name in ("4.0.0", "4.1.1")),
        *((nameless[0], name, "gone", "ok", None, (), (), 0) for name in ("4.0.0", "4.1.1")),
        *(("gone", name, "gone", "refused", None, (), (), 0) for name in ("4.0.0", "4.1.1")),
        *(("lost", name, "other software", "ok", "ok", ("x 1",), (), 1) for name in ("4.0.0", "4.1.1")),
        ("two", "4.0.0", "other software", "refused", "refused", ("a 1", "b 1"), ("a 1", "c 1"), 28),
    )
    title = 'See "Since the earlier run".'
    assert report.summary[-1] == f"Since the earlier run: 1 client newly refused, 1 no longer refused. {title}"
    again = report_on(now, all_of("4.0.0"), before=now).table("changes")
    assert (again.rows, again.empty) == ((), "Nothing changed.")
    assert not [table for table in report_on(now, all_of("4.0.0")).tables if table.name == "changes"]
    first = report_on(now[:1], all_of("4.0.0"), before=[])
    assert first.table("changes").rows == (("two", "4.0.0", "new", None, "refused", (), ("c 1",), 4),)


def test_an_earlier_run_is_compared_even_if_it_saw_nobody() -> None:
    def said(before: Clients[Any] | None, *rows: dict[str, Any]) -> tuple[list[Any], tuple[str, ...]]:
        report = readiness(clients_of(*rows), "4.1.1", before=before)
        names = [table.name for table in report.tables]
        return names[:1], tuple(one for one in report.summary if one.startswith("Since"))

    since = 'Since the earlier run: {}, {} no longer refused. See "Since the earlier run".'
    row = client(PRODUCE, 1)
    assert said(None, row) == (["advice"], ())
    assert said(clients_of(), row) == (["changes"], (since.format("1 client newly refused", 0),))
    assert said(clients_of(row), row) == (["changes"], (since.format("0 clients newly refused", 0),))
    assert said(clients_of(row)) == (["changes"], (since.format("0 clients newly refused", 1),))


def test_verdicts_are_joined_over_addresses() -> None:
    """The worst counts of each version. Order is by verdict, client, API and version."""
    first, second = START, START + timedelta(hours=1)
    here, there, nowhere = at(1), at(2), Client("one", None, None, None)
    uses = [
        use(PRODUCE, 5, client=there, requests=2, refusals=1, last_seen=second, place="b", input_kind=("y", "z")),
        use(PRODUCE, 5, client=here, requests=3, refusals=4, last_seen=first, place="a", input_kind=("x", "y")),
        use(PRODUCE, 5, client=nowhere, requests=1),
        use(FETCH, 18, client=there, requests=8),
        use(FETCH, 18, client=here, requests=7),
        use(API_VERSIONS, 3, client=there),
        use(METADATA, 4, client=here, requests=4),
        use(ENVELOPE, 0, client=here, requests=5),
        use(METADATA, 9, client=at(2, None), requests=6),
        use(METADATA, 9, client=at(1, None), requests=6),
    ]
    judgement = Judgement.of(uses, RELEASES["4.0.0"])
    assert [(use.client, use.api_key, verdict.state) for use, verdict in judgement.clients] == [
        (here, FETCH, "refused"),
        (at(1, None), METADATA, "ok"),
        (at(2, None), METADATA, "ok"),
        (nowhere, PRODUCE, "ok"),
        (here, PRODUCE, "ok"),
        (here, METADATA, "ok"),
        (there, PRODUCE, "ok"),
        (there, FETCH, "ok"),
        (there, API_VERSIONS, "ok"),
    ]
    assert [use.api_key for use, _ in judgement.between] == [ENVELOPE]
    joined = judgement.rolled_up()
    counts: dict[str, Any] = {"requests": 6, "refusals": 5, "last_seen": second, "input_kind": ("x", "y", "z")}
    assert [one for one, _ in joined.clients] == [
        replace(uses[4], client=nowhere, requests=15),
        *(uses[9], uses[8]),
        replace(uses[2], **counts),
        replace(uses[6], client=nowhere),
        replace(uses[5], client=nowhere),
    ]
    assert [verdict.state for _, verdict in joined.clients] == ["refused", *["ok"] * 5]
    assert (joined.between, joined.target) == (judgement.between, judgement.target)
    assert (judgement.refused(), joined.refused()) == ([here], [nowhere])
    assert [*joined.by_client()] == [nowhere, at(1, None), at(2, None)]
    assert addresses_of(judgement) == {
        nowhere: ["10.0.0.1", "10.0.0.2"],
        at(1, None): ["10.0.0.1"],
        at(2, None): ["10.0.0.2"],
    }
    assert addresses_of(Judgement.of(uses[2:3], RELEASES["4.0.0"])) == {nowhere: []}


def test_the_first_release_that_refuses_any_version_is_named() -> None:
    """By its numbers: 3.10 is after 3.9."""
    made = {
        key: tuple(
            (name, name, "Api", accepted, "", deprecated, "", "")
            for name, accepted, deprecated in (("3.8.0", "0-3", ""), ("3.9.0", "0", ""), ("3.10.0", "2-4", "2-3"))
        )
        for key in (FETCH, LEADER_AND_ISR)
    }
    names = ("3.8.0", "3.9.0", "3.10.0")
    releases = Releases(dict.fromkeys(names, "made"), made, {})
    uses = [use(key, version) for key in (FETCH, LEADER_AND_ISR) for version in range(4)]
    report = report_on(uses, releases["3.10.0"], releases=releases)
    assert rows_of(
        report, "refused", "versions", "refused_since", "accepted", "newest_common", "deprecated_since"
    ) == [((0, 1), "3.9.0", "2-4", 3, None)]
    assert rows_of(report, "doubtful", "versions", "state", "refused_since", "deprecated_since") == [
        ((2, 3), "deprecated", "3.9.0", "3.10.0")
    ]
    assert rows_of(report, "between-brokers", "versions", "state", "refused_since") == [
        ((0, 1), "refused", "3.9.0"),
        ((2, 3), "deprecated", "3.9.0"),
    ]
    assert [trace["y"] for trace in report.charts[0].figure["data"]] == [[0, 1, 1], [1, 0, 0]]
    assert report.charts[0].figure["layout"]["xaxis"]["ticktext"] == ["3.8.0", "3.9.0", "3.10.0: target"]


def test_owners_with_the_most_refused_clients_of_all_targets_come_first(tmp_path: Path) -> None:
    (tmp_path / "owners.csv").write_text("owner,client_id\nA,a*\nB,b*\nC,c*\n")
    owners = Owners.read(tmp_path / "owners.csv")
    uses = [*producing("a1", 1, 9), *joining("b1", 1), *joining("b2", 0), *joining("b3", 1), *producing("c1", 9)]
    uses += [*producing("c2", 1), *producing("d", 9)]
    report = report_on(uses, all_of("4.1.1", "4.0.0"), owners=owners)
    assert report.table("owners").rows == (
        ("B", 3, 0, 3, 3),
        ("A", 1, 1, 1, 2),
        ("C", 2, 1, 1, 2),
        ("(nobody)", 1, 0, 0, 1),
    )
