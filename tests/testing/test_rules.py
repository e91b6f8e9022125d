"""What rules select, how they add up, and what a test sees of requests."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from inspect import signature
from types import SimpleNamespace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire import Message
from kwire.client import BrokerError, Client
from kwire.connection import ClientConnection
from kwire.records import Record
from kwire_kafka import (
    PROTOCOL,
    FetchRequest,
    FetchResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    MetadataRequest,
    MetadataResponse,
)
from kwire_kafka.api.fetch import FetchPartition, FetchTopic
from kwire_kafka.errors import ErrorCode
from kwire_testing import Call, Clock, FakeBroker, Proxy, Rule
from kwire_testing.refusal import Refused
from tests.testing.talking import ask, connected, talk
from tests.testing.test_log_talks import batch, put
from tests.testing.transcripts import Speaker, transcript

WRONG = ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize(
    ("which", "failing"),
    [
        ({}, "a1 t0 a1 t2 a1 u0 b2 t1 c2 t1"),
        ({"node": 2}, "b2 t1 c2 t1"),
        ({"client_id": "c"}, "c2 t1"),
        ({"node": 1, "client_id": "c"}, ""),
        ({"topic": "t"}, "a1 t0 a1 t2 b2 t1 c2 t1"),
        ({"topic": "t", "partition": 0}, "a1 t0"),
        ({"partition": 0}, "a1 t0 a1 u0"),
        ({"partition": 1, "node": 2, "client_id": "b"}, "b2 t1"),
        ({"key": "t"}, ""),
        ({"times": 0}, ""),
        ({"times": 1}, "a1 t0 a1 t2 a1 u0"),
        ({"times": 2, "topic": "t"}, "a1 t0 a1 t2 b2 t1"),
        ({"times": 1, "node": None, "topic": "u"}, "a1 u0"),
    ],
)
def test_rules_select_requests(which: dict[str, Any], failing: str) -> None:
    """Each by what it names; a request with many partitions counts once."""
    found: list[str] = []

    async def run(a: Speaker, b: Speaker, c: Speaker) -> None:
        broker = a.page.broker
        rule = broker.fail("Produce", WRONG, **which)
        both = [put("t", (0, batch("x")), (2, batch("x"))), put("u", (0, batch("x")))]
        for speaker, topics in ((a, both), (b, [put("t", (1, batch("x")))]), (c, [put("t", (1, batch("x")))])):
            answer = await speaker("Produce", 9, acks=1, topic_data=topics)
            for topic in answer.responses:
                for part in topic.partition_responses:
                    if part.error_code:
                        assert (part.error_code, part.base_offset) == (WRONG, -1)
                        found.append(f"{speaker.name}{speaker.node} {topic.name}{part.index}")
        assert rule.used == len({row[:2] for row in found})
        written = {place: len(broker.records(place[0], int(place[1]))) for place in ("t0", "t1", "t2", "u0")}
        expected = {"t0": 1, "t1": 2, "t2": 1, "u0": 1}
        for row in found:
            expected[row[3:]] -= 1
        assert written == expected

    transcript(FakeBroker("3.9", {"t": 3, "u": 1}, nodes=2), run, 1, 2, 2)
    assert " ".join(found) == failing


def test_rules_end(snapshot: SnapshotAssertion) -> None:
    """By ``with``, by ``remove``, or after so many requests; the first that fits counts."""

    async def run(a: Speaker) -> None:
        broker = a.page.broker

        async def codes(*rules: Rule) -> None:
            await a("ListGroups", 4)
            await a("FindCoordinator", 1, key="g")
            a.page.note(f"used {[rule.used for rule in rules]}")

        first = broker.fail("ListGroups", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, times=2)
        every = broker.fail("*", ErrorCode.COORDINATOR_NOT_AVAILABLE, key="g")
        second = broker.fail("ListGroups", WRONG)
        for _ in range(3):
            await codes(first, every, second)
        second.remove()
        second.remove()
        with broker.fail("*", ErrorCode.CLUSTER_AUTHORIZATION_FAILED) as third:
            await codes(every, third)
        every.remove()
        await codes(every, third)
        a.page.note(str(first))

    assert transcript(FakeBroker("3.9"), run) == snapshot


def test_handlers_come_first_and_see_all(snapshot: SnapshotAssertion) -> None:
    """The first answer counts. They run before the errors of rules, and on the thread of the broker."""
    seen: list[str] = []

    def watch(request: Message, call: Call) -> None:
        software = " ".join(call.software).split(" ")[0]
        seen.append(
            f"{call.connection} node {call.node} {call.name} {call.version} {call.client_id} {software} {call.host} "
            f"{type(call.message).__name__} {call.message is request}"
        )

    def one(request: ListGroupsRequest, call: Call) -> ListGroupsResponse | None:
        return ListGroupsResponse(error_code=1) if call.client_id == "b" else None

    async def two(request: ListGroupsRequest, call: Call) -> ListGroupsResponse:
        await asyncio.sleep(0)
        return ListGroupsResponse(error_code=2)

    async def run(a: Speaker, b: Speaker) -> None:
        await a("ListGroups", 4)
        await b("ListGroups", 4)
        await a("ListGroups", 4)
        await b.open()
        await b("ListGroups", 3)
        await b("FindCoordinator", 2, key="g")

    broker = FakeBroker("3.9", nodes=2)
    broker.on(Message, watch)
    broker.on(ListGroupsRequest, one)
    rule = broker.on(ListGroupsRequest, two, times=1)
    broker.fail("ListGroups", WRONG, node=1)
    assert transcript(broker, run, 1, 2) + seen == snapshot
    assert rule.used == 1
    assert [f"{call.connection} {call.name}" for call in broker.requests] == [
        "1 ApiVersions",
        "2 ApiVersions",
        "1 ListGroups",
        "2 ListGroups",
        "1 ListGroups",
        "3 ApiVersions",
        "3 ListGroups",
        "3 FindCoordinator",
    ]
    assert sorted(call.time for call in broker.requests) == [call.time for call in broker.requests]
    assert 0 <= broker.clock.now - broker.requests[0].time < 60


def test_delays_add_up_and_drops_close() -> None:
    async def run(a: Speaker, b: Speaker) -> None:
        broker = a.page.broker
        broker.delay("ListGroups", 100, node=1)
        broker.delay("*", 200, client_id="a", times=1)
        waiting = await a.begin("ListGroups", 4)
        await b("ListGroups", 4)
        for seconds in (98, 4, 194):
            broker.advance(seconds)
            await b("ListGroups", 4)
            await waiting.waits()
        broker.advance(10)
        await waiting.answer()
        broker.drop("FindCoordinator", client_id="a", times=1)
        await a("FindCoordinator", 1, key="g")
        await a("FindCoordinator", 1, key="g")
        broker.drop("CreateTopics", answered=True, node=1)
        broker.drop("CreateTopics", node=2, times=1)
        for speaker, name in ((a, "one"), (b, "two"), (b, "three")):
            topics = [{"name": name, "num_partitions": 1, "replication_factor": 1}]
            await speaker("CreateTopics", 1, topics=topics)
        a.page.note(str([name for name in ("one", "two", "three") if name in broker._cluster.topics]))

    assert transcript(FakeBroker("3.9", nodes=2), run, 1, 2) == [
        "b ListGroups 4:",
        *["b ListGroups 4:", "a ListGroups 4 waits"] * 3,
        "a ListGroups 4:",
        "a FindCoordinator 1: closed",
        "a FindCoordinator 1: node_id=1 host='127.0.0.1' port=port 1",
        "a CreateTopics 1: closed",
        "b CreateTopics 1: closed",
        "b CreateTopics 1: topics=[{name='three'}]",
        "['one', 'three']",
    ]


def test_who_is_throttled_waits_with_the_next_request() -> None:
    """The answer comes at once, and names the time; other connections go on."""

    async def run(a: Speaker, b: Speaker) -> None:
        broker = a.page.broker
        broker.throttle("ListGroups", 100.5, client_id="a", times=1)
        await a("ListGroups", 4)
        waiting = await asyncio.wait_for(_sent(a), 5)
        await b("ListGroups", 4)
        for _ in range(20):
            await asyncio.sleep(0)
        assert not waiting.done()
        before = len(broker.requests)
        broker.advance(98)
        await b("ListGroups", 4)
        assert len(broker.requests) == before + 1
        broker.advance(3)
        assert (await waiting).message.throttle_time_ms == 0
        broker.throttle("ListGroups", 100, client_id="a", times=1)
        await a("ListGroups", 4)
        broker.advance(101)
        await a("ApiVersions", 5)  # 3.9 refuses the version without a throttle time
        await asyncio.wait_for(a("ListGroups", 4), 5)

    async def _sent(a: Speaker) -> Any:
        return asyncio.ensure_future(a.client.call(ListGroupsRequest(), 4))

    assert transcript(FakeBroker("3.9"), run, 1, 1)[:2] == [
        "a ListGroups 4: throttle_time_ms=100500",
        "b ListGroups 4:",
    ]


def test_only_so_many_requests_are_kept() -> None:
    assert signature(FakeBroker).parameters["keep_requests"].default == 100_000

    async def run(client: Client) -> None:
        for version in (1, 2, 3, 4):
            await ask(client, ListGroupsRequest(), version)

    for kept, versions in ((2, [3, 4]), (0, []), (9, [4, 1, 2, 3, 4])):
        broker = FakeBroker("3.9", keep_requests=kept)
        talk(broker, run)
        assert [call.version for call in broker.requests][-4:] == versions[-4:]
        assert len(broker.requests) == (len(versions) if kept < 9 else 5)


# What a test does with a broker.


def test_topics_and_records() -> None:
    """What a test makes itself: batches of values or records, in topics that need not be there."""

    async def run() -> None:
        async with FakeBroker("3.9", {"t": 2}) as broker:
            start = broker.clock.ms
            record = Record(b"k", b"v", (("h", b"1"),), timestamp=7)
            assert broker.produce("t", b"a", record, partition=1) == 0
            assert broker.produce("t", record, b"b", partition=1) == 2
            assert broker.produce("t", b"c") == 0
            assert broker.produce("old", Record(None, b"", timestamp=0), Record(None, None, timestamp=1)) == 0
            assert [(row.value, row.timestamp) for row in broker.records("old")] == [(b"", 0), (None, 1)]
            broker.advance(3600)
            assert broker.produce("new", b"d", partition=2) == 0
            broker.create_topic("made", 3)
            broker.create_topic("one")
            rows = [(row.offset, row.key, row.value, row.headers, row.timestamp == 7) for row in broker.records("t")]
            assert rows == [
                (0, None, b"c", (), False),
                (0, None, b"a", (), False),
                (1, b"k", b"v", (("h", b"1"),), True),
                (2, b"k", b"v", (("h", b"1"),), True),
                (3, None, b"b", (), False),
            ]
            assert [row.value for row in broker.records("t", 0)] == [b"c"]
            assert [row.value for row in broker.records("new", 2)] == [b"d"]
            assert 0 <= broker.records("t", 0)[0].timestamp - start < 60_000
            assert 3_600_000 <= broker.records("new")[0].timestamp - start < 3_660_000
            async with connected(broker) as client:
                found = (await ask(client, MetadataRequest(topics=None))).topics
            assert {topic.name: len(topic.partitions) for topic in found} == {
                "t": 2,
                "old": 1,
                "new": 3,
                "made": 3,
                "one": 1,
            }
            assert (broker.release, broker.offsets("none")) == ("3.9.2", {})

    asyncio.run(run())


@pytest.mark.parametrize(
    ("what", "problem"),
    [
        (lambda broker: broker.records("none"), "no topic 'none'"),
        (lambda broker: broker.move("none", 0, 2), "no topic 'none'"),
        (lambda broker: broker.move("t", 0, 4), "no node 4: there are 1, 2, 3"),
        (lambda broker: broker.move("t", 0, 0), "no node 0: there are 1, 2, 3"),
        (lambda broker: broker.move_coordinator("g", 4), "no node 4: there are 1, 2, 3"),
        (lambda broker: broker.create_topic("t"), "TOPIC_ALREADY_EXISTS: "),
        (lambda broker: broker.create_topic("a b"), "INVALID_TOPIC_EXCEPTION: "),
        (lambda broker: broker.throttle("Nothing", 1), "unknown API 'Nothing'"),
        (lambda broker: broker.records("t", 5), "list index out of range"),
    ],
)
def test_a_wrong_call_says_so(what: Callable[[FakeBroker], object], problem: str) -> None:
    """Before the broker runs, on its loop, and from another thread."""
    idle = FakeBroker("3.9", {"t": 1}, nodes=3)

    async def run() -> None:
        async with FakeBroker("3.9", {"t": 1}, nodes=3) as broker:
            what(broker)

    with FakeBroker("3.9", {"t": 1}, nodes=3) as broker:
        calls: list[Callable[[], object]] = [lambda: what(idle), lambda: asyncio.run(run()), lambda: what(broker)]
        for call in calls:
            with pytest.raises((KeyError, IndexError, ValueError, Refused)) as caught:
                call()
            assert str(caught.value).strip("\"'").startswith(problem.strip("'")), caught.value


def test_wrong_topics_and_releases_are_refused_at_once() -> None:
    with pytest.raises(Exception, match="INVALID_PARTITIONS"):
        FakeBroker(topics={"t": 0})
    with pytest.raises(Exception, match="unknown release '99'"):
        FakeBroker("99")


def test_ports_are_those_asked_for() -> None:
    """Nodes without one get a free port. A port that is taken stops all nodes, on a thread too."""
    with FakeBroker("3.9", nodes=2) as first:
        taken = [int(address.rpartition(":")[2]) for address in first.bootstrap_servers.split(",")]
        assert len({*taken}) == 2
        second = FakeBroker("3.9", nodes=2, ports=[0, taken[0]])
        assert second.bootstrap_servers == ""
        threads = threading.active_count()
        with pytest.raises(OSError, match="address already in use"), second:
            pass
        assert threading.active_count() == threads

        async def run() -> None:
            with pytest.raises(OSError, match="address already in use"):
                async with second:
                    pass
            port = int(second.bootstrap_servers.rpartition(":")[2])
            with pytest.raises(OSError, match=r"Connect call failed|refused"):
                await asyncio.open_connection("127.0.0.1", port)

        asyncio.run(run())
    with FakeBroker("3.9", ports=taken) as fewer:
        assert fewer.bootstrap_servers == f"127.0.0.1:{taken[0]}"
    with FakeBroker("3.9", nodes=3, ports=taken) as again:
        addresses = again.bootstrap_servers.split(",")
        assert addresses[:2] == [f"127.0.0.1:{port}" for port in taken]
        assert addresses[2] not in addresses[:2]


def test_addresses_of_ipv6_are_in_brackets() -> None:
    broker, proxy = FakeBroker(nodes=2), Proxy("b:1")
    for node in broker._cluster.nodes.values():
        node.host, node.port = "::1", node.id
    proxy._here["b", 1] = "::1", 3
    assert (broker.bootstrap_servers, proxy.bootstrap_servers) == ("[::1]:1,[::1]:2", "[::1]:3")


@pytest.mark.skipif(sys.platform != "linux", reason="other addresses of the loopback")
def test_a_broker_listens_on_its_host_only() -> None:
    with FakeBroker("3.9", host="127.0.0.2") as broker:
        assert broker.bootstrap_servers.startswith("127.0.0.2:")

        async def run() -> str:
            async with connected(broker) as client:
                found: str = (await ask(client, MetadataRequest(topics=[]))).brokers[0].host
                return found

        assert asyncio.run(run()) == "127.0.0.2"

        async def come() -> None:
            port = int(broker.bootstrap_servers.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.2", port, local_addr=("127.0.0.4", 0))
            writer.write(ClientConnection(PROTOCOL).send(ListGroupsRequest(), 4))
            await reader.read(4)
            writer.transport.abort()

        asyncio.run(come())
        assert broker.requests[-1].host == "127.0.0.4"


@pytest.mark.parametrize("blocking", [False, True])
def test_what_a_handler_raises_is_raised_or_noted(blocking: bool, caplog: pytest.LogCaptureFixture) -> None:
    """The first one, in place of nothing, and as a note if the test has a problem already."""

    def first(request: object, call: Call) -> None:
        raise KeyError(call.client_id)

    async def lost(broker: FakeBroker) -> None:
        for name in ("one", "two"):
            async with connected(broker, client_id=name) as client:
                with pytest.raises(BrokerError, match="closed the connection"):
                    await ask(client, MetadataRequest())

    def use(problem: Exception | None) -> None:
        broker = FakeBroker("3.9")
        broker.on(MetadataRequest, first)
        if blocking:
            with broker:
                asyncio.run(lost(broker))
                if problem:
                    raise problem
            return

        async def run() -> None:
            async with broker:
                await lost(broker)
                if problem:
                    raise problem

        asyncio.run(run())

    with pytest.raises(KeyError, match="one") as caught:
        use(None)
    assert not hasattr(caught.value, "__notes__")
    shown = [(row.name, row.levelno, row.getMessage()) for row in caplog.records]
    assert shown == [("kwire_testing", logging.ERROR, "Metadata was not answered")] * 2
    assert all(row.exc_info is not None for row in caplog.records)
    with pytest.raises(ValueError, match="own") as own:
        use(ValueError("own"))
    [note] = own.value.__notes__
    assert note.startswith("In FakeBroker: Traceback")
    assert note.endswith("KeyError: 'one'\n")


def test_an_answer_that_cannot_be_encoded_is_a_problem_of_the_handler() -> None:
    broker = FakeBroker("3.9")
    broker.on(FetchRequest, lambda request, call: FetchResponse(error_code=1 << 20))
    with pytest.raises(BrokerError) as caught:
        talk(broker, lambda client: ask(client, FetchRequest()))
    assert "EncodeError" in caught.value.__notes__[0]


def test_methods_may_be_called_by_handlers_and_from_other_threads() -> None:
    """On the loop of the broker they run at once."""
    seen: list[object] = []

    def look(request: object, call: Call) -> MetadataResponse:
        broker.produce("t", b"x")
        seen.append((len(broker.records("t")), threading.current_thread().name))
        return MetadataResponse(cluster_id="mine")

    with FakeBroker("3.9", {"t": 1}) as broker:
        broker.on(MetadataRequest, look)

        async def run() -> str | None:
            async with connected(broker) as client:
                broker.produce("t", b"y")
                found: str | None = (await ask(client, MetadataRequest())).cluster_id
                return found

        assert asyncio.run(run()) == "mine"
        broker.advance(5)
        assert broker._on_loop(threading.current_thread).name == "kwire-FakeBroker"
    assert seen == [(2, "kwire-FakeBroker")]
    assert [row.value for row in broker.records("t")] == [b"y", b"x"]  # what a test sees afterwards


# Bytes.


def test_requests_sent_at_once_are_answered_in_order() -> None:
    """What comes before broken bytes is still answered."""

    async def run() -> list[str]:
        async with FakeBroker("3.9") as broker:
            port = int(broker.bootstrap_servers.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            wire = ClientConnection(PROTOCOL, client_id="me")
            requests = [(ListGroupsRequest(), 4), (MetadataRequest(topics=[]), 12), (ListGroupsRequest(), 0)]
            writer.write(b"".join(wire.send(one, version) for one, version in requests) + b"\xff\xff\xff\xff")
            found: list[Any] = wire.receive(await asyncio.wait_for(reader.read(-1), 5))
            answers = [f"{one.name} {one.version}" for one in found]
            writer.close()
            return answers

    assert asyncio.run(run()) == ["ListGroups 4", "Metadata 12", "ListGroups 0"]


@pytest.mark.parametrize(("size", "closed"), [(100 << 20, False), ((100 << 20) + 1, True)])
def test_requests_are_as_large_as_brokers_accept(size: int, closed: bool) -> None:
    async def run() -> bool:
        async with FakeBroker("3.9") as broker:
            port = int(broker.bootstrap_servers.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(size.to_bytes(4, "big") + bytes(8))
            try:
                async with asyncio.timeout(0.05 if not closed else 5):
                    return await reader.read(1) == b""
            except TimeoutError:
                return False
            finally:
                writer.transport.abort()

    assert asyncio.run(run()) is closed


def test_the_end_of_a_broker_closes_all_connections() -> None:
    """Of clients that wait for an answer and of those that do not, at all nodes."""

    async def run() -> list[str]:
        async with AsyncExitStack() as stack:
            async with FakeBroker("3.9", {"t": 2}, nodes=2) as broker:
                clients = [await stack.enter_async_context(connected(broker, node)) for node in (1, 2, 1, 2)]
                topics = [FetchTopic(topic="t", partitions=[FetchPartition(partition=at)]) for at in (0, 1)]
                waiting = [
                    asyncio.ensure_future(
                        client.call(FetchRequest(topics=[one], max_wait_ms=60_000, min_bytes=1), 12)
                    )
                    for client, one in zip(clients[:2], topics, strict=True)
                ]
                while len(broker.requests) < 6:
                    await asyncio.sleep(0)
            found = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 5)
            for client in clients[2:]:
                found += await asyncio.gather(ask(client, ListGroupsRequest()), return_exceptions=True)
            return [type(one).__name__ for one in found]

    assert asyncio.run(run()) == ["BrokerError"] * 4


@pytest.mark.skipif(sys.platform == "win32", reason="its linger has another form")
def test_clients_that_break_off_leave_no_errors() -> None:
    """In the middle of a request, while they wait, or before an answer is read."""
    problems: list[object] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: problems.append(context))
        async with FakeBroker("3.9", {"t": 1}) as broker:
            port = int(broker.bootstrap_servers.rpartition(":")[2])
            topics = [FetchTopic(topic="t", partitions=[FetchPartition(partition=0, partition_max_bytes=99)])]
            waiting = FetchRequest(topics=topics, max_wait_ms=100, min_bytes=1)
            for request, version in ((ListGroupsRequest(), 4), (waiting, 12)):
                data = ClientConnection(PROTOCOL).send(request, version)
                for sent in (data, data * 50, data + data[:9], data[:9]):
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    end = writer.get_extra_info("socket")
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    writer.write(sent)
                    await asyncio.sleep(0.002)
                    writer.transport.abort()
            await asyncio.sleep(0.01)
            broker.advance(100)
            await asyncio.sleep(0.01)
            async with connected(broker) as client:
                await ask(client, ListGroupsRequest())
            broker.clock.later(60, lambda: problems.append("a timer of a broker that is closed"))
        broker.clock.advance(61)

    asyncio.run(run())
    assert problems == []


# Time.


def test_the_clock_does_what_is_due_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what is due at the same time, and what was added meanwhile; not what was cancelled."""
    monkeypatch.setattr("kwire_testing.clock.time", SimpleNamespace(time=lambda: 1000.5, monotonic=lambda: 7.0))

    async def run() -> list[object]:
        clock, done = Clock(), list[object]()
        clock.later(20, lambda: done.append("20"))

        def more() -> None:
            done.append("10")
            clock.later(0, lambda: done.append("at once"))

        clock.later(10, more)
        never = clock.later(15, lambda: done.append("never"))
        replaced = clock.later(21, lambda: done.append("replaced"))
        clock.later(20.1, lambda: done.append("20.1"), replaced)
        clock.later(20.1, lambda: clock.cancel(later))
        later = clock.later(20.2, lambda: done.append("cancelled by what was due before"))
        for name in "abc":
            clock.later(30, lambda name=name: done.append(name))  # type: ignore[misc]
        clock.cancel(never)
        for seconds in (9.75, 0.25, 9.75, 0.5, 9.75):
            clock.advance(seconds)
            done.append(clock.now)
        clock.later(5, lambda: done.append("after the end"))
        clock.stop()
        clock.advance(60)
        return [*done, clock.ms]

    assert asyncio.run(run()) == [
        *(1010.25, "10", "at once", 1010.5, 1020.25, "20", "20.1", 1020.75, "a", "b", "c", 1030.5),
        1_090_500,
    ]


def test_the_clock_runs_by_itself() -> None:
    """Timers end, also one that is earlier than what was waited for, and who waits for an event waits no longer."""

    async def run() -> list[str]:
        clock, done, loop = Clock(), list[str](), asyncio.get_running_loop()
        clock.later(60, lambda: done.append("late"))
        (handle,) = clock._timers.values()
        assert 50 < handle.when() - loop.time() <= 60  # it sleeps until then
        clock.later(0.01, lambda: done.append("soon"))
        await clock.sleep(0.02)
        done.append("slept")
        event = loop.create_future()
        loop.call_soon(event.set_result, None)
        await clock.wait(event, 60)
        await clock.wait(loop.create_future(), 0.01)
        waiting = asyncio.ensure_future(clock.sleep(3600))
        await asyncio.sleep(0)
        waiting.cancel()
        nearly = loop.create_future()
        clock.later(3600, lambda: nearly.set_result(None))
        clock.advance(3599.99)
        await asyncio.wait_for(nearly, 60)
        await asyncio.gather(waiting, return_exceptions=True)
        clock.advance(61)
        done.append(f"{len(clock._timers)}")
        return done

    assert asyncio.run(run()) == ["soon", "slept", "late", "0"]
