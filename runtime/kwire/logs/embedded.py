"""Decoding the messages of classic group members, which are embedded in requests, responses and records of groups.

Brokers do not interpret these bytes. For the protocol type ``consumer``, the bytes consist of an int16 version and a
ConsumerProtocolSubscription or ConsumerProtocolAssignment [KAFKA-WIRE 40]. For ``connect``, they consist of an int16
version and a ConnectMemberMetadata or ConnectMemberAssignment [KIP-415]. The user data of a subscription depends on
the assignor.
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

MESSAGES: dict[str, dict[str, str]] = {
    "connect": {SUBSCRIPTION: "ConnectMemberMetadata", ASSIGNMENT: "ConnectMemberAssignment"},
    "consumer": {SUBSCRIPTION: SUBSCRIPTION, ASSIGNMENT: ASSIGNMENT},
}
"""The messages of each protocol type, by the name of the corresponding consumer message."""

USER_DATA = {"cooperative-sticky": "CooperativeStickyAssignorUserData", "sticky": "StickyAssignorUserData"}
"""The message in the user data of a subscription, by assignor. The user data does not begin with a version."""

_NAMES_OF_ASSIGNORS = ("name", "protocol_name", "protocol", "protocol_data")

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
"""The fields that contain embedded messages, by outer message, each with the name of the consumer message in it."""


@dataclass(slots=True, repr=False)
class Embedded:
    """A message in the bytes field at ``path`` of another message. If decoding fails, ``message`` is ``None`` and
    ``reason`` says why."""

    path: str
    raw: bytes
    version: int | None = None
    message: Message | None = None
    reason: str | None = None

    def __repr__(self) -> str:
        version = "" if self.version is None else f" v{self.version}"
        return f"<{self.path}{version}: {self.reason or repr(self.message)}>"


def embedded(protocol: MessageRegistry, message: Message, policy: Policy = STRICT) -> list[Embedded]:
    """Return all subscriptions and assignments in a message, and the user data of assignors in ``USER_DATA``.

    Groups whose protocol type is not in ``MESSAGES`` are skipped. Empty fields are also skipped, such as the
    assignment of a member without partitions. Messages without a protocol type, such as JoinGroup responses before
    version 7, are treated as consumer messages.
    """
    found = []
    for pattern, name in PLACES.get(type(message).__name__, ()):
        for path, raw, kind, assignor in _walk(message, pattern, "", "consumer", ""):
            if raw and MESSAGES[kind][name] in protocol:
                found.append(_read(protocol, MESSAGES[kind][name], path, raw, policy))
                inside = getattr(found[-1].message, "user_data", None)
                if inside and USER_DATA.get(assignor) in protocol:
                    found.append(_read_user_data(protocol, assignor, f"{path}.user_data", inside, policy))
    return found


def decode_user_data(protocol: MessageRegistry, assignor: str, data: bytes, policy: Policy = STRICT) -> Message:
    """Return the decoded user data of a subscription for an assignor in ``USER_DATA``.

    The data has no version, so the newest version is tried first, as in Kafka's own classes. Raise ``DecodeError`` if
    the data is invalid.
    """
    return _decode_user_data(protocol, assignor, data, policy)[1]


def decode_subscription(protocol: MessageRegistry, data: bytes, policy: Policy = STRICT) -> Message:
    """Return the ConsumerProtocolSubscription in ``data``. Raise ``DecodeError`` if ``data`` is invalid."""
    return _decode(protocol, SUBSCRIPTION, data, policy)[1]


def decode_assignment(protocol: MessageRegistry, data: bytes, policy: Policy = STRICT) -> Message:
    """Return the ConsumerProtocolAssignment in ``data``. Raise ``DecodeError`` if ``data`` is invalid."""
    return _decode(protocol, ASSIGNMENT, data, policy)[1]


def _read(protocol: MessageRegistry, name: str, path: str, raw: bytes, policy: Policy) -> Embedded:
    try:
        return Embedded(path, raw, *_decode(protocol, name, raw, policy))
    except DecodeError as error:
        return Embedded(path, raw, error.version, reason=str(error))


def _read_user_data(protocol: MessageRegistry, assignor: str, path: str, raw: bytes, policy: Policy) -> Embedded:
    try:
        return Embedded(path, raw, *_decode_user_data(protocol, assignor, raw, policy))
    except DecodeError as error:
        return Embedded(path, raw, reason=str(error))


def _decode_user_data(protocol: MessageRegistry, assignor: str, data: bytes, policy: Policy) -> tuple[int, Message]:
    cls = protocol[USER_DATA[assignor]]
    *newer, oldest = reversed(cls.VALID_VERSIONS)
    for version in newer:
        try:
            return version, cls.decode(data, version, policy)
        except DecodeError:
            pass
    return oldest, cls.decode(data, oldest, policy)


def _decode(protocol: MessageRegistry, name: str, data: bytes, policy: Policy) -> tuple[int, Message]:
    """Return the version and the message in ``data``.

    Unknown newer versions only add fields at the end, which are ignored.
    """
    cls = protocol[name]
    version, start = read_int16(data, 0)
    highest = cls.VALID_VERSIONS.stop - 1
    if version > highest:
        return version, cls.decode_from(data, highest, policy, start=start)[0]
    return version, cls.decode(data, version, policy, start=start)


def _walk(value: object, pattern: str, path: str, kind: str, assignor: str) -> Iterator[tuple[str, bytes, str, str]]:
    """Yield the path, bytes, protocol type and assignor of each field that matches ``pattern``, in which ``[]``
    matches every element of a list."""
    kind = getattr(value, "protocol_type", None) or kind
    if kind not in MESSAGES or getattr(value, "protocol_type", None) == "":
        return
    named = (getattr(value, name, None) for name in _NAMES_OF_ASSIGNORS)
    assignor = next((name for name in named if name), assignor)
    attribute, _, rest = pattern.partition(".")
    name = attribute.removesuffix("[]")
    place, found = f"{path}.{name}" if path else name, getattr(value, name)
    elements = [(place, found)]
    if name != attribute:
        elements = [(f"{place}[{index}]", element) for index, element in enumerate(found or ())]
    for place, element in elements:
        if rest and element is not None:
            yield from _walk(element, rest, place, kind, assignor)
        elif isinstance(element, bytes):
            yield place, element, kind, assignor
