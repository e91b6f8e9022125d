"""Tables of what reports know: their columns, and what they advise about each library."""

from __future__ import annotations

import io
from functools import partial
from itertools import groupby
from operator import itemgetter

from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from kwire_inspect.command import reports
from kwire_inspect.reports import (
    address_names,
    advice,
    basis,
    census,
    counted,
    encrypted,
    latency,
    offsets,
    over_time,
    terminal,
)
from kwire_inspect.reports.client_usage import Client, Use
from kwire_inspect.reports.libraries import NAMED, dotted, tried, works_since
from kwire_inspect.reports.owners import Owners
from kwire_inspect.reports.readiness import report_on
from kwire_inspect.reports.report import Column, Table
from kwire_inspect.state import columns
from kwire_kafka.releases import RELEASES
from tests.support.report_rows import client as row_of
from tests.support.report_rows import clients_of, exchange, exchanges_of, table_of

LIBRARIES = sorted({one.library for one in tried()})
OLDER = [name for name in RELEASES if name <= "4.1.1"]
"""Releases of which nothing changes when a newer one is taken in."""


def described(column: Column) -> str:
    marks = " ".join(f"{value}={colour}" for value, colour in (column.mark or {}).items())
    facts = [f"[{marks}]" * bool(marks), "brief" * bool(column.brief), "whole" * column.whole, column.comment]
    heading = f" ({column.heading})" if column.heading != column.name else ""
    return " ".join(filter(None, [f"  {column.name}{heading}", *facts]))


def judged() -> list[Table]:
    """The tables of a report with all that can be asked for."""
    uses = [Use(Client("a", host, None, None), key, "API", 1) for host in ("h", "i") for key in (0, 4)]
    return [*report_on(uses, [RELEASES["4.0.0"], RELEASES["4.1.1"]], owners=Owners(()), before=[]).tables]


def test_columns(snapshot: SnapshotAssertion) -> None:
    tables = [reports.LIST, reports.BROKERS, *judged()]
    for module in (census, latency, offsets, counted, encrypted, basis):
        tables += [one for one in vars(module).values() if isinstance(one, Table)]
    told = []
    for table in tables:
        told += [
            f"{table.name}: {table.title}. {table.note or 'No note.'} {table.empty}",
            *map(described, table.columns),
        ]
    assert "\n".join([*told, described(address_names.NAME)]) == snapshot


def test_the_oldest_version_of_each_library_that_works_on_a_release(snapshot: SnapshotAssertion) -> None:
    told = []
    for library in LIBRARIES:
        found = [(name, works_since(library, RELEASES[name], RELEASES)) for name in OLDER]
        for version, names in groupby(found, itemgetter(1)):
            first, *others = [name for name, _ in names]
            several = f"{first} to {others[-1]}" if others else first
            told.append(f"{library} on {several}: {dotted(version) if version else 'none'}")
    assert "\n".join(told) == snapshot


def test_advice(snapshot: SnapshotAssertion) -> None:
    """About an old version of each library, one that works, and an unknown one; by its software, or by its id."""
    find = partial(works_since, target=RELEASES["4.1.1"], releases=RELEASES)
    ids = ["kafka-python-1.0.0", "aiokafka-producer-1", "rdkafka", "sarama", "kafkajs", "kgo", "consumer-g-1", "mine"]
    clients = [Client(name, None, None, None) for name in ids]
    for software, library in NAMED.items():
        for version in ("0.1", dotted(find(library) or ()), ""):
            clients.append(Client("billing", None, f"{software} {version}".strip(), None))
    clients.append(Client("billing", None, "unheard-of 1.0", None))
    told = []
    for client in clients:
        told.append(f"{client.software or client.client_id}: {advice.advice(client, {0: 'Produce'}, '4.1.1', find)}")
    for client in clients[0], clients[6], clients[7], clients[8], clients[-1]:
        text = advice.advice(client, {19: "CreateTopics", 20: "DeleteTopics"}, "4.1.1", find)
        told.append(f"{client.software or client.client_id}, by an administrator: {text}")
    nothing = advice.advice(clients[2], {0: "Produce"}, "0.8.0", lambda library: None)
    assert (
        "\n".join([*told, nothing, advice.advice(clients[7], {0: "Produce"}, "x", lambda library: None)]) == snapshot
    )


def test_steps_of_charts_over_time() -> None:
    steps = "1 s, 5 s, 10 s, 30 s, 1 min, 5 min, 10 min, 30 min, 1 h, 3 h, 6 h, 12 h, 1 d, 7 d, 30 d"
    assert ", ".join(str(over_time.Steps(length)) for length in over_time.USUAL) == steps


def test_reports_have_their_limits_without_being_asked() -> None:
    names = [f"client {number:03}" for number in range(501)]
    rows = [row_of(3, number % 201, client_id=name) for number, name in enumerate(names[:202])]
    sent = [exchange(number, at=number, throttle_ms=1, api=f"api {number}") for number in range(101)]
    usage, times = census.census(clients_of(*rows)), latency.latency(exchanges_of(*sent))
    assert [(len(table.rows), table.more) for table in usage.tables[:2]] == [(200, 1), (200, 2)]
    assert [(len(times.table(name).rows), times.table(name).more) for name in ("apis", "throttled")] == [(100, 1)] * 2
    members = table_of(columns.MEMBERS, *({"group": name, "member_id": "m"} for name in names))
    others = (table_of(columns.COMMITTED), table_of(columns.GROUPS), members, table_of(columns.TRANSACTIONS))
    table = offsets.report_on(offsets.Tables(*others)).table("members")
    assert (len(table.rows), table.more) == (500, 1)
    printed = io.StringIO()
    terminal.print_report(usage, Console(file=printed, width=100))
    assert printed.getvalue().count("and 181 more") == 1
