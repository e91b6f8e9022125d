"""``kwire decode``: a frame, a payload or a message as an annotated tree."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from kwire.command.input_bytes import CODINGS, read_input
from kwire.command.notes import notes
from kwire.errors import DecodeError
from kwire.explain.batches import expand_records
from kwire.explain.frame import behind_size, trace_request, trace_response
from kwire.explain.internal import trace_record
from kwire.explain.trace import Trace, trace
from kwire.explain.view import as_json, show
from kwire.policy import LIKE_KAFKA, STRICT, Policy
from kwire.protocol import Protocol, UnknownApi

if TYPE_CHECKING:
    from kwire.message import Message

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

POLICIES = {"strict": STRICT, "kafka": LIKE_KAFKA, "preserve": Policy(tags="preserve")}
_EPILOG = """\
examples:
  kwire decode 0012 0004 00000005 0005 6b77697265 00 066b77697265 04302e31 00
  kwire decode --response --api-key Fetch --version 13 fetch.bin
  xxd -p frame | kwire decode --format json
  kwire decode --message TopicRecord --version 0 A3Q3AAECAwQFBgcICQoLDA0ODwA=

exit codes: 0 decoded, 1 not decodable (the tree marks the byte that is wrong), 2 wrong usage
"""


def add_to(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "decode",
        help="print a frame or message as an annotated tree",
        description="Print bytes of the Kafka protocol with offset, field, type and value of every piece.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("data", nargs="*", help="hex or base64, or a file with it or with raw bytes; default: stdin")
    parser.add_argument("--coding", choices=CODINGS, default="guess", help="how the bytes are given")
    what = parser.add_argument_group("what it is (default: a request)")
    what.add_argument("--response", action="store_true", help="a response; needs --api-key and --version")
    what.add_argument("--message", metavar="NAME", help="the bare body of a message; needs --version")
    what.add_argument("--topic", help="a record of this internal topic; needs --key, --value or both")
    what.add_argument("--key", metavar="DATA", help="key of the record")
    what.add_argument("--value", metavar="DATA", help="value of the record")
    what.add_argument("--api-key", metavar="KEY", help="number or name of the API")
    what.add_argument("--version", type=int, help="version of the request that was answered, or of the message")
    size = what.add_mutually_exclusive_group()
    size.add_argument(
        "--frame", dest="frame", action="store_true", help="starts with its size, as others behind (default: guessed)"
    )
    size.add_argument("--payload", dest="frame", action="store_false", help="starts with the header")
    parser.set_defaults(frame=None)
    parser.add_argument("--policy", choices=POLICIES, default="strict", help="how tolerant to be (default: strict)")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--no-records", action="store_true", help="do not expand blocks of records")
    parser.add_argument("--protocol", metavar="PACKAGE", default="kwire_kafka", help="generated package to use")
    parser.set_defaults(run=_run, error=parser.error)


def _run(options: argparse.Namespace) -> int:
    try:
        _check(options)
        protocol = _protocol(options.protocol)
        found = _record(protocol, options) if options.topic else _traces(protocol, options)
    except (ImportError, OSError, UnknownApi, ValueError) as problem:
        options.error(str(problem))
    note = notes(protocol, options.protocol)
    if options.format == "json":
        plain = {name: as_json(part, note) for name, part in found.items()}
        json.dump(plain.get("", plain), sys.stdout, indent=1, ensure_ascii=False)
        print()
    else:
        print("\n".join((f"{name}:\n" if name else "") + show(part, note) for name, part in found.items()), end="")
    sys.stdout.flush()
    for part in found.values():
        if part.error:
            print(f"\n{part.error}", file=sys.stderr)
    return 1 if any(part.error or _unreadable(part) for part in found.values()) else 0


def _unreadable(found: Trace) -> bool:
    """Whether there are records inside that cannot be read."""
    return any(span.kind == "?" for span in found.spans)


def _check(options: argparse.Namespace) -> None:
    """Refuse what would be ignored: who gave it meant something by it."""
    if not options.topic and (options.key is not None or options.value is not None):
        raise ValueError("--key and --value are those of a record: of which --topic?")
    if options.api_key is not None and not options.response:
        raise ValueError("--api-key goes with --response: a request tells its own")
    if options.version is not None and not (options.response or options.message):
        raise ValueError("--version goes with --response or --message: requests and records tell their own")
    if (options.message or options.response) and options.version is None:
        raise ValueError(f"which --version is this {'message' if options.message else 'response'} of?")
    if options.response and options.api_key is None:
        raise ValueError("which --api-key is this a response of?")


def _protocol(package: str) -> Protocol:
    found = getattr(import_module(package), "PROTOCOL", None)
    if not isinstance(found, Protocol):
        raise ValueError(f"{package} is no generated package: it has no PROTOCOL")
    return found


def _record(protocol: Protocol, options: argparse.Namespace) -> dict[str, Trace]:
    if options.data or (options.key is None and options.value is None):
        raise ValueError("give a record of a topic by --key and --value")
    key, value = [
        None if given is None else read_input([given], options.coding) for given in (options.key, options.value)
    ]
    parts = trace_record(protocol, options.topic, key, value, POLICIES[options.policy])
    return {name: part for name, part in zip(("key", "value"), parts, strict=True) if part}


def _traces(protocol: Protocol, options: argparse.Namespace) -> dict[str, Trace]:
    """One trace, or one for each of several frames in a row, by what is printed above it."""
    how: dict[str, Any] = {
        "policy": POLICIES[options.policy],
        "expand": None if options.no_records else expand_records,
    }
    if options.message:
        cls = _message(protocol, options.message, options.protocol)
        return {"": trace(cls, read_input(options.data, options.coding), options.version, **how)}

    def tell(payload: bytes) -> Trace:
        if options.response:
            return trace_response(protocol, payload, _api_key(protocol, options.api_key), options.version, **how)
        return trace_request(protocol, payload, **how)

    data = read_input(options.data, options.coding)
    if options.frame is False:
        return {"": tell(data)}
    frames = list(_frames(data))
    if options.frame is None and not (frames and all(map(_is_whole, frames))):
        return {"": tell(data)}
    if len(data) < 4:
        raise ValueError("a frame has at least 4 bytes")
    starts = accumulate(map(len, frames), initial=0)
    names = [f"frame at byte {start}" for start, _ in zip(starts, frames, strict=False)] if frames[1:] else [""]
    return {name: _sized(frame, tell) for name, frame in zip(names, frames, strict=True)}


def _frames(data: bytes) -> Iterator[bytes]:
    """The frames that stand in ``data`` one after the other, with their sizes. The last one may be cut off."""
    start = 0
    while start < len(data):
        size = int.from_bytes(data[start : start + 4], "big", signed=True)
        end = start + 4 + size if size >= 0 else len(data)
        yield data[start:end]
        start = end


def _is_whole(frame: bytes) -> bool:
    return len(frame) >= 4 and int.from_bytes(frame[:4], "big") == len(frame) - 4


def _sized(frame: bytes, tell: Callable[[bytes], Trace]) -> Trace:
    if len(frame) < 4:
        return Trace(frame, [], DecodeError("a frame has at least 4 bytes", data=frame))
    return behind_size(frame, tell(frame[4:]))


def _message(protocol: Protocol, name: str, package: str) -> type[Message]:
    try:
        return protocol.message(name)
    except UnknownApi as problem:
        raise UnknownApi(f"{problem}{_similar(name, getattr(import_module(package), '__all__', ()))}") from None


def _api_key(protocol: Protocol, text: str) -> int:
    """An api key from its number or name, as `1`, `Fetch` or `fetchresponse`."""
    if text.lstrip("-").isdigit():
        return int(text)
    wanted = text.lower().removesuffix("request").removesuffix("response")
    for key in protocol.api_keys:
        if protocol.api_name(key).lower() == wanted:
            return key
    names = [protocol.api_name(key) for key in protocol.api_keys]
    raise UnknownApi(f"there is no API {text!r}{_similar(text, names)}")


def _similar(text: str, names: Iterable[str]) -> str:
    """What else the user may have meant, as the end of a message."""
    known = {name.lower(): name for name in names}
    found = [known[name] for name in get_close_matches(text.lower(), known, n=2)]
    return f", did you mean {' or '.join(found)}?" if found else ""
