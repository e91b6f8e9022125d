"""Judges changes against the rules of a compatibility level, and considers unstable versions and waivers.

A finding that concerns only versions that were unstable on the old side is a warning, because such versions may
change. Warnings and notes are reported but are not breaking.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kwirec.diagnostics.diagnostic import Diagnostic, Severity, Waiver
from kwirec.diff.changes import AnyMessageChange, Change
from kwirec.diff.pairing import unstable_versions
from kwirec.diff.rule import Level, Rule
from kwirec.diff.rules import RULES
from kwirec.ir.schema import Schema
from kwirec.versions import in_words


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedChange:
    """A change, the finding about the change, and the waiver that accepts the finding, if any."""

    rule: Rule
    change: Change
    diagnostic: Diagnostic
    waiver: Waiver | None = None

    @property
    def severity(self) -> Severity:
        return self.diagnostic.severity


@dataclass(frozen=True)
class Judgement:
    """Findings of the rules up to a level, waived findings, and waivers that match no finding."""

    findings: tuple[JudgedChange, ...]
    waived: tuple[JudgedChange, ...]
    unused: tuple[Waiver, ...]

    @property
    def breaking(self) -> bool:
        return any(judged.severity is Severity.ERROR for judged in self.findings)


def judge(
    changes: Iterable[Change],
    level: Level = Level.WIRE,
    *,
    old: Schema | None = None,
    waivers: Iterable[Waiver] = (),
    today: datetime.date | None = None,
) -> Judgement:
    """Judge changes against the rules up to ``level``. Findings about unstable versions of ``old`` are warnings."""
    known = tuple(waivers)
    day = today or datetime.date.today()
    findings: list[JudgedChange] = []
    waived: list[JudgedChange] = []
    used: set[Waiver] = set()
    unstable = {message.name: unstable_versions(message, old) for message in old.messages} if old else {}
    for change in changes:
        rule = change.rule
        if rule is None or rule.level > level:
            continue
        judged = JudgedChange(rule=rule, change=change, diagnostic=_diagnostic(rule, change, unstable))
        covering = [waiver for waiver in known if covers(waiver, rule, change)]
        used.update(covering)
        valid = next((waiver for waiver in covering if not waiver.has_expired(day)), None)
        if valid is not None and judged.severity is not Severity.NOTE:
            waived.append(replace(judged, waiver=valid))
        else:
            findings.append(_with_expired(judged, covering))
    names = {rule.name for rule in RULES if rule.level <= level}
    unused = tuple(waiver for waiver in known if waiver not in used and waiver.code in names)
    return Judgement(tuple(findings), tuple(waived), unused)


def covers(waiver: Waiver, rule: Rule, change: Change) -> bool:
    """Return whether a waiver accepts the finding of ``rule`` about ``change``. Waivers can use old or new names."""
    return waiver.covers(rule.name, change.names, change.paths, change.versions)


def _diagnostic(rule: Rule, change: Change, unstable: Mapping[str, frozenset[int]]) -> Diagnostic:
    finding, severity = change.describe(), rule.code.severity
    notes = finding.notes
    of_message = isinstance(change, AnyMessageChange) and change.old is not None
    if of_message and severity is Severity.ERROR and change.versions:
        if change.versions <= unstable.get(change.names[-1], frozenset()):
            severity = Severity.WARNING
            notes += (f"{in_words(change.versions)} was unstable",)
    path = next(iter(change.paths), None)
    finding = replace(finding, notes=notes, message_name=change.names[0], field_path=path)
    return Diagnostic.of(finding, rule.code, severity)


def _with_expired(judged: JudgedChange, waivers: Iterable[Waiver]) -> JudgedChange:
    """Return ``judged`` with a note for each expired waiver."""
    if judged.severity is Severity.NOTE:
        return judged
    notes = tuple(f"the waiver for this finding expired on {waiver.expires}: {waiver.reason}" for waiver in waivers)
    return replace(judged, diagnostic=replace(judged.diagnostic, notes=judged.diagnostic.notes + notes))
