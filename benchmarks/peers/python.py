"""Calls the other Python libraries, and checks that they read the same values.

Decoding returns different objects, which is part of the measurement:

- kwire: slotted objects, lists, ``kwire.Uuid`` (a ``bytes``), plain numbers.
- kafka-python: objects of classes created at import, lists, ``uuid.UUID``, plain numbers, authorized operations as a
  set or ``None``. It is pure Python, and compiles an encoder and a decoder for each version with ``exec``.
- kio: frozen dataclasses, tuples, ``uuid.UUID`` or ``None``, error codes as enum, durations as ``timedelta``.
  Decoding is written in Rust, and encoding is written in Python.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from importlib import import_module
from typing import Any
from uuid import UUID

KAFKA_PYTHON = {
    "MetadataResponse": "kafka.protocol.metadata",
    "FetchResponse": "kafka.protocol.consumer",
    "ProduceRequest": "kafka.protocol.producer",
    "ApiVersionsResponse": "kafka.protocol.metadata",
    "JoinGroupResponse": "kafka.protocol.consumer",
    "OffsetCommitRequest": "kafka.protocol.consumer",
}
KIO = {
    "MetadataResponse": "kio.schema.metadata.v{}.response",
    "FetchResponse": "kio.schema.fetch.v{}.response",
    "ProduceRequest": "kio.schema.produce.v{}.request",
    "ApiVersionsResponse": "kio.schema.api_versions.v{}.response",
    "JoinGroupResponse": "kio.schema.join_group.v{}.response",
    "OffsetCommitRequest": "kio.schema.offset_commit.v{}.request",
    "ShareFetchResponse": "kio.schema.share_fetch.v{}.response",
    "LeaderChangeMessage": "kio.schema.leader_change_message.v{}.data",
}

NOT_ASKED = -(2**31)
"""Value for authorized operations that were not requested. kafka-python returns ``None``."""
OTHER_NAMES = {"topic_authorized_operations": "authorized_operations"}


@dataclass(frozen=True, kw_only=True)
class Codec:
    """A library, prepared for one version of a message. ``decoded`` is a result of ``decode``."""

    library: str
    decode: Callable[[], object]
    encode: Callable[[], object]
    decoded: Any


def kafka_python(name: str, version: int, data: bytes) -> Codec:
    cls = getattr(import_module(KAFKA_PYTHON[name]), name)
    message = cls.decode(data, version=version)
    message._header = None  # decode() does not set this attribute, but encode() reads it
    return Codec(
        library="kafka-python",
        decode=lambda: cls.decode(data, version=version),
        encode=lambda: message.encode(version=version),
        decoded=message,
    )


def kio(name: str, version: int, data: bytes) -> Codec:
    serial = import_module("kio.serial")
    cls = getattr(import_module(KIO[name].format(version)), name)
    read, write = serial.entity_reader(cls), serial.entity_writer(cls)
    message, _ = read(data, 0)

    def encode() -> bytes:
        buffer = io.BytesIO()
        write(buffer, message)
        return buffer.getvalue()

    return Codec(library="kio", decode=lambda: read(data, 0), encode=encode, decoded=message)


PEERS = (kafka_python, kio)


def differences(ours: Any, theirs: Any, version: int, path: str = "") -> list[str]:
    """Return the differences between a peer's object and kwire's object, by field path."""
    found: list[str] = []
    for field in ours.FIELDS:
        if version not in field.versions:
            continue
        place = f"{path}.{field.name}".lstrip(".")
        mine, other = getattr(ours, field.name), _attribute(theirs, field.name)
        if isinstance(mine, list) and mine and hasattr(mine[0], "FIELDS"):
            if len(mine) != len(other):
                found.append(f"{place}: {len(mine)} and {len(other)} elements")
                continue
            for index, (one, another) in enumerate(zip(mine, other, strict=True)):
                found += differences(one, another, version, f"{place}[{index}]")
        elif hasattr(mine, "FIELDS"):  # for an absent tagged struct, peers return None or their own default
            continue
        elif mine != _plain(other, mine):
            found.append(f"{place}: {mine!r} and {other!r}")
    return found


def _attribute(message: Any, name: str) -> Any:
    """Return a field's value. kio omits units from the names of durations, and kafka-python uses some older names."""
    names = (name, name.removesuffix("_ms"), OTHER_NAMES.get(name, name))
    return next(getattr(message, one) for one in names if hasattr(message, one))


def _plain(value: Any, like: Any) -> Any:
    """Convert a peer's value to kwire's type."""
    match value:
        case UUID():
            return value.bytes
        case None if isinstance(like, bytes) and like == bytes(16):
            return like
        case None if like == NOT_ASKED:
            return like
        case timedelta():
            return round(value.total_seconds() * 1000)
        case Enum():
            return value.value
        case tuple():
            return list(value)
        case _:
            return value
