"""JSON for files that people read and compare: one fact on each line."""

from __future__ import annotations

import json
import re


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
