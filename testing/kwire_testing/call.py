"""A request that a broker is handling, and the handlers of all APIs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_type_hints

from kwire import Message, Uuid
from kwire.schema import present_fields
from kwire.struct import Struct
from kwire_kafka.errors import ErrorCode
from kwire_testing.control import Rule
from kwire_testing.refusal import Refused

if TYPE_CHECKING:
    from kwire_testing.cluster import Cluster, Partition, Topic
    from kwire_testing.groups import Group
    from kwire_testing.login import Login

Q = TypeVar("Q")
R = TypeVar("R", bound=Struct)
Fill = TypeVar("Fill", bound="Callable[..., Awaitable[None] | None]")

NAMES = (
    *("name", "topic", "topic_id", "index", "partition", "partition_index", "resource_type", "resource_name"),
    *("transactional_id", "group_id", "member_id", "group_instance_id"),
)
"""Fields that responses copy from requests to identify their elements."""
PLAIN = ("partition_index", "group_id", "key")
"""The same, for elements that are numbers or strings."""
FENCED = {"AddPartitionsToTxn": 2, "AddOffsetsToTxn": 2, "EndTxn": 2, "InitProducerId": 4, "TxnOffsetCommit": 4}
"""First version of each API with a separate error for fenced producers. Produce always reports an invalid epoch."""


class Api(NamedTuple):
    """The response class of an API, and a function that fills a new response."""

    response: type[Message]
    fill: Callable[[Call, Any, Any], Awaitable[None] | None]


HANDLERS: dict[int, Api] = {}
"""Handlers by API key. Other APIs are not supported."""


def answers(fill: Fill) -> Fill:
    """Register a function as the handler of the request class in its annotation.

    It fills in the response. If it raises ``Refused``, the response has an error code.
    """
    _, request, response, *_ = get_type_hints(fill).values()
    HANDLERS[request.API_KEY] = Api(response, fill)
    return fill


@cache
def _shared(asked: object, answer: object) -> list[str]:
    return [name for name in NAMES if hasattr(asked, name) and hasattr(answer, name)]


def _topic(asked: Any) -> tuple[str | None, Uuid | None]:
    return asked.name, getattr(asked, "topic_id", None)


@dataclass(slots=True, eq=False)
class Call:
    """A request, ``message``, with the ``name`` of its API and its context.

    ``connection`` is the connection's number, and ``size`` is the size of the frame in bytes.
    """

    name: str
    version: int
    client_id: str | None
    message: Any
    cluster: Cluster
    node: int
    connection: int
    login: Login
    time: float
    host: str
    software: tuple[str, str]
    size: int
    faults: list[Rule] = field(default_factory=list, repr=False)
    charged: set[int] = field(default_factory=set, repr=False)

    def check(self, **entity: object) -> None:
        """Raise ``Refused`` if a rule applies to this entity. A request counts once per rule."""
        entity |= {"node": self.node, "client_id": self.client_id}
        for rule in self.faults:
            if rule.matches(entity) and (id(rule) in self.charged or rule.use()):
                self.charged.add(id(rule))
                assert rule.error is not None
                raise Refused(rule.error)

    def topic(self, name: str | None, topic_id: bytes = bytes(16), index: int = 0) -> Topic:
        """Return the topic with this name or id. Raise ``Refused`` if it does not exist or has no partition
        ``index``."""
        topic = self.cluster.find(name, topic_id)
        self.check(topic=topic.name if topic else name, partition=index)
        if topic is None and not name and any(topic_id):
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
        if topic is None or not 0 <= index < len(topic.partitions):
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return topic

    def partition(self, name: str | None, topic_id: bytes, index: int, epoch: int = -1) -> Partition:
        """Return a partition that this node leads. ``epoch`` is the leader epoch that the client knows, or -1."""
        partition = self.topic(name, topic_id, index).partitions[index]
        if partition.leader != self.node:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if -1 < epoch != partition.epoch:
            older = epoch < partition.epoch
            raise Refused(ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH)
        return partition

    def coordinate(self, key: str) -> None:
        """Raise ``Refused`` unless this node coordinates the group or transactional id ``key``."""
        self.check(key=key)
        if self.cluster.coordinator(key).id != self.node:
            raise Refused(ErrorCode.NOT_COORDINATOR)

    def group(self, name: str, *, named: bool = True) -> Group:
        """Return a group that this node coordinates. With ``named``, the name must not be empty."""
        self.coordinate(name)
        if named and not name:
            raise Refused(ErrorCode.INVALID_GROUP_ID)
        return self.cluster.group(name)

    def refuse(self, answer: Any, error: ErrorCode) -> None:
        """Set an error code in a response or element, replaced by an older code if the version requires it."""
        if error == ErrorCode.PRODUCER_FENCED and self.version < FENCED.get(self.name, 1 << 15):
            error = ErrorCode.INVALID_PRODUCER_EPOCH
        setattr(answer, "error_code" if hasattr(answer, "error_code") else "partition_error_code", error)
        if any(field.name == "error_message" for field in present_fields(type(answer), self.version)):
            answer.error_message = error.description

    @contextmanager
    def refusing(self, answer: object) -> Iterator[None]:
        """Set the error code in a response or element if the block raises ``Refused``."""
        try:
            yield
        except Refused as refusal:
            self.refuse(answer, refusal.error)

    def each(self, asked: Iterable[Q], cls: type[R], found: list[R]) -> Iterator[tuple[Q, R]]:
        """Yield each element of a request with its response element, which is appended to ``found``."""
        for one in asked:
            answer = cls()
            found.append(answer)
            if isinstance(one, Struct):
                kinds: Any = type(one), cls
                for name in _shared(*kinds):
                    setattr(answer, name, getattr(one, name))
            else:
                setattr(answer, next(name for name in PLAIN if hasattr(cls, name)), one)
            yield one, answer

    def each_topic(self, asked: Iterable[Q], cls: type[R], found: list[R]) -> Iterator[tuple[Q, R]]:
        """Do the same for topics. A topic that occurs twice gets a single response element with an error."""
        topics = [*asked]
        times = Counter(map(_topic, topics))
        for one, answer in self.each({_topic(one): one for one in topics}.values(), cls, found):
            if times[_topic(one)] > 1:
                self.refuse(answer, ErrorCode.INVALID_REQUEST)
            else:
                yield one, answer


__all__ = ["HANDLERS", "Call", "answers"]
