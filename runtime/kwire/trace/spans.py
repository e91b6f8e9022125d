"""Converting bytes to spans, each with a position, field, type and value."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from kwire.errors import DecodeError, counted
from kwire.interpreter.reader import Reader
from kwire.message import Message
from kwire.policy import STRICT, Policy
from kwire.redaction import places
from kwire.schema import PresentField, enum_class
from kwire.secrets import SECRETS, TAGS
from kwire_rules import INTEGER_RANGES

if TYPE_CHECKING:
    from kwire.enums import ProtocolEnum

    Expand = Callable[[bytes, int, int, str, int], Iterator["Span"]]
    """A function that yields the spans of a block of records, given the data, the start and end of the block, its
    path and its depth."""

MAX_SPANS = 20_000
"""Default maximum number of spans in a message's trace. The last spans are kept, and a single span replaces all
earlier spans."""

LEFT_OUT = "left out"
"""The name of a span that replaces omitted spans. The value of this span is the number of omitted spans."""


@dataclass(slots=True)
class Span:
    """The meaning of the bytes ``data[start:end]``.

    ``name`` is the last part of ``path``, and ``depth`` is its nesting level. ``content`` is the offset at which the
    value begins, after its length. ``value`` is the number of elements for an array and ``...`` for a struct.
    ``text`` replaces the value or describes it. ``meaning`` is the name of the value in its enum. A span without
    bytes is a heading or stands for compressed data. The bytes and value of a ``secret`` span are hidden.
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
    meaning: str = ""

    def __post_init__(self) -> None:
        self.content = self.content or self.start


@dataclass(slots=True)
class Trace:
    """Spans in byte order without gaps, and the error that ended the trace, if any.

    The bytes of ``data`` after ``end`` were not read. If ``secret`` is true, these bytes are hidden because they may
    contain a secret. If the definition of a message is unknown, ``unknown`` is the reason why the message was not
    read.
    """

    data: bytes = field(repr=False)
    spans: list[Span]
    error: DecodeError | None = None
    secret: bool = True
    unknown: str = ""

    @property
    def end(self) -> int:
        """The end offset of the last span."""
        return self.spans[-1].end if self.spans else 0

    def reveal(self) -> None:
        """Stop hiding the secrets in this trace."""
        self.secret = False
        for span in self.spans:
            span.secret = False

    def then(self, cls: type[Message], version: int, policy: Policy, expand: Expand | None = None) -> Trace:
        """Return this trace followed by the trace of a message that extends to the end of the data."""
        body = trace_message(cls, self.data, version, policy, offset=self.end, expand=expand)
        return Trace(self.data, self.spans + body.spans, body.error, body.secret)

    def unread(self, reason: str) -> Trace:
        """Return this trace with a hidden span for the remaining data. If the trace ended with an error, return it
        unchanged."""
        if self.error:
            return self
        start, end = self.end, len(self.data)
        rest = Span(start, end, "body", "body", "bytes", self.data[start:], depth=0, text=reason, secret=True)
        return Trace(self.data, [*self.spans, rest], unknown=reason)


def trace_message(
    cls: type[Message],
    data: bytes,
    version: int,
    policy: Policy = STRICT,
    *,
    offset: int = 0,
    whole: bool = True,
    expand: Expand | None = None,
    most: int = MAX_SPANS,
) -> Trace:
    """Return the trace of the message at ``offset`` up to its end or the first error, without raising the error.

    ``whole`` and ``policy`` work as in ``decode``. ``expand``, such as ``expand_records``, turns blocks of records
    into spans. The first span is a heading with the name and version of the message. Only the last ``most`` spans are
    kept, and a span named ``left out`` replaces the rest.
    """
    tracer = _Tracer(cls, data, offset, version, policy)
    tracer.expand, tracer.spans = expand, deque(maxlen=max(most, 1))
    error = None
    try:
        tracer.check_version(cls)
        tracer.struct(cls)
        if whole:
            tracer.finish()
    except DecodeError as problem:
        error = problem
    spans, left_out = list(tracer.spans), tracer.count - len(tracer.spans)
    _mark_secrets(cls, spans)
    if left_out:
        text, secret = f"{counted(left_out, 'line')} left out", bool(places(cls))
        end, kind = spans[0].start, tracer.problem
        gap = Span(offset, end, "", LEFT_OUT, kind, left_out, depth=0, text=text, secret=secret)
        spans.insert(0, gap)
    return Trace(data, spans, error, cls.__name__ in SECRETS)


def _mark_secrets(cls: type[Message], spans: list[Span]) -> None:
    """Mark the spans of a message's secrets and everything in them. Whether a field is secret may depend on other
    fields of its struct."""
    found = [(outer, *rule) for outer, rules in places(cls) for rule in rules]
    structs: dict[str, dict[str, object]] = {}
    for span in spans if found else ():
        owner, _, name = span.path.rpartition(".")
        structs.setdefault(owner, {})[name] = span.value
    for span in spans if found else ():
        parts = span.path.split(".")
        names = tuple(part.partition("[")[0] for part in parts)
        if span.kind == "unknown tag":
            names = (*names[:-1], TAGS)
        for outer, rule, paths in found:
            sizes = [len(outer + inner) for inner in paths if names[: len(outer + inner)] == outer + inner]
            if any(span.value or len(parts) > size for size in sizes):
                struct = SimpleNamespace(**structs.get(".".join(parts[: len(outer)]), {}))
                span.secret = span.secret or rule(struct)


class _Tracer(Reader):
    keeps = False
    expand: Expand | None
    spans: deque[Span]
    enum: type[ProtocolEnum] | None = None
    sections = count = 0
    problem = ""  # "?", the kind of spans for unreadable bytes, if there are such spans

    def add(self, span: Span) -> None:
        self.spans.append(span)
        self.count += 1
        if span.kind == "?":
            self.problem = "?"

    def value(self, cls: type[Any], field: PresentField, kind: str, *, nullable: bool) -> Any:
        self.enum = enum_class(cls, field)
        return super().value(cls, field, kind, nullable=nullable)

    def note(self, start: int, kind: str, value: object, *, name: str = "", content: int = 0) -> None:
        depth = len(self.parts) + self.sections
        if not self.parts:
            kind, name = "", f"{kind} v{self.version}"
        name, path = name or self.parts[-1], self.path
        expand = self.expand if kind.endswith("records") and value else None
        end = content if expand else self.pos
        self.add(
            Span(start, end, path, name, kind, value, depth=depth, content=content, meaning=self.named(value, kind))
        )
        for span in expand(self.data, content, self.pos, path, depth + 1) if expand else ():
            self.add(span)

    def named(self, value: object, kind: str) -> str:
        """Return the name of a value in its field's enum, or ``""`` if it has no name."""
        return self.enum.name_of(value) if self.enum and kind in INTEGER_RANGES else ""

    def section(self, cls: type[Any], values: dict[str, Any], count: int) -> None:
        self.sections += 1
        super().section(cls, values, count)
        self.sections -= 1
