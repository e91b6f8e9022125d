"""``kwire decode``: print a frame, a payload or a message as an annotated tree."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kwire.command.input_bytes import CODINGS, MAX_INPUT, read_input
from kwire.command.names import api_key, notes
from kwire.command.not_a_request import other_file, responses
from kwire.command.options import PROTOCOL, SECRETS, Options, epilog, format_option, number_option, put, put_members
from kwire.errors import DecodeError, UnknownNameError
from kwire.guide import Guide
from kwire.json_form import JsonFormError
from kwire.message import decode_within
from kwire.policy import LIKE_KAFKA, STRICT, Policy
from kwire.protocol import TAKE_IN, registry
from kwire.redaction import redacted
from kwire.trace.batches import RecordsBudget, expand_records
from kwire.trace.frames import trace_frame, trace_request, trace_response
from kwire.trace.internal import trace_record
from kwire.trace.page import MAX_BYTES, Page, addresses
from kwire.trace.spans import Trace, trace_message
from kwire.trace.view import as_json, show
from kwire_rules.guide import guide_base

if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.protocol import MessageRegistry

UNKNOWN = 3
"""Exit code for an unknown API, version or record."""
MAX_LINES = 1_000_000
"""Maximum number of lines printed for all frames together."""
MAX_UNKNOWN = 100
"""Maximum number of unknown APIs and versions that are explained."""
MAX_DECODED = 1 << 20
"""Maximum size, in bytes, of messages with more than 100,000 values that can be printed in Kafka's JSON form."""
Titled = Iterator[tuple[str, Trace]]
POLICIES = {"strict": STRICT, "kafka": LIKE_KAFKA, "preserve": Policy(tags="preserve")}
_EPILOG = """\
examples:
  kwire decode 0012 0004 00000005 0005 6b77697265 00 066b77697265 04302e31 00
  kwire decode --response --api-key Fetch --version 13 fetch.bin
  xxd -p frame | kwire decode --format json
  kwire decode --format message fetch.bin
  kwire decode --message TopicRecord --version 0 A3Q3AAECAwQFBgcICQoLDA0ODwA=
  kwire decode --html fetch.html --guide-url ../site fetch.bin

exit codes: 0 success, 1 decoding failed (the tree marks the invalid byte), 2 usage error or wrong kind of file,
            3 unknown API, version or record, for example from a newer release
"""


@click.command(epilog=epilog(_EPILOG))
@click.argument("data", nargs=-1)
@click.option("--response", is_flag=True, help="Decode a response. Requires --api-key and --version.")
@click.option("--message", metavar="NAME", help="Decode a message without a header. Requires --version.")
@click.option(
    "--topic",
    metavar="NAME",
    help="Decode a record of an internal topic, such as connect-configs. Requires --key, --value or both.",
)
@click.option("--key", metavar="DATA", help="Key of the record, in hex or base64.")
@click.option("--value", metavar="DATA", help="Value of the record, in hex or base64.")
@click.option("--api-key", metavar="KEY", help="Number or name of the API.")
@click.option("--version", type=int, help="Version of the message, or of the request.")
@click.option(
    "--frame/--payload",
    default=None,
    help="Read length-prefixed frames, or a single payload without its length.  [default: detected]",
)
@click.option(
    "--coding", type=click.Choice(CODINGS), default="guess", show_default=True, help="Encoding of the input."
)
@number_option("--max-input", "MIB", MAX_INPUT >> 20, 300, int, "Maximum size of the input, at most 300.", 1 << 20)
@click.option(
    "--policy",
    type=click.Choice([*POLICIES]),
    default="strict",
    show_default=True,
    help="Strictness of decoding.",
)
@click.option("--no-records", is_flag=True, help="Do not decode record batches.")
@format_option("text", "json", "message")
@click.option("--html", metavar="FILE", help="Write an HTML page that links bytes and fields.")
@click.option("--link", is_flag=True, help="Also print the address of the message in the protocol guide.")
@click.option(
    "--guide-url",
    metavar="URL",
    default="",
    help="Address of the protocol guide. Without it, --link prints a relative address.",
)
@SECRETS
@PROTOCOL
def decode(**values: Any) -> int:
    """Print every field of a frame or message with its offset, bytes, type and value.

    DATA is hex, base64, or a file with hex, base64 or raw bytes. By default, it is read from standard input.
    """
    options = Options(**values)
    try:
        _check(options)
        if options.guide_url:
            guide_base(options.guide_url)
        protocol = registry(options.protocol)
        traces = _record(protocol, options) if options.topic else _traces(protocol, options)
    except (ImportError, OSError, UnknownNameError, ValueError) as problem:
        options.error(str(problem))
    return _Printing(protocol, options).print(traces)


class _Printing:
    """Prints traces as they arrive, and collects their errors for the exit code and the hints."""

    def __init__(self, protocol: MessageRegistry, options: Options) -> None:
        self._protocol, self._options = protocol, options
        self._note = notes(protocol, options.protocol)
        self._guide = Guide(guide_base(options.guide_url) if options.guide_url else "", protocol)
        self._page = Page(self._guide, self._note) if options.html else None
        self._unreadable: bytes | None = None
        self._unknown: dict[str, None] = {}
        self._failed = False

    def print(self, traces: Titled) -> int:
        """Print traces as text or JSON, write the HTML page if requested, and return the exit code."""
        options = self._options
        if options.format == "text":
            for number, (name, part) in enumerate(self._seen(traces)):
                text = show(part, self._note) + "".join(f"{link}\n" for link in self._links(part))
                put("\n" * (number > 0) + (f"{name}:\n" if name else "") + text[:-1])
        else:
            put_members(self._messages(traces) if options.format == "message" else self._json(traces))
        sys.stdout.flush()
        if self._page:
            _write(Path(options.html), self._page.text(), options)
        if self._unreadable is not None and not (options.response or options.message or options.topic):
            hint = responses(self._protocol, self._unreadable)
            put(f"\n{hint or 'if the input is a response, use --response --api-key KEY --version N'}", sys.stderr)
        if self._unknown:
            put("\n" + "\n".join([*self._unknown, TAKE_IN]), sys.stderr)
        if self._failed:
            return 1
        return UNKNOWN if self._unknown else 0

    def _seen(self, traces: Titled) -> Titled:
        """Yield the traces. Print the error of each trace after the trace."""
        lines = 0
        for name, part in traces:
            if lines >= MAX_LINES:
                put(f"\nstopped before {name}: the output has reached the limit of {MAX_LINES} lines", sys.stderr)
                self._failed = True
                return
            if self._options.secrets == "show":
                part.reveal()
            if self._page:
                self._page.add(name, part)
            yield name, part
            lines += len(part.spans)
            if part.error:
                put(f"\n{part.error}", sys.stderr)
                self._unreadable = _payload(part) if self._unreadable is None else self._unreadable
            if part.unknown and len(self._unknown) < MAX_UNKNOWN:
                self._unknown[part.unknown] = None
            # A span of kind "?" contains unreadable bytes.
            self._failed = self._failed or bool(part.error) or any(span.kind == "?" for span in part.spans)

    def _json(self, traces: Titled) -> Iterator[tuple[str, dict[str, Any]]]:
        for name, part in self._seen(traces):
            links = {"guide": self._links(part)} if self._options.link else {}
            yield name, as_json(part, self._note, most=MAX_BYTES) | links

    def _messages(self, traces: Titled) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each successfully traced message in Kafka's JSON form, with its title."""
        for name, part in self._seen(traces):
            if not part.error and not part.unknown:
                try:
                    yield name, _message(self._protocol, _payload(part), self._options)
                except JsonFormError as problem:  # a tolerant policy accepts values that Kafka would not write
                    put(f"{problem}", sys.stderr)
                    self._failed = True

    def _links(self, part: Trace) -> list[str]:
        return addresses(part, self._guide) if self._options.link else []


def _payload(part: Trace) -> bytes:
    """Return the data of a trace without the frame size."""
    return part.data[4 if part.spans and part.spans[0].name == "size" else 0 :]


def _message(protocol: MessageRegistry, data: bytes, options: Options) -> dict[str, Any]:
    """Return Kafka's JSON form of the message in ``data``, which has already been traced without errors."""
    policy = POLICIES[options.policy]
    if options.message:
        version: int = options.version
        message: Message | None = decode_within(MAX_DECODED, protocol[options.message], data, version, policy)
    elif options.response:
        response = protocol.decode_response(
            data, api_key(protocol, options.api_key), options.version, policy, max_decoded=MAX_DECODED
        )
        message, version = response.message, response.version
    else:
        request = protocol.decode_request(data, policy, max_decoded=MAX_DECODED)
        message, version = request.message, request.version
    if message is None:
        raise JsonFormError(f"these {len(data)} bytes contain too many values: use --format text or --format json")
    shown = message if options.secrets == "show" else redacted(protocol, message)
    return shown.to_json(version, with_records=True)


def _write(file: Path, text: str, options: Options) -> None:
    try:
        file.write_text(text, "utf-8")
    except OSError as problem:
        options.error(str(problem))


def _check(options: Options) -> None:
    """Raise ``ValueError`` if an option is missing or would have no effect."""
    if not options.topic and (options.key is not None or options.value is not None):
        raise ValueError("--key and --value require --topic")
    if options.api_key is not None and not options.response:
        raise ValueError("--api-key is only valid with --response")
    if options.version is not None and not (options.response or options.message):
        raise ValueError("--version is only valid with --response or --message")
    if options.guide_url and not (options.link or options.html):
        raise ValueError("--guide-url requires --link or --html")
    if (options.message or options.response) and options.version is None:
        raise ValueError(f"{'--message' if options.message else '--response'} requires --version")
    if options.response and options.api_key is None:
        raise ValueError("--response requires --api-key")
    if options.format == "message" and (options.topic or options.link):
        raise ValueError("--format message is not valid with --topic or --link")


def _record(protocol: MessageRegistry, options: Options) -> Titled:
    if options.data or (options.key is None and options.value is None):
        raise ValueError("--topic requires --key or --value, and no other data")
    key, value = [
        None if text is None else read_input([text], options.coding, options.max_input)
        for text in (options.key, options.value)
    ]
    parts = trace_record(protocol, options.topic, key, value, POLICIES[options.policy])
    return ((name, part) for name, part in zip(("key", "value"), parts, strict=True) if part)


def _traces(protocol: MessageRegistry, options: Options) -> Titled:
    """Return the trace of each frame, or of the single payload or message, with its title."""
    how: dict[str, Any] = {
        "policy": POLICIES[options.policy],
        "expand": (
            None
            if options.no_records or options.format == "message"
            else partial(expand_records, left=RecordsBudget())
        ),
    }
    data = read_input(options.data, options.coding, options.max_input)
    if options.message:
        return iter([("", trace_message(protocol[options.message], data, options.version, **how))])
    answered = api_key(protocol, options.api_key) if options.response else 0

    def trace_payload(payload: bytes) -> Trace:
        if options.response:
            return trace_response(protocol, payload, answered, options.version, **how)
        return trace_request(protocol, payload, **how)

    traces = _payloads(data, options.frame, trace_payload)
    title, first = next(traces)
    if (first.error or first.unknown) and (other := other_file(data)):
        raise ValueError(other)
    return chain([(title, first)], traces)


def _payloads(data: bytes, framed: bool | None, trace_payload: Callable[[bytes], Trace]) -> Titled:
    """Yield the trace of each frame, or of ``data`` as a single payload if ``framed`` is false.

    If ``framed`` is ``None``, ``data`` is split into frames only if its size fields are consistent.
    """
    if framed is False or (framed is None and not (data and all(map(_is_whole, _frames(data))))):
        yield "", trace_payload(data)
        return
    if len(data) < 4:
        raise ValueError("a frame must have at least 4 bytes")
    start = 0
    for frame in _frames(data):
        several = len(frame) < len(data)
        yield f"frame at byte {start}" if several else "", _trace_frame(frame, trace_payload)
        start += len(frame)


def _frames(data: bytes) -> Iterator[bytes]:
    """Yield the consecutive frames in ``data``, including their size fields. The last frame may be incomplete."""
    start = 0
    while start < len(data):
        size = int.from_bytes(data[start : start + 4], "big", signed=True)
        end = start + 4 + size if size >= 0 else len(data)
        yield data[start:end]
        start = end


def _is_whole(frame: bytes) -> bool:
    return len(frame) >= 4 and int.from_bytes(frame[:4], "big") == len(frame) - 4


def _trace_frame(frame: bytes, trace_payload: Callable[[bytes], Trace]) -> Trace:
    if len(frame) < 4:
        return Trace(frame, [], DecodeError("a frame must have at least 4 bytes", data=frame))
    return trace_frame(frame, trace_payload(frame[4:]))
