"""Findings, and the report that collects them.

A pass calls :meth:`Report.add` and neither raises nor prints. The driver stops after a pass that reported errors. A
renderer turns the sorted diagnostics into text, JSON, GitHub annotations or JUnit.
"""

from __future__ import annotations

import datetime
import difflib
import enum
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TypedDict, TypeVar, Unpack

from kwirec.diagnostics.edits import Fix
from kwirec.diagnostics.source import Span
from kwirec.versions import ALL, VersionRange

T = TypeVar("T")

MAX_FINDINGS = 10_000
"""The maximum number of findings in a report. A finding can take 100 times the memory of the text it describes."""


class Severity(enum.Enum):
    """The severity of a finding. Errors stop the compiler, and errors and warnings make ``check`` fail."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    OFF = "off"


@dataclass(frozen=True, kw_only=True)
class Code:
    """A numbered kind of finding and its explanation.

    Projects may change the severity of ``relaxable`` codes in ``[tool.kwirec]``. ``offending`` and ``corrected`` are
    complete definitions, which the tests compile.
    """

    number: str
    name: str
    what: str
    why: str
    offending: str
    corrected: str
    severity: Severity = Severity.ERROR
    relaxable: bool = False
    krammar: str = ""
    """The offending example in the indentation notation, if it cannot be converted from JSON."""
    fixable: bool = False
    """Whether ``kwirec check --fix`` can fix at least some of the findings."""

    def __str__(self) -> str:
        return self.number


@dataclass(frozen=True, slots=True)
class Label:
    """A span and the short text shown next to its carets."""

    span: Span
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of a check: a self-contained message, the primary label, and further labels, notes and help texts.

    ``message_name`` and ``field_path`` identify the affected part of the protocol, which waivers can match. ``guide``
    is the address of the guide page about this part, or empty. ``fix`` is empty unless the correction is certain.
    """

    message: str
    primary: Label
    others: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()
    message_name: str | None = None
    field_path: str | None = None
    guide: str = ""
    fix: Fix = ()


class Details(TypedDict, total=False):
    """Optional parts of a finding."""

    others: Iterable[tuple[Span, str]]
    notes: Iterable[str]
    helps: Iterable[str]
    message_name: str | None
    field_path: str | None
    fix: Fix


def finding(message: str, span: Span, label: str = "", **details: Unpack[Details]) -> Finding:
    """Return a finding with these values. Drop empty help texts."""
    return Finding(
        message=message,
        primary=Label(span, label),
        others=tuple(Label(*other) for other in details.get("others", ())),
        notes=tuple(details.get("notes", ())),
        helps=tuple(filter(None, details.get("helps", ()))),
        message_name=details.get("message_name"),
        field_path=details.get("field_path"),
        fix=details.get("fix", ()),
    )


@dataclass(frozen=True, kw_only=True)
class Diagnostic(Finding):
    """A finding with its code and severity."""

    code: Code
    severity: Severity

    @classmethod
    def of(cls, finding: Finding, code: Code, severity: Severity) -> Diagnostic:
        """Return the finding as a diagnostic."""
        return cls(code=code, severity=severity, **vars(finding))

    @property
    def sort_key(self) -> tuple[tuple[str, int, int], str, str]:
        """The sort key, which orders diagnostics by file, position and code."""
        return self.primary.span.sort_key, self.code.number, self.message


@dataclass(frozen=True, kw_only=True)
class Waiver:
    """A finding that a project accepts, with a reason. ``*`` matches any message or field."""

    code: str
    """A code number, or the name of a ``kwirec diff`` rule."""
    message: str
    field: str = "*"
    versions: VersionRange = ALL
    """The versions to which the waiver applies. Only ``kwirec diff`` uses them."""
    reason: str
    expires: datetime.date | None = None
    """The last day on which the waiver applies. Only ``kwirec diff`` uses it."""

    def covers(
        self, code: str, messages: Iterable[str | None], fields: Iterable[str | None], versions: Iterable[int] = ()
    ) -> bool:
        """Return whether the waiver accepts a finding of ``code`` about any of these messages, any of these fields
        and all of these versions.
        """
        return (
            self.code == code
            and (self.message == "*" or self.message in messages)
            and (self.field == "*" or self.field in fields)
            and all(version in self.versions for version in versions)
        )

    def has_expired(self, today: datetime.date) -> bool:
        return self.expires is not None and self.expires < today


@dataclass
class Report:
    """Collects findings and applies the project's severities and waivers to them."""

    severities: Mapping[str, Severity] = field(default_factory=dict)
    waivers: tuple[Waiver, ...] = ()
    used_waivers: set[Waiver] = field(default_factory=set)
    _diagnostics: dict[tuple[object, ...], Diagnostic] = field(default_factory=dict)
    _counts: Counter[Severity] = field(default_factory=Counter)

    def add(self, code: Code, message: str, span: Span, label: str = "", **details: Unpack[Details]) -> None:
        """Record a finding. The arguments are the same as for :func:`finding`."""
        if not self.is_full:
            self.record(code, finding(message, span, label, **details))

    @property
    def is_full(self) -> bool:
        """Whether the report accepts no more findings. In a full report, the last finding is an error about the
        limit.
        """
        return len(self._diagnostics) > MAX_FINDINGS

    def until_full(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items until the report is full, so that passes stop early."""
        return takewhile(lambda _: not self.is_full, items)

    def record(self, code: Code, found: Finding) -> None:
        """Record a finding, unless the project turned it off or waived it. Duplicates are recorded once."""
        severity = self.severities.get(code.number, code.severity) if code.relaxable else code.severity
        if severity is not Severity.OFF:
            self.merge(Diagnostic.of(found, code, severity))

    def merge(self, diagnostic: Diagnostic) -> None:
        """Record a diagnostic, for example from another report, unless a waiver covers it."""
        if diagnostic.code.relaxable:
            for waiver in self.waivers:
                if waiver.covers(diagnostic.code.number, [diagnostic.message_name], [diagnostic.field_path]):
                    self.used_waivers.add(waiver)
                    return
        if self.is_full or diagnostic.sort_key in self._diagnostics:
            return
        if len(self._diagnostics) == MAX_FINDINGS:
            diagnostic = _end(diagnostic.primary.span)
        self._diagnostics[diagnostic.sort_key] = diagnostic
        self._counts[diagnostic.severity] += 1

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """All diagnostics, ordered by file, position and code."""
        return sorted(self._diagnostics.values(), key=lambda diagnostic: diagnostic.sort_key)

    def has_errors(self) -> bool:
        """Return whether any diagnostic is an error."""
        return self._counts[Severity.ERROR] > 0

    def count(self, severity: Severity) -> int:
        """Return the number of diagnostics of this severity."""
        return self._counts[severity]


def _end(span: Span) -> Diagnostic:
    """Return the last diagnostic of a full report."""
    from kwirec.diagnostics.codes import TOO_MANY_FINDINGS as code

    found = finding(f"there are more than {MAX_FINDINGS:,} findings", span, "this and later findings are omitted")
    return Diagnostic.of(found, code, code.severity)


def explanation(docstring: str | None) -> tuple[str, str]:
    """Return the first two paragraphs of a rule's docstring: what the problem is and why it matters."""
    what, why = ((docstring or "") + "\n\n").split("\n\n")[:2]
    return " ".join(what.split()), " ".join(why.split())


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate most similar to ``word``, or ``None`` if no candidate is similar."""
    by_folded = {candidate.casefold(): candidate for candidate in candidates}
    close = difflib.get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[close[0]] if close else None


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """Return ``did you mean `x`?`` for the most similar candidate, or an empty string."""
    found = closest(word, candidates)
    return f"did you mean `{found}`?" if found else ""


def meant(word: str, candidates: Iterable[str]) -> str | None:
    """Return the only candidate that ``word`` can be a misspelling of, or ``None`` if there are none or several.

    A misspelling differs in case, or has one letter that is wrong, missing, added or swapped with its neighbour.
    """
    found = {candidate for candidate in candidates if _is_slip(word, candidate)}
    same = {candidate for candidate in found if candidate.casefold() == word.casefold()}
    return next(iter(same or found)) if len(same or found) == 1 else None


def _is_slip(word: str, other: str) -> bool:
    if word.casefold() == other.casefold():
        return word != other
    if min(len(word), len(other)) < 3 or [*filter(str.isdigit, word)] != [*filter(str.isdigit, other)]:
        return False
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))
    mine, theirs = word[same:], other[same:]
    swapped = mine[:2] == theirs[:2][::-1] and mine[2:] == theirs[2:]
    return swapped or mine[1:] == theirs[1:] or mine[1:] == theirs or mine == theirs[1:]
