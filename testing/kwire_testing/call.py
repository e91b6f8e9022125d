"""A request on its way through a broker, and the handlers of all APIs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from kwire import Message
from kwire.connection import RequestEvent
from kwire.schema import present_fields, struct_class
from kwire.struct import Struct
from kwire_kafka.errors import ErrorCode
from kwire_testing.control import Rule
from kwire_testing.groups import Group
from kwire_testing.refusal import Refused

if TYPE_CHECKING:
    from kwire_testing.cluster import Cluster, Partition, Topic
    from kwire_testing.login import Login

Q = TypeVar("Q")
R = TypeVar("R", bound=Struct)
Asked = TypeVar("Asked", bound=Message)
Answered = TypeVar("Answered", bound=Message)
Fill = Callable[["Call", Asked, Answered], Awaitable[None] | None]

NAMES = (
    *("name", "topic", "topic_id", "index", "partition", "partition_index", "resource_type", "resource_name"),
    *("transactional_id", "group_id", "member_id", "group_instance_id"),
)
"""Fields by which an answer says to which element of a request it belongs."""
PLAIN = ("partition_index", "group_id", "key")
"""The same, for elements that are numbers or texts."""
FENCED = {"AddPartitionsToTxn": 2, "AddOffsetsToTxn": 2, "EndTxn": 2, "InitProducerId": 4, "TxnOffsetCommit": 4}
"""Versions since which the error for a fenced producer is not that for an invalid epoch; in Produce it always is."""


class Api(NamedTuple):
    """How requests of an API are answered: ``fill`` sets what differs from a new response."""

    response: type[Message]
    fill: Callable[[Call, Any, Any], Awaitable[None] | None]


HANDLERS: dict[int, Api] = {}
"""Each API that brokers here have, by API key."""


def answers(
    request: type[Asked], response: type[Answered]
) -> Callable[[Fill[Asked, Answered]], Fill[Asked, Answered]]:
    """Make a function the handler of a request. It fills the response. A refusal becomes an error code."""

    def add(fill: Fill[Asked, Answered]) -> Fill[Asked, Answered]:
        assert request.API_KEY is not None
        HANDLERS[request.API_KEY] = Api(response, fill)
        return fill

    return add


def _kind(value: object) -> Any:
    return type(value)


@cache
def _shared(asked: Any, answer: Any) -> list[str]:
    return [name for name in NAMES if hasattr(asked, name) and hasattr(answer, name)]


@cache
def _array(cls: Any) -> tuple[str, Any]:
    """Return name and class of the field of a topic that has its partitions."""
    [(name, inner)] = [(field.name, struct_class(cls, field)) for field in cls.FIELDS if field.is_array]
    return name, inner


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
        if topic is None and not name and any(topic_id):
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

    def group(self, name: str, *, named: bool = True) -> Group:
        """Return a group that this node coordinates; one that is ``named`` has a name."""
        self.coordinate(name)
        if named and not name:
            raise Refused(ErrorCode.INVALID_GROUP_ID)
        return self.cluster.groups.setdefault(name, Group(name, self.cluster.clock))

    def refuse(self, answer: Any, error: ErrorCode) -> None:
        """Put an error into an answer: the one that this version of the API has."""
        if error == ErrorCode.PRODUCER_FENCED and self.version < FENCED.get(self.name, 1 << 15):
            error = ErrorCode.INVALID_PRODUCER_EPOCH
        setattr(answer, "error_code" if hasattr(answer, "error_code") else "partition_error_code", error)
        if any(field.name == "error_message" for field in present_fields(type(answer), self.version)):
            answer.error_message = error.description

    def each(self, asked: Iterable[Q], cls: type[R], fill: Callable[[Q, R], None]) -> list[R]:
        """Return an answer to each element of a request, under its name. ``fill`` sets the rest, or refuses it."""
        found = []
        for one in asked:
            answer = cls()
            found.append(answer)
            if isinstance(one, Struct):
                for name in _shared(_kind(one), _kind(answer)):
                    setattr(answer, name, getattr(one, name))
            else:
                setattr(answer, next(name for name in PLAIN if hasattr(cls, name)), one)
            try:
                fill(one, answer)
            except Refused as refusal:
                self.refuse(answer, refusal.error)
        return found

    def each_once(self, asked: Iterable[Any], cls: type[R], fill: Callable[[Any, R], None]) -> list[R]:
        """Do the same for topics. A topic that is named twice gets one answer, an error."""
        keys = Counter((one.name, getattr(one, "topic_id", None)) for one in asked)

        def once(one: Any, answer: R) -> None:
            if keys[one.name, getattr(one, "topic_id", None)] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST)
            fill(one, answer)

        return self.each({(one.name, getattr(one, "topic_id", None)): one for one in asked}.values(), cls, once)

    def each_partition(self, topics: Iterable[Q], cls: type[R], fill: Callable[[Q, Any, Any], None]) -> list[R]:
        """Do the same for partitions of topics. ``fill`` gets a topic, a partition of it and the answer to that."""
        name, inner = _array(cast("Any", cls))

        def topic(asked: Any, answer: R) -> None:
            parts = getattr(asked, _array(_kind(asked))[0])
            setattr(answer, name, self.each(parts, inner, partial(fill, asked)))

        return self.each(topics, cls, topic)
