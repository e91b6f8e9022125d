"""Generated classes against generated classes: every message and version, values made on both sides."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any
from zlib import crc32

from kwire.errors import DecodeError, EncodeError
from kwire.message import Message
from kwire_kafka.releases import RELEASES
from tests.conformance.compare import differences
from tests.conformance.jvm import Jvm, Refused, Written
from tests.conformance.pairs import Pair
from tests.conformance.tally import Tally
from tests.properties.values import FIXED, RandomSource, make

NEW = "new message of the newest release → the same bytes from both"
FROM_JAVA = "Java bytes → kwire value → same bytes, same JSON"
TO_JAVA = "kwire bytes → Java value → same bytes, same JSON"
CONVERTED = "read in one version and written in another by both"
OTHERWISE = (
    "read in one version and written in another otherwise, where the release ignores or defaults fields otherwise"
)
REFUSED = "values that both refuse to write"


NEWEST = list(RELEASES)[-1]


@dataclass(frozen=True)
class Vector:
    """An instance that Java made, with the bytes and the JSON that Java wrote for it."""

    message: str
    version: int
    shape: str
    data: bytes
    json: Any


def seed(*parts: object) -> int:
    """The same number for the same parts, in every run."""
    return crc32(" ".join(map(str, parts)).encode())


def from_java(jvm: Jvm, pair: Pair, randoms: int, tally: Tally) -> Iterator[Vector]:
    """Instances that Java made; gives those that it can write."""
    for shape, number in _shapes(pair, randoms):
        try:
            written = jvm.make(pair.java, pair.java_version, shape, seed(pair, shape, number))
        except Refused as refused:
            _both_refuse_default(pair, shape, refused, tally)
            continue
        vector = Vector(pair.message.__name__, pair.version, shape, written.data, json.loads(written.json))
        wrong = disagreement(pair.message, vector)
        if wrong:
            tally.differ(FROM_JAVA, f"{pair} {shape} {number}", f"{wrong}; bytes {written.data.hex()}")
        else:
            tally.same(FROM_JAVA)
        if shape == "default" and jvm.release == NEWEST:
            if wrong := new_message_differs(pair.message, vector):
                tally.differ(NEW, str(pair), wrong)
            else:
                tally.same(NEW)
        yield vector


def new_message_differs(cls: type[Message], vector: Vector) -> str | None:
    """How a message of ours without any value differs from Java's; ``None`` if both write the same bytes.

    Defaults are those of the newest release, so older releases can have others.
    """
    mine = _encoded(cls(), vector.version)
    if mine == vector.data:
        return None
    return f"Java writes {vector.data.hex()}, kwire {'nothing' if mine is None else mine.hex()}"


def disagreement(cls: type[Message], vector: Vector) -> str | None:
    """What we make of Java's bytes that Java does not; ``None`` if we agree."""
    try:
        message = cls.decode(vector.data, vector.version)
    except DecodeError as error:
        return f"kwire refuses: {error}"
    found = differences(message, vector.json, vector.version)
    if found:
        return "; ".join(found)
    again = message.encode(vector.version)
    return None if again == vector.data else f"kwire writes {again.hex()}"


def to_java(jvm: Jvm, pair: Pair, randoms: int, tally: Tally) -> None:
    """Instances that we made."""
    for name, message in instances(pair, randoms):
        try:
            data = message.encode(pair.version)
        except EncodeError as error:
            if name != "default":
                tally.differ(TO_JAVA, f"{pair} {name}", f"kwire cannot write its value: {error}")
            continue  # that Java cannot write its default either is found by the other direction
        try:
            written = jvm.read(pair.java, pair.java_version, data)
        except Refused as refused:
            tally.differ(TO_JAVA, f"{pair} {name}", f"{refused}; bytes {data.hex()}")
            continue
        wrong = _disagreement_with(written, message, data, pair)
        if wrong:
            tally.differ(TO_JAVA, f"{pair} {name}", f"{wrong}; bytes {data.hex()}")
        else:
            tally.same(TO_JAVA)


def convert(jvm: Jvm, pair: Pair, others: Sequence[Pair], rounds: int, tally: Tally) -> None:
    """Write what was read in one version in every other one: both sides refuse it, or write the same bytes.

    This shows fields that a version lacks: which of them may be ignored, and what they are then.
    """
    for name, message in list(instances(pair, rounds))[-rounds:]:
        data = message.encode(pair.version)
        decoded = pair.message.decode(data, pair.version)
        for other in others:
            where = f"{pair} to v{other.version} {name}"
            mine = _encoded(decoded, other.version)
            try:
                theirs = jvm.read(pair.java, pair.java_version, data, other.java_version).data
            except Refused as refused:
                if mine is None:
                    tally.same(REFUSED)
                else:
                    judge(pair, where, f"{refused}; kwire writes {mine.hex()}; bytes {data.hex()}", tally)
                continue
            if mine == theirs:
                tally.same(CONVERTED)
            else:
                shown = "nothing" if mine is None else mine.hex()
                judge(pair, where, f"kwire writes {shown}, Java {theirs.hex()}; bytes {data.hex()}", tally)


def judge(pair: Pair, where: str, how: str, tally: Tally) -> None:
    """Releases changed what may be lost in a conversion, and defaults. Ours are those of the newest."""
    unset = re.search(r"non-default (\w+) at version", how)
    changed = {name.lower() for name in pair.changed}
    if changed and (unset is None or unset[1].lower() in changed):
        tally.same(OTHERWISE)
    else:
        tally.differ(CONVERTED, where, how)


def instances(pair: Pair, randoms: int) -> Iterator[tuple[str, Message]]:
    """Our instances: default, the fixed cases of the property tests (extremes, nulls, unknown tags), random ones."""
    yield "default", pair.message()
    for name, source in FIXED.items():
        yield name, make(pair.message, pair.version, source)
    for number in range(randoms):
        source = RandomSource(Random(seed(pair, "ours", number)))
        yield f"random {number}", make(pair.message, pair.version, source)


def _shapes(pair: Pair, randoms: int) -> Iterator[tuple[str, int]]:
    yield from (("default", 0), ("full", 0), ("null", 0))
    if pair.version in pair.message.FLEXIBLE_VERSIONS:
        yield "tags", 0
    yield from (("random", number) for number in range(randoms))


def _both_refuse_default(pair: Pair, shape: str, refused: Refused, tally: Tally) -> None:
    """Some defaults cannot be written: null where a version knows no null yet."""
    if shape == "default" and refused.stage == "write" and _encoded(pair.message(), pair.version) is None:
        tally.same(REFUSED)
    else:
        tally.differ(FROM_JAVA, f"{pair} {shape}", refused)


def _encoded(message: Message, version: int) -> bytes | None:
    try:
        return message.encode(version)
    except EncodeError:
        return None


def _disagreement_with(written: Written, message: Message, data: bytes, pair: Pair) -> str | None:
    if written.rest:
        return f"Java leaves {written.rest} bytes"
    if written.data != data:
        return f"Java writes {written.data.hex()}"
    return "; ".join(differences(message, json.loads(written.json), pair.version, pair.fields)) or None
