"""Converts records of Kafka's internal topics, and control records of any topic, to structs. Spark is not required.

Record kinds have the names used in ``kwire.logs``, such as ``OffsetCommit`` and ``TopicRecord``. Kinds of control
records are named after their message, such as ``EndTxnMarker``. Records of Kafka Connect, such as
``ConnectorConfig``, contain text and JSON instead of structs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from kwire.errors import UnknownRecordTypeError
from kwire.frames import MAX_DECODED
from kwire.logs import TOPICS, decode_record
from kwire.logs.connect import KEYS, PATTERNS
from kwire.message import Message
from kwire.policy import LIKE_KAFKA
from kwire.records import Record, decode_control
from kwire.records.control import TYPES
from kwire_inspect.tables.structs import NOTHING, Decoded, in_pieces, message_field, structs, with_columns
from kwire_kafka import PROTOCOL

if TYPE_CHECKING:
    from kwire.protocol import MessageRegistry

VERSION = pa.field("version", pa.int16(), metadata={"comment": "Version of the value, or null if out of range."})
TYPE = pa.field("type", pa.string(), metadata={"comment": "Type of the control record, such as abort or commit."})

JSON = [
    pa.field("key", pa.string(), metadata={"comment": "Key as text, which is JSON in the offsets topic."}),
    pa.field("value", pa.string(), metadata={"comment": "Value as JSON text, as stored in the record."}),
]

LEGACY = "Legacy"
"""Prefix that Kafka 4.1 introduced for record type 0 of ``__consumer_offsets``, which shared a message with type 1 in
earlier releases. The prefix is ignored here, so both types have the same kind.
"""


@dataclass(frozen=True, slots=True)
class RecordKind:
    """A kind of record, and the message names of its key and value.

    ``starts`` contains the possible first bytes of the key, or of the value if there is no key. ``topic`` is ``None``
    for control records, which may be in any topic. Kinds of Kafka Connect records have no messages, and their
    ``topic`` is a pattern for topic names.
    """

    name: str
    topic: str | None
    starts: tuple[bytes, ...]
    key: str | None
    value: str | None

    @property
    def column(self) -> str:
        """Name of the column that begins with one of ``starts``."""
        return "key" if self.key or self.topic is None or self.value is None else "value"

    def is_in(self, topic: str) -> bool:
        """Return whether a topic with this name may contain such records."""
        if self.topic is None:
            return True
        return topic == self.topic if self.value else re.fullmatch(self.topic, topic) is not None


def record_kind(name: str, protocol: MessageRegistry = PROTOCOL) -> RecordKind:
    """Return the kind with this name. Raises :class:`~kwire.errors.UnknownRecordTypeError` for an unknown name."""
    kinds = record_kinds(protocol)
    if name not in kinds:
        raise UnknownRecordTypeError(name, kinds)
    return kinds[name]


@cache
def record_kinds(protocol: MessageRegistry = PROTOCOL) -> dict[str, RecordKind]:
    """Return all kinds of records by name."""
    kinds: dict[str, RecordKind] = {}
    for topic, log in TOPICS.items():
        for number in protocol.record_types(log) if log in protocol.logs else ():
            key, value = (
                None if cls is None else cls.__name__.removeprefix(LEGACY) for cls in protocol.record(log, number)
            )
            name = key.removesuffix("Key") if key else str(value)
            start = number.to_bytes(2, "big") if key else bytes([1, number])  # frame version and type [KAFKA-WIRE 41]
            starts = (*kinds[name].starts, start) if name in kinds else (start,)
            kinds[name] = RecordKind(name, topic, starts, key, str(value))
    for topic_kind, keys in KEYS.items():
        for name, begins in keys.items():
            kinds[name] = RecordKind(name, PATTERNS[topic_kind], (begins.encode(),), None, None)
    for _, name in TYPES:
        numbers = [number for number, (_, message) in enumerate(TYPES) if message == name]
        starts = tuple(b"\0\0" + number.to_bytes(2, "big") for number in numbers)
        kinds[name] = RecordKind(name, None, starts, None, name)
    return kinds


@dataclass(frozen=True, slots=True)
class RecordStructs:
    """Converts the keys and values of one kind of record to structs. For ``max_decoded``, see ``decode_record``."""

    kind: RecordKind
    protocol: MessageRegistry = PROTOCOL
    max_decoded: int = MAX_DECODED
    replaced: ClassVar[Sequence[str]] = ("key", "value")

    @property
    def name(self) -> str:
        """Name of the kind."""
        return self.kind.name

    @property
    def where(self) -> str:
        """SQL condition for the records that :meth:`of` selects."""
        kind = self.kind
        starts = (f"substring({kind.column}, 1, {len(start)}) = X'{start.hex()}'" for start in kind.starts)
        begins = f"({' OR '.join(starts)})"
        if kind.topic is None:
            return f"control AND {begins}"
        mine = f"topic = '{kind.topic}'" if kind.value else f"topic RLIKE r'^(?:{kind.topic})$'"
        return f"NOT control AND {mine} AND {begins}"

    def of(self, records: pa.RecordBatch) -> pa.Array:
        """Return a mask of the records of this kind, based on topic and type only. Mask entries may be null."""
        control, topics, kind = records.column("control"), records.column("topic"), self.kind
        typed = records.column(kind.column)
        begins = reduce(pc.or_, [pc.starts_with(typed, pattern=start) for start in kind.starts])
        if kind.topic is None:
            return pc.and_(control, begins)
        mine = pa.array([name for name in topics.unique().to_pylist() if name and kind.is_in(name)], pa.string())
        return pc.and_(pc.and_not(pc.is_in(topics, value_set=mine), control), begins)

    def fields(self) -> list[pa.Field]:
        """Return the columns that replace the binary columns."""
        if self.kind.value is None:
            return [VERSION, *JSON]
        key = [message_field(self.protocol, "key", self.kind.key)] if self.kind.key else []
        front = [VERSION] if self.kind.topic else [TYPE, VERSION]
        return [*front, *key, message_field(self.protocol, "value", self.kind.value)]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return in_pieces(batches, self._converted)

    def _converted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = zip(batch.column("key").to_pylist(), batch.column("value").to_pylist(), strict=True)
        if self.kind.value is None:
            return self._connected(batch, rows)
        records = [self._record(*row) if self.kind.topic else self._control(*row) for row in rows]
        columns = {
            "version": pa.array([_int16(record.version) for record in records], pa.int16()),
            "value": structs(self.protocol, self.kind.value, [record.value for record in records]),
        }
        if self.kind.key:
            columns["key"] = structs(self.protocol, self.kind.key, [record.key for record in records])
        if not self.kind.topic:
            columns["type"] = pa.array([record.type for record in records], pa.string())
        reasons = [record.reason for record in records]
        return with_columns(batch, self.replaced, self.fields(), columns, reasons)

    def _connected(self, batch: pa.RecordBatch, rows: Iterable[tuple[bytes | None, bytes | None]]) -> pa.RecordBatch:
        """Convert records of Kafka Connect. Topics of Kafka Connect may have any name that matches the kind's
        pattern."""
        found = [
            decode_record(self.protocol, topic, key, value, max_decoded=self.max_decoded)
            for topic, (key, value) in zip(batch.column("topic").to_pylist(), rows, strict=True)
        ]
        keys = [record.json_key and record.json_key.text for record in found]
        values = [record.json_value and record.json_value.text for record in found]
        columns = {
            "version": pa.nulls(len(found), pa.int16()),
            "key": pa.array(keys, pa.string()),
            "value": pa.array(values, pa.string()),
        }
        return with_columns(batch, self.replaced, self.fields(), columns, [record.reason for record in found])

    def _record(self, key: bytes | None, value: bytes | None) -> _Record:
        assert self.kind.topic is not None
        record = decode_record(self.protocol, self.kind.topic, key, value, LIKE_KAFKA, max_decoded=self.max_decoded)
        if record.name is not None and record.name.removeprefix(LEGACY) != self.kind.name:
            return _Record(reason=f"expected a record of kind {self.kind.name}, got {record.name}")
        return _Record(
            record.version,
            _decoded(self.protocol, self.kind.key, record.key, None),
            _decoded(self.protocol, self.kind.value, record.value, record.version),
            record.reason,
        )

    def _control(self, key: bytes | None, value: bytes | None) -> _Record:
        record = decode_control(self.protocol, Record(key, value), LIKE_KAFKA)
        if record.message is not None and type(record.message).__name__ != self.kind.value:
            reason = f"expected a control record with {self.kind.value}, got {record.name}"
            return _Record(reason=reason, type=record.name)
        version = record.version if record.version >= 0 else None
        decoded = _decoded(self.protocol, self.kind.value, record.message, version)
        return _Record(version, NOTHING, decoded, record.reason, record.name)


@dataclass(frozen=True, slots=True)
class _Record:
    """A decoded record, with its ``type`` if it is a control record."""

    version: int | None = None
    key: Decoded = NOTHING
    value: Decoded = NOTHING
    reason: str | None = None
    type: str | None = None


def _int16(version: int | None) -> int | None:
    """Return the version, or ``None`` if it does not fit into an int16, because a varint may contain any number. The
    reason of such a record contains the version."""
    return version if version is not None and -(2**15) <= version < 2**15 else None


def _decoded(protocol: MessageRegistry, name: str | None, message: Message | None, version: int | None) -> Decoded:
    """Return the message, converted to the class ``name``, and its version. That class has all fields of the legacy
    messages.
    """
    if message is None or name is None:
        return NOTHING
    cls: Any = protocol[name]
    if type(message) is not cls:
        message = cls(**{field.name: getattr(message, field.name) for field in message.FIELDS})
    return message, cls.VALID_VERSIONS.start if version is None else version, None
