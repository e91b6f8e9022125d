"""The example of each version of a message: a recorded or generated frame.

Each line of ``examples.jsonl`` in a folder of definitions is an object for one recorded frame. It has ``source``,
such as ``Kafka 4.1.1``, ``message``, ``version``, and ``hex``, the payload with its header but without its size. A
request and a response of the same version form an exchange.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kwire.message import Message as RuntimeMessage
from kwire.policy import STRICT
from kwire.trace import Span, Trace, expand_records, trace_message
from kwire_guide.classes import message_class
from kwire_guide.synthetic_examples import synthetic_bytes
from kwirec.files import read_regular
from kwirec.ir.schema import Message, MessageKind
from kwirec.lowering import Layouts, MessageLayout
from kwirec.lowering.headers import header_versions

EXAMPLES = "examples.jsonl"

_EXCHANGES = {
    True: " Request and response belong together.",
    False: " No exchange of this version was recorded.",
    None: "",
}


class BadExampleError(ValueError):
    """The bytes of an example do not match their layout."""


@dataclass(frozen=True)
class Recorded:
    """A line of ``examples.jsonl``."""

    source: str
    message: str
    version: int
    data: bytes


@dataclass(frozen=True)
class Example:
    """The bytes of a version with all spans, header first. ``source`` is empty for a generated example.

    The body starts at the span with the index ``body``. ``exchange`` is whether the request and the response were
    recorded together, or ``None`` for other kinds of messages.
    """

    version: int
    source: str
    data: bytes
    spans: tuple[Span, ...]
    body: int
    exchange: bool | None = None

    @property
    def origin(self) -> str:
        """A sentence about the source and size of the bytes."""
        size = f"{len(self.data)} byte{'s' * (len(self.data) != 1)}"
        made_up = "made up: every field is set, every array has one element;"
        where = f"as {self.source} read or wrote it:" if self.source else made_up
        return f"Version {self.version}, {where} {size}.{_EXCHANGES[self.exchange]}"

    @property
    def size(self) -> str:
        """The size of the frame in hex, which precedes a request or response on the wire."""
        return len(self.data).to_bytes(4).hex(" ")

    @property
    def dump(self) -> Iterator[tuple[int, str]]:
        """Lines of sixteen bytes in hex, each with the offset of its first byte."""
        for start in range(0, len(self.data), 16):
            yield start, self.data[start : start + 16].hex(" ")


def read_examples(paths: Iterable[Path]) -> list[Recorded]:
    """Return the recorded frames of all folders. Raise :class:`BadExampleError`, which names the file and line."""
    found = []
    for file in (path / EXAMPLES for path in paths if (path / EXAMPLES).is_file()):
        for number, line in enumerate(read_regular(file).decode().splitlines(), 1):
            try:
                found.append(_recorded(**json.loads(line)))
            except (AttributeError, TypeError, ValueError, RecursionError) as problem:
                raise BadExampleError(f"{file.as_posix()}, line {number}: {problem}") from problem
    return found


def _recorded(source: str, message: str, version: int, hex: str) -> Recorded:
    if not (isinstance(source, str) and isinstance(message, str) and type(version) is int):
        raise TypeError("expected strings in `source` and `message`, and a number in `version`")
    return Recorded(source, message, version, bytes.fromhex(hex))


class Examples:
    """Finds the examples of a message. ``classes`` maps each message to the displayed names of its structs."""

    def __init__(
        self, layouts: Layouts, recorded: Iterable[Recorded], classes: Mapping[str, Mapping[str, str]]
    ) -> None:
        self.layouts = layouts
        self.classes = classes
        self.recorded: dict[tuple[str, int], Recorded] = {}
        for one in recorded:
            self.recorded.setdefault((one.message, one.version), one)

    def of(self, message: Message) -> Mapping[int, Example]:
        """Return the example of each version.

        Versions with the same request and response bytes share the newest recorded exchange.
        """
        own, partner = self.layouts.by_message[message.name], _partner(message)
        other = self.layouts.by_message.get(partner, {})
        examples: dict[tuple[int, bool | None], Example] = {}
        found = {}
        for version, layout in own.items():
            alike = [one for one in sorted(own, reverse=True) if own[one] == layout]
            recorded = [one for one in alike if (message.name, one) in self.recorded]
            exchanges = (one for one in recorded if (partner, one) in self.recorded and other[one] == other[version])
            paired = next(exchanges, None)
            key = (recorded or alike)[0] if paired is None else paired, paired is not None if other else None
            if key not in examples:
                examples[key] = self._example(message, layout, *key)
            found[version] = examples[key]
        return found

    def _example(self, message: Message, layout: MessageLayout, version: int, exchange: bool | None) -> Example:
        if line := self.recorded.get((message.name, version)):
            return self.read(message, layout, version, line.data, line.source, exchange)
        header, given = self.header(message, version)
        head = synthetic_bytes(header, header.VALID_VERSIONS[0], given) if header else b""
        body = synthetic_bytes(self.class_of(layout, version), version)
        return self.read(message, layout, version, head + body, "", exchange)

    def read(
        self,
        message: Message,
        layout: MessageLayout,
        version: int,
        data: bytes,
        source: str,
        exchange: bool | None = None,
    ) -> Example:
        header, _ = self.header(message, version)
        head = trace_message(header, data, header.VALID_VERSIONS[0], whole=False) if header else Trace(data, [])
        trace = head if head.error else head.then(self.class_of(layout, version), version, STRICT, expand_records)
        if trace.error:
            raise BadExampleError(str(trace.error))
        if unread := next((span for span in trace.spans if span.kind == "?"), None):
            raise BadExampleError(f"{message.name} v{version}, byte {unread.start}: {unread.path} cannot be read")
        return Example(version, source, data, tuple(trace.spans), len(head.spans), exchange)

    def class_of(self, layout: MessageLayout, version: int) -> type[RuntimeMessage]:
        return message_class(layout, version, self.classes.get(layout.message, {}))

    def header(self, message: Message, version: int) -> tuple[type[RuntimeMessage] | None, dict[str, int | str]]:
        """Return a message's header class, or ``None`` if it is not defined, and the values of the header fields."""
        name = "RequestHeader" if message.kind is MessageKind.REQUEST else "ResponseHeader"
        header_version = header_versions(message).get(version)
        number = -1 if header_version is None else header_version
        layout = self.layouts.by_message.get(name, {}).get(number)
        key = message.api_key if message.api_key is not None else -1
        given: dict[str, int | str] = {
            "RequestApiKey": key,
            "RequestApiVersion": version,
            "CorrelationId": 7,
            "ClientId": "example",
        }
        return self.class_of(layout, number) if layout else None, given


def _partner(message: Message) -> str:
    """Return the name of a request's response or of a response's request, or an empty string for other
    messages.
    """
    if not message.is_rpc:
        return ""
    is_request = message.kind is MessageKind.REQUEST
    name = message.name.removesuffix("Request" if is_request else "Response")
    return f"{name}{'Response' if is_request else 'Request'}"
