"""Values of JSON as those of the protocol's types: for each type a function that gives one, or raises ``Wrong``.

Integers are of their range, ``1.0`` as well as ``1``, because JSON does not tell them apart. Bytes are padded base64
and uuids 22 characters of URL-safe base64, both in the one form that Kafka writes.
"""

from __future__ import annotations

import binascii
import math
import re
from collections.abc import Callable
from typing import Any

from kwire.schema import INTEGER_RANGES
from kwire.uuids import Uuid
from kwire.wire import MAX_STRING

Read = Callable[[Any], Any]

NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""Numbers that JSON does not have, as Kafka writes them."""

UUID = r"^[A-Za-z0-9_-]{21}[AQgw](?![\s\S])"
"""``(?![\\s\\S])`` is the end: a ``$`` would let a line break pass in some dialects."""

_match_uuid = re.compile(UUID).match


class Wrong(Exception):
    """A value that cannot be. ``path`` leads to it, from inside to outside."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str | int] = []


def from_base64(text: str) -> bytes | None:
    """The bytes that a text in base64 shows; ``None`` if it is not what Kafka writes for any bytes."""
    try:
        value = binascii.a2b_base64(text)
    except ValueError:
        return None
    return value if in_base64(value) == text else None


def in_base64(value: bytes) -> str:
    """As Kafka's JSON form has bytes."""
    return binascii.b2a_base64(value, newline=False).decode()


def is_uuid(text: str) -> bool:
    """Whether this is how Kafka writes a uuid."""
    return _match_uuid(text) is not None


def size_in_utf8(text: str) -> int:
    """``ValueError`` if there are halves of characters in it."""
    return len(text) if text.isascii() else len(text.encode())


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _integer(kind: str) -> Read:
    low, high = INTEGER_RANGES[kind]

    def read(value: Any) -> int:
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int:
            raise Wrong(f"{_shown(value)} is no integer")
        if not low <= value <= high:
            raise Wrong(f"{_shown(value)} does not fit {kind}, which holds {low} to {high}")
        return value

    return read


def _bool(value: Any) -> bool:
    if type(value) is not bool:
        raise Wrong(f"{_shown(value)} is neither true nor false")
    return value


def _float(value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is str and value in NOT_FINITE:
        return NOT_FINITE[value]
    if type(value) is not int:
        raise Wrong(f"{_shown(value)} is no number")
    try:
        return float(value)
    except OverflowError:
        raise Wrong("this number does not fit float64") from None


def _string(value: Any) -> str:
    if type(value) is not str:
        raise Wrong(f"{_shown(value)} is no string")
    try:
        size = size_in_utf8(value)
    except ValueError:
        raise Wrong("this string has lone surrogates") from None
    if size > MAX_STRING:
        raise Wrong(f"a string of {size} bytes, Kafka's longest has {MAX_STRING}")
    return value


def _uuid(value: Any) -> Uuid:
    if type(value) is not str or not is_uuid(value):
        raise Wrong(f"{_shown(value)} is no uuid: 22 characters of URL-safe base64")
    return Uuid.parse(value)


def _bytes(value: Any) -> bytes:
    found = from_base64(value) if type(value) is str else None
    if found is None:
        raise Wrong(f"{_shown(value)} is no base64, padded and without line breaks")
    return found


def size(value: Any) -> int:
    """The size of records that a log left out."""
    number: int = VALUES["int32"](value)
    if number < 0:
        raise Wrong(f"{number} is no size")
    return number


VALUES: dict[str, Read] = {kind: _integer(kind) for kind in INTEGER_RANGES} | {
    "bool": _bool,
    "float64": _float,
    "string": _string,
    "uuid": _uuid,
    "bytes": _bytes,
    "records": _bytes,
}
"""Primitive type of the protocol → what reads its values."""
