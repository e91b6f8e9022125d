"""Writes artifacts. Formats changed files, removes files that are no longer produced, and maintains a manifest.

For each file, the manifest contains a digest of the unformatted text and a digest of the file on disk. A file is
formatted and written only if a digest differs, because formatting is the slowest step.

Only files in the manifest are replaced. Since a manifest may be forged, a file is removed only if its digest matches.
The manifest is written first and lists all files of the old and the new package, so that the next run can repair the
files of a killed run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from importlib.metadata import version
from multiprocessing import get_context, parent_process
from pathlib import Path, PurePosixPath
from threading import Thread
from types import MappingProxyType
from typing import Any

from kwirec.emitters.environment import Artifact
from kwirec.emitters.formatters import FormatError as FormatError
from kwirec.emitters.formatters import run_formatter
from kwirec.files import STAGE, locked, read_regular, replace_files
from kwirec.json_text import json_text

MANIFEST = "manifest.json"
GENERATOR = "kwirec"
IGNORED = ("__pycache__", STAGE)
LIBRARIES = (".so", ".pyd")
"""Suffixes of native libraries, which a build places next to the modules of a package."""
LINE_LENGTH = 118
PROCESSES = 2
TOOLS = ("black", "format ")
"""Prefixes of the manifest entries for formatters."""
TEMPLATES = "templates"
"""The manifest entry that identifies an output of ``kwirec emit``."""
_PATH = re.compile(r"(?:[\w@+=-][\w.@+=-]*/)*[\w@+=-][\w.@+=-]*")

Commands = Mapping[str, Sequence[str]]
"""Commands that format standard input, by suffix such as ``.go``."""

Progress = Callable[[int, int], None]
"""A function that is called with the number of formatted files and the total number of files."""


@dataclass
class WriteOutcome:
    """The result of writing the files. With ``check``, the result that writing the files would have."""

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: int = 0
    lines: int = 0

    @property
    def is_clean(self) -> bool:
        return not self.written and not self.removed


class OutputNotGeneratedError(Exception):
    """Raised when the output folder contains files that kwirec did not write."""


def write(
    artifacts: Sequence[Artifact],
    folder: Path,
    *,
    origin: dict[str, str],
    check: bool = False,
    progress: Progress = lambda done, total: None,
    commands: Commands = MappingProxyType({}),
) -> WriteOutcome:
    """Make ``folder`` contain exactly ``artifacts``. With ``check``, only look for differences.

    ``commands`` maps suffixes to formatters. Without a command for ``.py``, black formats Python files.

    Raises :class:`FormatError` if a file cannot be formatted. Raises :class:`OutputNotGeneratedError` if the folder
    has files that are in neither the manifest nor ``artifacts``, or if a file to remove was changed after it was
    written. In both cases, no file is written.
    """
    if folder.is_symlink():
        raise OutputNotGeneratedError(f"{folder.as_posix()} is a symbolic link: replace it with a folder")
    tools = {"black": f"{version('black')}, lines of {LINE_LENGTH}"}
    tools |= {f"format *{suffix}": " ".join(command) for suffix, command in sorted(commands.items())}
    origin = {"generator": f"{GENERATOR} {version('kwire')}", **origin, **tools}
    with nullcontext() if check else locked(folder):
        return _write(artifacts, folder, origin, tools, commands, check, progress)


def _write(
    artifacts: Sequence[Artifact],
    folder: Path,
    origin: dict[str, str],
    tools: dict[str, str],
    commands: Commands,
    check: bool,
    progress: Progress,
) -> WriteOutcome:
    manifest = _read_manifest(folder)
    if manifest and (TEMPLATES in manifest["origin"]) != (TEMPLATES in origin):
        other = "emit" if TEMPLATES in manifest["origin"] else "generate"
        raise OutputNotGeneratedError(
            f"{folder.as_posix()} holds files of `{GENERATOR} {other}`: choose another folder"
        )
    listed = {MANIFEST, *manifest["files"]} if manifest else set()
    present = set(_files(folder))
    unlisted = present - listed
    _refuse(folder, unlisted - {artifact.path for artifact in artifacts})
    # A check does not trust files that may have been edited, including the manifest.
    used = {name: tool for name, tool in manifest["origin"].items() if name.startswith(TOOLS)} if manifest else {}
    known: dict[str, Any] = manifest["files"] if used == tools and not check else {}
    outcome = WriteOutcome()
    entries: dict[str, dict[str, str]] = {}
    stale: list[Artifact] = []
    for artifact in artifacts:
        entry = known.get(artifact.path, {})
        on_disk = _read(folder / artifact.path)
        if on_disk is not None and entry == {"source": _digest(artifact.text), "file": _digest(on_disk)}:
            entries[artifact.path] = entry
            outcome.lines += on_disk.count("\n")
        else:
            stale.append(artifact)
    changed: dict[str, str] = {}
    for artifact, text in zip(stale, _formatted(stale, commands, progress), strict=True):
        entries[artifact.path] = {"source": _digest(artifact.text), "file": _digest(text)}
        outcome.lines += text.count("\n")
        if _read(folder / artifact.path) != text:
            changed[artifact.path] = text
    _refuse(folder, unlisted & changed.keys())
    outcome.removed = sorted(present & listed - {*entries, MANIFEST})
    _refuse_changed(folder, {path: manifest["files"][path] for path in outcome.removed})
    final = _manifest(origin, entries)
    outcome.written = [*changed, *([MANIFEST] if _read(folder / MANIFEST) != final else [])]
    outcome.unchanged = len(artifacts) + 1 - len(outcome.written)  # the manifest is also a file
    if not (check or outcome.is_clean):
        first = _manifest(origin, entries | {path: manifest["files"][path] for path in outcome.removed})
        replace_files(folder, {MANIFEST: first, **changed}, outcome.removed)
        if outcome.removed:
            replace_files(folder, {MANIFEST: final})
    return outcome


def _files(folder: Path) -> Iterator[str]:
    """Yield all files in ``folder`` except libraries. Symbolic links count as files and are not followed."""
    for parent, folders, files in os.walk(folder):
        links = [name for name in folders if Path(parent, name).is_symlink()]
        folders[:] = [name for name in folders if name not in IGNORED]
        ours = (name for name in files if not name.endswith(LIBRARIES))
        yield from (Path(parent, name).relative_to(folder).as_posix() for name in (*links, *ours))


def _refuse(folder: Path, foreign: Collection[str], why: str = f"are not in a {MANIFEST} of kwirec") -> None:
    if foreign:
        shown = ", ".join(sorted(foreign)[:5]) + (f" and {len(foreign) - 5} more" if len(foreign) > 5 else "")
        raise OutputNotGeneratedError(
            f"{folder.as_posix()} holds files that {why}: {shown}. Move or delete them, or choose another folder"
        )


def _refuse_changed(folder: Path, entries: Mapping[str, Any]) -> None:
    changed = []
    for path, entry in entries.items():
        text = _read(folder / path)
        if not isinstance(entry, dict) or text is None or entry.get("file") != _digest(text):
            changed.append(path)
    _refuse(folder, changed, "are no longer generated and were changed after kwirec wrote them")


def _formatted(artifacts: Sequence[Artifact], commands: Commands, progress: Progress) -> list[str]:
    """Return the formatted texts. For a dozen modules or more, two processes run black despite their start-up
    time.
    """
    texts = {artifact.path: artifact.text for artifact in artifacts}
    for artifact in artifacts:
        if artifact.text and (command := commands.get(PurePosixPath(artifact.path).suffix)):
            texts[artifact.path] = run_formatter(command, artifact)
    python = (artifact for artifact in artifacts if _is_python(artifact) and ".py" not in commands)
    ordered = sorted(python, key=lambda artifact: -len(artifact.text))
    with ExitStack() as stack:
        map_: Callable[..., Iterable[str]] = map
        if len(ordered) >= 12 and (os.cpu_count() or 1) > 1:
            # A fork can deadlock while a thread shows progress, so processes are spawned.
            pool = ProcessPoolExecutor(PROCESSES, get_context("spawn"), initializer=_end_with_parent)
            map_ = stack.enter_context(pool).map
        for number, (artifact, text) in enumerate(zip(ordered, map_(format_text, ordered), strict=True)):
            texts[artifact.path] = text
            progress(len(artifacts) - len(ordered) + number + 1, len(artifacts))
    return [texts[artifact.path] for artifact in artifacts]


def _end_with_parent() -> None:
    """End a worker when its parent dies. Workers hold both ends of their queue and would otherwise wait forever."""

    def wait() -> None:
        if parent := parent_process():
            parent.join()
            os._exit(1)

    Thread(target=wait, daemon=True).start()


def _is_python(artifact: Artifact) -> bool:
    return artifact.path.endswith(".py") and bool(artifact.text)


def format_text(artifact: Artifact) -> str:
    """Return the formatted text of a Python module.

    black normally formats changed text a second time, because the first pass may add a comma that splits more lines.
    Emitted code has no such lines, and the second pass would double the time of a cold run. ``format_str`` is used
    only if black's single-pass function is missing.
    """
    import black  # importing black takes as long as importing the whole compiler
    from black.mode import Mode, TargetVersion
    from black.parsing import InvalidInput

    once = getattr(black, "_format_str_once", black.format_str)
    try:
        text: str = once(artifact.text, mode=Mode(line_length=LINE_LENGTH, target_versions={TargetVersion.PY311}))
    except InvalidInput as problem:
        raise FormatError(artifact.path, str(problem)) from None
    return text


def _manifest(origin: dict[str, str], entries: Mapping[str, Mapping[str, str]]) -> str:
    return json_text({"origin": origin, "files": dict(sorted(entries.items()))}, levels=2, indent=1) + "\n"


def _read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest, or an empty one if the file is missing, damaged, written by another program, or lists
    paths that kwirec cannot produce.
    """
    try:
        manifest = json.loads(_read(folder / MANIFEST) or "")
    except (ValueError, RecursionError):
        return {}
    match manifest:
        case {"origin": {"generator": str(generator)}, "files": dict(files)}:
            is_ours = generator.startswith(f"{GENERATOR} ") and all(map(_PATH.fullmatch, files))
            return dict(manifest) if is_ours else {}
    return {}


def _read(path: Path) -> str | None:
    try:
        return None if path.is_symlink() else read_regular(path).decode()
    except (OSError, UnicodeDecodeError):
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
