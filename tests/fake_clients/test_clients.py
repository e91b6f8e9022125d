"""Clients, unmodified, against the fake broker as three releases; and the examples of its page."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from kwire import Message
from kwire_kafka.releases import RELEASES
from kwire_testing import FakeBroker, Passage, Proxy
from tests.fake_clients.clients import CLIENTS
from tests.fake_clients.conftest import PAGE, Passed

RELEASE_LINES = ("2.8", "3.9", RELEASES.newest.name)
VALUES = [b"value %d" % number for number in range(20)]

each_client = pytest.mark.parametrize("client", CLIENTS)
each_release = pytest.mark.parametrize("release", RELEASE_LINES)


@each_release
@each_client
def test_a_group_reads_what_was_produced_and_rebalances(client: str, release: str, passed: Passed) -> None:
    ours = CLIENTS[client]
    with FakeBroker(release, {"orders": 2}, nodes=2) as broker:
        ours.produce(broker.bootstrap_servers, VALUES)
        assert sorted(record.value or b"" for record in broker.records("orders")) == sorted(VALUES)
        found = ours.rebalance(broker.bootstrap_servers, len(VALUES))
        assert sorted({*found}) == sorted(VALUES)
        assert broker.offsets("g") == {("orders", 0): 10, ("orders", 1): 10}
    passed(client, release, "produce", "group with rebalance")


def again(message: Message, passage: Passage) -> Message:
    """Every message is decoded and encoded."""
    return message


@contextmanager
def behind(broker: FakeBroker, filters: list[Any] | None) -> Iterator[str]:
    """The address of a broker, or of a proxy before it."""
    if filters is None:
        yield broker.bootstrap_servers
        return
    with Proxy(broker.bootstrap_servers.split(",")[0], filters) as proxy:
        yield proxy.bootstrap_servers


def seen(links: set[int], event: object, number: int) -> None:
    links.add(number)


@each_client
@pytest.mark.parametrize("filters", [[], [again]], ids=["as bytes", "encoded again"])
def test_a_proxy_is_not_noticed_and_not_passed_by(client: str, filters: list[Any]) -> None:
    ours = CLIENTS[client]

    def groups(servers: str) -> list[bytes]:
        ours.produce(servers, VALUES)
        return sorted({*ours.rebalance(servers, len(VALUES))})

    expected: dict[Any, Any] = {groups: sorted(VALUES), ours.admin: (["new", "orders"], ["orders"])}
    if hasattr(ours, "transactions"):
        expected[ours.transactions] = [b"kept"]
    for scenario, result in expected.items():
        links: set[int] = set()
        with FakeBroker(topics={"orders": 2 if scenario is groups else 1}, nodes=3) as broker:
            first = broker.bootstrap_servers.split(",")[0]
            with Proxy(first, filters, watch=partial(seen, links)) as proxy:
                assert scenario(proxy.bootstrap_servers) == result
            assert len({call.connection for call in broker.requests}) == len(links)


def test_the_broker_assigns_the_partitions_of_a_new_group() -> None:
    ours = CLIENTS["confluent-kafka"]
    with FakeBroker(topics={"orders": 2}, nodes=2) as broker:
        ours.produce(broker.bootstrap_servers, VALUES)
        assert sorted({*ours.rebalance(broker.bootstrap_servers, len(VALUES), "consumer")}) == sorted(VALUES)
        assert broker.offsets("g") == {("orders", 0): 10, ("orders", 1): 10}
        assert "ConsumerGroupHeartbeat" in {call.name for call in broker.requests}


@each_release
@pytest.mark.parametrize("client", [name for name in CLIENTS if hasattr(CLIENTS[name], "transactions")])
def test_transactions_are_whole(client: str, release: str, passed: Passed) -> None:
    ours = CLIENTS[client]
    with FakeBroker(release, {"orders": 1}) as broker:
        assert ours.transactions(broker.bootstrap_servers) == [b"kept"]
        assert [record.value for record in broker.records("orders", committed=False)] == [b"lost", b"kept"]
    passed(client, release, "transactions")


@each_release
@each_client
def test_topics_are_made_and_removed(client: str, release: str, passed: Passed) -> None:
    ours = CLIENTS[client]
    with FakeBroker(release, {"orders": 1}) as broker:
        assert ours.admin(broker.bootstrap_servers) == (["new", "orders"], ["orders"])
    passed(client, release, "topics")


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        (0, "[b'hello']\n"),
        (1, "[b'hello', b'again']\n{('orders', 0): 2}\n"),
        (2, "_FENCED\n[b'kept']\n"),
        (3, "[2]\n[1, 1]\n"),
    ],
)
def test_the_examples_of_the_page_print_what_they_should(number: int, printed: str) -> None:
    example = re.findall(r"```py\n(.*?)```", PAGE.read_text(), re.DOTALL)[number]
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == printed
