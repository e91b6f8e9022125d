"""``kwire decode``: print a frame, a payload or a message as an annotated tree."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kwire.command.input_bytes import CODINGS, MAX_INPUT, read_input
from kwire.command.names import api_key, notes
from kwire.command.not_a_request import other_file, responses
from kwire.command.options import PROTOCOL, SECRETS, Options, epilog, format_option, number_option, put, put_json
from kwire.errors import DecodeError, UnknownNameError
from kwire.guide import Guide, guide_base
from kwire.json_form import JsonFormError
from kwire.policy import LIKE_KAFKA, STRICT, Policy
from kwire.protocol import TAKE_IN, registry
from kwire.redaction import redacted
from kwire.trace.batches import expand_records
from kwire.trace.frames import trace_frame, trace_request, trace_response
from kwire.trace.internal import trace_record
from kwire.trace.page import addresses, trace_page
from kwire.trace.spans import Trace, trace_message
from kwire.trace.view import as_json, show

if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.protocol import MessageRegistry

UNKNOWN = 3
"""The exit code if nothing after the header was read."""
POLICIES = {"strict": STRICT, "kafka": LIKE_KAFKA, "preserve": Policy(tags="preserve")}
_EPILOG = """\
examples:
  kwire decode 0012 0004 00000005 0005 6b77697265 00 066b77697265 04302e31 00
  kwire decode --response --api-key Fetch --version 13 fetch.bin
  xxd -p frame | kwire decode --format json
  kwire decode --format message fetch.bin
  kwire decode --message TopicRecord --version 0 A3Q3AAECAwQFBgcICQoLDA0ODwA=
  kwire decode --html fetch.html --guide-url ../site fetch.bin

exit codes: 0 decoded, 1 not decodable (the tree marks the wrong byte), 2 usage error, or a file of another kind,
            3 an API, version or record that is newer than the releases known here, or otherwise unknown
"""


@click.command(epilog=epilog(_EPILOG))
@click.argument("data", nargs=-1)
@click.option(
    "--response", is_flag=True, help="The bytes are a response, not a request; needs --api-key and --version."
)
@click.option("--message", metavar="NAME", help="The bytes are a message without header; needs --version.")
@click.option(
    "--topic",
    metavar="NAME",
    help="The bytes are a record of this internal topic, or one like connect-configs; needs --key, --value or both.",
)
@click.option("--key", metavar="DATA", help="Key of the record, in hex or base64.")
@click.option("--value", metavar="DATA", help="Value of the record, in hex or base64.")
@click.option("--api-key", metavar="KEY", help="Number or name of the API.")
@click.option("--version", type=int, help="Version of the message, or of the request that was answered.")
@click.option(
    "--frame/--payload",
    default=None,
    help="The input is one or more length-prefixed frames, or one payload without its length.  [default: detected]",
)
@click.option(
    "--coding", type=click.Choice(CODINGS), default="guess", show_default=True, help="Encoding of the input."
)
@number_option(
    "--max-input", "MIB", MAX_INPUT >> 20, 300, int, "Limit of a file or of standard input, up to 300.", 1 << 20
)
@click.option(
    "--policy",
    type=click.Choice([*POLICIES]),
    default="strict",
    show_default=True,
    help="How tolerant decoding is.",
)
@click.option("--no-records", is_flag=True, help="Do not decode record batches.")
@format_option("text", "json", "message")
@click.option("--html", metavar="FILE", help="Write a page in which bytes and fields highlight each other.")
@click.option("--link", is_flag=True, help="Print where the protocol guide has the messages, too.")
@click.option(
    "--guide-url",
    metavar="URL",
    default="",
    help="Where the guide is (kwirec guide): the page links to it. Without it, --link is relative to the guide.",
)
@SECRETS
@PROTOCOL
def decode(**values: Any) -> int:
    """Print every field of a frame or message with its offset, bytes, type and value.

    DATA is hex or base64, or a file with hex, base64 or raw bytes; by default, it is read from standard input.
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
    for trace in traces.values() if options.secrets == "show" else ():
        trace.reveal()
    try:
        _print(traces, protocol, options)
    except JsonFormError as problem:  # a tolerant policy reads what Kafka would not write
        put(f"{problem}", sys.stderr)
        return 1
    for part in traces.values():
        if part.error:
            put(f"\n{part.error}", sys.stderr)
    _put_response(protocol, traces, options)
    unknown = dict.fromkeys(part.unknown for part in traces.values() if part.unknown)
    if unknown:
        put("\n" + "\n".join([*unknown, TAKE_IN]), sys.stderr)
    # Spans of kind "?" are bytes that could not be read, also in records.
    if any(part.error or any(span.kind == "?" for span in part.spans) for part in traces.values()):
        return 1
    return UNKNOWN if unknown else 0


def _put_response(protocol: MessageRegistry, traces: Mapping[str, Trace], options: Options) -> None:
    """Name the responses that the first request fits which cannot be decoded."""
    if options.response or options.message or options.topic:
        return
    part = next((part for part in traces.values() if part.error), None)
    if part is None:
        return
    hint = responses(protocol, _payload(part))
    put(f"\n{hint or 'if it is a response: --response --api-key KEY --version N'}", sys.stderr)


def _print(traces: Mapping[str, Trace], protocol: MessageRegistry, options: Options) -> None:
    """Print the traces as text or JSON, with addresses if they are asked for, and write the page."""
    note = notes(protocol, options.protocol)
    guide = Guide(guide_base(options.guide_url) if options.guide_url else "", protocol)
    links = {name: addresses(part, guide) if options.link else [] for name, part in traces.items()}
    if options.format == "message":
        readable = {name: part for name, part in traces.items() if not part.error and not part.unknown}
        plain = {name: _message(protocol, _payload(part), options) for name, part in readable.items()}
        put_json(plain.get("", plain))
    elif options.format == "json":
        plain = {
            name: as_json(part, note) | ({"guide": links[name]} if options.link else {})
            for name, part in traces.items()
        }
        put_json(plain.get("", plain))
    else:
        texts = [
            (f"{name}:\n" if name else "") + show(part, note) + "".join(f"{link}\n" for link in links[name])
            for name, part in traces.items()
        ]
        put("\n".join(texts)[:-1])
    sys.stdout.flush()
    if options.html:
        _write(Path(options.html), trace_page(traces, guide, note), options)


def _payload(part: Trace) -> bytes:
    """The data of a trace without the size of the frame."""
    return part.data[4 if part.spans and part.spans[0].name == "size" else 0 :]


def _message(protocol: MessageRegistry, data: bytes, options: Options) -> dict[str, Any]:
    """Kafka's JSON form of the message in ``data``, which its trace has shown to be one."""
    policy = POLICIES[options.policy]
    if options.message:
        version: int = options.version
        message: Message | None = protocol[options.message].decode(data, version, policy)
    elif options.response:
        response = protocol.decode_response(data, api_key(protocol, options.api_key), options.version, policy)
        message, version = response.message, response.version
    else:
        request = protocol.decode_request(data, policy)
        message, version = request.message, request.version
    assert message is not None
    shown = message if options.secrets == "show" else redacted(protocol, message)
    return shown.to_json(version, with_records=True)


def _write(file: Path, text: str, options: Options) -> None:
    try:
        file.write_text(text, "utf-8")
    except OSError as problem:
        options.error(str(problem))


def _check(options: Options) -> None:
    """Reject options that would have no effect, and missing ones."""
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


def _record(protocol: MessageRegistry, options: Options) -> dict[str, Trace]:
    if options.data or (options.key is None and options.value is None):
        raise ValueError("--topic requires --key or --value, and no other data")
    key, value = [
        None if text is None else read_input([text], options.coding, options.max_input)
        for text in (options.key, options.value)
    ]
    parts = trace_record(protocol, options.topic, key, value, POLICIES[options.policy])
    return {name: part for name, part in zip(("key", "value"), parts, strict=True) if part}


def _traces(protocol: MessageRegistry, options: Options) -> dict[str, Trace]:
    """One trace, or one per frame if there are several, keyed by the title to print."""
    how: dict[str, Any] = {
        "policy": POLICIES[options.policy],
        "expand": None if options.no_records or options.format == "message" else expand_records,
    }
    if options.message:
        cls = protocol[options.message]
        data = read_input(options.data, options.coding, options.max_input)
        return {"": trace_message(cls, data, options.version, **how)}

    def trace_payload(payload: bytes) -> Trace:
        if options.response:
            return trace_response(protocol, payload, api_key(protocol, options.api_key), options.version, **how)
        return trace_request(protocol, payload, **how)

    data = read_input(options.data, options.coding, options.max_input)
    traces = _payloads(data, options.frame, trace_payload)
    failed = any(part.error or part.unknown for part in traces.values())
    if failed and (other := other_file(data)):
        raise ValueError(other)
    return traces


def _payloads(data: bytes, framed: bool | None, trace_payload: Callable[[bytes], Trace]) -> dict[str, Trace]:
    """The traces of one payload or of frames; ``framed`` says which, and for ``None`` the sizes in ``data`` do."""
    if framed is False:
        return {"": trace_payload(data)}
    frames = list(_frames(data))
    if framed is None and not (frames and all(map(_is_whole, frames))):
        return {"": trace_payload(data)}
    if len(data) < 4:
        raise ValueError("a frame has at least 4 bytes")
    starts = accumulate(map(len, frames), initial=0)
    names = [f"frame at byte {start}" for start, _ in zip(starts, frames, strict=False)] if frames[1:] else [""]
    return {name: _trace_frame(frame, trace_payload) for name, frame in zip(names, frames, strict=True)}


def _frames(data: bytes) -> Iterator[bytes]:
    """The consecutive frames in ``data``, with their sizes. The last one may be incomplete."""
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
        return Trace(frame, [], DecodeError("a frame has at least 4 bytes", data=frame))
    return trace_frame(frame, trace_payload(frame[4:]))
