"""The brokers themselves: what the other tests rely on."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.e2e.brokers import STABLE
from tests.real_kafka.broker import Broker, BrokerFailed
from tests.real_kafka.releases import NEWEST


@pytest.mark.parametrize("name", STABLE)
def test_all_listeners_are_on_loopback_and_answer(name: str, request: pytest.FixtureRequest) -> None:
    broker: Broker = request.getfixturevalue(name)
    for address in (broker.address, broker.sasl_address, broker.controller_address):
        with socket.create_connection(address, timeout=5) as connection:
            assert connection.getpeername()[0] == "127.0.0.1"


def test_a_broker_that_cannot_start_says_why_and_leaves_no_process(tmp_path: Path) -> None:
    with (
        pytest.raises(BrokerFailed, match=r"num\.network\.threads"),
        Broker(NEWEST, tmp_path, properties={"num.network.threads": "none"}),
    ):
        pass
    assert Broker.started[-1].poll() is not None


def test_a_test_that_fails_leaves_no_process(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Broker(NEWEST, tmp_path):
        raise ZeroDivisionError
    assert Broker.started[-1].poll() is not None
