"""What Kafka's own tools print, read back: to compare tables with."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_DUMPED = re.compile(r"offset: (?P<offset>-?\d+) .*?(?:key: (?P<key>\{.*?\}) )?payload: (?P<value>\{.*\}|<null>|$)")


def described(file: Path) -> list[dict[str, str]]:
    """Rows of ``kafka-consumer-groups --describe``: a table for each group, with columns as wide as need be."""
    found: list[dict[str, str]] = []
    heads: list[tuple[str, int]] = []
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("GROUP "):
            heads = [(each[0].strip(), each.start()) for each in re.finditer(r"\S+(?: \(ID\))?", line)]
        elif line.strip() and heads:
            ends = [start for _, start in heads[1:]] + [None]
            found.append({name: line[start:end].strip() for (name, start), end in zip(heads, ends, strict=True)})
    return found


def dumped(file: Path) -> list[tuple[int, Any, Any]]:
    """Records that ``DumpLogSegments`` decoded: offset, key and value; a value of ``None`` is a tombstone."""
    found = []
    for line in file.read_text("utf-8").splitlines():
        if (match := _DUMPED.search(line)) and line.startswith("|"):
            key = json.loads(match["key"]) if match["key"] else None
            value = json.loads(match["value"]) if match["value"].startswith("{") else None
            found.append((int(match["offset"]), key, value))
    return found
