"""Bytes → spans, each with its place, field, type and value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from kwire.errors import DecodeError
from kwire.interpreter.reader import Reader
from kwire.message import Message
from kwire.policy import STRICT, Policy
from kwire.redaction import places
from kwire.secrets import SECRETS

if TYPE_CHECKING:
    Expand = Callable[[bytes, int, int, str, int], Iterator["Span"]]
    """Data, start and end of a block of records in it, path and depth → spans."""


@dataclass(slots=True)
class Span:
    """The meaning of the bytes ``data[start:end]``.

    ``name`` is the last part of ``path``, ``depth`` its nesting. ``content`` is where the value starts after its
    length. ``value`` is the count of an array and ``...`` for a struct; ``text`` describes the value or replaces it.
    A span without bytes is a heading, or something that was compressed. Bytes and value of a ``secret`` are hidden.
    """

    start: int
    end: int
    path: str
    name: str
    kind: str
    value: object = field(repr=False)
    _: KW_ONLY
    depth: int
    content: int = 0
    text: str = field(default="", repr=False)
    secret: bool = False

    def __post_init__(self) -> None:
        self.content = self.content or self.start


@dataclass(slots=True)
class Trace:
    """Spans in the order of their bytes, without gaps, and the error that ended them.

    The bytes of ``data`` after ``end`` were not read; ``secret`` says that these are hidden, because they may be one.
    """

    data: bytes = field(repr=False)
    spans: list[Span]
    error: DecodeError | None = None
    secret: bool = True

    @property
    def end(self) -> int:
        """The offset after the last span."""
        return self.spans[-1].end if self.spans else 0

    def reveal(self) -> None:
        """Let secrets be shown."""
        self.secret = False
        for span in self.spans:
            span.secret = False

    def then(self, cls: type[Message], version: int, policy: Policy, expand: Expand | None = None) -> Trace:
        """This trace followed by that of a message that extends to the end of the data."""
        body = trace_message(cls, self.data, version, policy, offset=self.end, expand=expand)
        return Trace(self.data, self.spans + body.spans, body.error, body.secret)

    def unknown(self, what: str) -> Trace:
        """This trace followed by the rest of the data as bytes, hidden since ``what`` is unknown."""
        start, end = self.end, len(self.data)
        text = f"unknown {what}"
        rest = Span(start, end, "body", "body", "bytes", self.data[start:], depth=0, text=text, secret=True)
        return Trace(self.data, [*self.spans, rest])


def trace_message(
    cls: type[Message],
    data: bytes,
    version: int,
    policy: Policy = STRICT,
    *,
    offset: int = 0,
    whole: bool = True,
    expand: Expand | None = None,
) -> Trace:
    """The message at ``offset`` of ``data``, up to its end or the first error; never raises for bad data.

    ``whole`` and ``policy`` have the same meaning as for ``decode``. ``expand`` turns blocks of records into spans,
    see ``expand_records``. The first span is a heading with the name and version of the message.
    """
    tracer = _Tracer(cls, data, offset, version, policy, expand)
    error = None
    try:
        tracer.check_version(cls)
        tracer.struct(cls)
        if whole:
            tracer.finish()
    except DecodeError as problem:
        error = problem
    _mark_secrets(cls, tracer.spans)
    return Trace(data, tracer.spans, error, cls.__name__ in SECRETS)


def _mark_secrets(cls: type[Message], spans: list[Span]) -> None:
    """Mark the secrets of a message, and what is inside of them, by the other fields of their structs."""
    found = places(cls)
    structs: dict[str, dict[str, object]] = {}
    for span in spans if found else ():
        owner, _, name = span.path.rpartition(".")
        structs.setdefault(owner, {})[name] = span.value
    for span in spans if found else ():
        parts = span.path.split(".")
        names = tuple(part.partition("[")[0] for part in parts)
        for outer, inner, rule in found:
            size = len(outer) + len(inner)
            if names[:size] == outer + inner and (span.value or len(parts) > size):
                struct = SimpleNamespace(**structs[".".join(parts[: len(outer)])])
                span.secret = span.secret or rule(struct)


class _Tracer(Reader):
    def __init__(
        self, cls: type[Message], data: bytes, offset: int, version: int, policy: Policy, expand: Expand | None
    ) -> None:
        super().__init__(cls, data, offset, version, policy)
        self.spans: list[Span] = []
        self.expand = expand
        self.sections = 0

    def note(self, start: int, kind: str, value: object, *, name: str = "", content: int = 0) -> None:
        depth = len(self.parts) + self.sections
        if not self.parts:
            kind, name = "", f"{kind} v{self.version}"
        name, path = name or self.parts[-1], self.path
        if self.expand and kind.endswith("records") and value:
            self.spans.append(Span(start, content, path, name, kind, value, depth=depth, content=content))
            self.spans += self.expand(self.data, content, self.pos, path, depth + 1)
        else:
            self.spans.append(Span(start, self.pos, path, name, kind, value, depth=depth, content=content))

    def section(self, cls: type[Any], values: dict[str, Any], count: int) -> None:
        self.sections += 1
        super().section(cls, values, count)
        self.sections -= 1
