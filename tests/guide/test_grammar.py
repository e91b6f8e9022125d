"""Grammars: one for each layout, with all that decides about the bytes."""

from __future__ import annotations

import pytest

from kwire_guide.grammar import grammar
from kwire_guide.inputs import Inputs
from kwire_guide.rows import rows, type_text
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


def text(layout: MessageLayout, title: str = "M") -> str:
    return "\n".join(grammar(layout, rows(layout), title))


@pytest.mark.slow
def test_equal_grammar_means_equal_bytes_for_every_version_of_the_protocol(union: Inputs) -> None:
    pairs = 0
    for versions in union.layouts.by_message.values():
        found = [(layout, text(layout)) for layout in versions.values()]
        for number, (layout, shown) in enumerate(found):
            for other, other_shown in found[:number]:
                assert (layout == other) == (shown == other_shown), layout.message
                pairs += 1
    assert pairs > 2000


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (SCALARS["uint16"], "UINT16"),
        (SCALARS["bool"], "BOOLEAN"),
        (BlobKind(string=True, compact=True, nullable=True), "COMPACT_NULLABLE_STRING"),
        (BlobKind(string=False, compact=False, nullable=True), "NULLABLE_BYTES"),
        (BlobKind(string=False, compact=True, nullable=False, records=True), "COMPACT_RECORDS"),
        (ArrayKind(True, True, INT8), "COMPACT_NULLABLE_ARRAY of INT8"),
        (ArrayKind(False, False, ArrayKind(True, False, INT8)), "ARRAY of COMPACT_ARRAY of INT8"),
        (ArrayKind(False, False, StructKind("S", (), None)), "ARRAY"),
        (StructKind("S", (), None, nullable=True), "NULLABLE_STRUCT"),
    ],
)
def test_names_of_types(kind: Kind, expected: str) -> None:
    assert type_text(kind) == expected


def test_every_part_of_a_layout_is_in_its_grammar() -> None:
    inner = StructKind("Inner", (FieldLayout("Id", INT8),), ())
    tag = TagLayout("Limit", 3, SCALARS["int16"], 5)
    closed = StructKind("Closed", (), ())
    fields = (
        FieldLayout("Things", ArrayKind(True, False, inner)),
        FieldLayout("One", INT8),
        FieldLayout("None", closed),
    )
    body = StructKind("M", fields, (tag,))
    assert text(MessageLayout("M", body), "M (Version 2)") == (
        "M (Version 2) => [things] one none TAG_BUFFER\n"
        "  things => COMPACT_ARRAY of id TAG_BUFFER\n"
        "    id => INT8\n"
        "  one => INT8\n"
        "  none => STRUCT TAG_BUFFER\n"
        "  limit<tag 3> => INT16, default 5"
    )


def test_sizes_say_what_is_least_and_what_is_exact() -> None:
    fixed = StructKind("Fixed", (FieldLayout("A", SCALARS["int64"]), FieldLayout("B", INT8)), None)
    closed = StructKind("Closed", fixed.fields, ())
    body = StructKind(
        "M",
        (
            FieldLayout("Fixed", fixed),
            FieldLayout("Closed", closed),
            FieldLayout("Text", BlobKind(string=True, compact=False, nullable=False)),
            FieldLayout("Items", ArrayKind(True, False, INT8)),
            FieldLayout("Null", StructKind("N", fixed.fields, None, nullable=True)),
        ),
        None,
    )
    found = {row.place: row.size for row in rows(MessageLayout("M", body)) if row.depth == 0}
    assert found == {"fixed": "9", "closed": "10+", "text": "2+", "items": "1+", "null": "1+"}
