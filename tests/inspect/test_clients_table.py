"""The table of clients: what is counted, of which rows, and what stands for an example."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from kwire_inspect.reasons import CLOSED, TLS
from kwire_inspect.schemas import CLIENTS, COUNTED, EXCHANGES, PROBLEMS, REFUSALS
from kwire_inspect.stored import UNKNOWN, Origin
from kwire_inspect.tables.clients import EXCHANGE_COLUMNS, REFUSAL_COLUMNS, Clients, clients, counted, versions_seen
from kwire_inspect.tables.database import LocalTable
from kwire_inspect.tables.relations import collect, query
from tests.support.report_rows import START, client, clients_of, exchange, exchanges_of, table_of

NEEDED = pa.schema([EXCHANGES.field(name) for name in EXCHANGE_COLUMNS])


def refusals_of(*rows: dict[str, Any]) -> LocalTable:
    usual = {"source": "server.log", "position": 0, "client_host": "10.0.0.9", "api_key": 0, "api": "Produce"}
    return table_of(REFUSALS, *(usual | row for row in rows))


def only(table: LocalTable, columns: tuple[str, ...]) -> LocalTable:
    return query(f"SELECT {', '.join(columns)} FROM {{table}}", table=table)


def test_requests_are_counted_by_who_and_what() -> None:
    table = exchanges_of(
        exchange(at=2, connection="b", position=20),
        exchange(at=1, connection="a", position=10, error_codes=[3, 5]),
        exchange(at=3, connection="a", outcome="unanswered", reason="the connection ended: the server closed it"),
        exchange(api_key=1, at=3, outcome="unanswered", reason="the connection ended: the client closed it"),
        exchange(api_key=1, at=3, outcome="unanswered", reason="the connection ended"),
        exchange(at=4, connection="a", outcome="unanswered", reason="too many requests wait"),
        exchange(version=8, at=5),
        exchange(number=None, at=6, source="kafka-request.log"),
        exchange(at=7, principal="User:alice"),
        exchange(api_key=None, version=None, at=8, outcome="undecodable"),
    )
    found = clients(only(table, EXCHANGE_COLUMNS), only(refusals_of({"version": 1}), REFUSAL_COLUMNS))
    assert found.table.columns == CLIENTS.names
    known = [row for row in found.table.rows() if row["api_key"] is not None]
    rows = sorted(known, key=lambda row: (row["input_kind"], -row["requests"]))
    counts = [(row["input_kind"], row["version"], row["principal"], row["requests"]) for row in rows]
    assert counts[0] == ("capture", 9, None, 4)
    assert sorted(counts[1:], key=str) == [
        ("capture", 8, None, 1),
        ("capture", 9, "User:alice", 1),
        ("capture", 9, None, 2),
        ("request_log", 9, None, 1),
        ("server_log", 1, None, 1),
    ]
    (left,) = [row for row in rows if row["api_key"] == 1]
    assert (left["requests"], left["refused"]) == (2, 0), "that is no refusal"
    most = rows[0]
    assert (most["errors"], most["refused"], most["connections"]) == (1, 1, 2)
    assert (most["source"], most["position"]) == ("a.pcap", 10)  # the first in time
    assert most["last_seen"] - most["first_seen"] == timedelta(seconds=3)
    assert rows[-1]["refused"] == 1
    assert rows[-1]["client_host"] == "10.0.0.9"


def test_errors_are_counted_and_the_example_is_the_first_whose_time_is_known() -> None:
    table = exchanges_of(
        exchange(position=1) | {"time": None},
        exchange(at=2, position=20, error_codes=[3]),
        exchange(at=1, position=30, error_codes=[3, 5]),
        exchange(at=3, position=10),
        exchange(api_key=1, position=40, outcome="unanswered", error_codes=None) | {"time": None},
    )
    found = {row["api"]: row for row in clients(table).table.rows()}
    failing, waiting = found["Metadata"], found["Fetch"]
    assert (failing["requests"], failing["errors"], failing["position"]) == (4, 2, 30)
    assert (waiting["requests"], waiting["errors"], waiting["position"]) == (1, 0, 40)
    assert waiting["first_seen"] is None


def test_problems_are_a_table_of_their_own_and_no_requests() -> None:
    nothing = dict.fromkeys(exchange()) | {"source": "a.pcap", "problem": "cut off"}
    foreign = {"problem": TLS, "unread": 100, "client_host": "10.0.0.9", "server_port": 9093, "position": 1}
    table = exchanges_of(
        exchange(),
        nothing | {"position": 7},
        nothing | {"position": 7, "source": "b.pcap"},
        nothing | foreign | {"number": 0},
        nothing | foreign | {"unread": 11},
    )
    seen = clients(table)
    assert [row["requests"] for row in seen.table.rows()] == [1]
    assert seen.problems.columns == PROBLEMS.names
    assert sorted(tuple(row.values()) for row in seen.problems.rows()) == [
        ("cut off", 1, 0, None, None, None, "a.pcap", 7),
        ("cut off", 1, 0, None, None, None, "b.pcap", 7),
        (TLS, 2, 1, 111, "10.0.0.9", 9093, "a.pcap", 1),
    ]


def test_clients_that_were_counted_before_are_added_up() -> None:
    monday = exchanges_of(exchange(at=2, connection="a", request_size=10), exchange(at=1, connection="b", position=7))
    broken = dict.fromkeys(exchange()) | {"source": "a.pcap", "position": 7, "problem": "cut off", "unread": 5}
    tuesday = exchanges_of(exchange(at=3, connection="a", response_size=5), broken)
    both = clients(clients(monday), clients(tuesday), refusals_of({"version": 1}))
    (seen,) = [row for row in both.table.rows() if row["input_kind"] == "capture"]
    assert (seen["requests"], seen["connections"], seen["bytes"], seen["begun"]) == (3, 3, 15, 3)
    assert (seen["last_seen"] - seen["first_seen"], seen["position"]) == (timedelta(seconds=2), 7)
    assert [row["unread"] for row in both.problems.rows()] == [5]
    assert [row["requests"] for row in both.table.rows() if row["input_kind"] == "server_log"] == [1]


def test_what_is_made_of_an_incomplete_table_is_incomplete() -> None:
    one, other = clients_of(client()), replace(clients_of(client()), complete=False)
    assert [clients(*seen).complete for seen in ([one], [one, other], [other, one])] == [True, False, False]


def test_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="expected exchanges, refusals or clients"):
        clients(table_of(pa.schema([("id", pa.int64())])))
    with pytest.raises(ValueError, match="at least one table"):
        clients()


def test_a_sum_of_bytes_that_lacks_some_is_none() -> None:
    counted = [client(bytes=100), client(bytes=50), client(api_key=1, bytes=7), client(api_key=1, bytes=None)]
    assert {row["api"]: row["bytes"] for row in clients(clients_of(*counted)).table.rows()} == {
        "Metadata": 150,
        "Fetch": None,
    }


@pytest.mark.long
def test_more_clients_than_fit_into_memory_are_counted_in_parts() -> None:
    number, table = 60_000, table_of(COUNTED)
    same = client(input_kind="capture", requests=2)
    for start in range(0, number, 5000):
        columns = {field.name: pa.repeat(pa.scalar(same.get(field.name), field.type), 5000) for field in COUNTED}
        for name in ("client_id", "source", "connection"):
            columns[name] = pa.array([f"{at:0200}" for at in range(start, start + 5000)])
        table.add([pa.RecordBatch.from_pydict(columns, schema=COUNTED)])
    found = clients(table, table).table
    counts = "SELECT count(*) AS clients, count(DISTINCT source) AS sources, min(requests) AS requests FROM {found}"
    assert collect(counts, found=found) == [{"clients": number, "sources": number, "requests": 4}]


GONE: dict[str, Any] = {"outcome": "unanswered", "reason": CLOSED}
JAVA: dict[str, Any] = {"software_name": "java", "server_port": 9092, "connection": "d"}
CUT: dict[str, Any] = {"problem": "cut off", "position": 7, "connection": "x"}
EVERY = [
    exchange(at=3, connection="b", request_size=10, response_size=1),
    exchange(at=1, number=1, error_codes=[3, 5], request_size=20),
    exchange(at=2, response_size=2, error_codes=[0]),
    exchange(at=4, number=2, **GONE),
    exchange(at=5, number=3, outcome="unanswered", reason="the connection ended"),
    exchange(at=6, number=4, packets=7),
    exchange(at=7, number=None, connection="e", source="kafka-request.log"),
    exchange(3, 8, at=8, number=None, connection="e", source="kafka-request.log", forwarded=True),
    exchange(at=9, number=5, connection="f", reason=CLOSED, forwarded=False),
    exchange(1, 13, at=10, software_version="4.1.1", principal="User:a", **JAVA),
    exchange(1, 13, at=11, software_version="4.1.1", principal="User:b", **JAVA),
    exchange(1, 12, at=12, software_version="4.0.0", principal="User:a", client_host="10.0.0.2", **JAVA),
    exchange(None, None, at=13, connection="d", outcome="undecodable", client_id=None),
    exchange(None, None, at=14, unread=3, **CUT),
    exchange(None, None, at=15, unread=4, number=1, **CUT),
    exchange(None, None, at=16, number=1, packets=5, **CUT | {"position": 8}),
    exchange(None, None, at=17, number=1, server_port=9092, source="b.pcap", **CUT),
    exchange(3, 5) | {"time": None, "position": 1},
    exchange(3, 5, at=18) | {"position": 2},
    exchange(3, 5, at=18) | {"position": None},
]
"""Two of everything: of who asks, of what is asked, of outcomes, places and problems."""
COUNTS = """\
capture 10.0.0.1 - - - - - - - - 13 s 13 s 1 0 0 1 a.pcap 13000 0 1
capture 10.0.0.1 - one - - - 3 Metadata 5 18 s 18 s 3 0 0 1 a.pcap - 0 3
capture 10.0.0.1 - one - - - 3 Metadata 9 1 s 9 s 13 2 1 3 a.pcap 1000 33 2
capture 10.0.0.1 9092 one java 4.1.1 User:a 1 Fetch 13 10 s 10 s 1 0 0 1 a.pcap 10000 0 1
capture 10.0.0.1 9092 one java 4.1.1 User:b 1 Fetch 13 11 s 11 s 1 0 0 1 a.pcap 11000 0 1
capture 10.0.0.2 9092 one java 4.0.0 User:a 1 Fetch 12 12 s 12 s 1 0 0 1 a.pcap 12000 0 1
forwarded 10.0.0.1 - one - - - 3 Metadata 8 8 s 8 s 1 0 0 1 kafka-request.log 8000 0 0
request_log 10.0.0.1 - one - - - 3 Metadata 9 7 s 7 s 1 0 0 1 kafka-request.log 7000 0 0
cut off 1 0 - 10.0.0.1 9092 b.pcap 7
cut off 2 1 7 10.0.0.1 - a.pcap 7
cut off 5 0 - 10.0.0.1 - a.pcap 8
"""


def lines(seen: Clients[LocalTable]) -> str:
    """All rows of both tables, with seconds since START, and ``-`` for null."""

    def cell(value: object) -> str:
        since = f"{(value - START).total_seconds():g} s" if isinstance(value, datetime) else str(value)
        return "-" if value is None else since

    return "".join(
        "".join(f"{line}\n" for line in sorted(" ".join(map(cell, row.values())) for row in table.rows()))
        for table in (seen.table, seen.problems)
    )


def test_all_columns_of_all_clients_and_problems() -> None:
    """However they were counted, and as often as they are counted again."""
    seen = clients(exchanges_of(*EVERY))
    assert lines(seen) == COUNTS
    for at_once, most in ((1, 1 << 20), (1, 0), (1 << 20, 1 << 20), (2000, 2000)):
        table = pa.Table.from_pylist([{name: row.get(name) for name in EXCHANGE_COLUMNS} for row in EVERY], NEEDED)
        assert lines(clients(table_of(COUNTED).add(counted(table.to_batches(4), at_once, most)))) == COUNTS
    assert lines(clients(seen)) == lines(clients(seen.table, seen.problems)) == COUNTS
    with seen.kept() as kept:
        assert lines(kept) == COUNTS
        assert kept.counted is not seen.counted or not seen.counted.viewed


def test_clients_of_several_tables_are_added_up_column_by_column() -> None:
    refused = (
        {"version": 1, "principal": "User:a", "time": START},
        {"version": 1, "principal": "User:a", "position": 9},
    )
    others = clients_of(client(requests=5, errors=2, refused=1, connections=3, bytes=9, begun=2, server_port=None))
    found = lines(
        clients(
            clients(exchanges_of(*EVERY)),
            refusals_of(*refused, {"problem": "cut off", "position": 4}),
            others,
            only(exchanges_of(EVERY[0]), EXCHANGE_COLUMNS),
        )
    )
    expected = COUNTS.replace("1 s 9 s 13 2 1 3 a.pcap 1000 33 2", "0 s 60 s 19 4 2 7 a.pcap 0 53 5")
    assert {*found.splitlines()} == {
        *expected.splitlines(),
        "server_log 10.0.0.9 - - - - User:a 0 Produce 1 0 s 0 s 2 0 2 0 server.log 0 0 0",
        "cut off 1 0 - 10.0.0.9 - server.log 4",
    }


def test_versions_are_counted_by_input_and_the_most_frequent_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [("capture", 3, 9, 7), ("capture", 3, 5, 3), ("capture", 1, 13, 2), ("capture", 1, 12, 1)]
    expected += [("forwarded", 3, 8, 1), ("request_log", 3, 9, 1)]
    seen = clients(exchanges_of(*EVERY))
    assert [tuple(row.values()) for row in versions_seen(exchanges_of(*EVERY))] == expected
    several = [(*one[:3], 13) if one == expected[0] else one for one in expected]
    for counts in (seen.table, seen.counted):
        assert [tuple(row.values()) for row in versions_seen(counts)] == several
    monkeypatch.setattr("kwire_inspect.tables.clients.MAX_VERSIONS", 2)
    assert [tuple(row.values()) for row in versions_seen(seen.table)] == several[:2]


def test_clients_have_the_origin_and_are_complete_as_all_of_which_they_are_made() -> None:
    origin = Origin("2 captures")
    one, other = clients_of(client()), clients(exchanges_of(exchange()), origin=origin)
    assert (one.origin, other.origin, clients(one, other).origin) == (UNKNOWN, origin, UNKNOWN)
    with replace(other, complete=False).kept() as kept:
        assert (kept.origin, kept.complete) == (origin, False)


@pytest.mark.parametrize("sizes", [(1000, 5), (1001, 5), (1000, 1001), (5000, 999)])
def test_an_identity_is_cut_to_a_thousand_characters(sizes: tuple[int, ...]) -> None:
    rows = [exchange(client_id=f"{number}" * size) for number, size in enumerate(sizes)]
    table = pa.Table.from_pylist([{name: row.get(name) for name in EXCHANGE_COLUMNS} for row in rows], NEEDED)
    for found in (clients(exchanges_of(*rows)), clients(table_of(COUNTED).add(counted(table.to_batches())))):
        expected = sorted(f"{number}" * min(size, 1000) for number, size in enumerate(sizes))
        assert sorted(row["client_id"] for row in found.table.rows()) == expected
