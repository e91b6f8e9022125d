"""Drawings in prose, made from code blocks in the languages ``sequence`` and ``bytes``.

A sequence of messages between peers, as an SVG picture::

    client, broker
    client > broker: SaslHandshake
    broker > client: mechanisms
    broker: closes the connection after an error

A layout of bytes, as a table with an example. ``{`` and ``}`` enclose fields with a common property::

    base_offset | INT64 | 0000000000000000 | offset of the first record
    crc | INT32 | 8f1f3a2e | checksum of the bytes that follow
    { covered by the CRC
    attributes | INT16 | 0000 | codec and flags
    }
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from markupsafe import Markup

from kwire_guide.rendering import render

WIDTH, SIDE, TOP, STEP, FONT = 720, 90, 34, 40, 13
"""Dimensions of a sequence: width, side margin, height of the names, height of a message, and font size."""

MAX_LINES = 200
"""Maximum number of lines in a drawing."""


def sequence(text: str) -> Markup:
    """Return the picture of a sequence. Raise ``ValueError`` with the text of an invalid line."""
    first, *lines = _lines(text)
    peers = [peer.strip() for peer in first.split(",")]
    places = {peer: SIDE + (WIDTH - 2 * SIDE) * at / max(len(peers) - 1, 1) for at, peer in enumerate(peers)}
    if len(places) < 2 or "" in places:
        raise ValueError(f"name at least two peers, such as `client, broker`, not `{first}`")
    bottom = TOP + STEP * len(lines) + 16
    shapes = [*_peers(places, bottom)]
    for at, line in enumerate(lines):
        shapes += _message(line, places, TOP + STEP * (at + 1))
    said = "; ".join(lines)
    return Markup(
        '<svg class="sequence" viewBox="0 0 {} {}" role="img" aria-label="{}" font-size="{}">{}</svg>\n'
    ).format(WIDTH, bottom, said, FONT, Markup("").join(shapes))


def _peers(places: Mapping[str, float], bottom: int) -> Iterator[Markup]:
    for peer, x in places.items():
        yield Markup('<line class="life" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>').format(_number(x), TOP - 8, bottom)
        yield Markup('<text class="peer" x="{}" y="{}">{}</text>').format(_number(x), TOP - 16, peer)


def _message(line: str, places: Mapping[str, float], y: int) -> Iterator[Markup]:
    """Draw ``a > b: text`` as an arrow, and ``a: text`` as a note."""
    match = re.fullmatch(r"(?P<source>[^:>]+?)(?:\s*>\s*(?P<target>[^:>]+?))?\s*:\s*(?P<text>.+)", line)
    if not match or {match["source"], match["target"] or match["source"]} - places.keys():
        raise ValueError(f"`{line}` is not a message between the peers {', '.join(places)}")
    start, end = places[match["source"]], places[match["target"] or match["source"]]
    middle = (start + end) / 2
    text = Markup('<text x="{}" y="{}"{}>{}</text>')
    if match["target"] is None:
        yield text.format(_number(start), y - 2, Markup(' class="note"'), match["text"])
        return
    tip = end - 7 if end > start else end + 7
    yield Markup('<line x1="{0}" x2="{1}" y1="{2}" y2="{2}"/>').format(_number(start), _number(tip), y)
    corners = f"{_number(end)},{y} {_number(tip)},{y - 4} {_number(tip)},{y + 4}"
    yield Markup('<polygon points="{}"/>').format(corners)
    yield text.format(_number(middle), y - 6, "", match["text"])


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


@dataclass(frozen=True)
class DrawnField:
    """A field in a drawing of bytes. ``around`` is the text after the opening brace, or empty outside braces."""

    name: str
    type: str
    data: bytes
    meaning: str
    around: str


def bytes_of(text: str) -> list[DrawnField]:
    """Return the fields in a drawing of bytes. Raise ``ValueError`` with the text of an invalid line."""
    found, around = [], ""
    for line in _lines(text):
        if line.startswith("{"):
            around = line[1:].strip()
        elif line == "}":
            around = ""
        else:
            try:
                name, type_, data, meaning = (part.strip() for part in line.split("|", 3))
                found.append(DrawnField(name, type_, bytes.fromhex(data), meaning, around))
            except ValueError as problem:
                raise ValueError(
                    f"`{line}` is not a field of the form `name | type | hex | meaning`: {problem}"
                ) from problem
    return found


def bytes_table(text: str) -> Markup:
    """Return all bytes of a drawing, followed by a table of its fields. Raise ``ValueError`` for an invalid line."""
    fields = bytes_of(text)
    offsets = accumulate((len(field.data) for field in fields), initial=0)
    notes = dict.fromkeys(field.around for field in fields if field.around)
    return Markup(render("bytes.html.jinja", rows=list(zip(offsets, fields, strict=False)), notes=notes))


def words(text: str) -> str:
    """Return the names and meanings of a drawing of bytes as text."""
    return "; ".join(f"{field.name} {field.meaning}" for field in bytes_of(text))


def _lines(text: str) -> Sequence[str]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not 0 < len(lines) <= MAX_LINES:
        raise ValueError(f"a drawing must have 1 to {MAX_LINES} lines, not {len(lines)}")
    return lines


DRAWINGS: Mapping[str, Callable[[str], Markup]] = {"sequence": sequence, "bytes": bytes_table}
"""The functions that draw code blocks, by language."""
