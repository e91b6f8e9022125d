"""Fixes, which are text replacements that resolve a finding, and functions that apply them to a source."""

from __future__ import annotations

import sys
from bisect import bisect, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kwirec.diagnostics.source import Source, Span


@dataclass(frozen=True, slots=True)
class Edit:
    """The replacement of a span by ``text``."""

    span: Span
    text: str


Fix = tuple[Edit, ...]
"""Edits that together resolve a finding. A finding has a fix only if there is just one sensible correction."""


def replaced(span: Span, text: str) -> Fix:
    """Return the fix that replaces ``span`` with ``text``."""
    return (Edit(span, text),)


def apart(fixes: Iterable[Fix]) -> list[Fix]:
    """Return the fixes that can be applied together. A fix that touches an earlier fix is omitted."""
    taken: dict[Source, list[tuple[int, int]]] = {}
    found = []
    for fix in fixes:
        if not any(_touches(edit.span, taken.get(edit.span.source, ())) for edit in fix):
            found.append(fix)
            for edit in fix:
                insort(taken.setdefault(edit.span.source, []), (edit.span.start, edit.span.end))
    return found


def _touches(span: Span, taken: Sequence[tuple[int, int]]) -> bool:
    """Return whether a span touches one of the ``taken`` spans, which are sorted and disjoint."""
    after = bisect(taken, (span.end, sys.maxsize))
    return after > 0 and taken[after - 1][1] >= span.start


def edited(source: Source, fixes: Iterable[Fix]) -> Source:
    """Apply the edits in ``fixes`` that concern the source, and return the result. The edits must not overlap."""
    edits = sorted((edit for fix in fixes for edit in fix if edit.span.source is source), key=lambda e: e.span.start)
    parts, end = [], 0
    for edit in edits:
        parts += [source.text[end : edit.span.start], edit.text]
        end = edit.span.end
    return Source(source.name, "".join([*parts, source.text[end:]])) if edits else source
