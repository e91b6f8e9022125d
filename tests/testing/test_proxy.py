"""What passes a proxy unchanged, what it changes by itself, and what filters change, answer and stop."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from pathlib import Path
from random import Random
from typing import Any, Union
from unittest.mock import MagicMock

import pytest

from kwire import Message
from kwire.client import BrokerError, Sasl, Security, tls_context
from kwire.command import main
from kwire.connection import CLIENT, SERVER, ClientConnection, ConnectionDecoder, Direction, ResponseEvent, SaslToken
from kwire.errors import EncodeError
from kwire.frames import FrameReader, frame
from kwire.json_form import to_json
from kwire.schema import present_fields, walk
from kwire_kafka import (
    PROTOCOL,
    ApiVersionsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    ProduceResponse,
    SaslHandshakeRequest,
)
from kwire_kafka.api.api_versions import ApiVersion
from kwire_kafka.api.find_coordinator import Coordinator
from kwire_kafka.api.list_groups import ListedGroup
from kwire_kafka.api.metadata import MetadataRequestTopic
from kwire_kafka.api.produce import PartitionProduceResponse, TopicProduceResponse
from kwire_kafka.errors import ErrorCode
from kwire_testing import FakeBroker, Passage, Proxy, addresses, command, limit
from kwire_testing.proxy import BROKERS, CLOSING, MAX_WAITING, Filter
from tests.properties.values import RandomSource, make
from tests.support.certificates import Certificates
from tests.testing.talking import ask, connected, get, quiet, send
from tests.testing.test_logs import BATCH, filled


@asynccontextmanager
async def through(
    filters: list[Filter], *, broker: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[Any]:
    """A fake broker with a topic ``t`` and a proxy before it."""
    async with FakeBroker(**({"topics": {"t": 1}} | (broker or {}))) as found:
        first = found.bootstrap_servers.split(",")[0]
        async with Proxy(first, filters, **options) as proxy:
            yield found, proxy


class Upstream:
    """A server that keeps the payloads it gets, and answers each with what ``answer`` makes of it."""

    def __init__(self, answer: Callable[[bytes], bytes | None]) -> None:
        self.payloads: list[bytes] = []
        self.closed = asyncio.Event()
        self._answer = answer

    async def __aenter__(self) -> Upstream:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *problem: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frames = FrameReader()
        while data := await reader.read(1 << 16):
            for payload in frames.feed(data):
                self.payloads.append(payload)
                answer = self._answer(payload)
                if answer is None:
                    writer.write_eof()
                else:
                    writer.write(answer)
        self.closed.set()
        writer.close()


async def exchanged(proxy: Proxy, *frames: bytes, count: int | None = None, at_once: bool = True) -> list[bytes]:
    """The payloads that come back for frames: ``count`` of them, or all until the connection closes.

    If they are not sent ``at_once``, each is sent after the answer to the one before.
    """
    host, port = proxy.bootstrap_servers.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(b"".join(frames if at_once else frames[:1]))
        found: list[bytes] = []
        splitter = FrameReader()
        async with asyncio.timeout(5):
            while (count is None or len(found) < count) and (data := await reader.read(1 << 16)):
                found += splitter.feed(data)
                writer.write(b"" if at_once else b"".join(frames[len(found) : len(found) + 1]))
        return found
    finally:
        writer.close()


def has(cls: type[Message], *names: str) -> bool:
    owners: dict[object, set[str]] = {}
    for _, owner, field in walk(cls):
        owners.setdefault(owner, set()).add(field.name)
    return any({*names} <= fields for fields in owners.values())


def test_all_responses_with_addresses_of_brokers_are_known() -> None:
    found = {
        PROTOCOL.response(key).__name__ for key in PROTOCOL.api_keys if has(PROTOCOL.response(key), "host", "port")
    }
    of_clients = {"StreamsGroupHeartbeatResponse", "StreamsGroupDescribeResponse"}
    assert found == {*BROKERS} | of_clients


@pytest.mark.parametrize("name", BROKERS)
def test_every_address_of_a_broker_is_found(name: str) -> None:
    cls: Any = PROTOCOL[name]
    for version in cls.VALID_VERSIONS:
        message = make(cls, version, RandomSource(Random(version)))
        for found in addresses(message):
            if found is not message or "host" in {field.name for field in present_fields(cls, version)}:
                found.host, found.port = "elsewhere", 1000
        text = json.dumps(to_json(cls.decode(message.encode(version), version), version))
        assert text.count('"elsewhere"') == text.count(": 1000") == text.count('"port": ')


def test_clients_stay_behind_it() -> None:
    """Each node has a listener of its own, the same for all clients, and nothing else of the answer changes."""

    async def run() -> None:
        async with through([], broker={"topics": {"t": 3}, "nodes": 3}) as (broker, proxy):
            async with connected(broker) as client:
                direct = await ask(client, MetadataRequest(topics=None))
            answers = []
            for _ in range(2):
                async with connected(proxy) as client:
                    answers.append(await ask(client, MetadataRequest(topics=None)))
            assert answers[0] == answers[1]
            assert proxy.topics == {direct.topics[0].topic_id: "t"}
            here = {(one.host, one.port) for one in answers[0].brokers}
            assert len(here) == 3
            assert proxy.bootstrap_servers in {f"{host}:{port}" for host, port in here}
            assert not here & {(one.host, one.port) for one in direct.brokers}
            for one, other in zip(answers[0].brokers, direct.brokers, strict=True):
                one.host, one.port = other.host, other.port
            assert answers[0] == direct
            for node in answers[1].brokers:
                led = [one for one in direct.topics[0].partitions if one.leader_id == node.node_id]
                async with connected(f"{node.host}:{node.port}") as client:
                    for one in led:
                        assert (await send(client, "t", BATCH, one.partition_index)).error_code == 0
                        assert (await get(client, "t", 0, one.partition_index)).error_code == 0
            assert [len(broker.records("t", partition)) for partition in range(3)] == [2, 2, 2]

    asyncio.run(run())


@pytest.mark.parametrize(("host", "port"), [("nowhere", 0), ("nowhere", -1), ("", 9092)])
def test_what_is_no_address_of_a_broker_stays(host: str, port: int) -> None:
    """A host without a port, or a port without a host, gets no listener."""

    async def run() -> None:
        async with through([]) as (broker, proxy):
            rows = [Coordinator(key="g", host=host, port=port)]
            broker.on(FindCoordinatorRequest, lambda *_: FindCoordinatorResponse(coordinators=rows))
            async with connected(proxy) as client:
                answer = await ask(client, FindCoordinatorRequest(coordinator_keys=["g"]), 4)
            assert answer.coordinators == rows

    asyncio.run(run())


def test_what_no_filter_reads_passes_byte_by_byte() -> None:
    """Requests of all APIs in all versions, unknown APIs, unknown tags and cut bodies; and what comes back."""
    ids, source = iter(range(1000, 100000)), RandomSource(Random(1))
    frames = [
        PROTOCOL.encode_request(
            make(PROTOCOL.request(key), version, source), version, correlation_id=next(ids), client_id="é"
        )
        for key in PROTOCOL.api_keys
        if PROTOCOL.api_name(key) not in ("ApiVersions", "SaslHandshake")
        for version in PROTOCOL.request(key).VALID_VERSIONS
        if f"{PROTOCOL.api_name(key)}Response" not in BROKERS
    ]
    frames += [frames[0][:-1], b"\x7f\x00\x00\x01" + next(ids).to_bytes(4, "big") + b"\0\1x\0unknown"]
    tail = b"\0any bytes"

    async def run() -> tuple[list[bytes], list[bytes]]:
        async with Upstream(lambda payload: frame(payload[4:8] + tail)) as upstream, Proxy(upstream.address) as proxy:
            return upstream.payloads, await exchanged(proxy, *map(frame, frames), count=len(frames))

    assert len(frames) > MAX_WAITING
    sent, answers = asyncio.run(run())
    assert sent == frames
    assert answers == [payload[4:8] + tail for payload in sent]


def masked(response: ListGroupsResponse, passage: Passage) -> ListGroupsResponse:
    assert isinstance(passage.request, ListGroupsRequest)
    return ListGroupsResponse(
        groups=[
            ListedGroup(
                group_id=f"{passage.name} {passage.version} {passage.client_id} {passage.request.states_filter}"
            )
        ]
    )


async def denied(request: ProduceRequest, passage: Passage) -> ProduceResponse | None:
    """Denies topics that begin with ``t``, by name or id."""
    await asyncio.sleep(0)
    topics = [passage.topic(topic.name, topic.topic_id) for topic in request.topic_data]
    if not any((topic or "t").startswith("t") for topic in topics):
        return None
    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    PartitionProduceResponse(index=part.index, error_code=error) for part in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


def renamed(request: HeartbeatRequest | ListGroupsRequest, passage: Passage) -> Message | None:
    if isinstance(request, ListGroupsRequest):
        request.states_filter = ["Stable"]
        return request
    return None


def test_filters_change_and_answer() -> None:
    async def run() -> None:
        async with through([renamed, masked, denied], broker={"topics": {"t": 1, "u": 1}}) as (broker, proxy):
            async with connected(broker) as client:
                known = await ask(client, MetadataRequest(topics=None))
            async with connected(proxy, client_id="me") as client:
                version = client.version(ListGroupsRequest)
                groups = await ask(client, ListGroupsRequest(states_filter=["Empty"]))
                assert [one.group_id for one in groups.groups] == [f"ListGroups {version} me ['Stable']"]
            seen = broker.requests[-1]
            assert (seen.name, seen.message.states_filter, seen.client_id) == ("ListGroups", ["Stable"], "me")
            for number in (9, 13):  # names, and ids that this proxy has not seen
                async with Proxy(broker.bootstrap_servers, [denied]) as other, connected(other) as client:
                    for topic in known.topics:
                        request = filled(ProduceRequest, number)
                        request.topic_data[0].name = topic.name
                        request.topic_data[0].topic_id = topic.topic_id if number == 13 else bytes(16)
                        request.topic_data[0].partition_data[0].records = BATCH
                        answer = await ask(client, request, number)
                        code = answer.responses[0].partition_responses[0].error_code
                        assert code == (ErrorCode.TOPIC_AUTHORIZATION_FAILED if topic.name == "t" else 0)
            assert [len(broker.records(topic)) for topic in ("t", "u")] == [0, 4]

    asyncio.run(run())


def answered(request: HeartbeatRequest, passage: Passage) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=ErrorCode.FENCED_INSTANCE_ID)


def test_a_proxy_asks_for_names_in_a_number_that_no_request_has() -> None:
    """Whatever numbers a client has: here that of a request that a filter answered, which waits for its turn."""

    async def run() -> list[int]:
        async with through([answered, denied], broker={"topics": {"t": 1, "u": 1}}) as (broker, proxy):
            async with connected(broker) as client:
                known = await ask(client, MetadataRequest(topics=None))
            broker.delay("ListGroups", 0.05)
            produce = filled(ProduceRequest, 13)
            produce.topic_data[0].topic_id = next(one.topic_id for one in known.topics if one.name == "u")
            produce.topic_data[0].partition_data[0].records = BATCH
            end = ClientConnection(PROTOCOL, client_id="me")
            asked = [(ListGroupsRequest(), 4, 5), (HeartbeatRequest(), 4, -1), (produce, 13, -2)]
            frames = [end.send(one, version, correlation_id=number) for one, version, number in asked]
            payloads = await exchanged(proxy, *frames, count=3)
            assert len(broker.records("u")) == 2
            own = MetadataRequest(topics=[MetadataRequestTopic(name=None, topic_id=produce.topic_data[0].topic_id)])
            own.allow_auto_topic_creation = False
            found = [(call.version, call.client_id, call.message) for call in broker.requests]
            assert found[-2:] == [(12, "me", own), (13, "me", produce)]
            return [int.from_bytes(payload[:4], "big", signed=True) for payload in payloads]

    assert asyncio.run(run()) == [5, -1, -2]


@pytest.mark.parametrize("release", ["2.7", "2.8"])
def test_topics_without_an_id_have_no_name_by_it(release: str) -> None:
    found: list[str | None] = []

    def look(request: ListGroupsRequest, passage: Passage) -> None:
        found.extend([passage.topic(None), passage.topic("", bytes(16)), passage.topic("u")])

    async def run() -> None:
        async with through([look], broker={"release": release}) as (_, proxy), connected(proxy) as client:
            await ask(client, MetadataRequest(topics=None), 9)
            await ask(client, ListGroupsRequest())

    asyncio.run(run())
    assert found == [None, None, "u"]


Asked = Union[ListGroupsRequest, HeartbeatRequest]  # noqa: UP007 - filters may have it


def either(request: Asked, passage: Passage) -> ListGroupsResponse | None:
    return ListGroupsResponse(error_code=ErrorCode.NOT_CONTROLLER) if passage.name == "ListGroups" else None


def test_a_union_may_be_written_in_words() -> None:
    async def run() -> None:
        async with through([either]) as (_, proxy), connected(proxy) as client:
            assert (await ask(client, ListGroupsRequest())).error_code == ErrorCode.NOT_CONTROLLER

    asyncio.run(run())


def test_filters_are_met_in_order_and_back_in_reverse() -> None:
    met: list[tuple[str, str]] = []

    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

        def __call__(self, message: Message, passage: Passage) -> None:
            met.append((self.name, type(message).__name__))

    async def run() -> None:
        async with through([Named("a"), Named("b")]) as (_, proxy), connected(proxy) as client:
            await ask(client, ListGroupsRequest())

    asyncio.run(run())
    names = ["ApiVersionsRequest", "ApiVersionsResponse", "ListGroupsRequest", "ListGroupsResponse"]
    assert met == [(one, name) for name in names for one in ("ab" if name.endswith("Request") else "ba")]


def test_answers_keep_their_order() -> None:
    """An answer of a filter waits for the answers of the broker to earlier requests."""

    async def run() -> list[Any]:
        async with through([answered]) as (broker, proxy):
            broker.delay("ListGroups", 0.05)
            client = ClientConnection(PROTOCOL)
            asked: list[Message] = [ListGroupsRequest(), HeartbeatRequest(), HeartbeatRequest(), ListGroupsRequest()]
            frames = [client.send(one, 4) for one in asked]
            payloads = await exchanged(proxy, *frames, count=4)
            return [event for payload in payloads for event in client.receive(frame(payload))]

    events = asyncio.run(run())
    assert [event.name for event in events] == ["ListGroups", "Heartbeat", "Heartbeat", "ListGroups"]
    assert events[1].message.error_code == ErrorCode.FENCED_INSTANCE_ID


def test_a_filter_that_waits_holds_up_no_earlier_request() -> None:
    """Also if both came in one piece."""

    async def run() -> list[int]:
        async def patient(request: HeartbeatRequest, passage: Passage) -> None:
            async with asyncio.timeout(5):
                while not broker.requests:
                    await asyncio.sleep(0)

        async with through([patient]) as (broker, proxy):
            asked = [(ListGroupsRequest(), 4, 1), (HeartbeatRequest(group_id="g"), 4, 2)]
            frames = [frame(PROTOCOL.encode_request(one, at, correlation_id=number)) for one, at, number in asked]
            return [int.from_bytes(one[:4], "big") for one in await exchanged(proxy, *frames, count=2)]

    assert asyncio.run(run()) == [1, 2]


def test_a_response_is_sent_after_its_filters() -> None:
    """Even if a filter answers a later request meanwhile."""

    async def run() -> list[Any]:
        begun, answered = asyncio.Event(), asyncio.Event()

        async def late(response: ListGroupsResponse, passage: Passage) -> ListGroupsResponse:
            begun.set()
            await answered.wait()
            for _ in range(9):
                await asyncio.sleep(0)
            response.throttle_time_ms = 77
            return response

        async def early(request: HeartbeatRequest, passage: Passage) -> HeartbeatResponse:
            await begun.wait()
            answered.set()
            return HeartbeatResponse(throttle_time_ms=88)

        async with through([late, early]) as (_, proxy):
            client = ClientConnection(PROTOCOL)
            frames = [client.send(one, 4) for one in (ListGroupsRequest(), HeartbeatRequest())]
            payloads = await exchanged(proxy, *frames, count=2)
            found: list[Any] = [event for payload in payloads for event in client.receive(frame(payload))]
            return [event.message for event in found]

    assert [message.throttle_time_ms for message in asyncio.run(run())] == [77, 88]


def test_a_filter_of_responses_finds_the_request_as_the_filters_left_it() -> None:
    seen: list[Message | None] = []

    def other(request: ListGroupsRequest, passage: Passage) -> ListGroupsRequest:
        return ListGroupsRequest(states_filter=["Stable"])

    def look(response: ListGroupsResponse, passage: Passage) -> None:
        seen.append(passage.request)

    async def run() -> None:
        async with through([other, look]) as (_, proxy), connected(proxy) as client:
            await ask(client, ListGroupsRequest(states_filter=["Empty"]), 4)

    asyncio.run(run())
    assert seen == [ListGroupsRequest(states_filter=["Stable"])]


def test_a_client_gets_only_versions_that_are_known() -> None:
    offered = [(0, 3, 99), (3, -5, 4), (18, 0, 99), (999, 0, 1), (1, 90, 99)]
    answer = ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=key, min_version=first, max_version=last) for key, first, last in offered]
    )
    found = {
        one.api_key: (one.min_version, one.max_version)
        for one in limit(answer, {"Produce": 9, "ApiVersions": 99}).api_keys
    }
    newest = PROTOCOL.request(18).VALID_VERSIONS[-1]
    assert found == {0: (3, 9), 3: (0, 4), 18: (0, newest)}

    async def run() -> None:
        async with through([], newest={"Produce": 9, "Fetch": 12}) as (broker, proxy):
            async with connected(proxy) as client, connected(broker) as direct:
                assert client.versions[0] == range(direct.versions[0].start, 10)
                assert client.versions[1] == range(direct.versions[1].start, 13)
                rest = set(client.versions) - {0, 1}
                assert {key: client.versions[key] for key in rest} == {key: direct.versions[key] for key in rest}
            # A version that the proxy does not know is refused as by a broker, with the versions that it knows.
            newer = b"\0\x12\0\x63\0\0\0\7\0\1x\0\2a\2b\0"
            [payload] = await exchanged(proxy, frame(newer), count=1)
            refusal = PROTOCOL.decode_response(payload, 18, 0)
            assert refusal.header.correlation_id == 7
            message = refusal.expect(ApiVersionsResponse)
            assert message.error_code == ErrorCode.UNSUPPORTED_VERSION
            assert [(one.api_key, one.max_version) for one in message.api_keys] == [(18, newest)]
            assert [call.name for call in broker.requests if call.version == 99] == []

    asyncio.run(run())


UNREADABLE = {
    "a version of a filtered API": b"\0\x10\0\x63\0\0\0\7\0\1x",
    "a filtered request whose body is cut": b"\0\x10\0\4\0\0\0\7\0\1x\0\5",
    "an API that is not known": b"\x7f\0\0\0\0\0\0\7\0\1x",
    "no header": b"\0\x10\0",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_nothing_evades_a_filter(name: str) -> None:
    def asked(request: ListGroupsRequest, passage: Passage) -> None:
        raise AssertionError

    async def run() -> None:
        async with Upstream(lambda payload: frame(payload[4:8])) as upstream:
            async with Proxy(upstream.address, [asked]) as proxy:
                assert await exchanged(proxy, frame(UNREADABLE[name])) == []
            assert upstream.payloads == []

    asyncio.run(run())


def test_addresses_that_cannot_be_read_do_not_pass() -> None:
    """Neither a newer version of Metadata, nor a broken answer of a known one."""

    async def run() -> None:
        broken = Upstream(lambda payload: frame(payload[4:8] + b"\0\0broken"))
        async with broken as upstream, Proxy(upstream.address) as proxy:
            assert await exchanged(proxy, frame(b"\0\3\0\x63\0\0\0\7\0\1x\0")) == []
            assert upstream.payloads == []
            request = PROTOCOL.encode_request(MetadataRequest(), 1, correlation_id=7)
            assert await exchanged(proxy, frame(request)) == []
            assert upstream.payloads == [request]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("data", "up"),
    [(b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + bytes(40), ""), (b"GET / HTTP/1.1\r\n\r\n", ""), (bytes(3), "")],
    ids=["TLS", "HTTP", "an unfinished frame"],
)
def test_another_protocol_is_disconnected(data: bytes, up: str) -> None:
    async def run() -> None:
        async with Upstream(lambda payload: None) as upstream, Proxy(upstream.address) as proxy:
            host, port = proxy.bootstrap_servers.rsplit(":", 1)
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(data)
            if len(data) == 3:
                writer.write_eof()
            async with asyncio.timeout(5):
                assert await reader.read() == b""
            writer.close()
            assert upstream.payloads == []

    asyncio.run(run())


def test_a_frame_above_the_limit_closes_its_connection() -> None:
    async def run() -> None:
        request = PROTOCOL.encode_request(ListGroupsRequest(), 1, correlation_id=7)
        async with Upstream(lambda payload: frame(payload[4:8])) as upstream:
            for most, answers in ((len(request), 1), (len(request) - 1, 0)):
                async with Proxy(upstream.address, max_frame=most) as proxy:
                    found = await exchanged(proxy, frame(request), count=1)
                    assert (len(found), upstream.payloads) == (answers, [request])

    asyncio.run(run())


def test_an_end_that_closes_closes_the_other() -> None:
    async def run() -> None:
        async with Upstream(lambda payload: None) as upstream, Proxy(upstream.address) as proxy:
            request = PROTOCOL.encode_request(ListGroupsRequest(), 1, correlation_id=7)
            assert await exchanged(proxy, frame(request)) == []
        async with Upstream(lambda payload: frame(payload[4:8])) as upstream, Proxy(upstream.address) as proxy:
            await exchanged(proxy, frame(request), count=1)
            async with asyncio.timeout(5):
                await upstream.closed.wait()
        async with Upstream(lambda payload: None) as upstream:
            pass
        async with Proxy(upstream.address) as proxy:
            assert await exchanged(proxy, frame(request)) == []
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())


@pytest.mark.skipif(sys.platform == "win32", reason="its buffers have other sizes")
@pytest.mark.parametrize("reads", [True, False])
def test_a_slow_client_gets_all_before_the_end(monkeypatch: pytest.MonkeyPatch, reads: bool) -> None:
    """The proxy still has most of a response when the broker closes the connection. It does not wait for ever."""
    assert CLOSING == 10
    monkeypatch.setattr("kwire_testing.proxy.CLOSING", CLOSING if reads else 0.01)

    async def run() -> int:
        answers = iter([frame(bytes(3) + b"\1" + bytes(60_000)), None])
        server = Upstream(lambda payload: next(answers))
        async with quiet(), server as upstream, Proxy(upstream.address) as proxy:
            proxy._listeners._listeners[0].sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            loop, client = asyncio.get_running_loop(), socket.socket()
            with client:
                client.setblocking(False)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                host, port = proxy.bootstrap_servers.rsplit(":", 1)
                await loop.sock_connect(client, (host, int(port)))
                for number in (1, 2):
                    request = PROTOCOL.encode_request(ListGroupsRequest(), 4, correlation_id=number)
                    await loop.sock_sendall(client, frame(request))
                await asyncio.wait_for(upstream.closed.wait(), 5)
                while not reads and proxy._listeners._connections:
                    await asyncio.sleep(0)
                found = 0
                with suppress(ConnectionError):
                    while data := await loop.sock_recv(client, 4096):
                        found += len(data)
                return found

    assert (asyncio.run(run()) == 60_008) is reads


def test_a_proxy_has_only_so_many_listeners(monkeypatch: pytest.MonkeyPatch) -> None:
    """A response with more addresses closes its connection, and others are served."""

    async def run() -> None:
        monkeypatch.setattr("kwire_testing.proxy.MAX_LISTENERS", 2)
        async with through([], broker={"nodes": 3}) as (_, proxy):
            async with connected(proxy) as client:
                with pytest.raises(BrokerError, match="closed the connection"):
                    await ask(client, MetadataRequest(topics=[]))
            async with connected(proxy) as client:
                assert (await ask(client, FindCoordinatorRequest(key="g"), 0)).error_code == 0

    asyncio.run(run())


def test_what_a_filter_raises_is_raised_at_the_end() -> None:
    def raising(request: ListGroupsRequest, passage: Passage) -> None:
        raise LookupError("mine")

    def wrong(request: ListGroupsRequest, passage: Passage) -> Message:
        return HeartbeatResponse()

    request = PROTOCOL.encode_request(ListGroupsRequest(), 1, correlation_id=7)

    def run(found: Filter) -> None:
        with FakeBroker() as broker, Proxy(broker.bootstrap_servers, [found]) as proxy:
            assert asyncio.run(exchanged(proxy, frame(request))) == []

    with pytest.raises(LookupError, match="mine"):
        run(raising)
    with pytest.raises(TypeError, match="returned a HeartbeatResponse for a ListGroupsRequest"):
        run(wrong)


@pytest.mark.parametrize("early", [False, True])
def test_a_broker_cannot_answer_what_a_filter_answered(early: bool) -> None:
    """Neither before nor after the client has the answer of the filter."""

    def answer(payload: bytes) -> bytes:
        return (b"" if early else frame(payload[4:8] + bytes(6))) + frame((2).to_bytes(4, "big") + bytes(6))

    async def run() -> list[bytes]:
        async with Upstream(answer) as upstream, Proxy(upstream.address, [answered]) as proxy:
            asked = [(HeartbeatRequest(), 2), (ListGroupsRequest(), 1)][:: -1 if early else 1]
            frames = [frame(PROTOCOL.encode_request(one, 0, correlation_id=number)) for one, number in asked]
            return await exchanged(proxy, *frames)

    assert asyncio.run(run()) == ([] if early else [b"\0\0\0\2\0\x52", bytes(3) + b"\1" + bytes(6)])


@pytest.mark.parametrize("whose", ["broker", "filter"])
def test_what_cannot_be_encoded_closes_its_connection(whose: str) -> None:
    """Null in place of a name is a fault of the broker, and only a fault of a filter is raised at the end."""

    def changed(response: ListGroupsResponse, passage: Passage) -> ListGroupsResponse:
        response.error_code = 0 if whose == "broker" else 1 << 20
        return response

    async def run() -> None:
        name = b"\xff\xff" if whose == "broker" else b"\0\1g"
        async with (
            Upstream(lambda payload: frame(payload[4:8] + bytes(2) + b"\0\0\0\1" + name + b"\0\0")) as upstream,
            Proxy(upstream.address, [changed]) as proxy,
        ):
            request = PROTOCOL.encode_request(ListGroupsRequest(), 0, correlation_id=7)
            assert await exchanged(proxy, frame(request)) == []

    with nullcontext() if whose == "broker" else pytest.raises(EncodeError, match="error_code"):
        asyncio.run(run())


def unannotated(request, passage):  # type: ignore[no-untyped-def]
    return None


def text(request: str, passage: Passage) -> None:
    return None


@pytest.mark.parametrize("found", [unannotated, text, lambda: None])
def test_a_filter_says_what_it_gets(found: Filter) -> None:
    with pytest.raises(TypeError, match="annotate its first parameter with a message class"):
        Proxy("broker:9092", [found])


@pytest.mark.parametrize("upstream", [":9092", "broker:", "broker:0", "broker:65536", "broker:x"])
def test_an_upstream_is_an_address(upstream: str) -> None:
    with pytest.raises(ValueError, match="expected HOST:PORT"):
        Proxy(upstream)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_logins_pass(mechanism: str) -> None:
    async def run() -> None:
        async with through([masked], broker={"users": {"alice": "secret"}}) as (_, proxy):
            security = Security(sasl=Sasl(mechanism=mechanism, username="alice", password="secret"))
            async with connected(proxy, security=security) as client:
                assert len((await ask(client, ListGroupsRequest())).groups) == 1
            # Bare tokens, after version 0 of the handshake.
            wire = ClientConnection(PROTOCOL)
            frames = [wire.send(SaslHandshakeRequest(mechanism="PLAIN"), 0), wire.send_token(b"\0alice\0secret")]
            payloads = await exchanged(proxy, *frames, wire.send(ListGroupsRequest(), 3), count=3, at_once=False)
            events = [event for payload in payloads for event in wire.receive(frame(payload))]
            assert [type(event) for event in events] == [ResponseEvent, SaslToken, ResponseEvent]
            assert events[2].expect(ListGroupsResponse) == masked(
                ListGroupsResponse(), passage("ListGroups", 3, ListGroupsRequest())
            )

    asyncio.run(run())


def passage(name: str, version: int, request: Message) -> Passage:
    return Passage(1, ("", 0), ("", 0), name, version, None, request, {})


def test_tls_on_both_sides(tmp_path: Path) -> None:
    certificates, context = Certificates(tmp_path), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server)
    trusting = tls_context(ca=certificates.ca)

    async def run() -> None:
        behind = through([], broker={"tls": context, "topics": {"t": 1}}, tls=context, upstream_tls=trusting)
        async with behind as (_, proxy), connected(proxy, security=Security(tls=trusting)) as client:
            assert (await send(client, "t", BATCH)).error_code == 0

    asyncio.run(run())


def test_what_it_watches_is_what_passed() -> None:
    seen: list[tuple[int, str]] = []

    async def run() -> None:
        def watch(event: Any, number: int) -> None:
            seen.append((number, f"{type(event).__name__} {event.name} {type(event.message).__name__}"))

        async with through([], watch=watch) as (_, proxy):
            for _ in range(2):
                async with connected(proxy) as client:
                    await ask(client, ListGroupsRequest())

    asyncio.run(run())
    one = [
        f"{kind}Event {name} {name}{kind}"
        for name in ("ApiVersions", "ListGroups")
        for kind in ("Request", "Response")
    ]
    assert seen == [(number, line) for number in (1, 2) for line in one]


def test_listeners_have_the_ports_and_host_that_were_asked_for(free_ports: Callable[[int], int]) -> None:
    async def run() -> None:
        first = free_ports(2)
        options: dict[str, Any] = {"port": first, "advertised_host": "gateway"}
        async with FakeBroker(nodes=2) as broker, Proxy(broker.bootstrap_servers.split(",")[0], **options) as proxy:
            assert proxy.bootstrap_servers == f"gateway:{first}"
            request = PROTOCOL.encode_request(MetadataRequest(topics=None), 1, correlation_id=7)
            host, port = "127.0.0.1", first
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(frame(request))
            size = int.from_bytes(await reader.readexactly(4), "big")
            answer = PROTOCOL.decode_response(await reader.readexactly(size), 3, 1).expect(MetadataResponse)
            writer.close()
            assert [(one.host, one.port) for one in answer.brokers] == [("gateway", first), ("gateway", first + 1)]

    asyncio.run(run())


@pytest.fixture
def free_ports() -> Callable[[int], int]:
    import socket

    def found(count: int) -> int:
        for first in range(20000, 30000, 10):
            try:
                for port in range(first, first + count):
                    with socket.socket() as one:
                        one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return first
        raise AssertionError

    return found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("trees", [False, True])
def test_the_command_prints_what_passes(trees: bool) -> None:
    with FakeBroker(topics={"t": 1}) as broker:
        broker.fail("ListGroups", ErrorCode.COORDINATOR_NOT_AVAILABLE)
        command = [
            sys.executable,
            "-m",
            "kwire",
            "proxy",
            "--upstream",
            broker.bootstrap_servers,
            *["--trees"] * trees,
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            upstream, address = process.stdout.readline().strip().split(" at ")

            async def run() -> None:
                async with connected(address, client_id="a\x1bb") as client:
                    await ask(client, ListGroupsRequest())

            asyncio.run(run())
            process.send_signal(signal.SIGTERM)
            printed = process.stdout.read()
    assert process.returncode == 0
    assert upstream == broker.bootstrap_servers
    lines = [line for line in printed.splitlines() if re.match(r"\d\d:\d\d:\d\d\.\d{3} ", line)]
    shown = [re.sub(r"^\S+ +|[\d.]+(?= ms)|\d+(?= bytes)|(?<=\(kwire )\S+(?=\))", "", line) for line in lines]
    newest = max(PROTOCOL.request(16).VALID_VERSIONS)
    assert [re.sub(r"(?<=Versions) \d+", "", line) for line in shown] == [
        r"1 →  ApiVersions   bytes from a\u001bb (kwire )",
        "1 ←  ApiVersions   bytes after  ms",
        rf"1 →  ListGroups {newest}   bytes from a\u001bb",
        f"1 ←  ListGroups {newest}   bytes after  ms  COORDINATOR_NOT_AVAILABLE",
    ]
    assert ("states_filter" in printed) == trees
    assert len(printed.splitlines()) > 40 if trees else len(printed.splitlines()) == 4


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--upstream", "broker:x"], "expected HOST:PORT"),
        (["--upstream", "b:1", "--cert", "missing.pem"], "no file 'missing.pem'"),
        (["--upstream", "b:1", "--config", "missing.properties"], "missing.properties"),
        ([], "--upstream"),
    ],
)
def test_wrong_options_are_usage_errors(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["proxy", *arguments]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize("given", [False, True])
def test_the_options_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: bool
) -> None:
    """The proxy that it makes, and what it says before its first address."""
    made, running = MagicMock(), MagicMock(return_value=0)
    monkeypatch.setattr(command, "Proxy", made)
    monkeypatch.setattr(command, "_run", running)
    files = Certificates(tmp_path)
    arguments = ["--host", "::", "--port", "64000", "--advertise", "gateway", "--trees"]
    if given:
        (tmp_path / "c").write_text(
            f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={files.ca}\n"
        )
        arguments += ["--cert", str(files.server), "--config", str(tmp_path / "c")]
    assert main(["proxy", "--upstream", "b\x1b:1", *(arguments if given else [])]) == 0
    running.assert_called_once_with(made.return_value, r"b\u001b:1 at")
    [((upstream,), options)] = made.call_args_list
    contexts = [options.pop(name) for name in ("tls", "upstream_tls")]
    assert [one and (one.protocol, len(one.get_ca_certs())) for one in contexts] == (
        [(ssl.PROTOCOL_TLS_SERVER, 0), (ssl.PROTOCOL_TLS_CLIENT, 1)] if given else [None, None]
    )
    watch = options.pop("watch")
    assert (upstream, watch.func, watch.keywords) == ("b\x1b:1", command._print_event, {"trees": given})
    names = ("::", 64_000, "gateway") if given else ("127.0.0.1", 0, None)
    assert options == dict(zip(("host", "port", "advertised_host"), names, strict=True))
    assert main(["proxy", "--upstream", "b:1", "--port", "64001"]) == 2
    assert "0<=x<=64000" in capsys.readouterr().err


def test_a_line_tells_what_passed_and_how_long_the_answer_took(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With trees, the fields follow, unless the message is too large, or its request was not seen."""
    assert command.MAX_TREE == 1 << 20
    monkeypatch.setattr(command, "MAX_TREE", 26)
    asked, large = (
        PROTOCOL.encode_request(HeartbeatRequest(group_id=group), 4, correlation_id=1, client_id="me")
        for group in ("g", "gg")
    )
    refusal = HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
    answered = PROTOCOL.encode_response(refusal, 4, correlation_id=1)
    stray = b"\0\0\0\2" + bytes(6)
    seen: list[tuple[Direction, bytes, float]] = [
        (CLIENT, asked, 1.7e9),
        (SERVER, answered, 1.7e9 + 0.0625),
        (SERVER, stray, 1.7e9 + 1),
        (CLIENT, large, 1.7e9 + 2),
    ]

    def printed(trees: bool) -> list[str]:
        decoder = ConnectionDecoder(PROTOCOL, bodies=True, start="beginning")
        for direction, payload, time in seen:
            for event in decoder.feed(direction, frame(payload), time):
                command._print_event(event, 7, trees=trees)
        lines = re.sub(r"^\d\d:\d\d:", "", capsys.readouterr().out, flags=re.M).splitlines()  # any time zone
        return [line.rstrip() for line in lines]

    lines = printed(True)
    assert lines == [
        "20.000    7 →  Heartbeat 4  26 bytes from me",
        "offset  bytes      field                type            value",
        "                   RequestHeader v2",
        "     0  000c         api_key            int16           12",
        "     2  0004         api_version        int16           4",
        "     4  00000001     correlation_id     int32           1",
        '     8  0002 6d65    client_id          string          "me"',
        "    12  00           tagged fields      count           0",
        "                   HeartbeatRequest v4",
        '    13  02 67        group_id           compact string  "g"',
        "    15  00000000     generation_id      int32           0",
        '    19  01           member_id          compact string  ""',
        "    20  00           group_instance_id  compact string  null",
        "    21  00           tagged fields      count           0",
        "",
        "20.062    7 ←  Heartbeat 4  16 bytes after 62.5 ms  REBALANCE_IN_PROGRESS",
        "offset  bytes     field                 type   value",
        "                  ResponseHeader v1",
        "     0  00000001    correlation_id      int32  1",
        "     4  00          tagged fields       count  0",
        "                  HeartbeatResponse v4",
        "     5  00000000    throttle_time_ms    int32  0",
        "     9  001b        error_code          int16  27",
        "    11  00          tagged fields       count  0",
        "",
        "21.000    7 ←  Undecodable frame, 14 bytes: no request was seen with correlation id 2 at 16 of server",
        "22.000    7 →  Heartbeat 4  27 bytes from me",
        "not shown: more than 26 bytes",
    ]
    assert printed(False) == [line for line in lines if re.match(r"\d\d\.\d{3} ", line)]
