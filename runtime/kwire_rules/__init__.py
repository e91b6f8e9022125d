"""Rules shared by the compiler and the runtime, which do not import each other.

The rules cover wire limits, API keys, version negotiation and the reserved names of models. Codecs import this
module, so it has no imports.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

MAX_STRING: Final = 0x7FFF
"""Maximum length, in bytes, of strings that Kafka accepts, whether compact or not [KAFKA-WIRE 14]."""

MAX_TAG: Final = 0x7FFFFFFE
"""The largest tag. Kafka refuses to write the next number, which it uses as a marker."""

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
"""Fixed-size types, with the Python type, the format code in the ``struct`` module, and the size in bytes."""

TYPES = {kind: python for kind, (python, _, _) in FIXED.items()}
"""Python types by fixed-size type."""

CODES = {kind: code for kind, (_, code, _) in FIXED.items()}
"""Format codes in the ``struct`` module, without a byte order, by fixed-size type."""

SIZES = {kind: size for kind, (_, _, size) in FIXED.items()}
"""Sizes in bytes by fixed-size type."""

NUMBERS = tuple(kind for kind in FIXED if kind != "uuid")
"""The number types, including ``bool``."""

INTEGER_RANGES = {
    kind: (-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1) if code.islower() else (0, (1 << 8 * size) - 1)
    for kind, (python, code, size) in FIXED.items()
    if python == "int"
}
"""The smallest and largest value of each integer type."""

API_VERSIONS = 18
"""API key of ApiVersions. Clients call it first, because they do not yet know the broker's versions [KIP-511]."""

ENVELOPE = 58
"""API key of Envelope. An Envelope request contains another request."""

REFUSED = "refused"
"""Result for a version that the broker advertises but does not accept. The broker closes the connection if a client
uses this version [KAFKA-18659]."""

MODEL_NAMES = frozenset(
    {"construct", "copy", "dict", "from_orm", "json", "parse_file", "parse_obj", "parse_raw", "schema", "schema_json"}
    | {"update_forward_refs", "validate", "for_version", "from_codec", "to_codec", "unknown_tags"}
)
"""Attribute names that every generated model already has."""


def choose(client: range, advertised: range, accepted: range) -> int | str | None:
    """Return the highest version that the client supports and the broker advertises.

    Return ``REFUSED`` if the broker does not accept this version, and ``None`` if there is no common version.
    """
    if not (client and advertised) or client[-1] < advertised[0] or client[0] > advertised[-1]:
        return None
    version = min(client[-1], advertised[-1])
    return version if version in accepted else REFUSED


def printable(text: str) -> str:
    """Return untrusted text on one line, with non-printable characters escaped as in JSON."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex(" ", 2).split()
    return "".join(f"\\u{unit}" for unit in units)


def address_text(host: str, port: int) -> str:
    """Return an address as clients expect it, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def model_name(name: str) -> str:
    """Return a model's attribute name for a codec attribute. Names that pydantic uses get a trailing underscore."""
    return f"{name}_" if name in MODEL_NAMES or name.startswith("model_") else name
