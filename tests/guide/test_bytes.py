"""The bytes of made up layouts and blocks of records, as the guide shows them, and the grammar of such layouts."""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack

import pytest

from kwirec.guide.batches import batches, time_text
from kwirec.guide.grammar import grammar
from kwirec.guide.rows import rows
from kwirec.guide.spans import BadExampleError, read
from kwirec.ir.schema import IMPLICIT
from kwirec.lowering.layout import (
    SCALARS,
    ArrayKind,
    BlobKind,
    FieldLayout,
    Kind,
    MessageLayout,
    StructKind,
    TagLayout,
)

INT8 = SCALARS["int8"]
X = (FieldLayout("X", INT8),)
EMPTY = StructKind("In", (), ())
NULLABLE = StructKind("In", X, None, nullable=True)
TAGS = (TagLayout("T", 0, StructKind("In", X, (), nullable=True), None), TagLayout("U", 3, INT8, 0))


def layout(*kinds: Kind, tags: Sequence[TagLayout] | None = None) -> MessageLayout:
    fields = tuple(FieldLayout("A", kind) for kind in kinds)
    return MessageLayout("M", StructKind("M", fields, None if tags is None else tuple(tags)))


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (-1, ""),
        (0, "1970-01-01 00:00:00.000 UTC"),
        (1_600_000_000_123, "2020-09-13 12:26:40.123 UTC"),
        (2**62, ""),
    ],
)
def test_times(milliseconds: int, text: str) -> None:
    assert time_text(milliseconds) == text


def message(magic: int, attributes: int, time: int, key: bytes | None, value: bytes | None) -> bytes:
    """A message of magic 0 or 1 with offset 5."""
    texts = (pack(">i", -1) if one is None else pack(">i", len(one)) + one for one in (key, value))
    body = pack(">Ibb", 7, magic, attributes) + (pack(">q", time) if magic else b"") + b"".join(texts)
    return pack(">qi", 5, len(body)) + body


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        (message(0, 0, 0, None, b"x" * 24), "record", f"offset 5, no time, key null, value '{'x' * 24}'"),
        (message(0, 0, 0, b"", b"x" * 25), "record", f"offset 5, no time, key '', value '{'x' * 20}'… (25 bytes)"),
        (message(1, 8, 0, b"k", None), "record", "offset 5, 1970-01-01 00:00:00.000 UTC, key 'k', value null"),
        (message(1, 0, -1, b"k", b"v"), "record", "offset 5, no time, key 'k', value 'v'"),
        (message(1, 4, -1, b"k", b"v"), "zstd data", ""),
        (message(0, 3, 0, None, b""), "lz4 data", ""),
        (message(0, 0, 0, None, b"v") + message(0, 0, 0, None, b"v")[:-1], "incomplete batch", ""),
    ],
)
def test_the_end_of_a_block_of_old_messages(data: bytes, kind: str, text: str) -> None:
    first, *_, last = batches(data, 0, len(data))
    assert first.kind == f"message v{data[16]}"
    assert (last.kind, last.text, last.end) == (kind, text, len(data))


@pytest.mark.parametrize(
    ("attributes", "text", "last"),
    [
        (0, "uncompressed", "int32"),
        (1, "gzip", "gzip data"),
        (2, "snappy", "snappy data"),
        (3, "lz4", "lz4 data"),
        (4, "zstd", "zstd data"),
        (8, "uncompressed, append time", "int32"),
        (16, "uncompressed, transactional", "int32"),
        (32, "uncompressed, control", "int32"),
        (64, "uncompressed, delete horizon", "int32"),
        (124, "zstd, append time, transactional, control, delete horizon", "zstd data"),
    ],
)
def test_attributes_of_a_batch(attributes: int, text: str, last: str) -> None:
    data = pack(">qiibIhiqqqhii", 9, 49, -1, 2, 1, attributes, 0, 0, 0, -1, -1, -1, 0)
    found = {one.name: one for one in batches(data, 0, len(data))}
    assert found["attributes"].text == f"{attributes}  {text}"
    assert list(found.values())[-1].kind == last


@pytest.mark.parametrize(
    ("of", "data", "expected"),
    [
        (layout(NULLABLE), "ff", [(0, 1, 0, "a", 1, "struct or null", "null")]),
        (
            layout(NULLABLE),
            "01 05",
            [(0, 1, 0, "a", 1, "struct or null", ""), (1, 1, 1, "a", 1, "In", ""), (1, 2, 1, "a.x", 2, "int8", "5")],
        ),
        (layout(tags=TAGS), "00", [(0, 1, 0, "tagged fields", 1, "count", "0")]),
        (
            layout(tags=TAGS),
            "01 00 03 01 05 00",
            [
                (0, 1, 0, "tagged fields", 1, "count", "1"),
                (1, 3, 1, "tagged fields", 2, "tag and size", "3 bytes"),
                (3, 4, 3, "t", 2, "struct or null", ""),
                (4, 4, 4, "t", 2, "In", ""),
                (4, 5, 4, "t.x", 3, "int8", "5"),
                (5, 6, 5, "t.tagged fields", 3, "count", "0"),
            ],
        ),
        (
            layout(tags=TAGS),
            "03 00 01 00 02 02 07 07 03 01 05",
            [
                (0, 1, 0, "tagged fields", 1, "count", "3"),
                (1, 3, 1, "tagged fields", 2, "tag and size", "1 byte"),
                (3, 4, 3, "t", 2, "struct or null", "null"),
                (4, 8, 6, "tagged fields", 2, "unknown tag", "2 bytes"),
                (8, 10, 8, "tagged fields", 2, "tag and size", "1 byte"),
                (10, 11, 10, "u", 2, "int8", "5"),
            ],
        ),
        (layout(BlobKind(False, True, True, records=True)), "01", [(0, 1, 1, "a", 1, "compact records", "0 bytes")]),
        (layout(BlobKind(False, True, True, records=True)), "00", [(0, 1, 1, "a", 1, "compact records", "null")]),
        (
            layout(BlobKind(False, False, True, records=True)),
            "00000001 00",
            [(0, 4, 4, "a", 1, "records", "1 byte"), (4, 5, 4, "a.batch[0]", 2, "incomplete batch", "")],
        ),
        (layout(BlobKind(True, False, False)), "0001 61", [(0, 3, 2, "a", 1, "string", '"a"')]),
        (layout(BlobKind(False, False, False)), "00000001 61", [(0, 5, 4, "a", 1, "bytes", "1 byte")]),
        (layout(ArrayKind(False, True, INT8)), "ffffffff", [(0, 4, 0, "a", 1, "array", "null")]),
        (
            layout(ArrayKind(False, True, INT8)),
            "00000001 07",
            [(0, 4, 0, "a", 1, "array", "1 element"), (4, 5, 4, "a[0]", 2, "int8", "7")],
        ),
        (layout(ArrayKind(True, True, INT8)), "01", [(0, 1, 0, "a", 1, "compact array", "0 elements")]),
    ],
)
def test_spans(of: MessageLayout, data: str, expected: list[tuple[int, int, int, str, int, str, str]]) -> None:
    _, *found = read(of, bytes.fromhex(data), {})
    shown = [(one.start, one.end, one.content, one.path, one.depth, one.kind, one.text) for one in found]
    assert shown == expected


@pytest.mark.parametrize("data", ["", "0002 61", "00"])
def test_bytes_that_end_early_are_no_example(data: str) -> None:
    with pytest.raises(BadExampleError):
        read(layout(BlobKind(True, False, False)), bytes.fromhex(data), {})


@pytest.mark.parametrize(
    ("of", "lines"),
    [
        (layout(NULLABLE), ["M => a", "  a => NULLABLE_STRUCT x", "    x => INT8"]),
        (layout(EMPTY, tags=()), ["M => a TAG_BUFFER", "  a => STRUCT TAG_BUFFER"]),
        (layout(ArrayKind(True, False, EMPTY)), ["M => [a]", "  a => COMPACT_ARRAY of TAG_BUFFER"]),
        (
            layout(tags=(TagLayout("T", 0, INT8, IMPLICIT), TagLayout("U", 3, INT8, 1))),
            ["M => TAG_BUFFER", "  t<tag 0> => INT8", "  u<tag 3> => INT8, default 1"],
        ),
        (layout(StructKind("In", (), None)), ["M => a", "  a => STRUCT"]),
    ],
)
def test_lines_of_the_grammar(of: MessageLayout, lines: list[str]) -> None:
    assert list(grammar(of, rows(of), "M")) == lines
