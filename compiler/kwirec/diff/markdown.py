"""Renders a judgement as Markdown for a pull request, grouped by API, with tables of fields before and after the
changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kwire_rules.markdown import link
from kwirec.diagnostics.diagnostic import Severity
from kwirec.diagnostics.render_text import summary
from kwirec.diff.addresses import address_of, place_of_site
from kwirec.diff.changes import (
    AnyMessageChange,
    ApiKeyReused,
    Change,
    FieldChange,
    FieldReordered,
    RequestResponseVersionsDiverged,
    VersionAdded,
)
from kwirec.diff.judge import JudgedChange, Judgement
from kwirec.diff.sides import Side, left_out
from kwirec.guide import place_of
from kwirec.ir.literals import default_text
from kwirec.ir.schema import Message
from kwirec.ir.sites import FieldSite
from kwirec.markdown import code, prose
from kwirec.versions import in_words, runs_text

SIGNS = {Severity.ERROR: "🔴", Severity.WARNING: "🟡", Severity.NOTE: "⚪"}


def render_markdown(judgement: Judgement, old: Side, new: Side, guide: str = "") -> str:
    """Return the report, with links to ``guide``.

    Breaking changes come first. APIs are sorted by key, followed by other messages sorted by name.
    """
    lines = [f"## Protocol changes: {code(old.name)} → {code(new.name)}", ""]
    counts = summary(judged.diagnostic for judged in judgement.findings)
    waived = f", {len(judgement.waived)} waived" if judgement.waived else ""
    lines.append(f"**{'Breaking' if judgement.breaking else 'Not breaking'}**: {counts}{waived}.")
    for sentence in left_out(old, new, code):
        lines += ["", f"{sentence}."]
    groups: dict[tuple[int, str], list[JudgedChange]] = {}
    for judged in judgement.findings:
        groups.setdefault(_group(judged.change), []).append(judged)
    for (_, title), findings in sorted(groups.items(), key=lambda group: (not _breaks(group[1]), group[0])):
        lines += ["", *_section(title, findings, guide)]
    if judgement.waived:
        lines += ["", "### Waived", ""]
        lines += [
            f"- `{judged.rule.name}`: {prose(judged.diagnostic.message)}. {_reason(judged)}"
            for judged in judgement.waived
        ]
    return "\n".join(lines) + "\n"


def _breaks(findings: Iterable[JudgedChange]) -> bool:
    return any(judged.severity is Severity.ERROR for judged in findings)


def _reason(judged: JudgedChange) -> str:
    if judged.waiver is None:
        return ""
    until = f" (until {judged.waiver.expires})" if judged.waiver.expires else ""
    return f"*{prose(judged.waiver.reason)}*{until}"


def _group(change: Change) -> tuple[int, str]:
    if isinstance(change, AnyMessageChange) and (message := change.message).is_rpc:
        name = message.name.removesuffix("Request").removesuffix("Response")
        return message.api_key or 0, f"{name} (api key {message.api_key})"
    return 1 << 16, change.names[0]


def _section(title: str, findings: list[JudgedChange], guide: str) -> Iterator[str]:
    yield f"### {title}"
    yield ""
    shown = sorted(findings, key=lambda judged: (judged.rule.level, judged.severity is Severity.NOTE))
    for judged in shown:
        text = "; ".join(map(prose, (judged.diagnostic.message, *judged.diagnostic.notes)))
        text += _link(judged.change, guide)
        yield f"- {SIGNS[judged.severity]} `{judged.rule.name}` ({judged.rule.level.word}): {text}"
    if rows := dict.fromkeys(_rows((judged.change for judged in shown), guide)):
        yield from ("", "| | before | after |", "|---|---|---|")
        yield from (f"| {' | '.join(row)} |" for row in rows)


def _link(change: Change, guide: str) -> str:
    address = address_of(change) if guide else ""
    return f" ({link('guide', guide + address)})" if address else ""


def _rows(changes: Iterable[Change], guide: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name, old state and new state of each message with changed versions and of each changed field."""
    for change in changes:
        if not isinstance(change, AnyMessageChange):
            continue
        if change.old and change.new and not isinstance(change, ApiKeyReused | RequestResponseVersionsDiverged):
            was, now = change.old.message, change.new.message
            if was.valid != now.valid:
                yield code(now.name), in_words(was.valid), in_words(now.valid)
        if isinstance(change, FieldReordered):
            yield _named(change.message, change.after, change.after, guide), _place(change.before), _place(
                change.after
            )
        elif isinstance(change, FieldChange):
            yield _field_row(change.message, change.before, change.after, guide)
        elif isinstance(change, VersionAdded):
            old, new = ({site.path: site for site in side.fields} for side in (change.old, change.new))
            for site in (*change.added, *change.removed, *change.changed):
                name, left, right = _field_row(change.message, old.get(site.path), new.get(site.path), guide)
                yield name, left, right + (_left(site, change) if left == right else "")


def _left(site: FieldSite, change: VersionAdded) -> str:
    """Return a note that lists the new versions without the field. The field's own range does not show them."""
    new, old = change.new.message.valid, change.old.message.valid
    without = [version for version in new if version > old.high and version not in site.field.versions]
    return f" (not in version{'s' if len(without) > 1 else ''} {runs_text(without)})" if without else ""


def _named(message: Message, site: FieldSite, after: FieldSite | None, guide: str) -> str:
    """Return the name of a field, linked to the guide if the new side has the field."""
    name, place = code(f"{message.name}.{site.path}"), place_of_site(after) if guide and after else ""
    return link(name, guide + place_of(message, field=place)) if place else name


def _place(site: FieldSite) -> str:
    return f"place {site.struct.fields.index(site.field) + 1} of {len(site.struct.fields)}"


def _field_row(
    message: Message, before: FieldSite | None, after: FieldSite | None, guide: str
) -> tuple[str, str, str]:
    site = after or before
    assert site is not None
    name = _named(message, site, after, guide)
    return name, _described(before, after), _described(after, before)


def _described(site: FieldSite | None, other: FieldSite | None) -> str:
    """Return the type, versions and other attributes of a field, limited to the valid versions of its side."""
    if site is None or not site.live:
        return "–"
    field, valid = site.field, site.message.valid
    parts = [code(str(field.type)), in_words(field.versions.intersect(valid))]
    if other is not None and other.field.name != field.name:
        parts.insert(0, code(field.name))
    if nullable := field.nullable.intersect(valid):
        parts.append(f"nullable {nullable}")
    if tagged := field.tagged.intersect(valid):
        parts.append(f"tag {field.tag} in {tagged}")
    if field.flexible is not None:
        parts.append(f"flexible {field.flexible.intersect(valid)}")
    if site.decl.default is not None:
        parts.append(f"default {code(default_text(field))}")
    parts += ["ignorable"] if field.ignorable else []
    parts += ["map key"] if field.map_key else []
    parts += [f"entity {field.entity_type}"] if field.entity_type else []
    parts += [f"enum {code(field.enum.name)}"] if field.enum else []
    return ", ".join(parts)
