"""Which of Kafka's classes, in which version, is which of ours: every message and version of a release, once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kwire.errors import UnknownMessageError
from kwire.message import Message
from kwire_kafka import PROTOCOL
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.reading import read_sources
from kwirec.frontend import parse
from kwirec.ir import Schema, resolve
from kwirec.ir.literals import default_text
from kwirec.ir.schema import Message as Definition
from kwirec.ir.schema import Struct, StructType, base_type
from kwirec.merge.history import release_key
from tests.conformance.compare import union
from tests.real_kafka.jars import fetch

EXCEPTIONS = Path(__file__).resolve().parents[2] / "message_defs" / "kafka" / "exceptions.json"


@dataclass(frozen=True)
class Pair:
    """A message in a version. The numbers differ where a release numbered the same bytes otherwise. ``fields`` are
    the names of all fields that the release has in the message, of whatever struct and version. ``changed`` are those
    with another default than ours, or that the release ignores and we do not, or the other way round: the release
    writes other bytes than we for what it read in another version."""

    java: str
    java_version: int
    message: type[Message]
    version: int
    fields: frozenset[str]
    changed: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.message.__name__} v{self.version}"


@dataclass(frozen=True)
class Skipped:
    """A version whose bytes the union of releases does not hold, with the reason."""

    message: str
    version: int
    reason: str


ON_CONNECTIONS = (
    "FetchResponse",
    (2, 7),
    "2.7 reads and writes records of this class on connections only, not in memory.",
)
"""A class that cannot be asked in a line of releases."""


@dataclass
class Pairing:
    """``unmatched`` are classes or versions that only one side has, and no exception explains."""

    pairs: list[Pair]
    skipped: list[Skipped]
    unmatched: list[str]


def pair_up(release: str, definitions: Schema, classes: Mapping[str, range]) -> Pairing:
    """Match the classes of a release with its definitions, and those with our classes."""
    found = Pairing([], [], [])
    exceptions = {(entry["message"], entry["version"]): entry for entry in _exceptions(release)}
    left = dict(classes)
    for definition in _valid(definitions):
        name, versions = definition.name, range(definition.valid.low, definition.valid.high + 1)
        java = name if name in classes else name + "Data"
        if left.pop(java, None) != versions:
            found.unmatched.append(f"{name} {versions}: Java has {classes.get(java)}")
            continue
        try:
            message = PROTOCOL[name]
        except UnknownMessageError as unknown:
            found.unmatched.append(str(unknown))
            continue
        fields = frozenset(field.name for struct in definition.structs for field in struct.fields)
        changed = _changed(definition)
        for version in versions:
            exception = exceptions.get((message.__name__, version), {"now": version})
            if ON_CONNECTIONS[:2] == (name, release_key(release)[:2]):
                found.skipped.append(Skipped(name, version, ON_CONNECTIONS[2]))
            elif "now" not in exception:
                found.skipped.append(Skipped(message.__name__, version, exception["reason"]))
            elif exception["now"] not in message.VALID_VERSIONS:
                found.unmatched.append(f"{message.__name__} has no version {exception['now']}")
            else:
                found.pairs.append(Pair(java, version, message, exception["now"], fields, changed))
    found.unmatched.extend(f"there is no definition for the class {java}" for java in left)
    return found


def _changed(definition: Definition) -> tuple[str, ...]:
    """The fields whose values a version without them gets, or loses, otherwise than in the union."""
    ours = union().message(PROTOCOL[definition.name].__name__)
    assert ours
    return tuple(sorted(set(_changed_in(definition, definition.root, ours, ours.root))))


def _changed_in(theirs: Definition, their: Struct, ours: Definition, our: Struct) -> Iterator[str]:
    for field in their.fields:
        for same in our.fields:
            if field.name not in (same.name, *same.aliases):
                continue
            everywhere = field.versions.covers(theirs.valid)
            if not everywhere and (field.ignorable, default_text(field)) != (same.ignorable, default_text(same)):
                yield field.name
            base, other = base_type(field.type), base_type(same.type)
            if isinstance(base, StructType) and isinstance(other, StructType):
                yield from _changed_in(theirs, theirs.struct(base.name), ours, ours.struct(other.name))


def in_jars(release: str) -> Schema:
    """The definitions in the jars of a release."""
    report = Report()
    sources = read_sources(sorted(fetch(release).glob("kafka*.jar")), report, required=False)
    schema = resolve([parse(source, report) for source in sources], report)
    if report.has_errors():
        raise ValueError(f"{release}: {report.diagnostics[0]}")
    return schema


def defined(definitions: Schema) -> dict[str, range]:
    """The messages that a release defines, with their versions."""
    return {one.name: range(one.valid.low, one.valid.high + 1) for one in _valid(definitions)}


def _valid(definitions: Schema) -> Iterator[Definition]:
    return (message for message in definitions.messages if message.valid)


def _exceptions(release: str) -> Iterator[dict[str, Any]]:
    for entry in json.loads(EXCEPTIONS.read_text()):
        first, _, last = entry["releases"].partition("..")
        if release_key(first) <= release_key(release) <= release_key(last or first):
            yield entry
