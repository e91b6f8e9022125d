"""Tracing the keys and values of records in internal topics, including the numbers before each message."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kwire.errors import DecodeError
from kwire.logs import TOPICS, decode_record
from kwire.logs.connect import connect_topic
from kwire.logs.internal import FRAMED, MIRRORS, mirrored
from kwire.policy import STRICT, Policy
from kwire.primitives import read_int16, read_uvarint
from kwire.trace.json_spans import trace_connect
from kwire.trace.spans import Span, Trace, trace_message

if TYPE_CHECKING:
    from kwire.logs import InternalRecord
    from kwire.message import Message
    from kwire.protocol import MessageRegistry

    Read = Callable[[bytes, int], tuple[int, int]]


def trace_record(
    protocol: MessageRegistry, topic: str, key: bytes | None, value: bytes | None, policy: Policy = STRICT
) -> tuple[Trace | None, Trace | None]:
    """Return the traces of a record's key and value, decoded as in ``kwire.logs.decode_record``. The trace of null is
    ``None``.

    Raise ``ValueError`` if the topic is not internal.
    """
    if kind := connect_topic(topic):
        return trace_connect(kind, key, value)
    record = decode_record(protocol, topic, key, value, policy)
    if name := mirrored(topic):
        return _mirrored(protocol, name, record, policy)
    log = TOPICS[topic]
    key_class = value_class = None
    if record.type is not None and record.type in protocol.record_types(log):
        key_class, value_class = protocol.record(log, record.type)
    if log in FRAMED:
        raw = None if key is None else Trace(key, [Span(0, len(key), "key", "key", "bytes", key, depth=0)])
        return raw, None if value is None else _framed(value_class, record, value, policy)
    keys = None if key is None else _key(key_class, record, key, policy)
    return keys, None if value is None else _value(value_class, record, value, policy)


def _mirrored(
    protocol: MessageRegistry, name: str, record: InternalRecord, policy: Policy
) -> tuple[Trace | None, Trace | None]:
    key, value = record.raw_key, record.raw_value
    keys = None if key is None else trace_message(protocol[f"{name}Key"], key, 0, policy)
    if value is None:
        return keys, None
    cls = protocol[f"{name}Value"]
    if not MIRRORS[name]:
        return keys, trace_message(cls, value, 0, policy)
    head = _prefix(record, value, ("version",), "int16", read_int16)
    if head.error:
        return keys, head
    version, _ = read_int16(value, 0)
    if version not in cls.VALID_VERSIONS:
        return keys, head.unread(f"unknown version {version} of {cls.__name__}")
    return keys, head.then(cls, version, policy)


def _key(cls: type[Message] | None, record: InternalRecord, data: bytes, policy: Policy) -> Trace:
    head = _prefix(record, data, ("record type",), "int16", read_int16)
    return (
        head.then(cls, cls.VALID_VERSIONS.start, policy) if cls else head.unread(f"unknown record type {record.type}")
    )


def _value(cls: type[Message] | None, record: InternalRecord, data: bytes, policy: Policy) -> Trace:
    head = _prefix(record, data, ("version",), "int16", read_int16)
    cls = type(record.value) if record.value else cls
    if record.raw_key is None:
        return head.unread("the record has no key")
    if head.error or cls is None:
        return head.unread(f"unknown record type {record.type}")
    version, _ = read_int16(data, 0)
    return (
        head.then(cls, version, policy)
        if version in cls.VALID_VERSIONS
        else head.unread(f"unknown version {version} of {cls.__name__}")
    )


def _framed(cls: type[Message] | None, record: InternalRecord, data: bytes, policy: Policy) -> Trace:
    head = _prefix(record, data, ("frame version", "record type", "version"), "uvarint", read_uvarint)
    version = record.version
    if cls is None or version is None or version not in cls.VALID_VERSIONS:
        return head.unread(record.reason or "unknown")
    return head.then(cls, version, Policy(tags=policy.tags, utf8=policy.utf8))


def _prefix(record: InternalRecord, data: bytes, names: tuple[str, ...], kind: str, read: Read) -> Trace:
    spans: list[Span] = []
    pos = 0
    for name in names:
        try:
            number, end = read(data, pos)
        except DecodeError as problem:
            return Trace(data, spans, problem)
        meaning = record.name or "" if name == "record type" else ""
        spans.append(Span(pos, end, name, name, kind, number, depth=0, meaning=meaning))
        pos = end
    return Trace(data, spans)
