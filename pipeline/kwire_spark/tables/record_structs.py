"""Records of Kafka's internal topics, and control records of any topic, as structs. Needs no Spark.

A kind of record has the name that ``kwire.logs`` gives it: ``OffsetCommit`` or ``TopicRecord``. That of a control
record is the name of the message in it, as ``EndTxnMarker``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa

from kwire.errors import UnknownRecordTypeError
from kwire.logs import TOPICS, decode_record
from kwire.message import Message
from kwire.policy import LIKE_KAFKA
from kwire.records import Record, decode_control
from kwire.records.control import TYPES
from kwire_kafka import PROTOCOL
from kwire_spark.tables.structs import (
    NOTHING,
    Decoded,
    in_pieces,
    known_reasons,
    message_field,
    structs,
    with_columns,
)

VERSION = pa.field("version", pa.int16(), metadata={"comment": "Version of the value, if it can be one."})
TYPE = pa.field("type", pa.string(), metadata={"comment": "What the control record is, as abort or commit."})

LEGACY = "Legacy"
"""Until Kafka 4.1 told them apart, record types 0 and 1 of ``__consumer_offsets`` were one and the same message: what
is called legacy since then is here what it was before."""


@dataclass(frozen=True, slots=True)
class RecordKind:
    """One kind of record: where it is found and by which messages it is read.

    ``starts`` are the first bytes of its key, or of its value if it has no key; ``topic`` is ``None`` for control
    records, which are in all topics.
    """

    name: str
    topic: str | None
    starts: tuple[bytes, ...]
    key: str | None
    value: str


def record_kind(name: str) -> RecordKind:
    """The kind of this name; :class:`~kwire.errors.UnknownRecordTypeError` if there is none."""
    kinds = record_kinds()
    if name not in kinds:
        raise UnknownRecordTypeError(name, kinds)
    return kinds[name]


@cache
def record_kinds() -> dict[str, RecordKind]:
    """All kinds by their names."""
    kinds: dict[str, RecordKind] = {}
    for topic, log in TOPICS.items():
        for number in PROTOCOL.record_types(log):
            key, value = (_modern(cls) for cls in PROTOCOL.record(log, number))
            name = key.removesuffix("Key") if key else str(value)
            start = number.to_bytes(2, "big") if key else bytes([1, number])  # frame version and type [KAFKA-WIRE 41]
            starts = (*kinds[name].starts, start) if name in kinds else (start,)
            kinds[name] = RecordKind(name, topic, starts, key, str(value))
    for _, name in TYPES:
        numbers = [number for number, (_, message) in enumerate(TYPES) if message == name]
        starts = tuple(b"\0\0" + number.to_bytes(2, "big") for number in numbers)
        kinds[name] = RecordKind(name, None, starts, None, name)
    return kinds


def _modern(message: type[Message] | None) -> str | None:
    return None if message is None else message.__name__.removeprefix(LEGACY)


class RecordStructs:
    """Keys and values of one kind of record."""

    __slots__ = ("kind",)

    def __init__(self, kind: RecordKind) -> None:
        self.kind = kind

    def fields(self) -> list[pa.Field]:
        """The columns that take the place of the bytes."""
        key = [message_field("key", self.kind.key)] if self.kind.key else []
        front = [VERSION] if self.kind.topic else [TYPE, VERSION]
        return [*front, *key, message_field("value", self.kind.value)]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return in_pieces(batches, self._converted)

    def _converted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = zip(batch.column("key").to_pylist(), batch.column("value").to_pylist(), strict=True)
        taken = [self._record(*row) if self.kind.topic else self._control(*row) for row in rows]
        columns = {
            "version": pa.array([_int16(one.version) for one in taken], pa.int16()),
            "value": structs(self.kind.value, [one.value for one in taken]),
        }
        if self.kind.key:
            columns["key"] = structs(self.kind.key, [one.key for one in taken])
        if not self.kind.topic:
            columns["type"] = pa.array([one.type for one in taken], pa.string())
        reasons = [known or one.reason for known, one in zip(known_reasons(batch), taken, strict=True)]
        return with_columns(batch, ("key", "value"), self.fields(), columns, reasons)

    def _record(self, key: bytes | None, value: bytes | None) -> _Taken:
        assert self.kind.topic is not None
        record = decode_record(PROTOCOL, self.kind.topic, key, value, LIKE_KAFKA)
        if record.name is not None and record.name.removeprefix(LEGACY) != self.kind.name:
            return _Taken(None, NOTHING, NOTHING, f"this is a record of {record.name}")
        return _Taken(
            record.version,
            _decoded(self.kind.key, record.key, None),
            _decoded(self.kind.value, record.value, record.version),
            record.reason,
        )

    def _control(self, key: bytes | None, value: bytes | None) -> _Taken:
        record = decode_control(PROTOCOL, Record(key, value), LIKE_KAFKA)
        if record.message is not None and type(record.message).__name__ != self.kind.value:
            return _Taken(None, NOTHING, NOTHING, f"this is a record of {record.name}", record.name)
        version = record.version if record.version >= 0 else None
        found = _decoded(self.kind.value, record.message, version)
        return _Taken(version, NOTHING, found, record.reason, record.name)


@dataclass(frozen=True, slots=True)
class _Taken:
    """A record taken apart."""

    version: int | None
    key: Decoded
    value: Decoded
    reason: str | None
    type: str | None = None


def _int16(version: int | None) -> int | None:
    """A version as Kafka has them; a frame may say any other number, which is in the reason."""
    return version if version is not None and -(2**15) <= version < 2**15 else None


def _decoded(name: str | None, message: Message | None, version: int | None) -> Decoded:
    """The message, as one of ``name``: what is called legacy has the same fields, or fewer."""
    if message is None or name is None:
        return NOTHING
    cls: Any = PROTOCOL[name]
    if type(message) is not cls:
        message = cls(**{field.name: getattr(message, field.name) for field in message.FIELDS})
    return message, cls.VALID_VERSIONS.start if version is None else version, None
