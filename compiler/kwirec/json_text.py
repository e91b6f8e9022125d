"""Writes JSON that people read and compare, with one fact per line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeGuard

from kwire_rules import printable

WIDTH: Final = 118

NOTHING: Final = object()
"""The value of a :class:`Commented` whose comments follow the last item of a list or the last attribute."""


class Written(str):
    """A number in its original spelling, such as ``0x7f``."""


@dataclass(frozen=True)
class Commented:
    """A value with the comment lines before its attribute or item, and the comment after it on the same line."""

    value: object
    before: tuple[str, ...] = ()
    behind: str = ""


_ENCODER = json.JSONEncoder(ensure_ascii=False)


def json_line(value: object) -> str:
    """Return ``value`` as JSON on one line, with non-printable characters escaped."""
    return printable(_ENCODER.encode(value))


def json_text(value: object, *, levels: int, indent: int) -> str:
    """Return ``value`` as JSON. Nested values in the outer ``levels`` have one line per item."""
    items: list[tuple[str, object]] = []
    if isinstance(value, dict):
        items = [(f"{json_line(str(key))}: ", item) for key, item in value.items()]
    elif isinstance(value, list):
        items = [("", item) for item in value]
    if levels == 0 or not any(isinstance(item, dict | list) for _, item in items):
        return json_line(value)
    lines = [name + json_text(item, levels=levels - 1, indent=indent) for name, item in items]
    body = ",\n".join(lines).replace("\n", "\n" + " " * indent)
    start, end = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return f"{start}\n{' ' * indent}{body}\n{end}"


def definition_text(definition: Mapping[str, object]) -> str:
    """Return the text of a definition file, with one line per attribute of the definition.

    Nested objects are formatted by ``object_lines``. Values may be :class:`Commented`.
    """
    lines = ["{"]
    members, rest = _apart(definition.items())
    for number, (name, member) in enumerate(members, 1):
        end = "" if number == len(members) else ","
        lines += (f"  {comment}" for comment in member.before)
        if is_nested(member.value):
            lines += [f"  {json_line(name)}: [", *_items(member.value, "    ", WIDTH), f"  ]{end}"]
        else:
            lines.append(f"  {json_line(name)}: {_plain(member.value)}{end}")
        lines[-1] += _behind(member)
    return "\n".join([*lines, *(f"  {comment}" for comment in rest), "}"]) + "\n"


def object_lines(node: Mapping[str, object], indent: str = "", end: str = "", *, width: int = WIDTH) -> Iterator[str]:
    """Yield an object on as few lines as ``width`` allows.

    Objects in its lists are on separate lines, and each comment ends a line.
    """
    members, rest = _apart(node.items())
    closing, start = f" }}{end}", f"{indent} "
    line, is_empty = f"{indent}{{", False
    for number, (name, member) in enumerate(members, 1):
        is_last = number == len(members)
        keeps_open = is_last and bool(member.behind or rest)
        tail = "" if keeps_open else closing if is_last else ","
        part = f" {json_line(name)}: " + ("[" if is_nested(member.value) else f"{_plain(member.value)}{tail}")
        if not is_empty and (member.before or (number > 1 and len(line) + len(part) > width)):
            yield line
            line = start
        yield from (f"{indent}  {comment}" for comment in member.before)
        line, is_empty = line + part, False
        if is_nested(member.value):
            yield line
            yield from _items(member.value, f"{indent}  ", width)
            line = f"{indent}]{tail.lstrip()}"
        if member.behind:
            yield line + _behind(member)
            line, is_empty = start, True
    yield from _end(line, is_empty, [f"{indent}  {comment}" for comment in rest], bool(members), f"{indent}}}{end}")


def _end(line: str, is_empty: bool, comments: list[str], has_members: bool, closing: str) -> Iterator[str]:
    """Yield the last lines of an object. ``line`` is the unfinished line, or only indentation if ``is_empty``."""
    if not is_empty:
        yield line if has_members or comments else f"{line} {closing.lstrip()}"
    yield from comments
    if is_empty or comments:
        yield closing


def is_nested(value: object) -> TypeGuard[list[object]]:
    """Return whether a value is a list that contains objects or comments."""
    return isinstance(value, list) and any(isinstance(item, Mapping | Commented) for item in value)


def _items(items: list[object], indent: str, width: int) -> Iterator[str]:
    found, rest = _apart(("", item) for item in items)
    for number, (_, item) in enumerate(found, 1):
        end = "" if number == len(found) else ","
        yield from (f"{indent}{comment}" for comment in item.before)
        if isinstance(item.value, Mapping):
            *lines, last = object_lines(item.value, indent, end, width=width)
            yield from lines
        else:
            last = f"{indent}{_plain(item.value)}{end}"
        yield last + _behind(item)
    yield from (f"{indent}{comment}" for comment in rest)


def _apart(items: Iterable[tuple[str, object]]) -> tuple[list[tuple[str, Commented]], tuple[str, ...]]:
    """Return the values with their names and comments, followed by the comments after the last value."""
    every = [(name, value if isinstance(value, Commented) else Commented(value)) for name, value in items]
    rest = (one.before for _, one in every if one.value is NOTHING)
    return [(name, one) for name, one in every if one.value is not NOTHING], next(rest, ())


def _behind(item: Commented) -> str:
    return f" {item.behind}" if item.behind else ""


def _plain(value: object) -> str:
    if isinstance(value, Written):
        return str(value)
    if isinstance(value, Mapping) and value:
        return f"{{ {', '.join(f'{json_line(name)}: {_plain(one)}' for name, one in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    return json_line(value)
