"""Selects messages and versions for ``--only``: ``FetchRequest:newest,Produce*:9``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kwirec.diagnostics.diagnostic import did_you_mean
from kwirec.ir.schema import Message, Schema
from kwirec.versions import ALL, VersionRange

NEWEST = "newest"


class SelectionError(ValueError):
    """Raised when a selection is malformed or has an item that matches nothing."""


def newest(message: Message, versions: Iterable[int]) -> int:
    """Return the last stable version in ``versions``, or the last version if none is stable."""
    ordered = sorted(versions)
    stable = [version for version in ordered if not message.latest_unstable or version < message.valid.high]
    return (stable or ordered)[-1]


@dataclass(frozen=True)
class _Item:
    pattern: str
    versions: VersionRange | None
    """The selected versions, or ``None`` for the newest stable version."""

    def of(self, message: Message) -> frozenset[int]:
        if not message.valid or not fnmatchcase(message.name, self.pattern):
            return frozenset()
        if self.versions is not None:
            return frozenset(message.valid.intersect(self.versions))
        return frozenset({newest(message, message.valid)})


@dataclass(frozen=True)
class Selection:
    """Message name patterns, each with its versions."""

    items: tuple[_Item, ...]

    @staticmethod
    def parse(text: str, schema: Schema) -> Selection:
        """Return the selection that ``text`` describes. Raises :class:`SelectionError` if an item selects nothing."""
        found = []
        for part in text.split(","):
            pattern, colon, versions = (piece.strip() for piece in part.partition(":"))
            try:
                range_ = VersionRange.parse(versions) if colon and versions != NEWEST else None if colon else ALL
            except ValueError as problem:
                raise SelectionError(f"`{versions}` of `{part.strip()}`: {problem}, or `{NEWEST}`") from problem
            item = _Item(pattern, range_)
            if not any(map(item.of, schema.messages)):
                raise SelectionError(_nothing(item, part.strip(), schema))
            found.append(item)
        return Selection(tuple(found))

    def versions(self, message: Message) -> tuple[int, ...]:
        """Return the selected versions of a message in ascending order."""
        return tuple(sorted(frozenset[int]().union(*(item.of(message) for item in self.items))))


def _nothing(item: _Item, text: str, schema: Schema) -> str:
    named = [message for message in schema.messages if message.valid and fnmatchcase(message.name, item.pattern)]
    if named:
        there = ", ".join(f"{message.name} has {message.valid}" for message in named[:3])
        return f"`{text}` selects no version: {there}"
    hint = did_you_mean(item.pattern, (message.name for message in schema.messages))
    return f"`{text}` selects no message. {hint}".strip()
