"""A request that a broker is handling, and the handlers of all APIs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from kwire.releases import Release
from kwire.schema import present_fields, struct_class
from kwire.struct import Struct
from kwire_kafka import PROTOCOL
from kwire_kafka.errors import ErrorCode
from kwire_testing.control import Rule
from kwire_testing.refusal import Refused

if TYPE_CHECKING:
    from kwire_testing.cluster import Cluster, Partition, Topic
    from kwire_testing.groups import Group
    from kwire_testing.login import Login

Fill = TypeVar("Fill", bound="Callable[..., Awaitable[None] | None]")

NAMES = (
    *("name", "topic", "topic_id", "index", "partition", "partition_index", "resource_type", "resource_name"),
    *("transactional_id", "group_id", "member_id", "group_instance_id"),
)
"""Fields that responses copy from requests to identify their elements."""
PLAIN = ("partition_index", "group_id", "key")
"""Response fields that identify an element if the request lists plain numbers or strings."""
FENCED = {"AddPartitionsToTxn": 2, "AddOffsetsToTxn": 2, "EndTxn": 2, "InitProducerId": 4, "TxnOffsetCommit": 4}
"""First version of each API with a separate error for fenced producers. Produce always reports an invalid epoch."""

HANDLERS: dict[int, Callable[[Call, Any, Any], Awaitable[None] | None]] = {}
"""Functions that fill in a new response to a request, by API key. APIs without a function are not supported."""


def answers(fill: Fill) -> Fill:
    """Register ``fill(call, request, response)`` as the handler of the request class in its annotation.

    ``fill`` fills in the response. If ``fill`` raises ``Refused``, the response gets an error code.
    """
    HANDLERS[get_type_hints(fill)["request"].API_KEY] = fill
    return fill


def answers_each(asked: str, found: str = "", *, once: bool = False) -> Callable[[Fill], Fill]:
    """Register ``fill(call, request, …, answer)`` as the handler of the elements of a request. See ``Call.each``."""

    def register(fill: Fill) -> Fill:
        def handler(call: Call, request: Any, response: Any) -> None:
            call.each(partial(fill, call, request), request, response, asked, found, once=once)

        HANDLERS[get_type_hints(fill)["request"].API_KEY] = handler
        return fill

    return register


def served(release: Release, key: int, *, advertised: bool) -> range:
    """Return the versions that a broker advertises or accepts. The range is empty for an API without a handler."""
    api = release.apis.get(key)
    listener = "broker" if at_least(release, 3, 3) else "zkBroker"
    if key not in HANDLERS or api is None or (api.listeners and listener not in api.listeners):
        return range(0)
    versions, known = api.advertised if advertised else api.accepted, PROTOCOL.request(key).VALID_VERSIONS
    return range(max(versions.start, known.start), min(versions.stop, known.stop))


def at_least(release: Release, major: int, minor: int) -> bool:
    """Return whether a release is at least ``major.minor``."""
    first, second = release.name.split(".")[:2]
    return (int(first), int(second)) >= (major, minor)


@dataclass(slots=True, eq=False)
class Call:
    """A request (``message``) with its API ``name`` and its context.

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
        """Raise ``Refused`` if a rule applies to this entity. A rule counts each request only once."""
        entity |= {"node": self.node, "client_id": self.client_id}
        for rule in self.faults:
            if rule.matches(entity) and (id(rule) in self.charged or rule.use()):
                self.charged.add(id(rule))
                assert rule.error is not None
                raise Refused(rule.error)

    def topic(self, name: str | None, topic_id: bytes = bytes(16), index: int = 0) -> Topic:
        """Return the topic with this name or id. Raise ``Refused`` if the topic does not exist or has no partition
        ``index``.
        """
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
        """Set an error code in a response or element. If the API version does not support the error code, use an
        older code.
        """
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

    def each(
        self, fill: Callable[..., object], outer: Any, answer: Any, asked: str, found: str = "", *, once: bool = False
    ) -> None:
        """Call ``fill(…, element, answer)`` for each element of a request, with its enclosing elements.

        ``asked`` and ``found`` name the lists of the request and response, such as ``topics.partitions``. By default,
        ``found`` equals ``asked``. With ``once``, elements with the same topic get a single answer with an error.
        """
        (name, _, rest), (into, _, within) = asked.partition("."), (found or asked).partition(".")
        elements, cls = getattr(outer, name), _element(answer.__class__, into)
        keys = [(one.name, getattr(one, "topic_id", None)) if once else at for at, one in enumerate(elements)]
        times = Counter(keys)
        for key, one in dict(zip(keys, elements, strict=True)).items():
            inner = cls()
            getattr(answer, into).append(inner)
            for shared in _shared(one.__class__, cls):
                setattr(inner, shared, getattr(one, shared, one))
            if times[key] > 1:
                self.refuse(inner, ErrorCode.INVALID_REQUEST)
            elif rest:
                self.each(partial(fill, one), one, inner, rest, within)
            else:
                with self.refusing(inner):
                    fill(one, inner)


@cache
def _element(cls: Any, name: str) -> Any:
    """Return the class of the elements of a list."""
    return struct_class(cls, next(field for field in cls.FIELDS if field.name == name))


@cache
def _shared(asked: Any, answer: Any) -> list[str]:
    """Return the names of the fields in a response element that identify the corresponding request element."""
    if issubclass(asked, Struct):
        return [name for name in NAMES if hasattr(asked, name) and hasattr(answer, name)]
    return [next(name for name in PLAIN if hasattr(answer, name))]


__all__ = ["HANDLERS", "Call", "answers"]
