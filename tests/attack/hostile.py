"""Hostile text, and how it gets into definitions and log lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

from tests.fuzz.mutation import mutate

TEXTS = (
    'x" + open("OWNED", "w").name + "',
    "x': 1}\nopen('OWNED', 'w')\n{'",
    '"""\nopen("OWNED", "w")\n"""',
    "'''",
    "\\",
    "\\'",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "{#",
    "`code`\n\n# heading @everyone <b>",
    "</script><script>alert(1)</script>",
    "../../../OWNED",
    "/OWNED",
    "C:\\OWNED",
    "nul\0byte",
    "\u202egnol\u2066",
    "\x9b31m\x1b]0;title\x07",
    "\r\n=cmd|' /C calc'!A0",
    "\ud800",
    "\u2028\u2029\u0085\x0b\x0c",
    "\N{FULLWIDTH LATIN SMALL LETTER A}\u00b2\u0660",
    "class",
    "__init__",
    "self",
    "",
    " ",
    "9" * 400,
    "-1",
    "1e400",
    "0-2147483647",
    "2147483648+",
    "0+",
    "[]" * 40 + "int8",
    "ClockRequest",
)
"""Each means something else to Python, Jinja, Markdown, HTML, JSON, CSV, a terminal or a file system."""

VALUES: tuple[Any, ...] = (None, True, -1, 2**31, 2**70, 0.5, 1e308, [], {}, [[]], [None] * 30, *TEXTS)


def mutate_json(data: bytes, other: bytes, random: Random) -> bytes:
    """A bundle of definitions with hostile values, lost and doubled parts; now and then with broken bytes instead."""
    documents = [without_comments(line) for line in data.decode().splitlines()]
    if random.random() < 0.25 or not all(isinstance(document, dict) for document in documents):
        return mutate(data, other, random)
    document = random.choice(documents)
    for _ in range(random.choice((1, 1, 2, 4))):
        places = list(_places(document))
        if not places:
            break
        holder, key = random.choice(places)
        match random.randrange(7):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.insert(key, deepcopy(holder[key]))
            case 2:
                holder[key] = deepcopy(random.choice(places)[0])  # a part of the document inside another
            case 3 if isinstance(holder, dict):
                holder[random.choice(TEXTS)] = holder.pop(key)
            case _:
                holder[key] = deepcopy(random.choice(VALUES))
    ascii_only = random.random() < 0.5
    lines = [json.dumps(document, ensure_ascii=ascii_only) for document in documents]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def mutate_lines(data: bytes, other: bytes, random: Random) -> bytes:
    """Log lines with hostile text between two characters, repeated pieces, and broken bytes."""
    at = random.randrange(len(data) + 1)
    match random.randrange(6):
        case 0 | 1:
            text = random.choice(TEXTS).encode("utf-8", "surrogatepass")
            return data[:at] + text + data[at + random.choice((0, 0, len(text))) :]
        case 2:
            piece = data[at : at + random.randrange(1, 24)]
            return data[:at] + piece * random.randrange(2, 60) + data[at:]
        case 3:
            digits = random.choice(
                (b"9" * 30, b"-1", b"0", b"40000", b"9999-12-31", b"0001-01-01", b"+14:00", b"-12:00")
            )
            return data[:at] + digits + data[at + len(digits) :]
        case _:
            return mutate(data, other, random)


def without_comments(text: str) -> Any:
    """The value of a JSON text whose comments have lines of their own; None if it is broken."""
    try:
        return json.loads("\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//")))
    except ValueError:
        return None


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with a key or index of something in it."""
    items = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, inner in items:
        yield value, key
        yield from _places(inner)
