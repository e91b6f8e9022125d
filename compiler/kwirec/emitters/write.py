"""Artifacts → files: format changed ones, remove files that are no longer produced, keep a manifest.

For every file, the manifest holds the digest of its unformatted text and of the file on disk. A file is formatted
and written only if one of them differs, because formatting takes most of the time.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from kwirec.emitters.environment import Artifact
from kwirec.json_text import json_text

MANIFEST = "manifest.json"
LINE_LENGTH = 118
PROCESSES = 2

Progress = Callable[[int, int], None]
"""Called with the number of formatted files and of all files."""


@dataclass
class WriteOutcome:
    """The result of writing, or with ``check`` of what would have been written."""

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: int = 0
    lines: int = 0

    @property
    def is_clean(self) -> bool:
        return not self.written and not self.removed


def write(
    artifacts: Sequence[Artifact],
    folder: Path,
    *,
    origin: dict[str, str],
    check: bool = False,
    progress: Progress = lambda done, total: None,
) -> WriteOutcome:
    """Make ``folder`` hold exactly ``artifacts``; with ``check`` only find differences."""
    origin = origin | {"black": f"{version('black')}, lines of {LINE_LENGTH}"}
    manifest = _read_manifest(folder)
    same_black = manifest.get("origin", {}).get("black") == origin["black"]
    # Checking trusts no file that may have been edited, including the manifest.
    known: dict[str, Any] = manifest.get("files", {}) if same_black and not check else {}
    outcome = WriteOutcome()
    entries: dict[str, dict[str, str]] = {}
    stale: list[Artifact] = []

    def save(path: str, text: str) -> None:
        if _read(folder / path) != text:
            outcome.written.append(path)
            if not check:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(text.encode())

    for artifact in artifacts:
        entry = known.get(artifact.path, {})
        on_disk = _read(folder / artifact.path)
        if on_disk is not None and entry == {"source": _digest(artifact.text), "file": _digest(on_disk)}:
            entries[artifact.path] = entry
            outcome.lines += on_disk.count("\n")
        else:
            stale.append(artifact)
    for artifact, text in zip(stale, _formatted(stale, progress), strict=True):
        entries[artifact.path] = {"source": _digest(artifact.text), "file": _digest(text)}
        outcome.lines += text.count("\n")
        save(artifact.path, text)
    outcome.unchanged = len(artifacts) - len(outcome.written)
    outcome.removed = _remove(folder, {*entries, MANIFEST}, check=check)
    save(MANIFEST, json_text({"origin": origin, "files": dict(sorted(entries.items()))}, levels=2, indent=1) + "\n")
    return outcome


def _formatted(artifacts: Sequence[Artifact], progress: Progress) -> list[str]:
    """The texts formatted by black. Two processes pay off from a dozen modules on."""
    ordered = sorted(artifacts, key=lambda artifact: -len(artifact.text))
    texts: dict[str, str] = {}
    with ExitStack() as stack:
        map_: Callable[..., Iterable[str]] = map
        if len(artifacts) >= 12 and (os.cpu_count() or 1) > 1:
            # Forking a process with a thread that shows progress can deadlock, hence spawn.
            map_ = stack.enter_context(ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn"))).map
        for artifact, text in zip(ordered, map_(format_text, ordered), strict=True):
            texts[artifact.path] = text
            progress(len(texts), len(artifacts))
    return [texts[artifact.path] for artifact in artifacts]


def format_text(artifact: Artifact) -> str:
    """One text, formatted if it is Python."""
    if not artifact.path.endswith(".py") or not artifact.text:
        return artifact.text
    from black import format_str  # takes as long to import as the whole compiler
    from black.mode import Mode, TargetVersion

    return format_str(artifact.text, mode=Mode(line_length=LINE_LENGTH, target_versions={TargetVersion.PY311}))


def _remove(folder: Path, wanted: set[str], *, check: bool) -> list[str]:
    """Remove all other files: the folder belongs to the compiler."""
    removed = []
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if not path.is_file() or "__pycache__" in relative.parts or relative.as_posix() in wanted:
            continue
        removed.append(relative.as_posix())
        if not check:
            path.unlink()
            parent = path.parent
            while parent != folder and not any(parent.iterdir()):
                parent.rmdir()
                parent = parent.parent
    return removed


def is_generated(folder: Path) -> bool:
    """Whether ``folder`` is empty, missing, or was written by the compiler, which never touches others."""
    return not folder.exists() or not any(folder.iterdir()) or (folder / MANIFEST).exists()


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(_read(folder / MANIFEST) or "{}")
    except (ValueError, RecursionError):
        return {}
    parts = [manifest, *manifest.values()] if isinstance(manifest, dict) else [manifest]
    return manifest if all(isinstance(part, dict) for part in parts) else {}


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
