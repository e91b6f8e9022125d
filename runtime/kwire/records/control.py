"""Control records, which brokers write to partitions and applications do not see [KAFKA-WIRE 42].

The key of a control record consists of a version and a type, both int16. The type determines the message in the
value. The value starts with an int16 version. For the two types that end a transaction, the version precedes the
message. For all other types, the version is a field of the message.
"""

from __future__ import annotations

from struct import Struct

from kwire.errors import DecodeError, EncodeError
from kwire.policy import STRICT, Policy
from kwire.records.loops import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.protocol import MessageRegistry

TYPES: tuple[tuple[str, str], ...] = (
    ("abort", "EndTxnMarker"),
    ("commit", "EndTxnMarker"),
    ("leader_change", "LeaderChangeMessage"),
    ("snapshot_header", "SnapshotHeaderRecord"),
    ("snapshot_footer", "SnapshotFooterRecord"),
    ("kraft_version", "KRaftVersionRecord"),
    ("voters", "VotersRecord"),
)
"""The name of each control record type and the name of its message, indexed by type number."""

KEY = Struct(">hh")
VERSION = Struct(">h")
MAX_SIZE = 1 << 20
"""Maximum size of a decoded value in bytes. Kafka's values are smaller than a kilobyte."""


class ControlRecord:
    """A decoded control record.

    If the type or version is unknown or the value is invalid, ``message`` is ``None`` and ``reason`` says why.
    ``key`` and ``value`` are the record's bytes. ``type`` and ``version`` are -1 if they are missing.
    """

    __slots__ = ("key", "message", "name", "reason", "type", "value", "version")

    def __init__(
        self,
        type: int,
        name: str,
        version: int,
        message: Message | None,
        key: bytes | None,
        value: bytes | None,
        reason: str | None = None,
    ) -> None:
        self.type = type
        self.name = name
        self.version = version
        self.message = message
        self.key = key
        self.value = value
        self.reason = reason

    def __repr__(self) -> str:
        return (
            f"ControlRecord(type={self.type}, name={self.name!r}, version={self.version}, message={self.message!r})"
        )


def decode_control(protocol: MessageRegistry, record: Record, policy: Policy = STRICT) -> ControlRecord:
    """Return a decoded control record without ever raising an error, because readers have to ignore new types and
    versions.

    ``policy`` applies to the message. Kafka itself ignores trailing bytes.
    """
    key, value = record.key, record.value
    type = KEY.unpack_from(key)[1] if key is not None and len(key) >= KEY.size else -1
    version = VERSION.unpack_from(value)[0] if value is not None and len(value) >= VERSION.size else -1
    name, message = "unknown", None
    reason: str | None = f"unknown control record of type {type}"
    if 0 <= type < len(TYPES):
        name, schema = TYPES[type]
        message, reason = _decode(protocol[schema], version, value, policy)
    return ControlRecord(type, name, version, message, key, value, reason)


def encode_control(name: str, message: Message, *, timestamp: int = -1, offset: int = -1) -> Record:
    """Return a record for a control batch.

    ``name`` is the name of a type in ``TYPES``. A message with a ``version`` field is encoded in that version.
    """
    names = [known for known, _ in TYPES]
    if name not in names:
        raise EncodeError(f"unknown control record {name!r}: expected one of {', '.join(names)}")
    if hasattr(message, "version"):
        value = message.encode(message.version)
    else:
        value = VERSION.pack(0) + message.encode(0)
    return Record(KEY.pack(0, names.index(name)), value, (), timestamp, offset)


def _decode(
    cls: type[Message], version: int, value: bytes | None, policy: Policy
) -> tuple[Message | None, str | None]:
    """Return the message and ``None``, or ``None`` and the reason why decoding failed."""
    if value is None:
        return None, "the record has no value"
    if len(value) > MAX_SIZE:
        return None, f"the value has {len(value)} bytes, but the limit for control records is {MAX_SIZE}"
    if version not in cls.VALID_VERSIONS:
        return None, f"unknown version {version} of {cls.__name__}"
    prefix = 0 if any(field.name == "version" for field in cls.FIELDS) else VERSION.size
    try:
        return cls.decode(value[prefix:], version, policy), None
    except DecodeError as error:
        return None, str(error)
