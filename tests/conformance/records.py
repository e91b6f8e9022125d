"""Record batches against Kafka's own: of every format, codec and kind, built on both sides."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from kwire.compression import Codec
from kwire.errors import DecodeError
from kwire.records import Batch, Record, decode_control, encode_batch, encode_message_set, read_batches
from kwire_kafka import PROTOCOL
from tests.conformance.compare import differences
from tests.conformance.jvm import Jvm, Refused
from tests.conformance.messages import seed
from tests.conformance.tally import Tally

FROM_JAVA = "batches of Java → the same records, built again the same bytes"
SAME_WHEN_COMPRESSED = "compressed batches of Java, built again the same bytes"
TO_JAVA = "batches of kwire → Java reads the same records"

NOW = 1_750_000_000_000
KINDS = {
    0: ("plain", "sparse"),
    1: ("plain", "append", "sparse"),
    2: ("plain", "append", "idempotent", "transactional", "horizon", "sparse", "empty"),
}
CONTROL = ("control", "leader", "header", "footer", "version", "voters")
"""Batches of control records; as with empty ones, nobody compresses them."""
ALL_KINDS = frozenset({"empty", *CONTROL}.union(*KINDS.values()))
"""What the newest releases know. Older ones lack the delete horizon and control records that came later."""


@dataclass(frozen=True)
class BatchVector:
    """A batch that Java built, and what Java reads in it."""

    magic: int
    codec: str
    kind: str
    data: bytes
    json: Any

    def __str__(self) -> str:
        return f"magic {self.magic} {self.codec} {self.kind}"


def from_java(jvm: Jvm, rounds: int, tally: Tally) -> Iterator[BatchVector]:
    """Batches that Java builds; gives them."""
    for magic, codec, kind in combinations(jvm.kinds(), control=True):
        for number in range(rounds):
            written = jvm.build(magic, codec, kind, seed(magic, codec, kind, number))
            vector = BatchVector(magic, codec, kind, written.data, json.loads(written.json))
            wrong = disagreement(vector) or _rebuilt(jvm, vector, tally)
            if wrong:
                tally.differ(FROM_JAVA, f"{vector} {number}", f"{wrong}; bytes {written.data.hex()}")
            else:
                tally.same(FROM_JAVA)
            yield vector


def disagreement(vector: BatchVector) -> str | None:
    """What we read in Java's bytes that Java does not; ``None`` if we agree."""
    try:
        batches = list(read_batches(vector.data))
        mine = [described(batch) for batch in batches]
    except DecodeError as error:
        return f"kwire refuses: {error}"
    theirs = copy.deepcopy(vector.json)
    values = [record.pop("control") for batch in theirs for record in batch["records"] if "control" in record]
    if mine != theirs:
        return f"kwire reads {mine}, Java {theirs}"
    controls = [decode_control(PROTOCOL, record) for batch in batches if batch.control for record in batch]
    for control, value in zip(controls, values, strict=True):
        if control.type != value["type"] or control.message is None:
            return f"{control} is {value} in Java"
        found = differences(control.message, value["value"], control.version)
        if found:
            return "; ".join(found)
    again = b"".join(batch.encode() for batch in batches)
    return f"kwire builds {again.hex()}" if vector.codec == "none" and again != vector.data else None


def _rebuilt(jvm: Jvm, vector: BatchVector, tally: Tally) -> str | None:
    """Compressors differ in their bytes; then Java must read the same in ours."""
    again = b"".join(batch.encode() for batch in read_batches(vector.data))
    if again == vector.data:
        if vector.codec != "none":
            tally.same(SAME_WHEN_COMPRESSED)
        return None
    theirs = json.loads(jvm.records(again))
    return None if _records(theirs) == _records(vector.json) else f"Java reads {theirs} in {again.hex()}"


def _records(batches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Batches without what compression changes."""
    return [{name: value for name, value in batch.items() if name not in ("size", "crc")} for batch in batches]


def to_java(jvm: Jvm, rounds: int, tally: Tally) -> None:
    """Batches that we build."""
    for magic, codec, kind in combinations(jvm.kinds(), control=False):
        for number in range(rounds):
            data, expected = built(magic, codec, kind, Random(seed("ours", magic, codec, kind, number)))
            where = f"magic {magic} {codec} {kind} {number}"
            try:
                theirs = json.loads(jvm.records(data))
            except Refused as refused:
                tally.differ(TO_JAVA, where, f"{refused}; bytes {data.hex()}")
                continue
            found = [{name: batch[name] for name in one} for batch, one in zip(theirs, expected, strict=False)]
            if found == expected and len(theirs) == len(expected):
                tally.same(TO_JAVA)
            else:
                tally.differ(TO_JAVA, where, f"Java reads {theirs}, not {expected}; bytes {data.hex()}")


def combinations(known: Set[str] = ALL_KINDS, *, control: bool) -> Iterator[tuple[int, str, str]]:
    """Format, codec and kind of all that there is, of ``known`` kinds. Only magic 2 has zstd, and control records."""
    for magic, kinds in KINDS.items():
        for codec in Codec if magic == 2 else list(Codec)[: Codec.ZSTD]:
            for kind in kinds:
                if kind != "empty" and kind in known:
                    yield magic, codec.label, kind
    if control:
        yield from ((2, "none", kind) for kind in ("empty", *CONTROL) if kind in known)


def described(batch: Batch) -> dict[str, Any]:
    """A batch in the words of ``java/Batches.java``."""
    return {
        "size": batch.size,
        "magic": batch.magic,
        "codec": batch.codec.label,
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "leaderEpoch": batch.leader_epoch,
        "crc": batch.crc,
        "maxTimestamp": batch.max_timestamp,
        "timestampType": batch.timestamp_type,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "baseSequence": batch.base_sequence,
        "transactional": batch.transactional,
        "control": batch.control,
        "deleteHorizon": batch.delete_horizon,
        "records": [_record(record, batch.sequence(record)) for record in batch],
    }


def _record(record: Record, sequence: int) -> dict[str, Any]:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "sequence": sequence,
        "key": _hex(record.key),
        "value": _hex(record.value),
        "headers": [[_as_java(name), _hex(value)] for name, value in record.headers],
    }


def _as_java(name: str) -> str:
    """A header's key that is not UTF-8 is kept by us, and replaced by Java."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


def built(magic: int, codec: str, kind: str, random: Random) -> tuple[bytes, list[dict[str, Any]]]:
    """A batch that we build, and what is in it by what went in."""
    base = random.randrange(2**40)
    step = 3 if kind == "sparse" else 1
    rows = [
        Record(
            key=_bytes(random),
            value=_bytes(random),
            headers=_headers(random) if magic == 2 else (),
            timestamp=NOW + random.randrange(-1000, 1000) if magic and kind != "append" else NOW if magic else -1,
            offset=base + step * number,
        )
        for number in range(random.choice((1, 1, 2, 5, 40)))
    ]
    settings, expected = _settings(kind)
    expected |= {"magic": magic, "codec": codec, "records": []}
    expected["timestampType"] = settings.get("timestamp_type", "create") if magic else "none"
    first = settings.get("base_sequence", -1)
    records = [_record(row, (first + row.offset - base) % 2**31 if first >= 0 else -1) for row in rows]
    write = encode_batch if magic == 2 else partial(encode_message_set, magic=magic)
    data = write(rows, base_offset=base, codec=Codec[codec.upper()], **settings)
    if magic < 2 and codec == "none":  # every message is a batch
        return data, [expected | {"lastOffset": row["offset"], "records": [row]} for row in records]
    return data, [expected | {"baseOffset": base, "lastOffset": rows[-1].offset, "records": records}]


def _settings(kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The keywords for a kind, and what Java reads of them."""
    producer = {"producer_id": 7, "producer_epoch": 3, "base_sequence": 2**31 - 2}
    read = {"producerId": 7, "producerEpoch": 3, "baseSequence": 2**31 - 2, "transactional": kind == "transactional"}
    kinds: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "plain": ({}, {"deleteHorizon": None, "transactional": False, "control": False}),
        "sparse": ({}, {"producerId": -1, "producerEpoch": -1, "baseSequence": -1}),
        "append": ({"timestamp_type": "append"}, {"maxTimestamp": NOW}),
        "idempotent": (producer, read),
        "transactional": (producer | {"transactional": True}, read),
        "horizon": ({"delete_horizon": NOW - 12345}, {"deleteHorizon": NOW - 12345}),
    }
    return kinds[kind]


def _bytes(random: Random) -> bytes | None:
    size = random.choice((None, 0, 1, 5, 63, 64, 200))
    if size is None:
        return None
    return random.randbytes(size) if random.random() < 0.5 else b"kwire" * (size // 5)


def _headers(random: Random) -> tuple[tuple[str, bytes | None], ...]:
    names = random.choice(((), (), ("",), ("a", "ü\U0001f600", "a")))
    return tuple((name, _bytes(random)) for name in names)
