"""Decoding the records of Kafka's internal topics: key and value bytes in, ``InternalRecord`` objects out.

Every release adds record types and versions, so decoding errors do not stop the reader. Parts that cannot be decoded
are kept as bytes, with the reason.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from kwire.errors import DecodeError
from kwire.frames import MAX_FRAME
from kwire.logs.connect import connect_record, connect_topic, read_key, read_text, secrets_of
from kwire.logs.json_text import JsonText
from kwire.message import decode_within, too_many_values
from kwire.policy import STRICT, Policy
from kwire.primitives import read_int16, read_uvarint
from kwire.records import Record, decode_control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.message import Message
    from kwire.protocol import MessageRegistry

    _Decode = Callable[[MessageRegistry, "InternalRecord", Policy, int], str | None]

TOPICS: dict[str, str] = {
    "__consumer_offsets": "group",
    "__transaction_state": "transaction",
    "__share_group_state": "share",
    "__cluster_metadata": "metadata",
    "__remote_log_metadata": "remote_storage",
}
"""The internal topics and the names of their logs in ``MessageRegistry.logs``."""

MIRRORS = {"MirrorHeartbeat": True, "MirrorCheckpoint": True, "MirrorOffsetSync": False}
"""The record types of MirrorMaker 2, and whether an int16 version precedes their values [KIP-382]. For example,
``MirrorHeartbeat`` has the messages ``MirrorHeartbeatKey`` and ``MirrorHeartbeatValue``."""

FRAME_VERSION = 1
"""The frame version in ``__cluster_metadata`` and ``__remote_log_metadata``. The preview in Kafka 2.8 used version
0."""

FRAMED = ("metadata", "remote_storage")
_OFFSET_COMMIT = 1


@dataclass(slots=True, repr=False)
class InternalRecord:
    """A record of an internal topic.

    ``type`` is the number of the record type, and ``name`` is its name, such as ``OffsetCommit`` or ``TopicRecord``.
    ``key`` and ``value`` are messages, and ``version`` is the version of the value. For records of Kafka Connect,
    ``json_key`` and ``json_value`` are set instead. Parts that cannot be decoded are ``None``, and ``reason``
    explains why. For unknown types and versions, ``reason`` does not include record contents, so that records can be
    grouped by reason. ``raw_key`` and ``raw_value`` are always the original bytes. For control records, ``control``
    is true and ``type`` is the control record type.
    """

    topic: str
    raw_key: bytes | None
    raw_value: bytes | None
    _: KW_ONLY
    control: bool = False
    type: int | None = None
    name: str | None = None
    key: Message | None = None
    version: int | None = None
    value: Message | None = None
    json_key: JsonText | None = None
    json_value: JsonText | None = None
    reason: str | None = None

    @property
    def tombstone(self) -> bool:
        """Whether the record deletes the entry for its key. This is the case if the key is valid and the value is
        null."""
        return self.raw_value is None and self.reason is None

    def __repr__(self) -> str:
        version = "" if self.version is None else f" v{self.version}"
        rest = (
            f"reason={self.reason!r}"
            if self.reason
            else f"key={self.json_key or self.key!r}, value={self.json_value or self.value!r}"
        )
        return f"<{self.topic} {self.name or self.type}{version} {rest}>"


def decode_record(
    protocol: MessageRegistry,
    topic: str,
    key: bytes | None,
    value: bytes | None,
    policy: Policy = STRICT,
    *,
    control: bool = False,
    max_decoded: int = MAX_FRAME,
) -> InternalRecord:
    """Return the decoded key and value of a record of an internal topic.

    Invalid contents of ``key`` and ``value`` do not raise an error. ``control`` is true for records of control
    batches, such as transaction markers, leader changes and voter sets. ``policy`` determines how tolerant decoding
    is. Kafka itself ignores trailing bytes after the messages of its coordinators, but not after metadata records.
    ``max_decoded`` limits the size of values as in ``kwire.connection.ConnectionDecoder``. Topics of MirrorMaker 2
    and of Kafka Connect are recognised by their names (see ``mirrored`` and ``kwire.logs.connect``). Raise
    ``ValueError`` for any other topic that is not in ``TOPICS``.
    """
    decode: _Decode
    if control:
        decode = _control
    elif topic in TOPICS:
        decode = _framed if TOPICS[topic] in FRAMED else _coordinated
    elif mirrored(topic):
        decode = _mirrored
    elif connect_topic(topic):
        decode = _connected
    else:
        known = ", ".join([*TOPICS, "or a name like heartbeats or connect-configs"])
        raise ValueError(f"unknown internal topic {topic!r}; expected {known}")
    record = InternalRecord(topic, key, value, control=control)
    try:
        record.reason = decode(protocol, record, policy, max_decoded)
    except DecodeError as error:
        record.reason = str(error)
    return record


def mirrored(topic: str) -> str:
    """Return the key in ``MIRRORS`` for a topic of MirrorMaker 2, or an empty string for other topics.

    The default names are ``heartbeats`` (and copies such as ``A.heartbeats``), ``A.checkpoints.internal`` and
    ``mm2-offset-syncs.A.internal``.
    """
    if topic == "heartbeats" or topic.endswith(".heartbeats"):
        return "MirrorHeartbeat"
    if topic.endswith(".checkpoints.internal"):
        return "MirrorCheckpoint"
    syncs = topic.startswith("mm2-offset-syncs.") and topic.endswith(".internal")
    return "MirrorOffsetSync" if syncs else ""


def _mirrored(protocol: MessageRegistry, record: InternalRecord, policy: Policy, max_decoded: int) -> str | None:
    """Fill in a record of MirrorMaker 2, and return the reason if a part cannot be decoded.

    No version precedes the key. ``MIRRORS`` says whether a version precedes the value.
    """
    record.name = mirrored(record.topic)
    key, value = protocol[f"{record.name}Key"], protocol[f"{record.name}Value"]
    if record.raw_key is None:
        return "the record has no key"
    record.key = key.decode(record.raw_key, 0, policy)
    if record.raw_value is None:
        return None
    record.version, start = read_int16(record.raw_value, 0) if MIRRORS[record.name] else (0, 0)
    return _read_value(record, value, start, policy, max_decoded)


def _connected(protocol: MessageRegistry, record: InternalRecord, policy: Policy, max_decoded: int) -> str | None:
    """Fill in a JSON record of Kafka Connect, and return the reason if a part cannot be decoded."""
    kind = connect_topic(record.topic)
    if record.raw_key is None:
        return "the record has no key"
    record.json_key = read_key(kind, record.raw_key)
    record.name = connect_record(kind, record.raw_key)
    if record.name is None:
        return f"unknown record type in the {kind} of Kafka Connect"
    if record.raw_value is None:
        return None
    if len(record.raw_value) > max_decoded:
        return too_many_values(record.raw_value)
    record.json_value = read_text(record.raw_value, secrets_of(kind, record.name))
    return None


def _control(protocol: MessageRegistry, record: InternalRecord, policy: Policy, max_decoded: int) -> str | None:
    found = decode_control(protocol, Record(record.raw_key, record.raw_value), policy)
    record.type, record.name, record.version, record.value = found.type, found.name, found.version, found.message
    return found.reason


def _coordinated(protocol: MessageRegistry, record: InternalRecord, policy: Policy, max_decoded: int) -> str | None:
    """Fill in a record of a coordinator, and return the reason if a part cannot be decoded.

    An int16 type precedes the key, and an int16 version precedes the value [KAFKA-WIRE 39].
    """
    log = TOPICS[record.topic]
    if record.raw_key is None:
        return "the record has no key"
    record.type, start = read_int16(record.raw_key, 0)
    if record.type not in protocol.record_types(log):
        return f"unknown record type {record.type}"
    key, value = protocol.record(log, record.type)
    assert key is not None
    assert value is not None
    record.name = key.__name__.removesuffix("Key")
    record.key = key.decode(record.raw_key, key.VALID_VERSIONS.start, policy, start=start)
    if record.raw_value is None:
        return None
    record.version, start = read_int16(record.raw_value, 0)
    if record.version not in value.VALID_VERSIONS and log == "group" and record.type < _OFFSET_COMMIT:
        # Before Kafka 4.1, type 0 had the same message and the same versions as type 1.
        value = protocol.record(log, _OFFSET_COMMIT)[1]
        assert value is not None
    return _read_value(record, value, start, policy, max_decoded)


def _framed(protocol: MessageRegistry, record: InternalRecord, policy: Policy, max_decoded: int) -> str | None:
    """Fill in a metadata record, and return the reason if it cannot be decoded.

    The frame version, type and version precede the message, all as unsigned varints [KAFKA-WIRE 41]. Records of
    tiered storage have the same layout. Kafka rejects trailing bytes in both kinds of record.
    """
    log, data = TOPICS[record.topic], record.raw_value
    if data is None:
        return "the record has no value"
    frame, start = read_uvarint(data, 0)
    if frame != FRAME_VERSION:
        return f"unknown frame version {frame}"
    record.type, start = read_uvarint(data, start)
    record.version, start = read_uvarint(data, start)
    if record.type not in protocol.record_types(log):
        return f"unknown record type {record.type}"
    value = protocol.record(log, record.type)[1]
    assert value is not None
    record.name = value.__name__
    return _read_value(record, value, start, Policy(tags=policy.tags, utf8=policy.utf8), max_decoded)


def _read_value(
    record: InternalRecord, cls: type[Message], start: int, policy: Policy, max_decoded: int
) -> str | None:
    """Decode the message at ``start`` of the raw value into ``record``, and return the reason if that fails."""
    if record.version is None or record.raw_value is None or record.version not in cls.VALID_VERSIONS:
        return f"unknown version {record.version} of {cls.__name__}"
    record.value = decode_within(max_decoded, cls, record.raw_value, record.version, policy, start)
    return None if record.value else too_many_values(record.raw_value)
