"""Which of Kafka's classes, in which version, is which of ours: every message and version of a release, once."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kwire.errors import UnknownMessageError
from kwire.message import Message
from kwire_kafka import PROTOCOL

ROOT = Path(__file__).resolve().parents[2]
RELEASES = ROOT / "tests" / "data" / "kafka_releases.zip"
EXCEPTIONS = ROOT / "message_defs" / "kafka" / "exceptions.json"


@dataclass(frozen=True)
class Pair:
    """A message in a version. The numbers differ where a release numbered the same bytes otherwise. ``fields`` are
    the names of all fields that the release has in the message, of whatever struct and version."""

    java: str
    java_version: int
    message: type[Message]
    version: int
    fields: frozenset[str]

    def __str__(self) -> str:
        return f"{self.message.__name__} v{self.version}"


@dataclass(frozen=True)
class Skipped:
    """A version whose bytes the union of releases does not hold, with the reason."""

    message: str
    version: int
    reason: str


@dataclass
class Pairing:
    """``unmatched`` are classes or versions that only one side has, and no exception explains."""

    pairs: list[Pair]
    skipped: list[Skipped]
    unmatched: list[str]


def pair_up(release: str, classes: Mapping[str, range]) -> Pairing:
    """Match the classes of a release with its definitions, and those with our classes."""
    found = Pairing([], [], [])
    exceptions = {(entry["message"], entry["version"]): entry for entry in _exceptions(release)}
    left = dict(classes)
    for name, versions, fields in _definitions(release):
        java = name if name in classes else name + "Data"
        if left.pop(java, None) != versions:
            found.unmatched.append(f"{name} {versions}: Java has {classes.get(java)}")
            continue
        try:
            message = PROTOCOL[name]
        except UnknownMessageError as unknown:
            found.unmatched.append(str(unknown))
            continue
        for version in versions:
            exception = exceptions.get((message.__name__, version), {"now": version})
            if "now" not in exception:
                found.skipped.append(Skipped(message.__name__, version, exception["reason"]))
            elif exception["now"] not in message.VALID_VERSIONS:
                found.unmatched.append(f"{message.__name__} has no version {exception['now']}")
            else:
                found.pairs.append(Pair(java, version, message, exception["now"], fields))
    found.unmatched.extend(f"there is no definition for the class {java}" for java in left)
    return found


def defined(release: str) -> dict[str, range]:
    """The messages that a release defines, with their versions."""
    return {name: versions for name, versions, _ in _definitions(release)}


def _definitions(release: str) -> Iterator[tuple[str, range, frozenset[str]]]:
    with zipfile.ZipFile(RELEASES) as archive:
        for line in archive.read(f"{release}.jsonl").splitlines():
            schema = json.loads(line)["schema"]
            if schema.get("validVersions", "none") != "none":
                first, _, last = schema["validVersions"].partition("-")
                yield schema["name"], range(int(first), int(last or first) + 1), frozenset(_field_names(schema))


def _field_names(struct: dict[str, Any]) -> Iterator[str]:
    for field in struct.get("fields", ()):
        yield field["name"]
        yield from _field_names(field)
    for common in struct.get("commonStructs", ()):
        yield from _field_names(common)


def _exceptions(release: str) -> Iterator[dict[str, Any]]:
    with zipfile.ZipFile(RELEASES) as archive:
        order = [name.removesuffix(".jsonl") for name in archive.namelist()]
    for entry in json.loads(EXCEPTIONS.read_text()):
        first, _, last = entry["releases"].partition("..")
        if order.index(first) <= order.index(release) <= order.index(last or first):
            yield entry
