"""Broken records of internal topics, and broken log segments, against what reading logs promises.

- ``decode_record`` never raises: what cannot be read stays in its row as bytes, with a reason.
- What was read can be written, and reads again as the same.
- A segment read through a small window gives the batches that are in its bytes, and loses none of them.

The first byte of an input says which topic it is for, or that it is a segment.

``python -m tests.fuzz.logs --runs 1000000`` prints what became of the inputs; ``make test`` runs a short version.
"""

from __future__ import annotations

from functools import cache
from io import BytesIO
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest import mock

from tests.fuzz.guided import Broken, instrumented, main

with instrumented(__name__, "kwire.logs", "kwire.records"):
    from kwire.logs import TOPICS, InternalRecord, SegmentReader, decode_record, embedded, extents
    from kwire.message import Message
    from kwire.policy import LIKE_KAFKA, STRICT
    from kwire.records import RecordsError, read_batches

from kwire_kafka.index import PROTOCOL
from tests.fuzz.records import check_nothing_is_lost, real_fields, written
from tests.properties.values import RandomSource, exact, make

MEMORY = 16 << 20
WINDOW = 128
"""Bytes at a time, so that batches lie across the borders of windows."""
NAMES = tuple(TOPICS)
SEGMENT, TOLERANT, NO_KEY, NO_VALUE = 0x80, 0x40, 0x20, 0x10
"""Bits of the first byte; below them is the number of the topic."""


def check(data: bytes) -> str:
    options = data[0] if data else 0
    return check_segment(data[1:], data) if options & SEGMENT else check_record(options, data[1:], data)


def check_record(options: int, data: bytes, whole: bytes) -> str:
    size = data[0] if data else 0
    key = None if options & NO_KEY else data[1 : 1 + size]
    value = None if options & NO_VALUE else data[1 + size :]
    policy = LIKE_KAFKA if options & TOLERANT else STRICT
    row = decode_record(PROTOCOL, NAMES[(options & 0x0F) % len(NAMES)], key, value, policy)
    repr(row)
    if (row.raw_key, row.raw_value) != (key, value):
        raise Broken("the row does not keep its bytes", whole)
    if row.reason is not None:
        return "unread"
    if row.tombstone:
        return "tombstone"
    assert row.value is not None
    if policy is STRICT:
        check_messages(row, whole)
    return "with more inside" if embedded(PROTOCOL, row.value, policy) else "read"


def check_messages(row: InternalRecord, whole: bytes) -> None:
    """Key and value survive being written, unless only their version of long ago could be read."""
    assert row.value is not None
    assert row.version is not None
    written: list[tuple[Message, int]] = [(row.value, row.version)]
    if row.key is not None:
        written.append((row.key, row.key.VALID_VERSIONS.start))
    for message, version in written:
        again = type(message).decode(message.encode(version), version)
        if exact(again) != exact(message):
            raise Broken(f"{message} became {again} when written", whole)


def check_segment(data: bytes, whole: bytes) -> str:
    file: Any = SimpleNamespace(open=lambda mode: BytesIO(data), stat=lambda: SimpleNamespace(st_size=len(data)))
    with mock.patch.object(extents, "WINDOW", WINDOW):
        reader = SegmentReader(file, lambda window: 0, lambda batch: False, verify=True, skip=True)
        batches = list(reader)
    errors = [error for error in reader.errors if isinstance(error, RecordsError)]
    end = 0
    for batch in batches:
        if batch.position < end or data[batch.position :][: batch.size] != batch.data:
            raise Broken(f"the batch at {batch.position} is not in the file", whole)
        end = batch.position + batch.size
    if not errors:
        check_nothing_is_lost(data, 0, batches, errors, reader.truncated + reader.padding, whole)
    first = errors[0].position or 0 if errors else len(data)
    valid = [batch.data for batch in read_batches(data, skip=True) if batch.position < first]
    if valid != [batch.data for batch in batches if batch.position < first]:
        raise Broken("the window loses batches", whole)
    return "segment with errors" if errors else "segment"


@cache
def seeds() -> tuple[bytes, ...]:
    """Records of every type and version, and segments."""
    source = RandomSource(Random(1))
    found = []
    for number, topic in enumerate(NAMES):
        log = TOPICS[topic]
        for record_type in PROTOCOL.record_types(log):
            key, value = PROTOCOL.record(log, record_type)
            for version in value.VALID_VERSIONS if value else ():
                assert value is not None
                message = make(value, version, source).encode(version)
                if key is None:
                    found.append(bytes([number | NO_KEY, 0, 1, *_varint(record_type), *_varint(version)]) + message)
                    continue
                name = record_type.to_bytes(2, "big") + make(key, key.VALID_VERSIONS.start, source).encode(0)
                if len(name) < 256:
                    rest = bytes([len(name)]) + name + version.to_bytes(2, "big") + message
                    found += [bytes([number]) + rest, bytes([number | NO_VALUE]) + rest]
    found += [bytes([data[0] | TOLERANT]) + data[1:] for data in found]
    found += [bytes([SEGMENT]) + data for data in written()]
    found.append(bytes([SEGMENT]) + b"".join(written()) + bytes(200))
    found.append(bytes([SEGMENT]) + b"".join(real_fields())[:4000])
    return tuple(data for data in found if len(data) < 4096)


def _varint(value: int) -> bytes:
    return bytes([value & 127 | 128, value >> 7]) if value > 127 else bytes([value])


if __name__ == "__main__":
    main(__doc__, check, seeds, MEMORY)
