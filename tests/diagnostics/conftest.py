"""What the tests of this folder share: a collector that is told places by the text that stands there."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kwirec.diagnostics.diagnostic import Code, Diagnostic, Report, Severity
from kwirec.diagnostics.source import Source, Span

Place = tuple[str, str]


def code(severity: Severity) -> Code:
    return Code(
        number="K999",
        name="for-tests",
        what="",
        why="",
        offending="",
        corrected="",
        severity=severity,
        relaxable=True,
    )


class Finder:
    """Makes findings in one source. ``⟨…⟩`` in a needle narrows the place to what it encloses."""

    def __init__(self, text: str, name: str = "defs/Clock.json") -> None:
        self.source = Source(name, text)

    def span(self, needle: str) -> Span:
        before, mark, rest = needle.partition("⟨")
        inside, _, after = rest.partition("⟩") if mark else (before, "", "")
        whole = before + inside + after if mark else needle
        assert self.source.text.count(whole) == 1, f"{whole!r} must occur once"
        start = self.source.text.index(whole) + (len(before) if mark else 0)
        return Span(self.source, start, start + len(inside))

    def finding(
        self,
        needle: str,
        label: str = "",
        *others: Place,
        message: str = "something is wrong",
        elsewhere: Iterable[tuple[Span, str]] = (),
        notes: Iterable[str] = (),
        helps: Iterable[str] = (),
        severity: Severity = Severity.ERROR,
    ) -> Diagnostic:
        report = Report()
        report.add(
            code(severity),
            message,
            self.span(needle),
            label=label,
            others=[*((self.span(place), text) for place, text in others), *elsewhere],
            notes=notes,
            helps=helps,
            message_name="Clock",
            field_path="Clock.Millis",
        )
        [found] = report.diagnostics
        return found


@pytest.fixture
def finder() -> type[Finder]:
    return Finder
