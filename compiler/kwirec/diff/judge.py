"""Changes → findings: each rule looks at each change; instability, waivers and the level are applied here.

A finding about nothing but versions that were unstable on the old side is a warning: such versions are promised to
nobody. Warnings and notes are shown and do not count as breaking.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kwirec.diagnostics.diagnostic import Diagnostic, Severity
from kwirec.diff.changes import Change, FieldChange
from kwirec.diff.pairing import unstable
from kwirec.diff.rule import Level, Rule, Said
from kwirec.diff.rules import RULES
from kwirec.diff.waivers import Waiver
from kwirec.ir.schema import Schema
from kwirec.validation.sites import spoken


@dataclass(frozen=True, kw_only=True, eq=False)
class Finding:
    """What a rule found in a change. ``waiver`` is the one that accepts it, if any."""

    rule: Rule
    change: Change
    diagnostic: Diagnostic
    waiver: Waiver | None = None

    @property
    def severity(self) -> Severity:
        return self.diagnostic.severity


@dataclass(frozen=True)
class Judgement:
    """All findings up to a level, those that are waived apart, and the waivers that covered nothing."""

    findings: tuple[Finding, ...]
    waived: tuple[Finding, ...]
    unused: tuple[Waiver, ...]

    @property
    def breaking(self) -> bool:
        return any(one.severity is Severity.ERROR for one in self.findings)


def judge(
    changes: Iterable[Change],
    level: Level = Level.WIRE,
    *,
    old: Schema | None = None,
    waivers: Iterable[Waiver] = (),
    today: datetime.date | None = None,
) -> Judgement:
    """Weigh changes by all rules up to ``level``. ``old`` is the schema that says which versions were unstable."""
    known = tuple(waivers)
    at = today or datetime.date.today()
    findings: list[Finding] = []
    waived: list[Finding] = []
    used: set[Waiver] = set()
    shaky = _unstable_versions(old) if old is not None else {}
    for change in changes:
        for rule in RULES:
            if rule.level > level or (said := rule.look_at(change)) is None:
                continue
            finding = Finding(rule=rule, change=change, diagnostic=_diagnostic(rule, change, said, shaky))
            covering = [one for one in known if one.covers(rule.name, change)]
            used.update(covering)
            valid = next((one for one in covering if not one.has_expired(at)), None)
            if valid is not None and finding.severity is not Severity.NOTE:
                waived.append(replace(finding, waiver=valid))
            else:
                findings.append(_expired(finding, covering))
    names = {rule.name for rule in RULES if rule.level <= level}
    unused = tuple(one for one in known if one not in used and one.rule in names)
    return Judgement(tuple(findings), tuple(waived), unused)


def _diagnostic(rule: Rule, change: Change, said: Said, shaky: Mapping[str, frozenset[int]]) -> Diagnostic:
    severity = rule.code.severity
    notes = said.notes
    if change.old is not None and severity is Severity.ERROR and change.versions:
        if change.versions <= shaky.get(change.old.message.name, frozenset()):
            severity = Severity.WARNING
            notes += (f"{spoken(change.versions)} was unstable",)
    return Diagnostic(
        code=rule.code,
        severity=severity,
        message=said.text,
        primary=said.primary,
        others=said.others,
        notes=notes,
        helps=said.helps,
        message_name=change.message.name,
        field_path=change.path if isinstance(change, FieldChange) else None,
    )


def _expired(finding: Finding, waivers: Iterable[Waiver]) -> Finding:
    """The finding with a note for every waiver that would cover it, had it not expired."""
    if finding.severity is Severity.NOTE:
        return finding
    notes = tuple(f"its waiver expired on {one.expires}: {one.reason}" for one in waivers)
    diagnostic = replace(finding.diagnostic, notes=finding.diagnostic.notes + notes)
    return replace(finding, diagnostic=diagnostic)


def _unstable_versions(schema: Schema) -> dict[str, frozenset[int]]:
    return {message.name: unstable(message, schema) for message in schema.messages}
