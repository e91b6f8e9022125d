"""What a test can ask of a fake broker: errors, answers of its own, delays, lost connections; and what it can see."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kwire.client import AuthenticationError, BrokerError, Client, Sasl, Security, tls_context
from kwire.connection import ClientConnection
from kwire.json_form import to_json
from kwire_kafka import (
    PROTOCOL,
    ListGroupsRequest,
    ListGroupsResponse,
    MetadataRequest,
    MetadataResponse,
    SaslHandshakeRequest,
)
from kwire_kafka.api.metadata import MetadataRequestTopic
from kwire_kafka.errors import ErrorCode
from kwire_testing import Call, FakeBroker
from tests.properties.values import RandomSource, make
from tests.support.certificates import Certificates
from tests.testing.talking import ask, connected, get, send, talk
from tests.testing.test_logs import BATCH, filled


def test_every_api_can_fail() -> None:
    """Each answers an error where the request names something, or for the whole request."""
    error = ErrorCode.KAFKA_STORAGE_ERROR

    async def run() -> set[str]:
        failing = set()
        async with FakeBroker(topics={"t": 1}) as broker, connected(broker) as client:
            for key, versions in client.versions.items():
                request = filled(PROTOCOL.request(key), versions[-1])
                with broker.fail(PROTOCOL.api_name(key), error) as rule:
                    answer = await ask(client, request, versions[-1])
                if rule.used == 1 and f'rrorCode": {error.value}' in json.dumps(to_json(answer, versions[-1])):
                    failing.add(PROTOCOL.api_name(key))
            return {PROTOCOL.api_name(key) for key in client.versions} - failing

    assert asyncio.run(run()) == set()


def test_what_fails_is_not_done_and_only_so_often() -> None:
    async def run() -> Any:
        broker = FakeBroker("3.9", {"t": 2, "u": 1})
        async with broker, connected(broker) as client:
            rule = broker.fail("Produce", ErrorCode.NOT_LEADER_OR_FOLLOWER, times=2, topic="t", partition=1)
            sent = [("t", 0), ("u", 0), *[("t", 1)] * 3]
            codes = [(await send(client, topic, BATCH, partition)).error_code for topic, partition in sent]
            return codes, rule.used, len(broker.records("t", 1))

    assert asyncio.run(run()) == ([0, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_LEADER_OR_FOLLOWER, 0], 2, 2)


def test_a_handler_answers_or_lets_the_broker_answer() -> None:
    seen: list[tuple[str, int, str | None, int]] = []

    def watch(request: MetadataRequest, call: Call) -> None:
        seen.append((call.name, call.version, call.client_id, call.node))

    async def answer(request: MetadataRequest, call: Call) -> MetadataResponse:
        await asyncio.sleep(0)
        return MetadataResponse(cluster_id="mine")

    async def run() -> list[str | None]:
        broker = FakeBroker("3.9")
        broker.on(MetadataRequest, watch)
        broker.on(MetadataRequest, answer, times=1)
        async with broker, connected(broker, client_id="me") as client:
            return [(await ask(client, MetadataRequest(topics=[]))).cluster_id for _ in range(2)]

    assert asyncio.run(run()) == ["mine", "kwire-fake-cluster-id0"]
    assert seen == [("Metadata", 12, "me", 1)] * 2


def test_what_a_handler_raises_reaches_the_test() -> None:
    def refuse(request: object, call: Call) -> None:
        raise AssertionError("wrong request")

    broker = FakeBroker("3.9")
    broker.on(MetadataRequest, refuse)
    with pytest.raises(BrokerError) as caught:
        talk(broker, lambda client: ask(client, MetadataRequest()))
    assert "wrong request" in caught.value.__notes__[0]


@pytest.mark.parametrize(("answered", "kept"), [(False, 0), (True, 2)])
def test_a_connection_is_lost_before_or_after_the_work(answered: bool, kept: int) -> None:
    async def run() -> int:
        broker = FakeBroker("3.9", {"t": 1})
        async with broker, connected(broker) as client:
            broker.drop("Produce", answered=answered)
            with pytest.raises(BrokerError, match="closed the connection"):
                await send(client, "t", BATCH)
            return len(broker.records("t"))

    assert asyncio.run(run()) == kept


def test_delays_and_throttling_follow_the_clock() -> None:
    async def run() -> Any:
        broker = FakeBroker("3.9")
        async with broker, connected(broker) as client:
            broker.delay("*", 3600, times=1)
            broker.throttle("Metadata", 0.02)
            asked = asyncio.ensure_future(ask(client, MetadataRequest(topics=[])))
            while len(broker.requests) < 2:
                await asyncio.sleep(0)
            early = asked.done()
            await asyncio.sleep(0.01)
            broker.advance(3600)
            throttle = (await asked).throttle_time_ms
            before = broker.clock.now
            await ask(client, MetadataRequest(topics=[]))
            return early, throttle, broker.clock.now - before >= 0.015

    assert asyncio.run(run()) == (False, 20, True)


def test_requests_are_kept_as_objects() -> None:
    async def run(client: Client) -> None:
        await ask(client, MetadataRequest(topics=[MetadataRequestTopic(name="a")]), 9)

    broker = FakeBroker("3.9")
    talk(broker, run, client_id="me")
    first, last = broker.requests
    assert first.software[0] == "kwire"
    assert (last.name, last.version, last.client_id, last.connection, last.node) == ("Metadata", 9, "me", 1, 1)
    assert [topic.name for topic in last.message.topics] == ["a"]


@pytest.mark.parametrize("call", ["fail", "delay"])
def test_an_unknown_api_is_refused(call: str) -> None:
    with pytest.raises(ValueError, match="unknown API 'Produc'"):
        getattr(FakeBroker(), call)("Produc", ErrorCode.NONE)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("release", ["0.10.2", "3.9"])
def test_users_log_in(mechanism: str, release: str) -> None:
    def login(password: str) -> Any:
        sasl = Sasl(mechanism=mechanism, username="alice", password=password)
        broker = FakeBroker(release, users={"alice": "secret"})
        return talk(broker, lambda client: ask(client, ListGroupsRequest()), security=Security(sasl=sasl))

    assert isinstance(login("secret"), ListGroupsResponse)
    with pytest.raises((AuthenticationError, BrokerError)):
        login("wrong")


def test_nothing_is_answered_before_the_login() -> None:
    async def run(client: Client) -> list[str]:
        mechanisms: list[str] = (await ask(client, SaslHandshakeRequest(mechanism="GSSAPI"))).mechanisms
        with pytest.raises(BrokerError, match="closed the connection"):
            await ask(client, MetadataRequest())
        return mechanisms

    broker = FakeBroker("3.9", users={"alice": "secret"})
    assert talk(broker, run) == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


def test_a_broker_speaks_tls(tmp_path: Path) -> None:
    certificates, context = Certificates(tmp_path), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server)
    security = Security(tls=tls_context(ca=certificates.ca))
    broker = FakeBroker("3.9", tls=context)
    assert talk(broker, lambda client: ask(client, ListGroupsRequest()), security=security).error_code == 0


def test_with_runs_the_same_on_a_thread() -> None:
    with FakeBroker("3.9", {"t": 1}) as broker:
        assert broker.produce("t", b"a", b"b") == 0

        async def run() -> int:
            async with connected(broker) as client:
                return len((await get(client, "t")).records)

        assert asyncio.run(run()) > 0
        assert [record.value for record in broker.records("t")] == [b"a", b"b"]
        assert [call.name for call in broker.requests] == ["ApiVersions", "Metadata", "Fetch"]
    assert "kwire-FakeBroker" not in {thread.name for thread in threading.enumerate()}


def test_nothing_is_left_after_many_brokers() -> None:
    """Sockets and tasks, also of fetches that wait and of clients that stay connected."""

    async def run() -> set[str]:
        for _ in range(20):
            async with FakeBroker("3.9", {"t": 1}, nodes=3) as broker, connected(broker) as client:
                waiting = asyncio.ensure_future(get(client, "t", max_wait_ms=60_000))
                while len(broker.requests) < 3:
                    await asyncio.sleep(0)
                waiting.cancel()
        return {task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()}

    files = Path("/proc/self/fd")
    before = len([*files.iterdir()]) if files.exists() else 0
    assert asyncio.run(run()) == set()
    assert not files.exists() or len([*files.iterdir()]) <= before


def test_broken_bytes_end_only_their_connection() -> None:
    async def run() -> Any:
        async with FakeBroker("3.9", {"t": 1}) as broker, connected(broker) as client:
            port = int(broker.bootstrap_servers.rpartition(":")[2])
            for data in (b"\xff" * 64, b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x0a" + bytes(10), b"\0\0\0\4\0\1\0\1"):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(data)
                writer.write_eof()
                await reader.read()
                writer.close()
                await writer.wait_closed()
            return (await send(client, "t", BATCH)).error_code

    assert asyncio.run(run()) == 0


@pytest.mark.slow
def test_no_request_stops_a_broker() -> None:
    """Values that make no sense are refused: what a handler raised would be raised here."""
    source, random = RandomSource(Random(7)), Random(7)

    async def run() -> int:
        async with FakeBroker("4.4", {"topic-1": 1, "a": 2}) as broker:
            async with connected(broker) as client:
                offered = client.versions
            for _ in range(500):
                key = random.choice([*offered])
                request: Any = make(PROTOCOL.request(key), offered[key][-1], source)
                if hasattr(request, "max_wait_ms"):
                    request.max_wait_ms = 0
                port = int(broker.bootstrap_servers.rpartition(":")[2])
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(ClientConnection(PROTOCOL).send(request, offered[key][-1]))
                broker.advance(3600)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(1), 0.01)
                writer.transport.abort()
            return len(broker.requests)

    assert asyncio.run(run()) > 450
