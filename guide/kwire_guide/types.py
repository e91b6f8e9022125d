"""The wire types with example bytes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from struct import pack

from librt.strings import BytesWriter

from kwire.records.writing import varint
from kwire.wire import write_uvarint
from kwire_rules import CODES, INTEGER_RANGES, SIZES


@dataclass(frozen=True)
class TypeRow:
    """A type. ``examples`` lists values with their bytes in hex."""

    name: str
    size: str
    meaning: str
    examples: tuple[tuple[str, str], ...]


def type_rows() -> Iterator[TypeRow]:
    """Yield all types, named as in grammars."""
    yield TypeRow(
        "BOOLEAN",
        "1",
        "0 is false and 1 is true. Readers accept any other byte as true.",
        _packed("bool", True, False),
    )
    for kind, (low, high) in sorted(INTEGER_RANGES.items(), key=lambda item: item[0].startswith("u")):
        values = {"uint16": (9092,), "uint32": (high,)}.get(kind, (1, -1))
        yield TypeRow(kind.upper(), str(SIZES[kind]), f"{low} to {high}.", _packed(kind, *values))
    yield TypeRow("FLOAT64", "8", "A double-precision number (IEEE 754).", _packed("float64", 0.5))
    yield TypeRow(
        "UNSIGNED_VARINT",
        "1–5",
        "An unsigned number with seven bits per byte, lowest bits first.",
        _unsigned(0, 127, 300),
    )
    yield TypeRow(
        "VARINT",
        "1–5",
        "A signed number: 0, -1, 1, -2, … are written as the unsigned 0, 1, 2, 3, … (zigzag). Records use it.",
        _signed(0, -1, 150),
    )
    yield TypeRow("VARLONG", "1–10", "A 64-bit VARINT. Records use it for timestamps.", _signed(2**40))
    yield TypeRow(
        "UUID",
        "16",
        "The sixteen bytes of a UUID. All zeros mean no UUID.",
        (_uuid(uuid.UUID(int=0x0123456789ABCDEF0123456789ABCDEF)),),
    )
    texts = ("'kafka'", 5, "6b61666b61"), ("''", 0, "")
    yield from _forms("STRING", 2, "bytes", "UTF-8", "At most 32767 bytes.", *texts)
    yield from _forms("BYTES", 4, "bytes", "the bytes", "", ("01 02", 2, "0102"))
    yield TypeRow(
        "RECORDS",
        "as BYTES",
        "Bytes that hold record batches or, in old versions, message sets. RECORDS has the same four forms as BYTES.",
        (),
    )
    arrays = ("[1, 2] of INT8", 2, "01 02"), ("[]", 0, "")
    yield from _forms("ARRAY", 4, "elements", "the elements", "Elements are never null.", *arrays)
    yield TypeRow("STRUCT", "its fields", "Its fields in order, then a TAG_BUFFER in flexible versions.", ())
    yield TypeRow(
        "NULLABLE_STRUCT",
        "1+",
        "An INT8 of -1 for null, or of 1 before the struct. In a tagged field, an UNSIGNED_VARINT of 0 or 1.",
        (("null", "ff"),),
    )
    yield TypeRow(
        "TAG_BUFFER",
        "1+",
        "The number of tagged fields as an UNSIGNED_VARINT, then the fields in order of their tags. Each field "
        "consists of a tag and a size in bytes as UNSIGNED_VARINTs, and the value. Fields with default values are "
        "left out.",
        (("none", "00"), ("tag 0: INT16 5", "01 00 02 0005")),
    )


def _forms(
    name: str, size: int, unit: str, content: str, limit: str, *examples: tuple[str, int, str]
) -> Iterator[TypeRow]:
    """Yield the four forms of a type that begins with a length or count of ``size`` bytes.

    Each example consists of a value, its length or count, and the bytes that follow.
    """
    word = "length" if unit == "bytes" else "number"
    classic = tuple((value, f"{count:0{2 * size}x} {data}".strip()) for value, count, data in examples)
    compact = tuple((value, f"{count + 1:02x} {data}".strip()) for value, count, data in examples)
    first = f"The number of {unit} as an INT{8 * size}, then {content}. {limit}".strip()
    yield TypeRow(name, f"{size}+", first, classic)
    null = (("null", "ff" * size),)
    yield TypeRow(f"NULLABLE_{name}", f"{size}+", f"Like {name}, but a {word} of -1 means null.", null)
    first = f"The number of {unit} plus one as an UNSIGNED_VARINT, then {content}."
    yield TypeRow(f"COMPACT_{name}", "1+", first, compact)
    yield TypeRow(f"COMPACT_NULLABLE_{name}", "1+", f"Like COMPACT_{name}, but 0 means null.", (("null", "00"),))


def varint_rows() -> Iterator[tuple[int, str, str, str]]:
    """Yield examples of numbers: in decimal, in binary, in groups of seven bits, and as varint bytes."""
    for number in (1, 127, 128, 300, 16384):
        groups = [f"{(number >> shift) & 127:07b}" for shift in range(0, max(number.bit_length(), 1), 7)]
        yield number, f"{number:b}", " ".join(groups), _uvarint(number).hex(" ")


def _packed(kind: str, *values: float) -> tuple[tuple[str, str], ...]:
    return tuple((str(value).lower(), pack(f">{CODES[kind]}", value).hex()) for value in values)


def _unsigned(*values: int) -> tuple[tuple[str, str], ...]:
    return tuple((str(value), _uvarint(value).hex(" ")) for value in values)


def _uvarint(value: int) -> bytes:
    out = BytesWriter()
    write_uvarint(out, value)
    return out.getvalue()


def _signed(*values: int) -> tuple[tuple[str, str], ...]:
    return tuple((str(value), varint(value).hex(" ")) for value in values)


def _uuid(value: uuid.UUID) -> tuple[str, str]:
    return str(value), value.hex
