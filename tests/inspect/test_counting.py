"""Exchanges that are counted before they are stored: the same table of clients as from all rows, in SQL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire_inspect.options import Options
from kwire_inspect.readers import Reader
from kwire_inspect.reasons import CLOSED
from kwire_inspect.schemas import CLIENTS, COUNTED, EXCHANGES, PROBLEMS
from kwire_inspect.tables.clients import EXCHANGE_COLUMNS, IDENTITY, Clients, clients, counted
from kwire_inspect.tables.database import LocalTable
from kwire_spark.sources.base import CountingReader
from tests.inspect.test_clients_table import refusals_of
from tests.support.effort import examples
from tests.support.report_rows import DATABASE, START, client, clients_of, exchange, exchanges_of

NEEDED = pa.schema([EXCHANGES.field(name) for name in EXCHANGE_COLUMNS])


OTHERWISE: dict[str, list[Any]] = {
    "source": ["b.pcap", "a.pcap\N{FULLWIDTH LATIN SMALL LETTER A}", None],
    "position": [None, 7, 8, 100],
    "client_host": [None, "10.0.0.2"],
    "server_port": [9092],
    "connection": ["d", "e", None],
    "number": [1, None],
    "time": [None, *(START + timedelta(microseconds=some) for some in (-(10**15), -1, 1, 10**9))],
    "forwarded": [False, True],
    "client_id": ["", None],
    "software_name": ["apache-kafka-java"],
    "software_version": ["4.1.1"],
    "principal": ["User:a"],
    "api_key": [None, 1],
    "api": [None],
    "version": [None, 8],
    "outcome": ["unanswered", None],
    "reason": [CLOSED, f"{CLOSED} later"],
    "error_codes": [None, [3], [0, 5]],
    "request_size": [0, 10, 2**40],
    "response_size": [5],
    "unread": [0, 3],
    "packets": [0, 2],
    "problem": ["cut off", "not Kafka: TLS"],
}
"""Of a request that is nothing special, few columns have other values: so that several are counted together."""
FACTS = st.lists(
    st.sampled_from([(name, value) for name, values in OTHERWISE.items() for value in values]), max_size=4
)
SEVERAL = st.lists(FACTS.map(lambda facts: exchange(**dict(facts))), max_size=30)


def batches(rows: list[dict[str, Any]], sizes: list[int]) -> list[pa.RecordBatch]:
    """The rows, cut into batches of these sizes, and one of the others."""
    table, found = pa.Table.from_pylist(rows, NEEDED), []
    for size in sizes:
        found += table.slice(0, size).to_batches()
        table = table.slice(size)
    return [*found, *table.to_batches()]


def rows_of(seen: Clients[LocalTable]) -> list[str]:
    assert (seen.table.columns, seen.problems.columns) == (CLIENTS.names, PROBLEMS.names)
    return sorted(map(str, (*seen.table.rows(), *seen.problems.rows())))


@examples(1)
@given(SEVERAL, st.lists(st.integers(0, 5), max_size=5), st.integers(1, 2000), st.integers(0, 2000))
@pytest.mark.long
def test_counting_before_and_after_storing_is_the_same(
    rows: list[dict[str, Any]], sizes: list[int], at_once: int, most: int
) -> None:
    before = DATABASE.table(COUNTED).add(counted(batches(rows, sizes), at_once, most))
    others = refusals_of({"version": 1}), clients_of(client(input_kind="metrics"), client(requests=7, position=3))
    assert rows_of(clients(before)) == rows_of(clients(exchanges_of(*rows)))
    assert rows_of(clients(before, *others)) == rows_of(clients(exchanges_of(*rows), *others))
    found = clients(before)
    assert rows_of(clients(found)) == rows_of(found)
    assert rows_of(clients(found.table, found.problems)) == rows_of(found), "as it is stored"


def test_of_many_connections_there_is_a_row_for_each_and_not_for_each_request() -> None:
    asked = [exchange(api_key=at % 3, at=at, number=at, connection="cd"[at % 2]) for at in range(600)]
    cut_off = [
        exchange(None, source=source, position=at, problem="cut off")
        for source, at in (*[("a", 1)] * 2, ("a", 2), ("b", 1))
    ]
    given_rows = batches(asked + cut_off, [100] * 6)
    few = pa.Table.from_batches(counted(given_rows))
    assert few.schema.names == COUNTED.names
    assert sorted(zip(few["requests"].to_pylist(), few["connections"].to_pylist(), strict=True)) == [
        *((1, 1), (1, 1), (2, 1)),
        *[(200, 2)] * 3,
    ]
    many = counted(given_rows, given_rows[0].nbytes + 1, most=0)
    sizes = [(batch.num_rows, {*batch["connections"].to_pylist()}) for batch in many]
    assert sizes == [(6, {0}), (6, {0}), (6, {0}), (3, {0})], "of two batches each time: it takes no more memory"


def test_a_task_of_spark_counts_each_connection_by_itself() -> None:
    """Another task may have requests of it."""

    class Exchanges(Reader):
        def tasks(self) -> list[int]:
            return [0]

        def read(self, task: int) -> Iterator[pa.RecordBatch]:
            yield from batches([exchange(at=at, number=at, connection="cd"[at % 2]) for at in range(6)], [6])

    reader = CountingReader(Exchanges(Options({}), EXCHANGES))
    (task,) = reader.partitions()
    (found,) = reader.read(task)
    assert (found["requests"].to_pylist(), found["connections"].to_pylist()) == ([3, 3], [0, 0])


@pytest.mark.parametrize("most", range(0, 1000, 150))
def test_a_connection_is_counted_once_however_often_counts_are_stored(most: int) -> None:
    table = DATABASE.table(COUNTED)
    table.add(counted(batches([exchange(at=at) for at in range(9)], [1] * 9), 1, most))
    (row,) = clients(table).table.rows()
    assert (row["requests"], row["connections"]) == (9, 1)


@pytest.mark.parametrize("places", [[("b", 1), ("a", 8), ("a", 7)], [("a", 0), ("a", None)], [("a", 1), (None, 2)]])
def test_of_requests_at_the_same_time_the_first_in_its_file_is_the_example(places: list[Any]) -> None:
    rows = [exchange(source=source, position=position) for source, position in places]
    (row,) = pa.Table.from_batches(counted(batches(rows, []))).to_pylist()
    (of_sql,) = clients(exchanges_of(*rows)).table.rows()
    assert (row["source"], row["position"]) == (of_sql["source"], of_sql["position"]) == places[-1]


def test_who_a_client_is_has_at_most_a_thousand_characters() -> None:
    """Reports keep the rows of ten thousand clients, whose ids may have 32 kB each."""
    said: dict[str, Any] = {name: "\N{GREEK SMALL LETTER ALPHA}" * 1500 + name for name in IDENTITY}
    before = DATABASE.table(COUNTED).add(counted(batches([exchange(**said)], [])))
    for seen in (clients(before), clients(exchanges_of(exchange(**said))), clients(clients_of(client(**said)))):
        (row,) = seen.table.rows()
        assert {row[name] for name in IDENTITY} == {"\N{GREEK SMALL LETTER ALPHA}" * 1000}


def test_of_nothing_there_are_no_rows() -> None:
    nothing = pa.RecordBatch.from_pylist([], NEEDED)
    assert list(counted([])) == list(counted([nothing])) == list(counted([nothing] * 2, at_once=1)) == []
