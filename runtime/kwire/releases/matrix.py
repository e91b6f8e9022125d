"""The compatibility matrix of a generated package: the effects of writing values of one version in another.

The schema determines the relation of version a to version b in a conversion. There are four relations:

``same``
    both versions have the same bytes
``lossless``
    the layouts differ, but every value survives
``lossy``
    every value can be written, but ignorable fields that b lacks are dropped
``inconvertible``
    some values cannot be written, because they set non-ignorable fields that b lacks, or contain null in fields that
    must not be null in b. All other values can be written without the ignorable fields that b lacks.

The matrix ignores unknown tagged fields, which can only be written in flexible versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kwire.errors import UnknownVersionError
from kwire.lookup import PerMessage
from kwire.releases.facts import parse_versions


@dataclass(frozen=True, slots=True)
class Conversion:
    """The effect of writing values of one version in another. Fields are paths such as ``topics[].name``.

    Fields in ``lost`` are dropped. Encoding raises ``kwire.errors.EncodeError`` if a field in ``blocking`` does not
    have its default, a field in ``null`` is null, or the struct of a field in ``missing`` is present.
    """

    relation: str
    lost: tuple[str, ...]
    blocking: tuple[str, ...]
    null: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """One version of a message.

    ``layout`` is the fingerprint of the bytes on the wire. ``releases`` are all releases that support the version,
    oldest first. In the releases in ``other_bytes_in``, this version had different bytes, not only fewer tagged
    fields. ``status`` is the status in the newest release: ``stable``, ``deprecated``, ``unstable``, ``removed``, or
    ``not published`` if the module of the message was not published with that release.
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
        """The oldest release that supports the version, or ``None``."""
        return self.releases[0] if self.releases else None

    @property
    def last(self) -> str | None:
        """The newest release that supports the version, or ``None``."""
        return self.releases[-1] if self.releases else None


class MessageMatrix:
    """The versions of one message and the conversions between them."""

    def __init__(self, name: str, data: Mapping[str, Any], releases: list[str]) -> None:
        self.name = name
        self.kind: str = data["kind"]
        self.api_key: int | None = data["api_key"]
        self._data = data
        self._releases = releases

    @cached_property
    def versions(self) -> dict[int, VersionFacts]:
        """The facts about each version of the message, by version in ascending order."""
        return {
            row["version"]: VersionFacts(
                version=row["version"],
                header=row.get("header"),
                flexible=row["flexible"],
                layout=row["layout"],
                status=row["status"],
                releases=_expanded(row.get("releases", ""), self._releases),
                other_bytes_in=_expanded(row.get("other_bytes_in", ""), self._releases),
            )
            for row in self._data["versions"]
        }

    def convert(self, source: int, target: int) -> Conversion:
        """Return the conversion from version ``source`` to version ``target``.

        Raise ``kwire.errors.UnknownVersionError`` if the message lacks either version.
        """
        for version in (source, target):
            if version not in self.versions:
                raise UnknownVersionError(version, range(min(self.versions), max(self.versions) + 1), of=self.name)
        return self._conversions[source, target]

    @cached_property
    def _conversions(self) -> dict[tuple[int, int], Conversion]:
        conversions = {}
        for row in self._data["conversions"]:
            names = ("lost", "blocking", "null", "missing")
            conversion = Conversion(row["relation"], *(tuple(row.get(name, ())) for name in names))
            for source in parse_versions(row["from"]):
                for target in parse_versions(row["to"]):
                    conversions[source, target] = conversion
        return conversions


class Matrix(PerMessage[MessageMatrix]):
    """The versions and conversions of all messages in a generated package, by name or former name."""

    @cached_property
    def data(self) -> dict[str, Any]:
        """The contents of the package's ``compat.json``, which is read on first use."""
        import json
        from pkgutil import get_data

        text = get_data(self._package, "compat.json")
        assert text is not None
        data: dict[str, Any] = json.loads(text)
        return data

    def _load(self, name: str, module: str) -> MessageMatrix:
        return MessageMatrix(name, self.data["messages"][name], self.data["releases"])


def _expanded(spans: str, order: list[str]) -> tuple[str, ...]:
    """Return all releases in spans such as ``2.2.2..3.9.1 4.0.1``."""
    releases: list[str] = []
    for span in spans.split():
        first, _, last = span.partition("..")
        releases += order[order.index(first) : order.index(last or first) + 1]
    return tuple(releases)
