"""JSON for files that people read and compare: one fact on each line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeGuard

WIDTH: Final = 118


def json_line(value: object) -> str:
    """``value`` as JSON in one line, with escapes for all characters that a terminal would act on."""
    return re.sub(r"[^ -~]", _visible, json.dumps(value, ensure_ascii=False))


def _visible(character: re.Match[str]) -> str:
    text = character[0]
    units = text.encode("utf-16-be", "surrogatepass").hex(" ", 2).split()
    return text if text.isprintable() else "".join(f"\\u{unit}" for unit in units)


def json_text(value: object, *, levels: int, indent: int) -> str:
    """``value`` as JSON, with a line for each item of its outer ``levels`` unless all items are plain values."""
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
    """A definition file: each attribute of the definition is a line, each object below it is laid out by
    :func:`object_lines`."""
    lines = ["{"]
    for number, (name, value) in enumerate(definition.items(), 1):
        end = "" if number == len(definition) else ","
        if is_nested(value):
            lines += [f"  {json_line(name)}: [", *_items(value, "    ", WIDTH), f"  ]{end}"]
        else:
            lines.append(f"  {json_line(name)}: {_plain(value)}{end}")
    return "\n".join([*lines, "}"]) + "\n"


def object_lines(node: Mapping[str, object], indent: str = "", end: str = "", *, width: int = WIDTH) -> Iterator[str]:
    """An object on as few lines as ``width`` allows, the objects of its lists on lines of their own."""
    line = f"{indent}{{"
    for number, (name, value) in enumerate(node.items(), 1):
        closing = f" }}{end}" if number == len(node) else ","
        part = f" {json_line(name)}: " + ("[" if is_nested(value) else f"{_plain(value)}{closing}")
        if number > 1 and len(line) + len(part) > width:
            yield line
            line = f"{indent} "
        line += part
        if is_nested(value):
            yield line
            yield from _items(value, f"{indent}  ", width)
            line = f"{indent}]{closing.lstrip()}"
    yield line if node else f"{line} }}{end}"


def is_nested(value: object) -> TypeGuard[list[object]]:
    """Whether a value is a list that has objects."""
    return isinstance(value, list) and any(isinstance(item, Mapping) for item in value)


def _items(items: list[object], indent: str, width: int) -> Iterator[str]:
    for number, item in enumerate(items, 1):
        end = "" if number == len(items) else ","
        if isinstance(item, Mapping):
            yield from object_lines(item, indent, end, width=width)
        else:
            yield f"{indent}{json_line(item)}{end}"


def _plain(value: object) -> str:
    if isinstance(value, Mapping) and value:
        return f"{{ {json_line(value)[1:-1]} }}"
    return json_line(value)
