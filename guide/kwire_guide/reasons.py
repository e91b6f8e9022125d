"""Versions without an explanation of why they exist."""

from __future__ import annotations

from collections.abc import Iterator

from kwire_guide.changes import changes
from kwire_guide.kips import Kips
from kwire_guide.remarks import remarks
from kwirec.ir.schema import Schema
from kwirec.lowering import Layouts


def unexplained(schema: Schema, layouts: Layouts, kips: Kips) -> Iterator[tuple[str, int]]:
    """Yield each message and version without an explanation.

    A remark about the version in the definition explains it, and so does a proposal if the bytes changed. The first
    version of a message needs no explanation.
    """
    for message in schema.messages:
        by_version = layouts.by_message[message.name]
        explained = remarks(message.decl, by_version)
        for change in changes(by_version)[1:]:
            shown = not change.same and kips.get(message.name, {}).get(change.version)
            if not shown and change.version not in explained:
                yield message.name, change.version
