"""A judgement as Markdown for a pull request: grouped by API, with a table of the fields before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kwirec.diagnostics.diagnostic import Severity
from kwirec.diagnostics.render_text import summary
from kwirec.diff.changes import (
    ApiKeyReused,
    Change,
    FieldChange,
    FieldReordered,
    RequestResponseVersionsDiverged,
    VersionAdded,
)
from kwirec.diff.compare_fields import default_text
from kwirec.diff.judge import JudgedChange, Judgement
from kwirec.diff.sides import Side
from kwirec.ir.schema import Message
from kwirec.ir.sites import FieldSite
from kwirec.versions import in_words

SIGNS = {Severity.ERROR: "🔴", Severity.WARNING: "🟡", Severity.NOTE: "⚪"}


def render_markdown(judgement: Judgement, old: Side, new: Side) -> str:
    """The report: APIs ordered by key, then other messages by name."""
    lines = [f"## Protocol changes: {_code(old.name)} → {_code(new.name)}", ""]
    counts = summary(one.diagnostic for one in judgement.findings)
    waived = f", {len(judgement.waived)} waived" if judgement.waived else ""
    lines.append(f"**{'Breaking' if judgement.breaking else 'Not breaking'}**: {counts}{waived}.")
    if incomparable := sorted(old.incomparable | new.incomparable):
        names = ", ".join(map(_code, incomparable))
        lines += ["", f"Not compared (the release differs from the union, see `exceptions.json`): {names}."]
    groups: dict[tuple[int, str], list[JudgedChange]] = {}
    for one in judgement.findings:
        groups.setdefault(_group(one.change.message), []).append(one)
    for (_, title), findings in sorted(groups.items()):
        lines += ["", *_section(title, findings)]
    if judgement.waived:
        lines += ["", "### Waived", ""]
        lines += [f"- `{one.rule.name}`: {one.diagnostic.message}. {_reason(one)}" for one in judgement.waived]
    return "\n".join(lines) + "\n"


def _reason(one: JudgedChange) -> str:
    if one.waiver is None:
        return ""
    until = f" (until {one.waiver.expires})" if one.waiver.expires else ""
    return f"*{one.waiver.reason}*{until}"


def _group(message: Message) -> tuple[int, str]:
    if message.is_rpc:
        name = message.name.removesuffix("Request").removesuffix("Response")
        return message.api_key or 0, f"{name} (api key {message.api_key})"
    return 1 << 16, message.name


def _section(title: str, findings: list[JudgedChange]) -> Iterator[str]:
    yield f"### {title}"
    yield ""
    shown = sorted(findings, key=lambda one: (one.rule.level, one.severity is Severity.NOTE))
    for one in shown:
        notes = "".join(f"; {note}" for note in one.diagnostic.notes)
        yield f"- {SIGNS[one.severity]} `{one.rule.name}` ({one.rule.level.word}): {one.diagnostic.message}{notes}"
    if rows := dict.fromkeys(_rows(one.change for one in shown)):
        yield from ("", "| | before | after |", "|---|---|---|")
        yield from (f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _rows(changes: Iterable[Change]) -> Iterator[tuple[str, str, str]]:
    """A row for each message whose versions changed and for each changed field: its name, before and after."""
    for change in changes:
        if change.old and change.new and not isinstance(change, ApiKeyReused | RequestResponseVersionsDiverged):
            was, now = change.old.message, change.new.message
            if was.valid != now.valid:
                yield f"`{now.name}`", in_words(was.valid), in_words(now.valid)
        if isinstance(change, FieldReordered):
            yield f"`{change.subject}`", _place(change.before), _place(change.after)
        elif isinstance(change, FieldChange):
            yield _field_row(change.message, change.before, change.after)
        elif isinstance(change, VersionAdded):
            old, new = ({site.path: site for site in side.fields} for side in (change.old, change.new))
            for site in (*change.added, *change.removed, *change.changed):
                yield _field_row(change.message, old.get(site.path), new.get(site.path))


def _place(site: FieldSite) -> str:
    return f"place {site.struct.fields.index(site.field) + 1} of {len(site.struct.fields)}"


def _field_row(message: Message, before: FieldSite | None, after: FieldSite | None) -> tuple[str, str, str]:
    site = after or before
    assert site is not None
    return f"`{message.name}.{site.path}`", _described(before, after), _described(after, before)


def _described(site: FieldSite | None, other: FieldSite | None) -> str:
    """The type, versions and other attributes of a field, limited to the valid versions of its side."""
    if site is None or not site.live:
        return "–"
    one, valid = site.field, site.message.valid
    parts = [f"{_code(str(one.type))}", in_words(one.versions.intersect(valid))]
    if other is not None and other.field.name != one.name:
        parts.insert(0, _code(one.name))
    if nullable := one.nullable.intersect(valid):
        parts.append(f"nullable {nullable}")
    if tagged := one.tagged.intersect(valid):
        parts.append(f"tag {one.tag} in {tagged}")
    if one.flexible is not None:
        parts.append(f"flexible {one.flexible.intersect(valid)}")
    if site.decl.default is not None:
        parts.append(f"default {_code(default_text(one))}")
    parts += ["ignorable"] if one.ignorable else []
    parts += ["map key"] if one.map_key else []
    parts += [f"entity {one.entity_type}"] if one.entity_type else []
    return ", ".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _code(text: str) -> str:
    return f"`{text.replace('`', '')}`"
