"""From rows of CLIENTS to uses by client: who sent a request, which rows count, and what counts once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kwire_inspect.reports import client_usage
from kwire_inspect.reports.client_usage import (
    OF_BROKERS,
    Client,
    Use,
    brokers_among,
    by_client,
    client_of,
    collected,
    completed,
    highest,
    seen_elsewhere,
    uses_of,
)
from kwire_inspect.reports.release_support import BETWEEN_BROKERS
from kwire_inspect.schemas import CLIENTS
from tests.support.report_rows import START, client, table_of

PRODUCE, FETCH, METADATA, API_VERSIONS, CREATE_TOPICS, DELETE_TOPICS = 0, 1, 3, 18, 19, 20
ADD_PARTITIONS, ENVELOPE = 24, 58
LATER = START + timedelta(hours=1)
Facts = dict[str, Any]
KGO: Facts = {"software_name": "kgo", "software_version": "1"}


def full(api_key: int = METADATA, version: int | None = 9, **facts: Any) -> Facts:
    row: Facts = dict.fromkeys(CLIENTS.names) | client(api_key) | {"version": version} | facts
    return row


@pytest.mark.parametrize(
    ("of", "name", "anywhere"),
    [
        (Client("a", "h", "kgo 1", "User:a", "x"), "a at h", Client("a", None, "kgo 1", "User:a", "x")),
        (Client("a", None, None, None), "a", Client("a", None, None, None)),
        (Client("a" * 61, "h", None, None), f"{'a' * 60}… (61 characters) at h", Client("a" * 61, *[None] * 3)),
        (Client("\x1b", None, None, None), "\\x1b", Client("\x1b", None, None, None)),
        (Client("", "h", None, None), "a client without an id at h", Client("", "h", None, None)),
        (Client("", None, "kgo 1", None), "a client without an id", Client("", None, "kgo 1", None)),
        (Client(None, "h", "kgo 1", None), "a client without an id at h", Client(None, "h", "kgo 1", None)),
        (Client(None, None, "kgo\x1b", "u"), "clients of kgo\\x1b", Client(None, None, "kgo\x1b", "u")),
        (Client(None, None, "a" * 61, None), f"clients of {'a' * 60}… (61 characters)", None),
        (Client(None, None, None, "u"), "clients of unknown software", None),
    ],
)
def test_names_of_clients(of: Client, name: str, anywhere: Client | None) -> None:
    """A client without an id is known only by its address."""
    assert str(of) == name
    assert of.anywhere == (anywhere or of)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"client_id": "a", "client_host": "h"}, Client("a", "h", None, None)),
        ({**KGO, "principal": "User:ANONYMOUS"}, Client(None, None, "kgo 1", None)),
        (
            {"software_name": "kgo", "software_version": "", "principal": "User:a"},
            Client(None, None, "kgo", "User:a"),
        ),
        ({"software_name": None, "software_version": "1"}, Client(None, None, "1", None)),
        ({"software_name": "", "software_version": ""}, Client(None, None, None, None)),
    ],
)
def test_the_client_of_a_row(facts: Facts, expected: Client) -> None:
    assert client_of({"client_id": None, "client_host": None} | facts) == expected


def test_each_row_has_its_client_or_is_left_out() -> None:
    """Of each row the address, software and principal of its client, unless another row stands for it."""
    log: Facts = {"input_kind": "request_log"}
    forwarded: Facts = {"input_kind": "forwarded", "client_host": None}
    two: Facts = {"client_id": "two", "client_host": "h2"}
    server_log: Facts = {"input_kind": "server_log", "client_id": None}
    metrics: Facts = {"client_id": None, "client_host": None, "input_kind": "metrics"}
    rows: list[tuple[Facts, tuple[str | None, ...] | None]] = [
        (full(), ("10.0.0.1", "kgo 1", "User:a")),
        (full(principal="User:ANONYMOUS", **log), ("10.0.0.1", "kgo 1", "User:a")),
        (full(PRODUCE, principal="User:a", **KGO), ("10.0.0.1", "kgo 1", "User:a")),
        (full(principal="User:a", **two), ("h2", None, "User:a")),
        (full(PRODUCE, principal="User:b", **two), ("h2", None, "User:b")),
        (full(FETCH, **two), ("h2", None, None)),  # of alice or of bob
        (full(**forwarded), None),  # as was seen where it was sent
        (full(DELETE_TOPICS, **forwarded), ("10.0.0.1", "kgo 1", "User:a")),
        (full(DELETE_TOPICS, **two, **log), ("h2", None, None)),
        (full(CREATE_TOPICS, 6, **forwarded | two | {"client_host": None}), ("h2", None, None)),
        (full(CREATE_TOPICS, 7, **forwarded), None),  # by the broker
        (full(CREATE_TOPICS, 7, input_kind="forwarded"), None),
        (full(CREATE_TOPICS, 7, **log), ("10.0.0.1", "kgo 1", "User:a")),
        (full(CREATE_TOPICS, 7, **forwarded | {"client_id": "new"}), (None, None, None)),
        (full(DELETE_TOPICS, **forwarded | {"client_id": "new"}), (None, None, None)),
        (full(DELETE_TOPICS, **forwarded | {"client_id": None}), (None, None, None)),
        (full(PRODUCE, 3, **log, client_host=None), (None, None, None)),  # of no broker's
        (full(input_kind="forwarded", client_id="old", client_host="h3"), ("h3", None, None)),
        (full(FETCH, client_id="old", **forwarded), (None, None, None)),  # that address may be a broker's
        (full(**server_log), None),
        (full(METADATA, 1, **server_log), ("10.0.0.1", None, None)),
        (full(METADATA, None, client_host="h4", **server_log), ("h4", None, None)),
        (full(PRODUCE, client_id=None, client_host="h5"), ("h5", None, None)),
        (full(FETCH, 2, **server_log, client_host="h5", principal="User:x"), ("h5", None, "User:x")),
        (full(PRODUCE, client_id=None, client_host="h6", principal="User:y"), ("h6", None, "User:y")),
        (full(client_id=None, client_host="h6"), ("h6", None, "User:y")),
        (full(FETCH, 2, **server_log, client_host="h6"), ("h6", None, None)),
        (full(client_id="many", client_host="h7"), ("h7", None, None)),
        (full(client_id="many", client_host="h8"), ("h8", None, None)),
        (full(DELETE_TOPICS, **forwarded | {"client_id": "many"}), (None, None, None)),
        (full(PRODUCE, **metrics, **KGO), None),
        (full(PRODUCE, 3, **metrics, **KGO), (None, "kgo 1", None)),
        (full(PRODUCE, 3, **metrics), None),  # one of those without an address may have sent it
        (full(FETCH, 3, **metrics), (None, None, None)),
    ]
    given = [row | {"requests": number} for number, (row, _) in enumerate(rows)]
    found = {row["requests"]: of for of, row in by_client(given)}
    assert len(found) == len(by_client(given))
    seen = {number: (of.host, of.software, of.principal) for number, of in found.items()}
    assert [seen.get(number) for number in range(len(rows))] == [expected for _, expected in rows]
    ids = {number: row["client_id"] for number, (row, _) in enumerate(rows)}
    assert {number: of.client_id for number, of in found.items()} == {number: ids[number] for number in found}


def test_metrics_are_about_rows_of_their_software_or_of_any() -> None:
    """A row has the software that it names, and the software that its client names elsewhere."""
    of_kgo, of_others = Client("a", "h", "kgo 1", None), Client("b", "h", None, None)
    seen = [(of_kgo, full(PRODUCE)), (of_kgo, full(PRODUCE, **KGO)), (of_others, full(PRODUCE)), (of_others, full())]
    counted = [full(PRODUCE, **KGO), full(PRODUCE), full(PRODUCE, 8), full(METADATA, **KGO), full(PRODUCE) | KGO]
    counted[-1] |= {"software_version": "2"}
    assert seen_elsewhere(seen, counted) == [seen[:2], seen[:3], [], [], []]


@pytest.mark.parametrize(
    ("name", "kind", "sent", "is_broker"),
    [
        ("1", "capture", [(ENVELOPE, [0]), (FETCH, [13]), (API_VERSIONS, [3])], True),
        ("1", "capture", [(ENVELOPE, [0]), (PRODUCE, [9])], False),
        ("1", "forwarded", [(ENVELOPE, [0])], False),
        ("1", "server_log", [(ENVELOPE, [0])], False),
        ("1", "metrics", [(ENVELOPE, [0])], False),
        ("1", "request_log", [(ENVELOPE, [0])], True),
        ("1", "capture", [(FETCH, [13])], False),
        (None, "capture", [(ENVELOPE, [0])], False),
        ("", "capture", [(ENVELOPE, [0])], True),
        ("txn", "capture", [(ADD_PARTITIONS, [4]), (API_VERSIONS, [4])], True),
        ("txn", "capture", [(ADD_PARTITIONS, [3])], False),
        ("txn", "capture", [(ADD_PARTITIONS, [3, 5])], True),
        ("txn", "capture", [(ADD_PARTITIONS, [None])], False),
        ("broker-1-fetcher-10", "capture", [(FETCH, [13])], True),
        ("raft-client-2", "capture", [(FETCH, [13])], True),
        ("broker-1-fetcher-0", "capture", [(FETCH, [13]), (PRODUCE, [9])], False),
        ("broker-1-fetcher-0b", "capture", [(FETCH, [13])], False),
        ("a-broker-1-fetcher-0", "capture", [(FETCH, [13])], False),
    ],
)
def test_who_is_a_broker(
    name: str | None, kind: str, sent: list[tuple[int, list[int | None]]], is_broker: bool
) -> None:
    of, other = Client(name, "h", None, None), Client("one", "h", None, None)
    rows = [(of, full(key, version, input_kind=kind)) for key, versions in sent for version in versions]
    several = [(of, full(key, input_kind=kind, versions=versions)) for key, versions in sent]
    for seen in (rows, several):
        assert brokers_among([*seen, (other, full(FETCH))]) == ({of} if is_broker else set())


def test_apis_that_brokers_send_as_clients_do() -> None:
    assert sorted(OF_BROKERS - BETWEEN_BROKERS) == [1, 2, 17, 18, 19, 23, 24, 36]


def test_what_is_known_of_one_id_and_address_is_known_of_all() -> None:
    """Unless two values are known."""
    a, b, nameless = ("a", "h"), ("b", "h"), (None, "j")
    given = [
        Client(*a, None, None),
        Client(*a, "", "User:a"),
        Client(*a, "kgo 1", None),
        Client(*a, "kgo 1", "User:a"),
    ]
    given += [Client("a", "i", None, None), Client(*b, None, None), Client(*b, "x 1", "User:b")]
    given += [Client(*b, "x 2", "User:c"), Client(*nameless, None, None), Client(*nameless, "y", "User:d")]
    assert completed(given) == {
        **{one: Client("a", "h", "kgo 1", "User:a") for one in given[:4]},
        **{one: one for one in given[4:8]},
        **{one: Client(None, "j", "y", "User:d") for one in given[8:]},
    }


def test_the_highest_count_of_any_input_counts() -> None:
    kinds = {"capture": (2, 3), "request_log": (4, 0), "forwarded": (1, 1)}
    rows = [{"input_kind": kind, "requests": one, "refused": 1} for kind, all_of in kinds.items() for one in all_of]
    assert (highest(rows, "requests"), highest(rows[2:], "requests"), highest(rows, "refused")) == (5, 4, 2)


def test_the_whole_of_each_use() -> None:
    """With the first place of a capture, and the name of an API that any row has."""
    log: Facts = {"input_kind": "request_log", "source": "a.log"}
    of_port: Facts = {"server_port": 9093, "source": "b.pcap"}
    rows = [
        full(9999, 1, requests=5, refused=4, api="Forked", last_seen=None, **log),
        full(9999, 1, requests=2, refused=1, api=None, source="c.pcap", position=7),
        full(9999, 1, requests=4, refused=1, api=None, last_seen=LATER, **of_port),
        full(9998, 2, api=None, requests=3, position=None, last_seen=None),
        full(METADATA, 0, api=None, requests=9, **log, position=8),
        full(ENVELOPE, 0, api="Envelope", client_id="1"),
        full(FETCH, 3, client_id="1", last_seen=LATER),
        full(FETCH, None),
        full(FETCH) | {"api_key": None},
        full(METADATA, 4, source=None, position=None),
    ]
    one, broker = Client("one", "10.0.0.1", None, None), Client("1", "10.0.0.1", None, None)
    until, both = START + timedelta(minutes=1), ("capture", "request_log")
    assert uses_of(rows) == [
        Use(one, 9999, "Forked", 1, 6, 4, LATER, "c.pcap:7", False, both),
        Use(one, 9998, "key 9998", 2, 3, 0, None, "a.pcap", False, ("capture",)),
        Use(one, METADATA, "Metadata", 0, 9, 0, until, "a.log:8", False, ("request_log",)),
        Use(broker, ENVELOPE, "Envelope", 0, 1, 0, until, "a.pcap:0", True, ("capture",)),
        Use(broker, FETCH, "Fetch", 3, 1, 0, LATER, "a.pcap:0", True, ("capture",)),
        Use(one, METADATA, "Metadata", 4, 1, 0, until, "", False, ("capture",)),
    ]
    assert [(use.api_key, use.between_brokers) for use in uses_of(rows) if use.between_brokers] == [
        (ENVELOPE, True),
        (FETCH, True),
    ]


@pytest.mark.parametrize(("most", "kept", "more"), [(5, "edabc", 0), (4, "edac", 1), (2, "da", 3)])
def test_rows_are_in_the_order_of_their_first_request(
    monkeypatch: pytest.MonkeyPatch, most: int, kept: str, more: int
) -> None:
    """Those without a time come last. Of too many, the first in another order are kept."""
    early = START - timedelta(hours=1)
    rows = [
        client(client_id="c", first_seen=None, requests=3),
        client(client_id="b", server_port=9093, requests=1),
        client(client_id="a", server_port=9093, requests=4),
        client(client_id="d", requests=5),
        client(client_id="e", first_seen=early, requests=2),
        client(client_id="x", requests=9) | {"api_key": None},
    ]
    monkeypatch.setattr(client_usage, "MAX_ROWS", most)
    for given in (rows, rows[::-1]):
        found, left_out = collected(table_of(CLIENTS, *given), "requests DESC")
        assert ("".join(row["client_id"] for row in found), left_out) == (kept, more)


def test_rows_that_begin_at_the_same_time_are_in_the_order_of_their_numbers() -> None:
    places = [(9092, 9, 2), (9092, 9, 10), (9092, 10, 1), (10092, 1, 0), (None, 0, 3)]
    rows = [client(3, version, server_port=port, position=position) for port, version, position in places]
    for given in (rows, rows[::-1]):
        found, _ = collected(table_of(CLIENTS, *given), "requests DESC")
        assert [(row["server_port"], row["version"], row["position"]) for row in found] == places
