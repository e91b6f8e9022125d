"""Functions that read or write the JSON values of each protocol type, or raise ``InvalidValueError``.

Integers must be in the range of their type. ``1.0`` is read as ``1``, because JSON does not distinguish the two.
Bytes are padded base64, and uuids are 22 characters of URL-safe base64. Base64 and uuids must have exactly the form
that Kafka writes.
"""

from __future__ import annotations

import binascii
import math
import re
from collections.abc import Callable
from typing import Any

from kwire.json_form.errors import InvalidValueError
from kwire.uuids import Uuid
from kwire_rules import INTEGER_RANGES, MAX_STRING, TYPES

Convert = Callable[[Any], Any]

NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""Kafka's spellings of numbers that JSON cannot represent."""

UUID = r"^[A-Za-z0-9_-]{21}[AQgw](?![\s\S])"
"""The pattern of a uuid. The pattern ends with ``(?![\\s\\S])``, because ``$`` allows a line break in some
dialects."""

_match_uuid = re.compile(UUID).match


def from_base64(text: str) -> bytes | None:
    """Return the bytes for a base64 text, or ``None`` if Kafka would never write it."""
    try:
        value = binascii.a2b_base64(text)
    except ValueError:
        return None
    return value if in_base64(value) == text else None


def in_base64(value: bytes) -> str:
    """Return bytes in Kafka's JSON form, which is padded base64."""
    return binascii.b2a_base64(value, newline=False).decode()


def is_uuid(text: str) -> bool:
    """Return whether the text is a uuid in the form that Kafka writes."""
    return _match_uuid(text) is not None


def size_in_utf8(text: str) -> int:
    """Return the number of bytes of ``text`` in UTF-8. Raise ``ValueError`` if ``text`` contains lone surrogates."""
    return len(text) if text.isascii() else len(text.encode())


def _integer(kind: str) -> Convert:
    low, high = INTEGER_RANGES[kind]

    def read(value: Any) -> int:
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int:
            raise InvalidValueError("expected an integer, got {}", value)
        if not low <= value <= high:
            raise InvalidValueError(f"{value} is out of range for {kind} ({low} to {high})")
        return value

    return read


def _bool(value: Any) -> bool:
    if type(value) is not bool:
        raise InvalidValueError("expected true or false, got {}", value)
    return value


def _float(value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is str and value in NOT_FINITE:
        return NOT_FINITE[value]
    if type(value) is not int:
        raise InvalidValueError("expected a number, got {}", value)
    try:
        return float(value)
    except OverflowError:
        raise InvalidValueError("this number is out of range for float64") from None


def _string(value: Any) -> str:
    if type(value) is not str:
        raise InvalidValueError("expected a string, got {}", value)
    try:
        size = size_in_utf8(value)
    except ValueError:
        raise InvalidValueError("this string has lone surrogates") from None
    if size > MAX_STRING:
        raise InvalidValueError(f"this string has {size} bytes, but Kafka's limit is {MAX_STRING}")
    return value


def _uuid(value: Any) -> Uuid:
    if type(value) is not str or not is_uuid(value):
        raise InvalidValueError("expected a uuid (22 characters of URL-safe base64), got {}", value)
    return Uuid.parse(value)


def _bytes(value: Any) -> bytes:
    found = from_base64(value) if type(value) is str else None
    if found is None:
        raise InvalidValueError("expected base64, padded and without line breaks, got {}", value)
    return found


def size(value: Any) -> int:
    """Return the record size in bytes, which a log contains instead of the records."""
    number: int = READERS["int32"](value)
    if number < 0:
        raise InvalidValueError(f"invalid size {number}")
    return number


_BY_TYPE: dict[str, Convert] = {"bool": _bool, "float": _float, "Uuid": _uuid}

READERS: dict[str, Convert] = {
    kind: _integer(kind) if python == "int" else _BY_TYPE[python] for kind, python in TYPES.items()
} | {
    "string": _string,
    "bytes": _bytes,
    "records": _bytes,
}
"""Functions that read values, by primitive type."""


def float_in_json(value: Any) -> float | str:
    """Return a finite number unchanged, and infinity or NaN in Kafka's spelling."""
    number = _float(value)
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _uuid_in_json(value: Any) -> str:
    if not isinstance(value, bytes) or len(value) != 16:
        hint = ", use Uuid.parse" if isinstance(value, str) else ""
        raise InvalidValueError(f"expected a uuid of 16 bytes, got {{}}{hint}", value)
    return str(Uuid(value))


def _bytes_in_json(value: Any) -> str:
    if not isinstance(value, bytes):
        raise InvalidValueError("expected bytes, got {}", value)
    return in_base64(value)


_WRITERS_BY_TYPE: dict[str, Convert] = {"float": float_in_json, "Uuid": _uuid_in_json}

WRITERS: dict[str, Convert] = {
    kind: _WRITERS_BY_TYPE.get(TYPES.get(kind, ""), read) for kind, read in READERS.items()
} | {
    "bytes": _bytes_in_json,
    "records": _bytes_in_json,
}
"""Functions that write values, by primitive type. Integers, bools and strings are only checked."""
