"""The table of clients: what is counted, of which rows, and what stands for an example."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from kwire_inspect.reasons import TLS
from kwire_inspect.schemas import CLIENTS, COUNTED, PROBLEMS, REFUSALS
from kwire_inspect.tables.clients import EXCHANGE_COLUMNS, REFUSAL_COLUMNS, clients
from kwire_inspect.tables.database import LocalTable
from kwire_inspect.tables.relations import collect, query
from tests.support.report_rows import client, clients_of, exchange, exchanges_of, table_of


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
