"""The output of emitters: texts, each with its path."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """One file of the output. ``path`` is relative to the output folder, with ``/``."""

    path: str
    text: str

    @property
    def is_python(self) -> bool:
        return self.path.endswith((".py", ".pyi"))


def json_text(value: Any, levels: int, indent: str = "\n") -> str:
    """JSON with an entry per line in the outer ``levels``, and each entry of the last one on a single line."""
    if levels == 0 or not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    inner = indent + " "
    entries = [f"{inner}{json.dumps(key)}: {json_text(entry, levels - 1, inner)}" for key, entry in value.items()]
    return "{" + ",".join(entries) + indent + "}"
