"""Renders a comparison of layouts as text, Markdown or JSON for ``kwirec diff --layouts``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from kwire_rules.markdown import link
from kwirec.diff.layouts import LayoutComparison, Parting
from kwirec.guide import place_of
from kwirec.ir import Message
from kwirec.json_text import json_line
from kwirec.markdown import code
from kwirec.versions import in_words

DIFFERS, OLD, NEW = "differs", "old only", "new only"
"""The possible statuses of a finding."""

FORMATS = ("text", "markdown", "json")
LONGEST = 80
"""The maximum length of a field's kind in text and tables, in characters. Longer kinds, such as arrays of large
structs, are truncated. JSON contains them in full.
"""


@dataclass(frozen=True)
class Finding:
    """Versions of a message that first differ at the same place, or that only one side has.

    ``message`` is the message on the old side, or on the new side if the old side lacks it. ``place`` contains the
    field path, the old kind and the new kind. It is ``None`` if only one side has the versions.
    """

    message: Message
    partner: Message | None
    versions: tuple[int, ...]
    place: tuple[str, str, str] | None = None
    status: str = DIFFERS

    @property
    def title(self) -> str:
        renamed = self.partner is not None and self.partner.name != self.message.name
        return f"{self.message.name} → {self.partner.name}" if self.partner and renamed else self.message.name


def render_layouts(found: LayoutComparison, old: str, new: str, form: str = "text", guide: str = "") -> str:
    """Return the report in one of :data:`FORMATS`.

    ``old`` and ``new`` are the names of the sides, and ``guide`` is the address of a guide to the new side.
    """
    findings = [
        *_differing(found.parting),
        *_alone(found.left_only, OLD),
        *_alone(found.right_only, NEW),
    ]
    if form == "json":
        return "".join(json_line(_as_dict(one, guide)) + "\n" for one in findings)
    if form == "markdown":
        return "\n".join(_markdown(findings, found, old, new, guide)) + "\n"
    return "".join(
        f"{one.title}, {in_words(one.versions)}: {_what(one, old, new)}\n{_own_line(one, guide)}" for one in findings
    )


def _own_line(one: Finding, guide: str) -> str:
    address = _address(one, guide)
    return f"  {address}\n" if address else ""


def _what(one: Finding, old: str, new: str) -> str:
    if one.place is None:
        return f"only in {old if one.status == OLD else new}"
    path, before, after = _brief(one.place)
    return f"{path or 'the message'} is {before} → {after}"


def layouts_summary(found: LayoutComparison, old: str, new: str) -> str:
    """Return a one-line summary: ``12 versions are equal, 2 differ, 3 only in old, 0 only in new``."""
    counts = f"{len(found.equal)} versions are equal, {len(found.parting)} differ"
    return f"{counts}, {len(found.left_only)} only in {old}, {len(found.right_only)} only in {new}"


def _differing(parting: Iterable[Parting]) -> Iterator[Finding]:
    """Yield a finding for the versions of a message that first differ at the same place."""
    groups: dict[tuple[str, tuple[str, str, str]], list[Parting]] = {}
    for one in sorted(parting, key=lambda one: (*_order(one.message), one.version)):
        groups.setdefault((one.message.name, (one.path, one.left, one.right)), []).append(one)
    for (_, place), group in groups.items():
        yield Finding(group[0].message, group[0].partner, tuple(one.version for one in group), place)


def _alone(versions: Iterable[tuple[Message, int]], status: str) -> Iterator[Finding]:
    ordered = sorted(versions, key=lambda one: (*_order(one[0]), one[1]))
    for _, group in groupby(ordered, key=lambda one: one[0].name):
        pairs = list(group)
        yield Finding(pairs[0][0], None, tuple(version for _, version in pairs), status=status)


def _order(message: Message) -> tuple[int, str]:
    key = message.api_key if message.is_rpc and message.api_key is not None else 1 << 16
    return key, message.name


def _brief(place: tuple[str, str, str]) -> tuple[str, str, str]:
    """Return the path and the kinds. Truncate long kinds, unless they would then be equal."""
    path, *kinds = place
    cut = [kind if len(kind) <= LONGEST else f"{kind[:LONGEST]}…" for kind in kinds]
    before, after = cut if cut[0] != cut[1] else kinds
    return path, before, after


def _markdown(findings: list[Finding], found: LayoutComparison, old: str, new: str, guide: str) -> Iterator[str]:
    sides = code(old), code(new)
    yield f"## Layouts: {sides[0]} → {sides[1]}"
    yield ""
    yield f"**{'Different' if found.parting else 'No different'} bytes**: {layouts_summary(found, *sides)}."
    if found.parting:
        yield from ("", f"| message | versions | field | {sides[0]} | {sides[1]} |", "|---|---|---|---|---|")
    for one in findings:
        if one.place:
            path, before, after = _brief(one.place)
            cells = code(one.title), _linked(one, guide), code(path) if path else "–", code(before), code(after)
            yield f"| {' | '.join(cells)} |"
    for status, side in zip((OLD, NEW), sides, strict=True):
        alone = [f"- {code(one.title)}: {_linked(one, guide)}" for one in findings if one.status == status]
        if alone:
            yield from ("", f"### Only in {side}", "", *alone)


def _linked(one: Finding, guide: str) -> str:
    """Return the versions as text, linked to the newest version if the new side has it."""
    address, words = _address(one, guide), in_words(one.versions)
    return link(words, address) if address else words


def _address(one: Finding, guide: str) -> str:
    """Return the guide address of the newest version, or an empty string if the new side does not have it."""
    message = one.message if one.status == NEW else one.partner
    return guide + place_of(message, max(one.versions)) if guide and message else ""


def _as_dict(one: Finding, guide: str) -> dict[str, Any]:
    path, before, after = one.place or (None, None, None)
    return {
        "status": one.status,
        "message_name": one.message.name,
        "new_name": one.partner.name if one.partner else None,
        "kind": one.message.kind.value,
        "api_key": one.message.api_key,
        "versions": list(one.versions),
        "field": path,
        "old": before,
        "new": after,
        **({"guide": address} if (address := _address(one, guide)) else {}),
    }
