"""Converts default literals to typed values by the rules of Kafka's generator (FieldType and FieldSpec).

Integers are decimal, or hexadecimal with the prefix ``0x``. Integers with leading zeros are read as decimal and
reported, because Kafka's documentation and its generated Java code disagree about them. A JSON ``null`` means that
there is no default, and the string ``"null"`` is the null default [KAFKA-WIRE 27, 30].
"""

from __future__ import annotations

import base64
import binascii
import math
import re

from kwire_rules import INTEGER_RANGES, MAX_STRING, TYPES
from kwirec.frontend.syntax import Literal
from kwirec.ir.schema import IMPLICIT, Default, Field, Implicit, PrimitiveType, Type

_INTEGER = re.compile(r"(?P<sign>-?)(?P<digits>0[xX][0-9a-fA-F]{1,99}|[0-9]{1,99})")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")
UUID_SIZE = 16
ZEROES: tuple[object, ...] = (0, "", bytes(16))
"""The values that fields have without a default. 0 also stands for ``False`` and 0.0, which equal it."""
_ZERO = {"bool": "false", "int": "0", "float": "0.0", "Uuid": "zero"}
_IMPLICIT = {kind: _ZERO[python] for kind, python in TYPES.items()} | {
    "records": "null",
    "string": '""',
    "bytes": '""',
}


def typed_default(literal: Literal, type_: Type) -> Default | Implicit:
    """Return the typed value of a default, or raise ``ValueError`` with the reason if the literal is invalid."""
    if literal is None or literal == "":
        return "" if literal == "" and str(type_) == "string" else IMPLICIT
    match type_:
        case PrimitiveType(name) if name in INTEGER_RANGES:
            return _integer(literal, name)
        case PrimitiveType("bool"):
            return _boolean(literal)
        case PrimitiveType(name) if TYPES.get(name) == "float":
            return _float(literal)
        case PrimitiveType("string"):
            return _string(literal)
        case PrimitiveType("uuid"):
            return _uuid(literal)
        case _:
            return _only_null(literal)


def default_literal(default: Default | Implicit) -> str | None:
    """Return a default as a literal for definitions, or ``None`` for an implicit default.

    This is the inverse of :func:`typed_default`.
    """
    match default:
        case Implicit():
            return None
        case None:
            return "null"
        case bool():
            return str(default).lower()
        case bytes():
            return base64.urlsafe_b64encode(default).decode().rstrip("=")
        case _:
            return str(default)


def default_text(field: Field) -> str:
    """Return the default of a field as a literal for definitions, even if the default is implicit."""
    default = field.default
    if isinstance(default, Implicit) or default in ZEROES:
        return _IMPLICIT.get(str(field.type), "empty")
    return default_literal(default) or ""


def _only_null(literal: Literal) -> Default:
    if literal != "null":
        raise ValueError('the default can only be empty or "null"')
    return None


def _integer(literal: Literal, name: str) -> int:
    if isinstance(literal, bool) or not isinstance(literal, int | str):
        raise ValueError("not an integer")
    if isinstance(literal, str):
        match = _INTEGER.fullmatch(literal.strip())
        if match is None:
            raise ValueError("not a decimal or 0x integer")
        digits = match["digits"]
        if len(digits) > 1 and digits[0] == "0" and digits[1] not in "xX":
            raise ValueError("some compilers read a leading zero as octal")
        value = int(digits, 16 if digits[:2].lower() == "0x" else 10)
        literal = -value if match["sign"] else value
    low, high = INTEGER_RANGES[name]
    if not low <= literal <= high:
        raise ValueError(f"{name} holds {low} to {high}")
    return literal


def _boolean(literal: Literal) -> bool:
    if isinstance(literal, bool):
        return literal
    if literal in ("true", "false"):
        return literal == "true"
    raise ValueError("a bool must be `true` or `false`")


def _float(literal: Literal) -> float:
    if isinstance(literal, bool) or literal is None or not _FLOAT.fullmatch(str(literal).strip()):
        raise ValueError("not a number")
    value = float(literal)
    if not math.isfinite(value):
        raise ValueError("not a finite number")
    return value


def _string(literal: Literal) -> str | None:
    if not isinstance(literal, str):
        raise ValueError("not a string")
    try:
        size = len(literal.encode())
    except UnicodeEncodeError:
        raise ValueError("not valid Unicode text") from None
    if size > MAX_STRING:
        raise ValueError(f"a string has at most {MAX_STRING} bytes, not {size}")
    return None if literal == "null" else literal


def _uuid(literal: Literal) -> bytes:
    if not isinstance(literal, str):
        raise ValueError("a uuid is written as base64")
    try:
        value = base64.b64decode(literal + "=" * (-len(literal) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("a uuid is 16 bytes in base64") from None
    if len(value) != UUID_SIZE:
        raise ValueError(f"a uuid has 16 bytes, not {len(value)}")
    return value
