"""The process that renders templates. It reads a job from standard input and writes events as lines of JSON.

The process receives the text of the templates and the view, and does not open files. Its sandbox allows only public
attributes, and its limits stop endless loops and endless output. The parent process does not trust the events, so it
validates paths and counts bytes.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import pickle
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, BinaryIO, NoReturn

import jinja2
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kwirec.outputs.filters import FILTERS
from kwirec.outputs.folder import UNITS
from kwirec.view import model

PATH_NAME = "path of output {}"
"""The name of the template that renders the paths of an output. No template file can have this name."""

_QUOTED = re.compile(r"'([^']*)'")
_ENDLESS = "the templates call themselves endlessly"


@dataclass(frozen=True, kw_only=True)
class Job:
    """The whole input of the process. Each entry of ``outputs`` is a template, a path template and a value of
    ``each``.
    """

    texts: Mapping[str, str]
    outputs: tuple[tuple[str, str, str], ...]
    parameters: Mapping[str, object]
    schema: model.Schema
    seconds: float
    memory: int
    size: int


class Missing(jinja2.StrictUndefined):
    """An undefined name, with an error message in kwirec's style."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        name, obj = self._undefined_name, self._undefined_obj
        if self._undefined_hint:
            return self._undefined_hint
        if obj is jinja2.utils.missing:
            return _Message(f"`{name}` is not defined", str(name), None)
        candidates = obj if isinstance(obj, Mapping) else (one for one in dir(obj) if not one.startswith("_"))
        what = "the parameters have" if isinstance(obj, Parameters) else f"{_kind_of(obj)} has"
        return _Message(f"{what} no `{name}`", str(name), tuple(map(str, candidates)))


class _Message(str):
    """A message about an unknown name. ``candidates`` contains the names that exist, or is ``None`` for the variables
    of the template.
    """

    name: str
    candidates: tuple[str, ...] | None

    def __new__(cls, text: str, name: str, candidates: tuple[str, ...] | None) -> _Message:
        self = super().__new__(cls, text)
        self.name, self.candidates = name, candidates
        return self


class Parameters(dict[str, object]):
    """The parameters of a template folder."""


def _kind_of(obj: object) -> str:
    if obj is None:
        return "`none`"
    name = type(obj).__name__
    article = "an" if name[:1].lower() in "aeiou" else "a"
    return f"{article} {re.sub('(?<=[a-z])(?=[A-Z])', ' ', name).lower()}"


class FailedError(jinja2.TemplateRuntimeError):
    """Raised when a template calls ``fail``."""


def _fail(message: object) -> NoReturn:
    raise FailedError(str(message))


def _finalize(value: object) -> object:
    """Return a value to be printed. Functions are refused, because their text contains a memory address."""
    if callable(value) and not isinstance(value, jinja2.Undefined):
        raise TypeError("the value is a function: call it with parentheses")
    return value


def environment(texts: Mapping[str, str]) -> jinja2.Environment:
    """Return the sandboxed environment for templates."""

    def load(name: str) -> tuple[str, str, Callable[[], bool]] | None:
        return (texts[name], name, lambda: True) if name in texts else None

    made = ImmutableSandboxedEnvironment(
        loader=jinja2.FunctionLoader(load),
        undefined=Missing,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        extensions=["jinja2.ext.loopcontrols"],
        finalize=_finalize,
    )
    made.filters.update(FILTERS)
    del made.filters["random"], made.globals["lipsum"]  # their output would differ from run to run
    made.globals["fail"] = _fail
    return made


def units(schema: model.Schema, each: str) -> Iterator[Mapping[str, object]]:
    """Yield the variables of each run of a template."""
    match each:
        case "schema":
            yield {}
        case "api":
            yield from ({"api": api} for api in schema.apis)
        case "enum":
            yield from ({"enum": enum} for enum in schema.enums)
        case "message":
            yield from ({"message": message} for message in schema.messages)
        case _:
            for message in schema.messages:
                parts: Mapping[str, tuple[object, ...]] = {
                    "struct": message.structs,
                    "version": message.versions,
                    "layout": message.layouts,
                }
                yield from ({"message": message, each: part} for part in parts[each])


class Renderer:
    """Renders the outputs of a job and sends events."""

    def __init__(self, job: Job, stream: BinaryIO) -> None:
        self._job = job
        self._stream = stream
        self._lock = threading.Lock()
        self._size = 0
        paths = {PATH_NAME.format(number): path for number, (_, path, _) in enumerate(job.outputs)}
        self._environment = environment({**job.texts, **paths})

    def send(self, **event: object) -> None:
        """Send an event to the parent."""
        with self._lock:
            self._stream.write(json.dumps(event).encode() + b"\n")
            self._stream.flush()

    def run(self) -> None:
        """Render all outputs. An output stops at its first error."""
        for number, (template, _, each) in enumerate(self._job.outputs):
            self.send(start=number)
            try:
                self._run(number, template, each)
            except Exception as problem:  # templates can raise any exception
                known = {"schema", "parameters", *UNITS[each], *self._environment.globals}
                self.send(output=number, **described(problem, template, known, self._job))
        self.send(done=True)

    def _run(self, number: int, template: str, each: str) -> None:
        path_of = self._environment.get_template(PATH_NAME.format(number))
        body = self._environment.get_template(template)
        shared = {"schema": self._job.schema, "parameters": Parameters(self._job.parameters)}
        for unit in units(self._job.schema, each):
            if path := path_of.render(**shared, **unit).strip():
                self.send(output=number, path=path, text=self._text(body, {**shared, **unit}))

    def _text(self, template: jinja2.Template, context: dict[str, object]) -> str:
        parts = []
        for part in template.generate(**context):
            self._size += len(part)
            if self._size > self._job.size:
                raise MemoryError(f"the templates produce more than {self._job.size >> 20} MiB of text")
            parts.append(part)
        return "".join(parts)

    def watch(self, main: int) -> None:
        """End the process when its CPU time is used up, and report the template line that was running."""
        end = time.process_time() + self._job.seconds
        while (left := end - time.process_time()) > 0:
            time.sleep(max(0.01, left / 2))
        name, line = _running(sys._current_frames()[main])
        what = f"the templates run for more than {self._job.seconds:g} seconds"
        self._lock.acquire(timeout=1)
        self._stream.write(json.dumps({"code": "limit", "message": what, "template": name, "line": line}).encode())
        self._stream.write(b"\n")
        self._stream.flush()
        os._exit(1)


def _running(frame: FrameType | None) -> tuple[str | None, int]:
    """Return the name and line of the innermost running template."""
    while frame is not None:
        template = frame.f_globals.get("__jinja_template__")
        if template is not None:
            return template.filename, template.get_corresponding_lineno(frame.f_lineno)
        frame = frame.f_back
    return None, 0


def described(problem: Exception, template: str, known: set[str], job: Job) -> dict[str, Any]:
    """Return an event for an exception, with its code, message, place, offending word, and the names that exist."""
    name, line = _place(problem.__traceback__, job, template)
    message = str(problem) or type(problem).__name__
    event: dict[str, Any] = {"code": "failed", "template": name, "line": line, "message": message}
    match problem:
        case jinja2.UndefinedError():
            event["code"] = "undefined"
            text = problem.args[0] if problem.args else ""
            if isinstance(text, _Message):
                event |= {
                    "word": text.name,
                    "candidates": sorted(known if text.candidates is None else text.candidates),
                }
        case SecurityError():
            event |= {"code": "unsafe", "message": _QUOTED.sub(r"`\1`", message.rstrip(".")), "word": _word(message)}
        case jinja2.TemplateSyntaxError():
            what, _, note = (problem.message or "").rstrip(".").partition(". ")
            what = _QUOTED.sub(r"`\1`", what[:1].lower() + what[1:])
            event |= {"code": "syntax", "message": what, "note": note, "word": _word(problem.message or "")}
            event |= {"template": problem.name or template, "line": problem.lineno}
        case jinja2.TemplateNotFound():
            event |= {"message": f"there is no template `{problem.name}`", "word": problem.name}
            event["candidates"] = sorted(job.texts)
        case MemoryError() if problem.args:
            event["code"] = "limit"
        case MemoryError():
            event |= {"code": "limit", "message": f"the templates need more than {job.memory >> 20} MiB of memory"}
        case RecursionError():
            event |= {"code": "limit", "message": _ENDLESS}
        case FailedError():
            pass
        case _:
            event["message"] = f"{type(problem).__name__}: {message}"
    return event


def _word(message: str) -> str:
    """Return the first word that a Jinja message quotes, or ``""``."""
    match = _QUOTED.search(message)
    return match[1] if match else ""


def _place(traceback: TracebackType | None, job: Job, template: str) -> tuple[str, int]:
    """Return the template name and line of the innermost template frame."""
    place = (template, 0)
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if name in job.texts or name.startswith("path of output "):
            place = (name, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place


def _limit(memory: int, seconds: float) -> None:
    """Limit memory and CPU time where the system supports it. The parent's time limit works everywhere.

    The CPU limit stops a single long call into C, during which no Python thread can run. It is two seconds higher
    than the limit of :meth:`Renderer.watch`, which stops everything else and reports the line.
    """
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        end = math.ceil(time.process_time() + seconds) + 2
        resource.setrlimit(resource.RLIMIT_CPU, (end, end + 1))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def main() -> None:
    """Read a job from standard input and render it."""
    stream = sys.stdout.buffer
    job: Job = pickle.load(sys.stdin.buffer)
    _limit(job.memory, job.seconds)
    renderer = Renderer(job, stream)
    threading.Thread(target=renderer.watch, args=(threading.get_ident(),), daemon=True).start()
    renderer.run()
