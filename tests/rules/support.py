"""The types of the fixtures of this folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from kwirec.diagnostics.diagnostic import Diagnostic, Severity, Waiver


class Check(Protocol):
    """``check(example)`` → its diagnostics."""

    def __call__(
        self, example: str, severities: Mapping[str, Severity] | None = None, waivers: Iterable[Waiver] = ()
    ) -> list[Diagnostic]: ...


class CheckFiles(Protocol):
    """``check_files({name: text})`` → the diagnostics of definitions in files with these names."""

    def __call__(self, files: Mapping[str, str]) -> list[Diagnostic]: ...
