"""Rendering traces as a self-contained HTML page that highlights corresponding bytes and fields.

Text comes from the wire and is untrusted. Invisible characters are replaced, and the text is escaped. The
Content-Security-Policy only allows the page's script and style sheet, which it identifies by their hashes.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from kwire.errors import counted
from kwire.schema import walk
from kwire.trace.spans import MAX_SPANS, Span, Trace
from kwire.trace.view import Note, columns, marked, spans_of
from kwire_rules import printable

if TYPE_CHECKING:
    from kwire.guide import Guide
    from kwire.message import Message

ROW = 16
MAX_BYTES = 16_384
"""Maximum number of bytes shown next to the fields of a trace."""


@dataclass(frozen=True)
class Part:
    """A message in a trace, with its class, its version and the index of the span that is its heading."""

    cls: type[Message]
    version: int
    start: int


class Page:
    """Builds a page. ``guide`` provides the message classes. If ``guide`` has a base address, fields link to the
    pages of the guide."""

    def __init__(self, guide: Guide, note: Note | None = None) -> None:
        self._guide, self._note = guide, note
        self._names: dict[str, None] = {}
        self._sections: list[str] = []
        self._lines = self._left_out = 0

    def add(self, title: str, found: Trace) -> None:
        """Add a trace with a title, which may be empty, unless the page is full."""
        if self._lines >= MAX_SPANS:
            self._left_out += 1
            return
        self._lines += len(found.spans) + min(len(found.data), MAX_BYTES) // ROW
        self._sections.append(_section(len(self._sections) + 1, title, found, self._guide, self._note))
        for part in _shown(messages_of(found, self._guide)):
            self._names[f"{part.cls.__name__} v{part.version}"] = None

    def text(self) -> str:
        """Return the page as HTML."""
        more = f"<p>and {counted(self._left_out, 'frame')} more</p>\n" if self._left_out else ""
        return _page(_text(", ".join(self._names) or "Bytes"), "".join([*self._sections, more]))


def trace_page(traces: Mapping[str, Trace], guide: Guide, note: Note | None = None) -> str:
    """Return an HTML page with ``traces``, a mapping from titles to traces."""
    page = Page(guide, note)
    for title, found in traces.items():
        page.add(title, found)
    return page.text()


def _page(title: str, sections: str) -> str:
    style, script = _part("page.css"), _part("page.js")
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n'
        f"<style>{style}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{sections}</main>\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def messages_of(found: Trace, guide: Guide) -> list[Part]:
    """Return the headers and messages in a trace, in order. Headers and messages are recognised by their headings."""
    parts = []
    for number, span in enumerate(found.spans):
        name, _, version = span.name.rpartition(" v")
        if not span.kind and version.isdigit() and name in guide.protocol:
            parts.append(Part(guide.protocol[name], int(version), number))
    return parts


def addresses(found: Trace, guide: Guide) -> list[str]:
    """Return links to the guide's pages for the messages in a trace, but not for their headers.

    If the trace ended with an error, the link leads to the invalid field. If only a header was read, the link leads
    to this header.
    """
    path = _plain(found.error.path) if found.error else ""
    return [
        guide.message(part.cls, part.version, path if path in _fields(part.cls) else "")
        for part in _shown(messages_of(found, guide))
    ]


def _shown(parts: list[Part]) -> list[Part]:
    """Return all messages except headers, or the header if only a header was read."""
    return [part for part in parts if not part.cls.__module__.endswith(".headers")] or parts


def _section(number: int, title: str, found: Trace, guide: Guide, note: Note | None) -> str:
    spans = spans_of(found)
    links = dict(_links(found, spans, guide)) if guide.base else {}
    wrong = marked(found, spans) if found.error else -1
    rows = "".join(
        _row(at, span, columns(span, found.data, note), links.get(at, ""), at == wrong)
        for at, span in enumerate(spans)
    )
    name = f"s{number}"
    heading = f"{title}, {counted(len(found.data), 'byte')}" if title else counted(len(found.data), "byte")
    problem = (
        f'<p class="problem">{_text(str(found.error or found.unknown))}</p>\n' if found.error or found.unknown else ""
    )
    return (
        f'<section id="{name}">\n<h2 id="{name}-title">{_text(heading)}</h2>\n{problem}<div class="bytes">\n'
        f'<div class="hex" tabindex="0" role="region" aria-label="Bytes as hexadecimal digits">{_dump(found, spans)}'
        f'</div>\n<div class="scroll" tabindex="0" role="region" aria-labelledby="{name}-title">\n<table>\n<thead>'
        '<tr><th scope="col">at</th><th scope="col">field</th><th scope="col">type</th><th scope="col">value</th>'
        f"</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n</div>\n</section>\n"
    )


def _links(found: Trace, spans: Sequence[Span], guide: Guide) -> Iterator[tuple[int, str]]:
    """Yield the index and link of each span for a message or one of its fields."""
    parts = messages_of(found, guide)
    for part, after in zip(parts, [*[one.start for one in parts[1:]], len(spans)], strict=True):
        outer, fields = spans[part.start].path, _fields(part.cls)
        for number in range(part.start, after):
            path = _plain(spans[number].path.removeprefix(outer).lstrip("."))
            if number == part.start or path in fields:
                yield number, guide.message(part.cls, part.version, path)


def _fields(cls: type[Message]) -> frozenset[str]:
    """Return the paths of all fields in a message, without array indexes."""
    return frozenset(_plain(path) for path, _, _ in walk(cls))


def _plain(path: str) -> str:
    return re.sub(r"\[\d*\]", "", path)


def _row(at: int, span: Span, cells: tuple[str, ...], link: str, wrong: bool) -> str:
    start, _, field, kind, value = cells
    name = _text(field.strip())
    name = f'<a href="{escape(link)}" rel="noreferrer">{name}</a>' if link else name
    state = ' class="wrong"' if wrong else ""
    depth = min((len(field) - len(field.lstrip())) // 2, 12)
    return (
        f'<tr data-span="{at}"{state}><td class="at">{start}</td><th scope="row" class="d{depth}">{name}</th>'
        f"<td>{_text(kind)}</td><td>{_text(value)}</td></tr>\n"
    )


def _dump(found: Trace, spans: Sequence[Span]) -> str:
    """Return lines of bytes as HTML, with an element for the bytes of each span in a line. Secret bytes are shown as
    dots."""
    size = min(len(found.data), MAX_BYTES)
    owners = [-1] * size
    for at, span in enumerate(spans):
        owners[span.start : min(span.end, size)] = [at] * max(min(span.end, size) - span.start, 0)
    lines = [_line(found.data, start, min(start + ROW, size), owners, spans) for start in range(0, size, ROW)]
    more = len(found.data) - size
    return "".join(lines) + (f"<div>and {counted(more, 'byte')} more</div>" if more else "")


def _line(data: bytes, start: int, end: int, owners: Sequence[int], spans: Sequence[Span]) -> str:
    pieces = []
    at = start
    while at < end:
        owner, first = owners[at], at
        while at < end and owners[at] == owner:
            at += 1
        hidden = owner >= 0 and spans[owner].secret
        open_until = max(first, min(at, spans[owner].content)) if hidden else at
        digits = [data[first:open_until].hex(" "), " ".join(["··"] * (at - open_until))]
        pieces.append(f'<b data-span="{owner}">{" ".join(filter(None, digits))}</b>')
    return f'<div><span class="offset">{start}</span> {" ".join(pieces)}</div>'


def _text(text: str) -> str:
    return escape(printable(text))


def _part(name: str) -> str:
    return files("kwire.trace").joinpath(name).read_text("utf-8")


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
