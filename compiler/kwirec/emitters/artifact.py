"""The output of emitters: texts, each with its path."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """One file of the output. ``path`` is relative to the output folder, with ``/``."""

    path: str
    text: str

    @property
    def is_python(self) -> bool:
        return self.path.endswith((".py", ".pyi"))
