"""Runs templates in a separate process and turns its events into artifacts and findings."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from kwirec.diagnostics import template_codes as codes
from kwirec.diagnostics.diagnostic import Code, Report, closest
from kwirec.diagnostics.source import Span
from kwirec.emitters.environment import Artifact
from kwirec.outputs.child import PATH_NAME, Job
from kwirec.outputs.folder import Output, Templates
from kwirec.view import model

_CODES: Mapping[str, Code] = {
    "syntax": codes.TEMPLATE_SYNTAX,
    "undefined": codes.UNDEFINED_NAME,
    "failed": codes.TEMPLATE_FAILED,
    "unsafe": codes.TEMPLATE_UNSAFE,
    "limit": codes.TEMPLATE_LIMIT,
}
_START = "import sys; sys.path[:] = {!r}; from kwirec.outputs.child import main; main()"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits for templates: CPU seconds, memory in bytes where the system supports it, characters of output, and
    number of files.
    """

    seconds: float = 60
    memory: int = 2 << 30
    size: int = 64 << 20
    files: int = 50_000


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """A file that a template produced."""

    artifact: Artifact
    output: Output


def render_all(
    templates: Templates,
    parameters: Mapping[str, object],
    schema: model.Schema,
    report: Report,
    limits: Limits,
    progress: Callable[[int], None] = lambda files: None,
) -> list[Rendered]:
    """Return the files that the templates produce, and add findings to ``report``."""
    job = Job(
        texts={name: source.text for name, source in templates.sources.items()},
        outputs=tuple((one.template, one.path, one.each) for one in templates.outputs),
        parameters=parameters,
        schema=schema,
        seconds=limits.seconds,
        memory=limits.memory,
        size=limits.size,
    )
    found: list[Rendered] = []
    current, is_done = 0, False
    with _Child(limits.seconds) as child:
        child.send(job)
        for event in child.events(6 * limits.size + (16 << 20)):
            if "start" in event:
                current = event["start"]
            elif "path" in event:
                artifact = Artifact(path=event["path"], text=event["text"])
                found.append(Rendered(artifact=artifact, output=templates.outputs[event["output"]]))
                progress(len(found))
                if len(found) > limits.files:
                    what = f"the templates produce more than {limits.files:,} files"
                    report.add(codes.TEMPLATE_LIMIT, what, templates.outputs[current].template_span)
                    return found
            elif "code" in event:
                _record(event, templates, report)
            is_done = "done" in event
    if not is_done and not report.has_errors():
        what = f"a single step of the templates uses {limits.seconds:g} seconds or all memory"
        report.add(codes.TEMPLATE_LIMIT, what, templates.outputs[current].template_span)
    return found


class _Child:
    """Context manager for the rendering process. The process is killed at the end of the block, or after a multiple
    of its CPU limit.
    """

    def __init__(self, seconds: float) -> None:
        package = str(Path(__file__).parents[2])
        paths = [*(path for path in sys.path if path), package]
        command = [sys.executable, "-I", "-X", "utf8", "-c", _START.format(paths)]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere)
        self._timer = threading.Timer(30 + 4 * seconds, self._process.kill)
        self._timer.daemon = True

    def __enter__(self) -> _Child:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                _open(stream).close()
        self._process.wait()

    def send(self, job: Job) -> None:
        with suppress(BrokenPipeError), _open(self._process.stdin) as stream:
            pickle.dump(job, stream)

    def events(self, most: int) -> Iterator[dict[str, Any]]:
        """Yield the events of the process, up to ``most`` bytes in total."""
        stream = _open(self._process.stdout)
        while most > 0 and (line := stream.readline(most)).endswith(b"\n"):
            most -= len(line)
            yield json.loads(line)


def _open(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def _record(event: Mapping[str, Any], templates: Templates, report: Report) -> None:
    """Report a finding at the offending word."""
    word, candidates = str(event.get("word") or ""), [str(name) for name in event.get("candidates", ())]
    helps = []
    if candidates:
        near = closest(word, candidates)
        helps.append(f"did you mean `{near}`?" if near else f"there are {', '.join(map(_quoted, candidates[:30]))}")
    notes = [note] if (note := str(event.get("note") or "")) else []
    span = _span(templates, str(event["template"]), int(event["line"] or 0), word)
    report.add(_CODES[event["code"]], str(event["message"]), span, helps=helps, notes=notes)


def _quoted(name: str) -> str:
    return f"`{name}`"


def _span(templates: Templates, name: str, line: int, word: str) -> Span:
    """Return the span of ``word`` in a template line, or of the line itself. Line 0 stands for the whole template."""
    paths = {PATH_NAME.format(number): output.path_span for number, output in enumerate(templates.outputs)}
    if name in paths:
        return paths[name]
    source = templates.sources.get(name) or templates.outputs[0].template_span.source
    if line < 1 or line > source.text.count("\n") + 1:
        return Span(source, 0, 0)
    text = source.line_text(line)
    start = sum(len(one) + 1 for one in source.text.split("\n")[: line - 1])
    matches = list(re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text)) if word else []
    if len(matches) == 1 or (matches and word):
        return Span(source, start + matches[0].start(), start + matches[0].end())
    stripped = text.strip()
    indent = len(text) - len(text.lstrip())
    return Span(source, start + indent, start + indent + len(stripped))
