"""Broken records fields, against what reading batches promises.

- Nothing but a ``DecodeError`` is raised, and it points into its batch.
- No byte is lost: batches, errors and a truncated last batch are the whole input.
- The records of a batch are the same whether read at once, one by one, or by the slow and careful reader.
- What was read can be written, and reads again as the same; written once more it is the same bytes.
- An input takes little time and memory, however much it claims to decompress to.

The first byte of an input says how the rest becomes a records field (see :data:`FORMS`): as it is, with its checksums
made right, or as the records inside of a compressed batch, which no mutation would ever reach otherwise.

``python -m tests.fuzz.records --runs 1000000`` prints what became of the inputs; ``make test`` runs a short version.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from crc32c import crc32c

from tests.fuzz import guided
from tests.fuzz.guided import Broken, instrumented, main

with instrumented(__name__, "kwire.records", "kwire.compression"):
    from kwire.compression import compress
    from kwire.errors import DecodeError
    from kwire.policy import LIKE_KAFKA, STRICT
    from kwire.records import (
        Batch,
        BatchReader,
        Record,
        RecordsError,
        decode_control,
        encode_batch,
        encode_control,
        encode_message_set,
        interpreter,
        read_batches,
    )

from kwire_kafka.index import PROTOCOL

LIMIT = 1 << 16
"""The most that a batch may decompress to."""
MEMORY = 16 << 20
"""A record of 7 bytes is an object of 200, and there are several lists of them here."""
STEPS_PER_BYTE = 320
"""Maximum lines of Python for each byte that a batch decompresses to. A batch is read up to nine times here. If its
records do not fit into the fast loop, each reading takes 230 lines for a record of 7 bytes."""
FRAMES = Path(__file__).parents[1] / "data" / "real_frames" / "frames.jsonl"
HEADER = struct.Struct(">qiibIhiqqqhii")
EXTREMES = (0, 1, -1, 1_700_000_000_000, (1 << 62) - 1, (1 << 63) - 1, -(1 << 63), 1 << 31)
KEPT: tuple[str, ...] = (
    *("magic", "base_offset", "last_offset", "leader_epoch", "attributes", "base_timestamp", "max_timestamp"),
    *("producer_id", "producer_epoch", "base_sequence", "count"),
)
"""What stays the same when a batch is written again."""


def check(data: bytes) -> str:
    """Read one input in the way its first byte says; what became of it."""
    options = data[0] if data else 0
    field = FORMS[options & 3](data[1:])
    start, verify, skip, lenient = options >> 4 & 7, options & 4, options & 8, options & 0x80
    settings: dict[str, Any] = {"verify": bool(verify), "limit": LIMIT, "policy": LIKE_KAFKA if lenient else STRICT}
    reader = read_batches(field, position=start, skip=bool(skip), **settings)
    batches, errors = read_all(reader, len(field))
    check_nothing_is_lost(field, start, batches, errors, reader.truncated, data)
    readable = [
        batch.position for batch, _ in read_batches(field, position=start, skip=True, **settings).with_records()
    ]
    if readable != [batch.position for batch in batches if is_readable(batch)]:
        raise Broken(f"with_records gives the batches at {readable}", data)
    outcomes = {check_batch(batch, data) for batch in batches}
    if errors:
        outcomes.add("corrupt")
    if reader.truncated:
        outcomes.add("truncated")
    return " and ".join(sorted(outcomes)) or "empty"


def max_steps(data: bytes) -> int:
    """Return the maximum number of lines of Python that an input may take."""
    field = FORMS[data[0] & 3](data[1:]) if data else b""
    batches, _ = read_all(read_batches(field, verify=False, skip=True, limit=LIMIT), len(field))
    return max(guided.max_steps(data), STEPS_PER_BYTE * sum(map(payload_size, batches)))


def payload_size(batch: Batch) -> int:
    try:
        return len(batch.payload())
    except DecodeError:
        return 0


def read_all(reader: BatchReader, size: int) -> tuple[list[Batch], list[RecordsError]]:
    batches: list[Batch] = []
    errors: list[RecordsError] = []
    for _ in range(size + 1):
        try:
            batches.append(next(reader))
        except StopIteration:
            break
        except RecordsError as error:
            errors.append(error)
    else:
        raise AssertionError("the reader does not end")
    for problem in reader.errors:
        assert isinstance(problem, RecordsError)
        errors.append(problem)
    return batches, errors


def check_nothing_is_lost(
    field: bytes, start: int, batches: list[Batch], errors: list[RecordsError], left: int, data: bytes
) -> None:
    """Batches and errors follow each other without a hole, and ``left`` bytes come after the last one."""
    pieces: list[Batch | RecordsError] = [*batches, *errors]
    pieces.sort(key=lambda piece: piece.position or 0)
    end = start
    for piece in pieces:
        if piece.position != end or field[end - start :][: len(piece.data)] != piece.data:
            raise Broken(f"bytes {end} to {piece.position} are in no batch", data)
        end += len(piece.data)
    if end + left == start + len(field):
        return
    if not errors or pieces[-1] is not errors[-1] or errors[-1].path not in ("size", "magic"):
        raise Broken(f"the reader stopped at {end} and did not say why", data)


def is_readable(batch: Batch) -> bool:
    try:
        batch.records()
    except DecodeError:
        return False
    return True


def check_batch(batch: Batch, data: bytes) -> str:
    repr(batch), batch.timestamp_type, batch.delete_horizon, batch.control, batch.transactional
    try:
        records = batch.records()
    except DecodeError as error:
        check_refused(batch, error, data)
        return "refused"
    if list(batch) != records or batch.count != len(records):
        raise Broken("records read one by one differ", data)
    for record in records:
        decode_control(PROTOCOL, record)
        batch.sequence(record)
    if batch.magic == 2:
        check_slow_path(batch, data)
    return check_writing(batch, records, data)


def check_refused(batch: Batch, error: DecodeError, data: bytes) -> None:
    str(error)
    if not batch.position <= error.offset <= batch.position + batch.size:
        raise Broken(f"an error that points out of its batch: {error}", data)
    for read in (
        lambda: list(batch),
        lambda: batch.base_offset,
        lambda: batch.count,
        batch.payload,
        batch.encode,
    ):
        try:
            read()
        except DecodeError:
            continue
        if read is batch.encode:
            raise Broken("a batch that cannot be read can be written", data)


def check_slow_path(batch: Batch, data: bytes) -> None:
    """The fast loop against the reader that knows all of Java's limits."""
    payload, stored = batch.payload(), batch.stored_records()
    slow, end = interpreter.read_records(batch, payload, 0, 0, batch.count)
    if slow != stored or end != len(payload):
        raise Broken(f"the fast loop reads {stored}, the slow one {slow}", data)


def check_writing(batch: Batch, records: list[Record], data: bytes) -> str:
    if batch.magic < 2 and inner_magics(batch) - {batch.magic}:
        return (
            "of mixed magic"  # messages of magic 1 in one of magic 0, or so: Kafka reads them, and nobody writes them
        )
    written = batch.encode()
    if any(record.offset == -1 for record in records):
        return "numbered anew"  # what offset -1 asks for, and no log has
    again = next(read_batches(written, limit=LIMIT))
    if again.records() != records or again.size != len(written):
        raise Broken(f"{records} became {again.records()} when written", data)
    for name in KEPT:
        if getattr(again, name) != getattr(batch, name):
            raise Broken(f"{name} was {getattr(batch, name)} and is {getattr(again, name)} when written", data)
    if again.encode() != written:
        raise Broken("written twice, it is not the same", data)
    return "canonical" if written == batch.data else "rewritten"


def inner_magics(batch: Batch) -> set[int]:
    """The magic of every message in a compressed one."""
    inner = batch.payload() if batch.codec else b""
    found = set()
    at = 0
    while at + 16 < len(inner):
        found.add(inner[at + 16])
        at += 12 + int.from_bytes(inner[at + 8 : at + 12], "big")
    return found


def as_it_is(data: bytes) -> bytes:
    return data


def repaired(data: bytes) -> bytes:
    """With the checksum of every batch made right."""
    field = bytearray(data)
    at = 0
    while at + 21 < len(field):
        end = at + 12 + int.from_bytes(field[at + 8 : at + 12], "big", signed=True)
        if end <= at + 21:
            break
        if field[at + 16] > 1:
            field[at + 17 : at + 21] = crc32c(field[at + 21 : end]).to_bytes(4, "big")
        else:
            field[at + 12 : at + 16] = zlib.crc32(field[at + 16 : end]).to_bytes(4, "big")
        at = end
    return bytes(field)


def compressed_batch(data: bytes) -> bytes:
    """A batch of magic 2 with the rest as its records. Before them: attributes, bases, and the number of records."""
    if len(data) < 5:
        return data
    attributes, bases, count = int.from_bytes(data[:2], "big", signed=True), data[2], data[3:5]
    records = data[5:]
    if 0 < attributes & 7 < 5:
        records = compress(attributes & 7, records)
    values: list[Any] = [
        EXTREMES[bases & 7],
        49 + len(records),
        0,
        2,
        0,
        attributes,
        len(data),
        EXTREMES[bases >> 3 & 7],
    ]
    values += [EXTREMES[bases >> 5], 1, 2, 3, int.from_bytes(count, "big", signed=True)]
    return repaired(HEADER.pack(*values) + records)


def compressed_message(data: bytes) -> bytes:
    """A message of magic 0 or 1 with the rest as the message set in it. Before it: magic and codec, offset."""
    if len(data) < 2:
        return data
    magic, attributes, offset = data[0] & 1, data[0] >> 1 & 15, EXTREMES[data[1] & 7] & (1 << 63) - 1
    value = repaired(data[2:])
    if 0 < attributes & 7 < 5:
        value = compress(attributes & 7, value, magic=magic)
    fields = bytes([magic, attributes]) + (bytes(8) if magic else b"") + b"\xff\xff\xff\xff"
    body = fields + len(value).to_bytes(4, "big") + value
    return repaired(struct.pack(">qii", offset, 4 + len(body), 0) + body)


FORMS: tuple[Callable[[bytes], bytes], ...] = (as_it_is, repaired, compressed_batch, compressed_message)
"""By the two lowest bits of the first byte. The next two are ``verify`` and ``skip``, three more the position, and
the highest one is the policy."""


@cache
def seeds() -> tuple[bytes, ...]:
    """Inputs of every form that can be read, most of them written by kwire, some sent by real brokers."""
    found = [bytes([form | 12]) + field for field in [*real_fields(), b"".join(written()[1::9])] for form in (0, 1)]
    found += [bytes([5]) + field for field in written()]
    for number, (records, bits) in enumerate(some_records()):
        plain = encode_batch(records)[HEADER.size :]
        for codec in range(5):
            head = (bits | codec).to_bytes(2, "big") + bytes([number << 3 & 0xFF]) + len(records).to_bytes(2, "big")
            found += [bytes([6]) + head + plain, bytes([0x86]) + head + plain + b"more"]
        for magic in (0, 1):
            bare = [Record(record.key, record.value, (), record.timestamp if magic else -1) for record in records]
            inner = encode_message_set(bare, magic=magic)
            for codec in range(1, 4):
                found.append(bytes([7, magic | codec << 1, 3]) + inner)
                found.append(bytes([0x87, magic | codec << 1, 3]) + inner + inner[:20])
    return tuple(found)


def real_fields() -> list[bytes]:
    """The records fields of Produce requests and Fetch responses that real brokers took and gave, up to 1 KB."""
    fields = set()
    for line in FRAMES.read_text("utf-8").splitlines():
        frame = json.loads(line)
        if frame["api_key"] == 0:
            request: Any = PROTOCOL.decode_request(bytes.fromhex(frame["request"])).message
            partitions = [part for topic in request.topic_data for part in topic.partition_data] if request else []
        elif frame["api_key"] == 1 and frame["response"]:
            response: Any = PROTOCOL.decode_response(bytes.fromhex(frame["response"]), 1, frame["version"]).message
            partitions = [part for topic in response.responses for part in topic.partitions] if response else []
        else:
            continue
        fields |= {part.records for part in partitions if part.records and len(part.records) <= 1024}
    return sorted(fields)


def some_records() -> list[tuple[list[Record], int]]:
    """Records with bits of attributes that go with them."""
    marker: Any = PROTOCOL["EndTxnMarker"]
    election: Any = PROTOCOL["LeaderChangeMessage"]
    return [
        ([], 0),
        ([Record(b"key", b"value", (), 1_700_000_000_000)], 0),
        ([Record(None, None, (), 5), Record(b"", b"", (("", b""),), 4), Record(b"k", None, (), 900)], 0x08),
        ([Record(b"k" * 70, b"v" * 200, (("name", None), ("other", b"x" * 80), ("name", b"\0")), 77)], 0x10),
        ([Record(None, b"%d" % number, (), number * number * 1000) for number in range(40)], 0x40),
        (
            [
                Record(b"a", b"b", (), time, offset)
                for time, offset in ((9, 0), (8, 7), (7, 2000), (1 << 40, 1 << 20))
            ],
            0,
        ),
        ([encode_control("commit", marker(coordinator_epoch=3))], 0x30),
        ([encode_control("leader_change", election(leader_id=1))], 0x20),
    ]


def written() -> list[bytes]:
    """Batches of every kind."""
    found = []
    for records, bits in some_records():
        for codec in range(5):
            kind: dict[str, Any] = {"transactional": bool(bits & 16), "control": bool(bits & 32)}
            found.append(encode_batch(records, codec=codec, producer_id=9, base_sequence=0, **kind))
    records = [Record(b"k", b"%d" % number, (), -1) for number in range(5)]
    found += [encode_message_set(records, magic=magic, codec=codec) for magic in (0, 1) for codec in range(4)]
    found.append(encode_batch([Record(None, b"", (), 7)] * 520, codec=4))  # more than are read at a time
    found.append(encode_batch(records, timestamp_type="append", max_timestamp=99, delete_horizon=55, leader_epoch=4))
    return found


if __name__ == "__main__":
    main(__doc__, check, seeds, MEMORY, max_steps)
