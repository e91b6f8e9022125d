"""The bytes of made up layouts, as the guide shows them, and the grammar of such layouts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kwire.trace import Trace, expand_records, trace_message, value_text
from kwire_guide.classes import message_class
from kwire_guide.grammar import grammar
from kwire_guide.rows import rows
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

NO_TAGS = (1, 2, 1, "tagged fields", 1, "count", "0")


def layout(*kinds: Kind, tags: Sequence[TagLayout] | None = None) -> MessageLayout:
    fields = tuple(FieldLayout("A", kind) for kind in kinds)
    return MessageLayout("M", StructKind("M", fields, None if tags is None else tuple(tags)))


def traced(of: MessageLayout, data: bytes) -> Trace:
    return trace_message(message_class(of, 0, {}), data, 0, expand=expand_records)


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
        (
            layout(BlobKind(False, True, True, records=True), tags=()),
            "01 00",
            [(0, 1, 1, "a", 1, "compact records", "0 bytes"), NO_TAGS],
        ),
        (
            layout(BlobKind(False, True, True, records=True), tags=()),
            "00 00",
            [(0, 1, 1, "a", 1, "compact records", "null"), NO_TAGS],
        ),
        (
            layout(BlobKind(False, False, True, records=True)),
            "00000001 00",
            [(0, 4, 4, "a", 1, "records", "1 byte"), (4, 5, 4, "a.batch[0]", 2, "incomplete batch", "1 byte")],
        ),
        (layout(BlobKind(True, False, False)), "0001 61", [(0, 3, 2, "a", 1, "string", '"a"')]),
        (layout(BlobKind(False, False, False)), "00000001 61", [(0, 5, 4, "a", 1, "bytes", "1 byte")]),
        (layout(ArrayKind(False, True, INT8)), "ffffffff", [(0, 4, 0, "a", 1, "array", "null")]),
        (
            layout(ArrayKind(False, True, INT8)),
            "00000001 07",
            [(0, 4, 0, "a", 1, "array", "1 element"), (4, 5, 4, "a[0]", 2, "int8", "7")],
        ),
        (
            layout(ArrayKind(True, True, INT8), tags=()),
            "01 00",
            [(0, 1, 0, "a", 1, "compact array", "0 elements"), NO_TAGS],
        ),
    ],
)
def test_spans(of: MessageLayout, data: str, expected: list[tuple[int, int, int, str, int, str, str]]) -> None:
    _, *found = traced(of, bytes.fromhex(data)).spans
    shown = [(one.start, one.end, one.content, one.path, one.depth, one.kind, value_text(one)) for one in found]
    assert shown == expected


@pytest.mark.parametrize("data", ["", "0002 61", "00"])
def test_bytes_that_end_early_are_not_read(data: str) -> None:
    assert traced(layout(BlobKind(True, False, False)), bytes.fromhex(data)).error


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
