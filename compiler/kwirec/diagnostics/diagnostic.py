"""Findings and the collector that passes hand them to.

A pass calls :meth:`Report.add`; nothing is raised and nothing is printed. The driver stops after a pass that
left errors, and a renderer turns the sorted findings into text, JSON, GitHub annotations or JUnit.
"""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kwirec.diagnostics.source import Span


class Severity(enum.Enum):
    """How much a finding weighs. Errors stop the compiler; warnings and errors make ``check`` fail."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    OFF = "off"


@dataclass(frozen=True, kw_only=True)
class Code:
    """One numbered kind of finding with everything that is said about it anywhere.

    ``relaxable`` codes may be given another severity in ``[tool.kwirec]``. ``offending`` and ``corrected`` are
    whole definitions: the tests compile them.
    """

    number: str
    name: str
    what: str
    why: str
    offending: str
    corrected: str
    severity: Severity = Severity.ERROR
    relaxable: bool = False

    def __str__(self) -> str:
        return self.number


@dataclass(frozen=True)
class Label:
    """A place and the few words that the carets under it carry."""

    span: Span
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """One finding: a code, a message that stands alone, the primary place and whatever else helps."""

    code: Code
    severity: Severity
    message: str
    primary: Label
    others: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()
    message_name: str | None = None
    field_path: str | None = None

    @property
    def sort_key(self) -> tuple[tuple[str, int, int], str, str]:
        return self.primary.span.sort_key, self.code.number, self.message


@dataclass(frozen=True, kw_only=True)
class Waiver:
    """One finding that a project accepts, and why.

    ``message`` and ``field`` are the names a diagnostic carries; ``*`` stands for any.
    """

    code: str
    message: str
    field: str
    reason: str

    def covers(self, diagnostic: Diagnostic) -> bool:
        return (
            self.code in (diagnostic.code.number, diagnostic.code.name)
            and self.message in ("*", diagnostic.message_name)
            and self.field in ("*", diagnostic.field_path)
        )


@dataclass
class Report:
    """Collects findings, applying the project's severities and waivers as they come in."""

    severities: Mapping[str, Severity] = field(default_factory=dict)
    waivers: tuple[Waiver, ...] = ()
    used_waivers: set[Waiver] = field(default_factory=set)
    _found: dict[tuple[object, ...], Diagnostic] = field(default_factory=dict)

    def add(
        self,
        code: Code,
        message: str,
        span: Span,
        *,
        label: str = "",
        others: Iterable[tuple[Span, str]] = (),
        notes: Iterable[str] = (),
        helps: Iterable[str] = (),
        message_name: str | None = None,
        field_path: str | None = None,
    ) -> None:
        """Record one finding. The same code, place and message is recorded once."""
        severity = self.severities.get(code.number, code.severity) if code.relaxable else code.severity
        if severity is Severity.OFF:
            return
        self.merge(
            Diagnostic(
                code=code,
                severity=severity,
                message=message,
                primary=Label(span, label),
                others=tuple(Label(s, text) for s, text in others),
                notes=tuple(notes),
                helps=tuple(h for h in helps if h),
                message_name=message_name,
                field_path=field_path,
            )
        )

    def merge(self, diagnostic: Diagnostic) -> None:
        """Record a finding that was made elsewhere, unless a waiver covers it."""
        if diagnostic.code.relaxable:
            for waiver in self.waivers:
                if waiver.covers(diagnostic):
                    self.used_waivers.add(waiver)
                    return
        self._found.setdefault((diagnostic.code.number, diagnostic.sort_key), diagnostic)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """All findings, ordered by file, place and code."""
        return sorted(self._found.values(), key=lambda d: d.sort_key)

    def has_errors(self) -> bool:
        return any(d.severity is Severity.ERROR for d in self._found.values())

    def count(self, severity: Severity) -> int:
        return sum(d.severity is severity for d in self._found.values())


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that ``word`` most likely stands for, ``None`` when none is close."""
    by_folded = {candidate.casefold(): candidate for candidate in candidates}
    close = difflib.get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[close[0]] if close else None


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """``did you mean `x`?`` for the closest candidate, or an empty string when none is close."""
    found = closest(word, candidates)
    return f"did you mean `{found}`?" if found else ""
