"""An in-process broker that works with any Kafka client."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, Unpack

from kwire import Message
from kwire.records import Record, encode_batch
from kwire_kafka import PROTOCOL
from kwire_kafka.errors import ErrorCode
from kwire_kafka.releases import RELEASES
from kwire_rules import address_text
from kwire_testing.call import Call
from kwire_testing.clock import Clock
from kwire_testing.cluster import Cluster, Partition, Topic
from kwire_testing.connection import Connection
from kwire_testing.control import Handler, Named, Rule, Which
from kwire_testing.log import read
from kwire_testing.running import Listeners, Running, Stream

KEPT_REQUESTS = 100_000


class FakeBroker(Running):
    """A cluster of Kafka brokers that runs in this process.

    ``async with`` runs the cluster on the caller's event loop, ``with`` on a separate thread. All methods may be
    called from any thread. Leaving the block raises the first exception that a handler of the test has raised.
    """

    def __init__(
        self,
        release: str | None = None,
        topics: Mapping[str, int] | None = None,
        *,
        nodes: int = 1,
        auto_create: bool = True,
        users: Mapping[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
        ports: Sequence[int] = (),
        keep_requests: int = KEPT_REQUESTS,
    ) -> None:
        """Prepare a cluster.

        ``users`` maps user names to passwords. Without users, clients need not log in. The nodes listen on ``ports``,
        by default on free ports. ``requests`` contains at most the newest ``keep_requests`` requests.
        """
        super().__init__()
        found = RELEASES.newest if release is None else RELEASES[release]
        self._cluster = Cluster(found, nodes, auto_create, users or {}, keep_requests)
        self.problems = self._cluster.problems
        for name, partitions in (topics or {}).items():
            self._cluster.create(name, partitions)
        self._host, self._ports, self._tls = host, [*ports], tls
        self._listeners = Listeners()

    @property
    def release(self) -> str:
        """Name of the release."""
        return self._cluster.release.name

    @property
    def bootstrap_servers(self) -> str:
        """Comma-separated addresses of all nodes, as clients expect them."""
        return ",".join(address_text(node.host, node.port) for node in self._cluster.nodes.values() if node.port)

    @property
    def clock(self) -> Clock:
        """Clock of the brokers. From another thread, use ``advance`` instead."""
        return self._cluster.clock

    @property
    def requests(self) -> list[Call]:
        """Requests received so far, oldest first."""
        return self._on_loop(lambda: list(self._cluster.requests))

    async def _open(self) -> None:
        for node, port in zip_longest(self._cluster.nodes.values(), self._ports[: len(self._cluster.nodes)]):

            async def serve(stream: Stream, number: int = node.id) -> None:
                await Connection(self._cluster, number, stream).run()

            node.host, node.port = await self._listeners.open(serve, self._host, port or 0, self._tls)

    async def _close(self) -> None:
        await self._listeners.close()
        self._cluster.clock.stop()

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Create a topic."""
        self._on_loop(lambda: self._cluster.create(name, partitions))

    def produce(self, topic: str, *records: Record | bytes, partition: int = 0) -> int:
        """Append records or values as a single batch. Return the offset of the first record."""
        rows = [Record(None, row, timestamp=-1) if isinstance(row, bytes) else row for row in records]

        def append() -> int:
            now = self._cluster.clock.ms
            stamped = [
                Record(row.key, row.value, row.headers, now if row.timestamp == -1 else row.timestamp) for row in rows
            ]
            if topic not in self._cluster.topics:
                self._cluster.create(topic, partition + 1)
            where = self._partition(topic, partition)
            return where.log.append(read(encode_batch(stamped)), where.epoch)

        return self._on_loop(append)

    def records(self, topic: str, partition: int | None = None, *, committed: bool = True) -> list[Record]:
        """Return the records of a topic, ordered by partition, or of one partition.

        With ``committed``, leave out records of open and aborted transactions.
        """

        def collect() -> list[Record]:
            chosen = self._topic(topic).partitions if partition is None else [self._partition(topic, partition)]
            return [record for one in chosen for record in one.log.records(committed=committed)]

        return self._on_loop(collect)

    def offsets(self, group: str) -> dict[tuple[str, int], int]:
        """Return a group's committed offsets by topic and partition."""
        groups = self._cluster.groups
        return self._on_loop(
            lambda: {place: found.offset for place, found in groups[group].offsets.items()} if group in groups else {}
        )

    def on(self, request: type[Message], handler: Handler, **which: Unpack[Which]) -> Rule:
        """Call ``handler(request, call)`` for requests of a class, or for all requests if ``request`` is ``Message``.

        The handler returns the response, or ``None`` to let the broker handle the request.
        """
        name = "*" if request is Message else request.__name__.removesuffix("Request")
        return self._rule(name, dict(which), handler=handler)

    def fail(self, api: str, error: ErrorCode, **which: Unpack[Named]) -> Rule:
        """Fail requests of an API with an error.

        The error applies to every topic or group in a request, or only to one ``topic``, ``partition`` or ``key``,
        which is a group or transactional id. The broker does not process the affected entries.
        """
        return self._rule(api, dict(which), error=error)

    def delay(self, api: str, seconds: float, **which: Unpack[Which]) -> Rule:
        """Delay the handling of requests of an API, or of all requests (``*``)."""
        return self._rule(api, dict(which), delay=seconds)

    def drop(self, api: str, *, answered: bool = False, **which: Unpack[Which]) -> Rule:
        """Close the connection instead of responding, before the request is handled or, with ``answered``, after it
        was handled.
        """
        return self._rule(api, dict(which), drop="response" if answered else "request")

    def throttle(self, api: str, seconds: float, **which: Unpack[Which]) -> Rule:
        """Report a throttle time to clients, and do not read from their connections during this time."""
        return self._rule(api, dict(which), throttle=seconds)

    def move(self, topic: str, partition: int, node: int) -> None:
        """Make another node the leader of a partition."""
        self._known_node(node)
        self._on_loop(lambda: self._partition(topic, partition).move(node))

    def move_coordinator(self, key: str, node: int) -> None:
        """Make another node the coordinator of a group or transactional id."""
        self._known_node(node)
        self._on_loop(lambda: self._cluster.coordinators.update({key: node}))

    def advance(self, seconds: float) -> None:
        """Advance the brokers' clock. Sessions may expire, and scheduled actions run."""
        self._on_loop(lambda: self._cluster.clock.advance(seconds))

    def _rule(self, api: str, which: dict[str, Any], **what: Any) -> Rule:
        if api != "*" and api not in PROTOCOL.api_names.values():
            raise ValueError(f"unknown API {api!r}")
        times, rules = which.pop("times", None), self._cluster.rules
        where = {name: value for name, value in which.items() if value is not None}
        rule = Rule(api=api, times=times, where=where, rules=rules, **what)
        self._on_loop(lambda: rules.append(rule))
        return rule

    def _topic(self, name: str) -> Topic:
        try:
            return self._cluster.topics[name]
        except KeyError:
            raise KeyError(f"no topic {name!r}") from None

    def _partition(self, topic: str, index: int) -> Partition:
        return self._topic(topic).partitions[index]

    def _known_node(self, node: int) -> None:
        if node not in self._cluster.nodes:
            raise ValueError(f"no node {node}: there are {', '.join(map(str, self._cluster.nodes))}")


__all__ = ["FakeBroker"]
