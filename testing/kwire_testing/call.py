"""A request on its way through a broker, and the handlers of all APIs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from kwire import Message
from kwire.connection import RequestEvent
from kwire_kafka.errors import ErrorCode
from kwire_testing.control import Rule
from kwire_testing.groups import Group
from kwire_testing.refusal import Refused

if TYPE_CHECKING:
    from kwire_testing.cluster import Cluster, Partition, Topic
    from kwire_testing.login import Login

Q = TypeVar("Q", bound=Message)
Answer = Message | Awaitable[Message]
HANDLERS: dict[int, Callable[[Call, Any], Answer]] = {}
"""The handler of each API that brokers here have, by API key."""


def answers(request: type[Q]) -> Callable[[Callable[[Call, Q], Answer]], Callable[[Call, Q], Answer]]:
    """Make a function the handler of a request."""

    def add(handler: Callable[[Call, Q], Answer]) -> Callable[[Call, Q], Answer]:
        assert request.API_KEY is not None
        HANDLERS[request.API_KEY] = handler
        return handler

    return add


@dataclass(slots=True, eq=False)
class Call:
    """A request and its context. ``connection`` numbers the connections of a broker."""

    cluster: Cluster
    node: int
    connection: int
    event: RequestEvent
    login: Login
    time: float
    host: str = "127.0.0.1"
    software: tuple[str, str] = ("", "")
    faults: list[Rule] = field(default_factory=list, repr=False)
    charged: set[int] = field(default_factory=set, repr=False)

    @property
    def name(self) -> str:
        """Return the name of the API."""
        return self.event.name

    @property
    def version(self) -> int:
        """Return the version of the request."""
        return self.event.version

    @property
    def client_id(self) -> str | None:
        """Return the client id in the header."""
        return self.event.client_id

    @property
    def message(self) -> Any:
        """Return the request."""
        return self.event.message

    def check(self, **entity: object) -> None:
        """Raise ``Refused`` if a rule fails requests for this entity. A request counts once for each rule."""
        entity |= {"node": self.node, "client_id": self.client_id}
        for rule in self.faults:
            if rule.matches(entity) and (id(rule) in self.charged or rule.use()):
                self.charged.add(id(rule))
                assert rule.error is not None
                raise Refused(rule.error)

    def topic(self, name: str | None, topic_id: bytes = bytes(16), index: int = 0) -> Topic:
        """Return the topic with this name or id, and with the partition ``index``."""
        topic = self.cluster.find(name, topic_id)
        self.check(topic=topic.name if topic else name, partition=index)
        if topic is None and not name:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
        if topic is None or not 0 <= index < len(topic.partitions):
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return topic

    def partition(self, name: str | None, topic_id: bytes, index: int, epoch: int = -1) -> Partition:
        """Return a partition that this node leads; ``epoch`` is the leader's epoch that the client knows."""
        partition = self.topic(name, topic_id, index).partitions[index]
        if partition.leader != self.node:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if -1 < epoch != partition.epoch:
            raise Refused(
                ErrorCode.FENCED_LEADER_EPOCH if epoch < partition.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
            )
        return partition

    def coordinate(self, key: str) -> None:
        """Raise ``Refused`` unless this node coordinates the group or transactional id ``key``."""
        self.check(key=key)
        if self.cluster.coordinator(key).id != self.node:
            raise Refused(ErrorCode.NOT_COORDINATOR)

    def group(self, name: str, *, create: bool = True) -> Group:
        """Return a group that this node coordinates."""
        self.coordinate(name)
        if not name and self.version:
            raise Refused(ErrorCode.INVALID_GROUP_ID)
        group = self.cluster.groups.get(name) or Group(name, self.cluster.clock)
        if create:
            self.cluster.groups[name] = group
        return group
