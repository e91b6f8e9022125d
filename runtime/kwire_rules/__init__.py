"""Rules of compiler and runtime, which import nothing of each other: limits of the wire, numbers of APIs, the version
that client and broker choose, and names that models have for themselves.

Codecs import this module, so it imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

MAX_STRING: Final = 0x7FFF
"""The longest string Kafka accepts, in bytes, compact or not [KAFKA-WIRE 14]."""

MAX_TAG: Final = 0x7FFFFFFE
"""The largest tag: Kafka refuses to write the next one, which it uses as a mark."""

FIXED = {
    "bool": ("bool", "?", 1),
    "int8": ("int", "b", 1),
    "int16": ("int", "h", 2),
    "uint16": ("int", "H", 2),
    "int32": ("int", "i", 4),
    "uint32": ("int", "I", 4),
    "int64": ("int", "q", 8),
    "float64": ("float", "d", 8),
    "uuid": ("Uuid", "16s", 16),
}
"""The types of fixed size: each with its type in Python, its code in the module ``struct``, and its bytes."""

TYPES = {kind: python for kind, (python, _, _) in FIXED.items()}
"""Type of fixed size → type in Python."""

CODES = {kind: code for kind, (_, code, _) in FIXED.items()}
"""Type of fixed size → code in the module ``struct``, without byte order."""

SIZES = {kind: size for kind, (_, _, size) in FIXED.items()}
"""Type of fixed size → bytes."""

NUMBERS = tuple(kind for kind in FIXED if kind != "uuid")
"""The types of numbers, ``bool`` among them."""

INTEGER_RANGES = {
    kind: (-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1) if code.islower() else (0, (1 << 8 * size) - 1)
    for kind, (python, code, size) in FIXED.items()
    if python == "int"
}
"""Integer type → its smallest and largest value."""

API_VERSIONS = 18
"""The API that a client asks first, because it does not know the versions of the broker yet [KIP-511]."""

ENVELOPE = 58
"""The API whose requests contain another request."""

REFUSED = "refused"
"""The broker advertises the version but closes the connection when it is used [KAFKA-18659]."""

MODEL_NAMES = frozenset(
    {"construct", "copy", "dict", "from_orm", "json", "parse_file", "parse_obj", "parse_raw", "schema", "schema_json"}
    | {"update_forward_refs", "validate", "for_version", "from_codec", "to_codec", "unknown_tags"}
)
"""Attributes that every pydantic model has."""


def choose(client: range, advertised: range, accepted: range) -> int | str | None:
    """Return the highest version that the client has and the broker advertises.

    Return ``REFUSED`` if the broker does not accept it, and ``None`` if the two share no version.
    """
    if not (client and advertised) or client[-1] < advertised[0] or client[0] > advertised[-1]:
        return None
    version = min(client[-1], advertised[-1])
    return version if version in accepted else REFUSED


def printable(text: str) -> str:
    """Return text, which may be hostile, in one line, with JSON's escapes for characters that control a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex(" ", 2).split()
    return "".join(f"\\u{unit}" for unit in units)


def model_name(name: str) -> str:
    """Return the attribute of a model, from the attribute of the codec. Names of pydantic get an underscore."""
    return f"{name}_" if name in MODEL_NAMES or name.startswith("model_") else name
