"""The compatibility matrix of a generated package: what happens to a message of one version when written in another.

By the schema, converting from version a to version b has one of four relations:

``same``
    both versions have the same bytes
``lossless``
    the layouts differ, and every value survives
``lossy``
    every value can be written, but ignorable fields that b lacks are dropped
``inconvertible``
    some values cannot be written: they set fields that b lacks and that are not ignorable, or fields are null that
    must not be null in b. All other values can be written, without the ignorable fields that b lacks

Unknown tagged fields are not considered: they can be written in every flexible version, and in no other.
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
    """The effects of writing values of one version in another. Fields are paths such as ``topics[].name``.

    Fields in ``lost`` are dropped. Encoding raises ``kwire.errors.EncodeError`` if a field in ``blocking`` does not
    have its default, a field in ``null`` is null, or a field in ``missing`` is present at all.
    """

    relation: str
    lost: tuple[str, ...]
    blocking: tuple[str, ...]
    null: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """One version of a message.

    ``layout`` is the fingerprint of its bytes. ``releases`` are all releases that support it, oldest first; in the
    releases of ``other_bytes_in``, this version had different bytes, not only fewer tagged fields. ``status`` is that
    in the newest release: ``stable``, ``deprecated``, ``unstable``, ``removed``, or ``not published`` if the release
    came without the module of a message that the one before it had.
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
        """The oldest release that supports it; ``None`` if none does."""
        return self.releases[0] if self.releases else None

    @property
    def last(self) -> str | None:
        """The newest release that supports it; ``None`` if none does."""
        return self.releases[-1] if self.releases else None


class MessageMatrix:
    """One message: its versions, and the conversions between them."""

    def __init__(self, name: str, data: Mapping[str, Any], releases: list[str]) -> None:
        self.name = name
        self.kind: str = data["kind"]
        self.api_key: int | None = data["api_key"]
        self._data = data
        self._releases = releases

    @cached_property
    def versions(self) -> dict[int, VersionFacts]:
        """The versions of the message, ascending."""
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

        Raise ``kwire.errors.UnknownVersionError`` if the message lacks one of them.
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
    """The versions and conversions of all messages of a generated package, by name or former name."""

    @cached_property
    def data(self) -> dict[str, Any]:
        """The content of the package's ``compat.json``, which is read on first use."""
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
