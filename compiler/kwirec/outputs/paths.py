"""Checks output paths. On every system, a path must lead to the same file within the folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kwirec.diagnostics import template_codes as codes
from kwirec.diagnostics.diagnostic import Report
from kwirec.emitters.write import IGNORED, LIBRARIES, MANIFEST
from kwirec.outputs.process import Rendered

_PART = re.compile(r"[\w.@+=-]{1,120}", re.ASCII)
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$)(\.|$)")
MAX_PATH, MAX_DEPTH = 240, 16


def check_paths(files: Iterable[Rendered], report: Report) -> None:
    """Report invalid output paths, and paths that two templates or two runs of a template would write."""
    seen: dict[str, Rendered] = {}
    for one in files:
        path = one.artifact.path
        if why := next(_faults(path), ""):
            span = one.output.path_span
            report.add(codes.BAD_OUTPUT_PATH, f"an output cannot have the path `{path}`", span, why)
            continue
        folded = path.casefold()
        if other := seen.get(folded):
            _twice(report, one, other)
        seen[folded] = one
    for folded, one in seen.items():
        for end in (place for place, letter in enumerate(folded) if letter == "/"):
            if other := seen.get(folded[:end]):
                _twice(report, one, other)


def _twice(report: Report, one: Rendered, other: Rendered) -> None:
    path, before = one.artifact.path, other.artifact.path
    if path == before:
        what = f"two outputs have the path `{path}`"
    elif path.casefold() == before.casefold():
        what = f"the outputs `{before}` and `{path}` are the same file on some systems"
    else:
        what = f"the output `{before}` is a folder of `{path}`"
    others = [(other.output.path_span, "first used here")] if one.output is not other.output else []
    helps = ["use a path that differs for each run"] if one.output is other.output else []
    report.add(codes.OUTPUT_TWICE, what, one.output.path_span, others=others, helps=helps)


def _faults(path: str) -> Iterator[str]:
    parts = path.split("/")
    if len(path) > MAX_PATH or len(parts) > MAX_DEPTH:
        yield f"it has more than {MAX_PATH} characters or {MAX_DEPTH} parts"
    if path.startswith("/"):
        yield "it is absolute"
    for part in parts:
        if part in (".", ".."):
            yield "it leads out of its folder"
        if part.startswith("."):
            yield "hidden files belong to other programs"
        if not _PART.fullmatch(part):
            yield "parts of a path consist of letters, digits and `_.@+=-`"
        if part.endswith("."):
            yield "Windows drops a dot at the end of a name"
        if _DEVICE.match(part.lower()):
            yield "this is a Windows device name"
        if part in IGNORED or part.endswith(LIBRARIES):
            yield "kwirec ignores files of this name"
    if path.casefold() == MANIFEST:
        yield "kwirec keeps its list of files there"
