"""Subscriptions and assignments of consumers, embedded in requests, responses and records of groups.

Members of a classic group exchange bytes that are opaque to brokers. If the protocol type is ``consumer``, they are
an int16 version and a ConsumerProtocolSubscription or ConsumerProtocolAssignment [KAFKA-WIRE 40].
"""

from __future__ import annotations

from dataclasses import dataclass

from kwire.errors import DecodeError
from kwire.policy import STRICT, Policy
from kwire.primitives import read_int16

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.message import Message
    from kwire.protocol import MessageRegistry

SUBSCRIPTION = "ConsumerProtocolSubscription"
ASSIGNMENT = "ConsumerProtocolAssignment"

PLACES: dict[str, tuple[tuple[str, str], ...]] = {
    "GroupMetadataValue": (("members[].subscription", SUBSCRIPTION), ("members[].assignment", ASSIGNMENT)),
    "ConsumerGroupMemberMetadataValue": (("classic_member_metadata.supported_protocols[].metadata", SUBSCRIPTION),),
    "JoinGroupRequest": (("protocols[].metadata", SUBSCRIPTION),),
    "JoinGroupResponse": (("members[].metadata", SUBSCRIPTION),),
    "SyncGroupRequest": (("assignments[].assignment", ASSIGNMENT),),
    "SyncGroupResponse": (("assignment", ASSIGNMENT),),
    "DescribeGroupsResponse": (
        ("groups[].members[].member_metadata", SUBSCRIPTION),
        ("groups[].members[].member_assignment", ASSIGNMENT),
    ),
}
"""The fields that contain an embedded message, and the name of that message."""


@dataclass(slots=True, repr=False)
class Embedded:
    """A message in the bytes field at ``path`` of another message. If it cannot be decoded, ``message`` is ``None``
    and ``reason`` says why."""

    path: str
    raw: bytes
    version: int | None = None
    message: Message | None = None
    reason: str | None = None

    def __repr__(self) -> str:
        version = "" if self.version is None else f" v{self.version}"
        return f"<{self.path}{version}: {self.reason or repr(self.message)}>"


def embedded(protocol: MessageRegistry, message: Message, policy: Policy = STRICT) -> list[Embedded]:
    """All subscriptions and assignments in a message, with their paths.

    Groups of another protocol type are skipped, and so are empty bytes, as a member without assignment has. Messages
    without a protocol type, such as JoinGroup responses before version 7, are taken for a consumer's.
    """
    found = []
    for pattern, name in PLACES.get(type(message).__name__, ()):
        for path, raw in _walk(message, pattern, ""):
            if raw:
                found.append(_read(protocol, name, path, raw, policy))
    return found


def decode_subscription(protocol: MessageRegistry, data: bytes, policy: Policy = STRICT) -> Message:
    """The ConsumerProtocolSubscription in ``data``; ``DecodeError`` if it is invalid."""
    return _decode(protocol, SUBSCRIPTION, data, policy)[1]


def decode_assignment(protocol: MessageRegistry, data: bytes, policy: Policy = STRICT) -> Message:
    """The ConsumerProtocolAssignment in ``data``; ``DecodeError`` if it is invalid."""
    return _decode(protocol, ASSIGNMENT, data, policy)[1]


def _read(protocol: MessageRegistry, name: str, path: str, raw: bytes, policy: Policy) -> Embedded:
    try:
        return Embedded(path, raw, *_decode(protocol, name, raw, policy))
    except DecodeError as error:
        return Embedded(path, raw, error.version, reason=str(error))


def _decode(protocol: MessageRegistry, name: str, data: bytes, policy: Policy) -> tuple[int, Message]:
    """Version and message. A version above the known ones only adds fields after those of the highest known
    version."""
    cls = protocol[name]
    version, start = read_int16(data, 0)
    highest = cls.VALID_VERSIONS.stop - 1
    if version > highest:
        return version, cls.decode_from(data, highest, policy, start=start)[0]
    return version, cls.decode(data, version, policy, start=start)


def _walk(value: object, pattern: str, path: str) -> Iterator[tuple[str, bytes]]:
    """Follow the names of ``pattern`` through the message; ``[]`` is each element of a list."""
    if getattr(value, "protocol_type", None) not in ("consumer", None):
        return
    attribute, _, rest = pattern.partition(".")
    name = attribute.removesuffix("[]")
    place, found = f"{path}.{name}" if path else name, getattr(value, name)
    elements = [(place, found)]
    if name != attribute:
        elements = [(f"{place}[{index}]", element) for index, element in enumerate(found or ())]
    for place, element in elements:
        if rest and element is not None:
            yield from _walk(element, rest, place)
        elif isinstance(element, bytes):
            yield place, element
