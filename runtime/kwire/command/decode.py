"""``kwire decode``: a frame, a payload or a message as an annotated tree."""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kwire.command.given import CODINGS, read_given
from kwire.command.notes import notes
from kwire.explain.batches import expand_records
from kwire.explain.frame import behind_size, trace_request, trace_response
from kwire.explain.internal import trace_record
from kwire.explain.trace import Trace, trace
from kwire.explain.view import as_json, show
from kwire.policy import LIKE_KAFKA, STRICT, Policy
from kwire.protocol import Protocol, UnknownApi

if TYPE_CHECKING:
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
    size.add_argument("--frame", dest="frame", action="store_true", help="starts with its size (default: guessed)")
    size.add_argument("--payload", dest="frame", action="store_false", help="starts with the header")
    parser.set_defaults(frame=None)
    parser.add_argument("--policy", choices=POLICIES, default="strict", help="how tolerant to be (default: strict)")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--no-records", action="store_true", help="do not expand blocks of records")
    parser.add_argument("--protocol", metavar="PACKAGE", default="kwire_kafka", help="generated package to use")
    parser.set_defaults(run=_run, error=parser.error)


def _run(options: argparse.Namespace) -> int:
    try:
        protocol = _protocol(options.protocol)
        found = _record(protocol, options) if options.topic else {"": _trace(protocol, options)}
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


def _protocol(package: str) -> Protocol:
    found = getattr(import_module(package), "PROTOCOL", None)
    if not isinstance(found, Protocol):
        raise ValueError(f"{package} is no generated package: it has no PROTOCOL")
    return found


def _record(protocol: Protocol, options: argparse.Namespace) -> dict[str, Trace]:
    if options.data or (options.key is None and options.value is None):
        raise ValueError("give a record of a topic by --key and --value")
    key, value = [
        None if given is None else read_given([given], options.coding) for given in (options.key, options.value)
    ]
    parts = trace_record(protocol, options.topic, key, value, POLICIES[options.policy])
    return {name: part for name, part in zip(("key", "value"), parts, strict=True) if part}


def _trace(protocol: Protocol, options: argparse.Namespace) -> Trace:
    if (options.message or options.response) and options.version is None:
        raise ValueError("which --version?")
    if options.response and options.api_key is None:
        raise ValueError("which --api-key is this a response of?")
    how: dict[str, Any] = {
        "policy": POLICIES[options.policy],
        "expand": None if options.no_records else expand_records,
    }
    if options.message:
        cls = protocol.message(options.message)
        return trace(cls, read_given(options.data, options.coding), options.version, **how)
    data = read_given(options.data, options.coding)
    sized = options.frame if options.frame is not None else int.from_bytes(data[:4], "big") == len(data) - 4
    if sized and len(data) < 4:
        raise ValueError("a frame has at least 4 bytes")
    payload = data[4:] if sized else data
    if options.response:
        found = trace_response(protocol, payload, _api_key(protocol, options.api_key), options.version, **how)
    else:
        found = trace_request(protocol, payload, **how)
    return behind_size(data, found) if sized else found


def _api_key(protocol: Protocol, text: str) -> int:
    """An api key from its number or name, as `1`, `Fetch` or `fetchresponse`."""
    if text.lstrip("-").isdigit():
        return int(text)
    wanted = text.lower().removesuffix("request").removesuffix("response")
    for key in protocol.api_keys:
        if protocol.api_name(key).lower() == wanted:
            return key
    raise UnknownApi(f"there is no API {text!r}")
