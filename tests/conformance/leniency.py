"""Broken bytes: what Java accepts, what we accept, and which policy makes us accept what Java does.

Every mutation of a valid message is read by Kafka's class and by ours under each policy. ``LIKE_KAFKA`` must do what
Java does, with the same value; where the strict default refuses what Java accepts, the knob that makes the difference
is found by turning one at a time.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from random import Random

from kwire.errors import DecodeError, EncodeError
from kwire.message import Message
from kwire.policy import LIKE_KAFKA, STRICT, Policy
from kwire.schema import walk
from kwirec.merge.history import release_key
from tests.conformance.compare import differences
from tests.conformance.jvm import Jvm, Refused
from tests.conformance.messages import seed
from tests.conformance.pairs import Pair
from tests.fuzz.mutation import mutate
from tests.properties.values import RandomSource, make

KNOBS = {"tags": 'tags="kafka"', "utf8": 'utf8="replace"', "trailing": 'trailing="ignore"'}
"""What ``LIKE_KAFKA`` is made of."""
UNKNOWN_TAG = "only Java accepts, because the release does not know the tag yet"
ALIKE = ("both refuse", "both accept", "both accept, but cannot write it")
STRICTER = {
    "only LIKE_KAFKA accepts: java.lang.RuntimeException: Invalid negative number of tagged fields N": (
        "4.2.2",
        "4.4.0",
    ),
}
"""What Java refuses since a release of a line, and since the last of these in all lines. Before, Java accepted it, as
``LIKE_KAFKA`` does for all releases."""


@dataclass
class Leniency:
    """``outcomes`` counts all mutations. Where strict refuses and Java accepts, ``knobs`` counts by what it takes to
    accept, and by the reason that strict gives; ``open`` are differences that no knob accounts for."""

    outcomes: Counter[str] = field(default_factory=Counter)
    knobs: Counter[tuple[str, str]] = field(default_factory=Counter)
    open: dict[str, list[str]] = field(default_factory=dict)

    def add(self, other: Leniency) -> None:
        self.outcomes += other.outcomes
        self.knobs += other.knobs
        for kind, examples in other.open.items():
            self.open.setdefault(kind, []).extend(examples)


@dataclass(frozen=True)
class BrokenVector:
    """A broken message, and what Java writes when it has read it; ``None`` if it refuses."""

    message: str
    version: int
    data: bytes
    written: bytes | None


def check(jvm: Jvm, pair: Pair, rounds: int, found: Leniency) -> Iterator[BrokenVector]:
    """Mutations of random messages; gives those that both sides take alike, or did until Java became stricter."""
    stricter = {outcome for outcome, since in STRICTER.items() if is_since(jvm.release, since)}
    random = Random(seed(pair, "mutations"))
    source = RandomSource(random)
    for _ in range(rounds):
        whole, other = (make(pair.message, pair.version, source).encode(pair.version) for _ in range(2))
        data = mutate(whole, other, random)
        outcome, written = _compare(jvm, pair, data, found)
        if outcome.startswith("only Java accepts") and has_newer_tag(pair, data):
            outcome = UNKNOWN_TAG
        found.outcomes[outcome.partition(":")[0]] += 1
        if outcome in ALIKE or outcome in stricter:
            yield BrokenVector(pair.message.__name__, pair.version, data, written)
        elif outcome != UNKNOWN_TAG:
            found.open.setdefault(outcome, []).append(f"{pair}: {data.hex()}")


def is_since(release: str, since: Sequence[str]) -> bool:
    """Whether a release has what began with ``since``: a release each of older lines, and the last for all lines."""
    key = release_key(release)
    first = next((one for one in map(release_key, since) if one[:2] == key[:2]), release_key(since[-1]))
    return key >= first


def newer_tags(pair: Pair) -> list[str]:
    """Tagged fields that later releases gave to this version: what this release does not know it reads as unknown,
    whatever is in it. Such versions say nothing about leniency."""
    known = {name.lower() for name in pair.fields}
    tagged = {field.defined_name for _, _, field in walk(pair.message, pair.version) if pair.version in field.tagged}
    return sorted(name for name in tagged if name.lower() not in known)


def has_newer_tag(pair: Pair, data: bytes) -> bool:
    """Whether we refuse a tag because it is known in other versions only, and the release knows it in none."""
    try:
        pair.message.decode(data, pair.version, LIKE_KAFKA)
    except DecodeError as error:
        below = re.fullmatch(r"tag \d+ is `(\w+)`, which version \d+ lacks", error.reason)
        return below is not None and below[1].replace("_", "") not in {name.lower() for name in pair.fields}
    return False


def _compare(jvm: Jvm, pair: Pair, data: bytes, found: Leniency) -> tuple[str, bytes | None]:
    """In words what both sides make of ``data``, and what Java writes then."""
    mine, reason = decoded(pair.message, pair.version, data, LIKE_KAFKA)
    if mine is None and decoded(pair.message, pair.version, data, STRICT)[0] is not None:
        return "strict accepts what LIKE_KAFKA refuses", None
    try:
        written = jvm.read(pair.java, pair.java_version, data)
    except Refused as refused:
        return _without_java(pair, data, mine, refused, reason), None
    if mine is None:
        return f"only Java accepts: {reason}", None
    strict = _strictly(pair, data, found)
    if strict is not None and encoded(strict, pair.version) != encoded(mine, pair.version):
        return "strict accepts it too, as a different value", None
    same = encoded(mine, pair.version) == written.data
    if not same or differences(mine, json.loads(written.json), pair.version, pair.fields):
        return "both accept, as different values", None
    return "both accept", written.data


def _without_java(pair: Pair, data: bytes, mine: Message | None, refused: Refused, reason: str) -> str:
    """Java threw: while it read, or while it wrote what it had read."""
    if refused.stage == "read" and mine is None:
        return "both refuse"
    if refused.stage == "read":
        strict = decoded(pair.message, pair.version, data, STRICT)[0]
        return f"only {'LIKE_KAFKA' if strict is None else 'kwire'} accepts: {_kind(refused.reason)}"
    if mine is None:
        return f"only Java accepts, but cannot write it: {reason}"
    if encoded(mine, pair.version) is None:
        return "both accept, but cannot write it"
    return f"both accept, only kwire can write it: {_kind(refused.reason)}"


def _strictly(pair: Pair, data: bytes, found: Leniency) -> Message | None:
    """What strict makes of bytes that Java accepts. If it refuses, the fewest knobs that accept them are counted."""
    message, reason = decoded(pair.message, pair.version, data, STRICT)
    if message is not None:
        return message
    for number in range(1, len(KNOBS) + 1):
        for names in combinations(KNOBS, number):
            policy = Policy(**{name: getattr(LIKE_KAFKA, name) for name in names})
            if decoded(pair.message, pair.version, data, policy)[0] is not None:
                found.knobs[", ".join(KNOBS[name] for name in names), reason] += 1
                return None
    return None


def decoded(cls: type[Message], version: int, data: bytes, policy: Policy) -> tuple[Message | None, str]:
    """The message, or ``None`` and the kind of reason why there is none."""
    try:
        return cls.decode(data, version, policy), ""
    except DecodeError as error:
        return None, _kind(error.reason)


def encoded(message: Message, version: int) -> bytes | None:
    """The bytes; ``None`` where the version cannot carry the message."""
    try:
        return message.encode(version)
    except EncodeError:
        return None


def _kind(reason: str) -> str:
    """A reason without its numbers and names, so that reasons of a kind are equal."""
    return re.sub(r"`[^`]*`|'[^']*'", "X", re.sub(r"(?<!UTF-)(?<!UTF)-?\d+", "N", reason))
