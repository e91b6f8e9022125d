"""Renders findings as text for people, with carets under the source lines, in the style of rustc.

::

    error[K602]: tag 0 is used by two fields
      --> FetchRequest.json:41:62
       |
    38 |     { "name": "ClusterId", "type": "string", "tag": 0 },
       |                                                     - first used here
    ...
    41 |     { "name": "ReplicaState", "type": "ReplicaState", "tag": 0 },
       |                                                              ^ already used in versions 12+
       |
       = help: the next free tag is 2
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kwirec.diagnostics.columns import ShownLine, printable, show
from kwirec.diagnostics.diagnostic import Diagnostic, Label, Severity
from kwirec.diagnostics.source import Source

Paint = Callable[[str, str], str]
"""A function ``paint(text, style)`` that returns the text, styled if colours are enabled."""

MAX_LINES = 10
"""The maximum number of lines listed for a finding that occurs several times in a file."""

_ANSI = {"error": "1;31", "warning": "1;33", "note": "1;32", "other": "1;34", "gutter": "1;34", "bold": "1"}


def render_text(diagnostics: Iterable[Diagnostic], *, color: bool = False) -> str:
    """Return all findings with their source lines, separated by blank lines."""
    paint = _paint if color else _plain
    return "\n".join("\n".join(_finding(diagnostic, paint)) + "\n" for diagnostic in diagnostics)


def _plain(text: str, style: str) -> str:
    return text


def _paint(text: str, style: str) -> str:
    return f"\x1b[{_ANSI[style]}m{text}\x1b[0m" if style and text.strip() else text


def _finding(diagnostic: Diagnostic, paint: Paint) -> Iterator[str]:
    style = diagnostic.severity.value
    yield paint(f"{style}[{diagnostic.code}]", style) + paint(f": {printable(diagnostic.message)}", "bold")
    blocks = _blocks(diagnostic)
    numbers = [mark.last for block in blocks for mark in block if mark.label.span.source.text]
    gutter = len(str(max(numbers, default=1)))
    bar = paint(" " * (gutter + 1) + "|", "gutter")
    notes = list(diagnostic.notes)
    for block in blocks:
        source = block[0].label.span.source
        arrow = "-->" if block is blocks[0] else ":::"
        if block is not blocks[0]:
            yield bar
        place = str(block[0].label.span) if source.text else source.name
        yield f"{paint(' ' * gutter + arrow, 'gutter')} {printable(place)}"
        if source.text:
            yield bar
            yield from _Snippet(source, block, gutter, style, paint).lines()
        else:
            notes[:0] = [mark.label.text for mark in block if mark.label.text]
    closing = [("note", text) for text in notes] + [("help", text) for text in diagnostic.helps]
    closing += [("guide", diagnostic.guide)] if diagnostic.guide else []
    if closing and blocks[-1][0].label.span.source.text:
        yield bar
    for word, text in closing:
        yield from _closing(word, text, gutter, paint)


def _closing(word: str, text: str, gutter: int, paint: Paint) -> Iterator[str]:
    first, *more = text.split("\n")
    sign = paint(" " * (gutter + 1) + "=", "gutter")
    yield f"{sign} {paint(f'{word}:', 'bold')} {printable(first)}"
    for line in more:
        yield (" " * (gutter + len(word) + 5) + printable(line)).rstrip()


@dataclass(frozen=True)
class _Mark:
    """A label and its position. Lines count from 1. Columns count characters from 0, and ``end`` is exclusive."""

    label: Label
    primary: bool
    first: int
    start: int
    last: int
    end: int

    @staticmethod
    def of(label: Label, primary: bool) -> _Mark:
        span = label.span
        first, start = span.source.line_and_column(span.start)
        last, end = span.source.line_and_column(max(span.start, span.end - 1))
        length = len(span.source.line_text(last))
        end = min(end, length) if last > first or start <= length else end
        return _Mark(label, primary, first, start - 1, last, max(end, 1 if last > first else start))

    @property
    def sign(self) -> str:
        return "^" if self.primary else "-"


def _blocks(diagnostic: Diagnostic) -> list[list[_Mark]]:
    """Return the labels grouped by source. The primary label comes first."""
    blocks: dict[int, list[_Mark]] = {}
    for label in (diagnostic.primary, *diagnostic.others):
        mark = _Mark.of(label, label is diagnostic.primary)
        blocks.setdefault(id(label.span.source), []).append(mark)
    return list(blocks.values())


class _Row:
    """A printed line below a source line. ``put`` writes text at a column."""

    def __init__(self, paint: Paint) -> None:
        self._paint = paint
        self._cells: dict[int, tuple[str, str]] = {}

    def put(self, column: int, text: str, style: str) -> None:
        for offset, character in enumerate(text):
            self._cells[column + offset] = (character, style)

    @property
    def width(self) -> int:
        return max(self._cells, default=-1) + 1

    def __str__(self) -> str:
        runs: list[tuple[str, str]] = []
        for column in range(self.width):
            character, style = self._cells.get(column, (" ", ""))
            if runs and runs[-1][1] == style:
                runs[-1] = (runs[-1][0] + character, style)
            else:
                runs.append((character, style))
        return "".join(self._paint(text, style) for text, style in runs).rstrip()


class _Snippet:
    """The labelled lines of one source. Labels that span several lines are drawn as rails to the left of the text."""

    def __init__(self, source: Source, marks: Sequence[_Mark], gutter: int, style: str, paint: Paint) -> None:
        self._source = source
        self._marks = marks
        self._rails = sorted((m for m in marks if m.last > m.first), key=lambda m: (m.first, -m.last))
        self._open: set[int] = set()
        self._gutter = gutter
        self._style = style
        self._paint = paint

    def lines(self) -> Iterator[str]:
        previous = 0
        for number in sorted({line for mark in self._marks for line in (mark.first, mark.last)}):
            if previous and number - previous == 2:
                yield self._source_line(number - 1, show(self._source.line_text(number - 1), ()))
            elif previous and number - previous > 2:
                yield self._elided()
            yield from self._labelled(number)
            previous = number

    def _labelled(self, number: int) -> Iterator[str]:
        marks = [mark for mark in self._marks if mark.first == mark.last == number]
        opening = [m for m in self._rails if m.first == number]
        closing = [m for m in self._rails if m.last == number]
        text = self._source.line_text(number)
        edges = [(m.start, m.start + 1) for m in opening] + [(m.end - 1, m.end) for m in closing]
        line = show(text, [(m.start, m.end) for m in marks] + edges)
        at_margin = [m for m in opening if not text[: m.start].strip()]
        yield self._source_line(number, line, at_margin)
        self._open.update(map(self._rails.index, at_margin))
        for row in self._underlines(marks, line):
            yield self._below(row)
        for mark in opening:
            if mark not in at_margin:
                yield self._below(self._rail_end(mark, line.column(mark.start), " "))
                self._open.add(self._rails.index(mark))
        for mark in reversed(closing):
            row = self._rail_end(mark, line.column(mark.end - 1), "|")
            self._text(row, row.width + 1, mark)
            yield self._below(row)
            self._open.discard(self._rails.index(mark))

    def _underlines(self, marks: Sequence[_Mark], line: ShownLine) -> Iterator[_Row]:
        """Yield a row with the carets and the rightmost label, and a row for each other label, from right to left."""
        if not marks:
            return
        carets = self._row()
        for mark in sorted(marks, key=lambda m: m.primary):
            start, end = self._columns(mark, line)
            carets.put(start, mark.sign * (end - start), self._style_of(mark))
        with_text = sorted((m for m in marks if m.label.text), key=lambda m: (m.start, -m.end))
        if with_text:
            last = with_text[-1]
            if all(m is last or m.end <= last.start for m in marks):
                self._text(carets, carets.width + 1, with_text.pop())
        yield carets
        if with_text:
            yield self._stems(with_text, line)
        while with_text:
            mark = with_text.pop()
            row = self._stems([m for m in with_text if m.start < mark.start], line)
            self._text(row, self._columns(mark, line)[0], mark)
            yield row

    def _stems(self, marks: Iterable[_Mark], line: ShownLine) -> _Row:
        row = self._row()
        for mark in marks:
            row.put(self._columns(mark, line)[0], "|", self._style_of(mark))
        return row

    def _columns(self, mark: _Mark, line: ShownLine) -> tuple[int, int]:
        """Return the start and end columns of a label's carets, which are at least one column wide."""
        start = self._margin + line.column(mark.start)
        return start, max(start + 1, self._margin + line.column(mark.end))

    def _rail_end(self, mark: _Mark, column: int, rail: str) -> _Row:
        """Return a row such as ``|_____^``, which connects a rail to the start or end of its label."""
        row = self._row()
        at = 2 * self._rails.index(mark)
        row.put(at, rail + "_" * (self._margin + column - at - 1) + mark.sign, self._style_of(mark))
        return row

    def _row(self) -> _Row:
        row = _Row(self._paint)
        for index in self._open:
            row.put(2 * index, "|", self._style_of(self._rails[index]))
        return row

    def _text(self, row: _Row, column: int, mark: _Mark) -> None:
        row.put(column, printable(mark.label.text), self._style_of(mark))

    def _source_line(self, number: int, line: ShownLine, at_margin: Sequence[_Mark] = ()) -> str:
        rails = self._row()
        for mark in at_margin:
            rails.put(2 * self._rails.index(mark), "/", self._style_of(mark))
        before = str(rails) + " " * (self._margin - rails.width)
        return f"{self._paint(f'{number:>{self._gutter}} |', 'gutter')} {before}{line.text}".rstrip()

    def _below(self, row: _Row) -> str:
        return f"{self._paint(' ' * (self._gutter + 1) + '|', 'gutter')} {row}".rstrip()

    def _elided(self) -> str:
        return f"{self._paint('...', 'gutter')}{' ' * self._gutter}{self._row()}".rstrip()

    @property
    def _margin(self) -> int:
        return 2 * len(self._rails)

    def _style_of(self, mark: _Mark) -> str:
        return self._style if mark.primary else "other"


def folded(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the diagnostics in the order for terminals, where errors come last. Merge repeated warnings and notes
    about the same file.
    """
    alike: dict[object, list[Diagnostic]] = {}
    for one in diagnostics:
        key = (one.code, one.primary.span.source, one.primary.text, one.notes, one.helps)
        alike.setdefault(one.sort_key if one.severity is Severity.ERROR else key, []).append(one)
    order = list(Severity)
    found = sorted(alike.values(), key=lambda group: order.index(group[0].severity), reverse=True)
    return [replace(first, notes=(*first.notes, *_also(more))) for first, *more in found]


def _also(more: Sequence[Diagnostic]) -> Iterator[str]:
    if more:
        spans = [one.primary.span for one in more]
        lines = sorted({span.source.line_and_column(span.start)[0] for span in spans})
        shown = ", ".join(map(str, lines[:MAX_LINES])) + (", …" if len(lines) > MAX_LINES else "")
        times = f"{len(more)} more time{'s' if len(more) > 1 else ''}"
        yield f"the same {times} in line{'s' if len(lines) > 1 else ''} {shown}; `--format short` lists each"


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """Return the number of diagnostics by severity, such as ``2 errors, 1 warning``."""
    severities = [diagnostic.severity for diagnostic in diagnostics]
    counts = [(severities.count(kind), kind.value) for kind in Severity if kind in severities]
    return ", ".join(f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts) or "no findings"
