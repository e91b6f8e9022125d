"""Reads messages in Kafka's JSON form from the command line, a file or standard input."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from kwire.command.describe import plain
from kwire.command.options import Function
from kwire.schema import present_fields, struct_class

if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.struct import Struct

MAX_BODY, MAX_VALUES = 16 << 20, 100_000
"""Maximum size of the JSON in bytes, and maximum number of values in a message.

An empty object of three bytes becomes a struct of several kilobytes when defaults are filled in.
"""


def json_option(what: str) -> Callable[[Function], Function]:
    """Return the option ``--json``. ``what`` is the noun in its help text, ``message`` or ``request``."""
    return click.option(
        "--json",
        metavar="JSON",
        default="{}",
        help=f"The {what} in Kafka's JSON form, @FILE, or - for standard input. Missing fields use their defaults.",
    )


def read_json(text: str) -> Any:
    """Return the parsed JSON. ``text`` is the JSON itself, ``@FILE`` for a file, or ``-`` for standard input."""
    from kwire.client.files import read_small

    if text == "-":
        content = sys.stdin.buffer.read(MAX_BODY + 1)
        if len(content) > MAX_BODY:
            raise OSError(errno.EFBIG, f"more than {MAX_BODY >> 20} MiB", "standard input")
    else:
        content = read_small(text[1:], MAX_BODY) if text.startswith("@") else text.encode(errors="surrogateescape")
    if sum(map(content.count, (b",", b"[", b"{"))) > MAX_VALUES:  # checked before any object is created
        raise ValueError(f"the message has more than {MAX_VALUES:,} values")
    return json.loads(content)


def built(cls: type[Message], value: Any, version: int) -> Message:
    """Return the message that ``value`` represents. Missing fields get their defaults."""
    return cls.from_json(_with_defaults(cls, value, version), version)


def _with_defaults(cls: type[Struct], value: Any, version: int) -> Any:
    """Return ``value``, a struct or an array of structs in Kafka's JSON form, with defaults for missing fields."""
    if isinstance(value, list):
        return [_with_defaults(cls, item, version) for item in value]
    if not isinstance(value, dict):
        return value
    filled = dict(value)
    for field in present_fields(cls, version):
        inner = struct_class(cls, field)
        name = next((name for name in field.json_names if name in value), None)
        if name is None and not field.is_tagged:
            name, filled[field.json_name] = field.json_name, plain(field.default)
        if name is not None and inner is not None:
            filled[name] = _with_defaults(inner, filled[name], version)
    return filled
