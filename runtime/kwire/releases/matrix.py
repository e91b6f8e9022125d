"""The compatibility matrix of a generated package: what becomes of a message of one version in another.

A value of version a that is written in version b is, by the schema, in one of four relations:

``same``
    the bytes are the same in both
``lossless``
    the layout is another, and every value survives
``lossy``
    every value can be written, but ignorable fields that b lacks are gone
``inconvertible``
    there are values that cannot be written: fields that b lacks and that are not ignorable are set, or fields are
    null that b does not let be null. All other values can, and lose the ignorable fields that b lacks

Unknown tagged fields are no part of it: they can be written in every flexible version, and in no other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pkgutil import get_data
from typing import Any

from kwire.releases.facts import parse_versions


@dataclass(frozen=True, slots=True)
class Conversion:
    """What becomes of values of one version in another; fields are paths such as ``topics[].name``.

    ``lost`` are dropped. Encoding is an :class:`~kwire.errors.EncodeError` with a field in ``blocking`` that is not
    its default, one in ``null`` that is null, or one in ``missing`` that the value has at all.
    """

    relation: str
    lost: tuple[str, ...]
    blocking: tuple[str, ...]
    null: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """One version of a message.

    ``layout`` is the fingerprint of its bytes. ``releases`` has all that know it, oldest first; ``other_bytes_in``
    those of them in which this number had other bytes. ``status`` is that in the newest release: ``stable``,
    ``deprecated``, ``unstable`` or ``removed``.
    """

    version: int
    header: int | None
    flexible: bool
    layout: str
    status: str
    releases: tuple[str, ...]
    other_bytes_in: tuple[str, ...]

    @property
    def first(self) -> str | None:
        return self.releases[0] if self.releases else None

    @property
    def last(self) -> str | None:
        return self.releases[-1] if self.releases else None


class MessageMatrix:
    """One message: its versions, and what becomes of each in each other."""

    def __init__(self, name: str, data: Mapping[str, Any], releases: list[str]) -> None:
        self.name = name
        self.kind: str = data["kind"]
        self.api_key: int | None = data["api_key"]
        self._data = data
        self._releases = releases

    @cached_property
    def versions(self) -> dict[int, VersionFacts]:
        return {
            one["version"]: VersionFacts(
                version=one["version"],
                header=one.get("header"),
                flexible=one["flexible"],
                layout=one["layout"],
                status=one["status"],
                releases=_expanded(one.get("releases", ""), self._releases),
                other_bytes_in=_expanded(one.get("other_bytes_in", ""), self._releases),
            )
            for one in self._data["versions"]
        }

    def convert(self, source: int, target: int) -> Conversion:
        """What becomes of values of version ``source`` in version ``target``; ``KeyError`` for other versions."""
        return self._conversions[source, target]

    @cached_property
    def _conversions(self) -> dict[tuple[int, int], Conversion]:
        found = {}
        for row in self._data["conversions"]:
            names = ("lost", "blocking", "null", "missing")
            conversion = Conversion(row["relation"], *(tuple(row.get(name, ())) for name in names))
            for source in parse_versions(row["from"]):
                for target in parse_versions(row["to"]):
                    found[source, target] = conversion
        return found


class Matrix(Mapping[str, MessageMatrix]):
    """All messages by name. ``data`` is what ``compat.json`` in the package holds; it is read on first use."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._messages: dict[str, MessageMatrix] = {}

    @cached_property
    def data(self) -> dict[str, Any]:
        text = get_data(self._package, "compat.json")
        assert text is not None
        data: dict[str, Any] = json.loads(text)
        return data

    def __getitem__(self, name: str) -> MessageMatrix:
        if name not in self._messages:
            self._messages[name] = MessageMatrix(name, self.data["messages"][name], self.data["releases"])
        return self._messages[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data["messages"])

    def __len__(self) -> int:
        return len(self.data["messages"])


def _expanded(spans: str, order: list[str]) -> tuple[str, ...]:
    """``2.2.2..3.9.1 4.0.1`` → all releases in it."""
    found: list[str] = []
    for span in spans.split():
        first, _, last = span.partition("..")
        found += order[order.index(first) : order.index(last or first) + 1]
    return tuple(found)
