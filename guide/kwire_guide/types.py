"""The types of the wire, with worked bytes."""

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
    """A type; ``examples`` are values and their bytes as hexadecimal digits."""

    name: str
    size: str
    meaning: str
    examples: tuple[tuple[str, str], ...]


def type_rows() -> Iterator[TypeRow]:
    """All types, as grammars name them."""
    yield TypeRow(
        "BOOLEAN", "1", "0 is false, 1 is true. Readers take any other byte as true.", _packed("bool", True, False)
    )
    for kind, (low, high) in sorted(INTEGER_RANGES.items(), key=lambda item: item[0].startswith("u")):
        values = {"uint16": (9092,), "uint32": (high,)}.get(kind, (1, -1))
        yield TypeRow(kind.upper(), str(SIZES[kind]), f"{low} to {high}.", _packed(kind, *values))
    yield TypeRow("FLOAT64", "8", "A number with double precision (IEEE 754).", _packed("float64", 0.5))
    yield TypeRow(
        "UNSIGNED_VARINT", "1–5", "An unsigned number, seven bits a byte, the lowest first.", _unsigned(0, 127, 300)
    )
    yield TypeRow(
        "VARINT",
        "1–5",
        "A signed number: 0, -1, 1, -2, … are written as the unsigned 0, 1, 2, 3, … (zigzag). Records use it.",
        _signed(0, -1, 150),
    )
    yield TypeRow(
        "VARLONG", "1–10", "The same for numbers of 64 bits. Records use it for timestamps.", _signed(2**40)
    )
    yield TypeRow(
        "UUID",
        "16",
        "The sixteen bytes of a UUID; all zero means none.",
        (_uuid(uuid.UUID(int=0x0123456789ABCDEF0123456789ABCDEF)),),
    )
    text = "kafka"
    yield TypeRow(
        "STRING",
        "2+",
        "The number of bytes as an INT16, then UTF-8. At most 32767 bytes.",
        ((repr(text), "0005 6b61666b61"), ("''", "0000")),
    )
    yield TypeRow("NULLABLE_STRING", "2+", "The same; a length of -1 is null.", (("null", "ffff"),))
    yield TypeRow(
        "COMPACT_STRING",
        "1+",
        "The number of bytes plus one as an UNSIGNED_VARINT, then UTF-8.",
        ((repr(text), "06 6b61666b61"), ("''", "01")),
    )
    yield TypeRow("COMPACT_NULLABLE_STRING", "1+", "The same; 0 is null.", (("null", "00"),))
    yield TypeRow("BYTES", "4+", "The number of bytes as an INT32, then the bytes.", (("01 02", "00000002 0102"),))
    yield TypeRow("NULLABLE_BYTES", "4+", "The same; a length of -1 is null.", (("null", "ffffffff"),))
    yield TypeRow(
        "COMPACT_BYTES",
        "1+",
        "The number of bytes plus one as an UNSIGNED_VARINT, then the bytes.",
        (("01 02", "03 0102"),),
    )
    yield TypeRow("COMPACT_NULLABLE_BYTES", "1+", "The same; 0 is null.", (("null", "00"),))
    yield TypeRow(
        "RECORDS",
        "as BYTES",
        "Bytes that hold record batches or, in old versions, message sets. It has the same four forms as BYTES.",
        (),
    )
    yield TypeRow(
        "ARRAY",
        "4+",
        "The number of elements as an INT32, then the elements. Elements are never null.",
        (("[1, 2] of INT8", "00000002 01 02"), ("[]", "00000000")),
    )
    yield TypeRow("NULLABLE_ARRAY", "4+", "The same; a number of -1 is null.", (("null", "ffffffff"),))
    yield TypeRow(
        "COMPACT_ARRAY",
        "1+",
        "The number of elements plus one as an UNSIGNED_VARINT, then the elements.",
        (("[1, 2] of INT8", "03 01 02"), ("[]", "01")),
    )
    yield TypeRow("COMPACT_NULLABLE_ARRAY", "1+", "The same; 0 is null.", (("null", "00"),))
    yield TypeRow("STRUCT", "its fields", "Its fields in order, then a TAG_BUFFER in flexible versions.", ())
    yield TypeRow(
        "NULLABLE_STRUCT",
        "1+",
        "An INT8: -1 is null, 1 is followed by the struct. In a tagged field an UNSIGNED_VARINT: 0 is null.",
        (("null", "ff"),),
    )
    yield TypeRow(
        "TAG_BUFFER",
        "1+",
        "Tagged fields: their number as an UNSIGNED_VARINT, then for each, in ascending order, its tag and its size "
        "in bytes as UNSIGNED_VARINTs, and its value. A field that has its default is left out.",
        (("none", "00"), ("tag 0: INT16 5", "01 00 02 0005")),
    )


def varint_rows() -> Iterator[tuple[int, str, str, str]]:
    """Numbers in binary, in groups of seven bits, and as bytes."""
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
