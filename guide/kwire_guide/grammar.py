"""The grammar of a layout, in a more exact form of the notation on Kafka's protocol page.

A grammar has one line for the message and one for each field. Unlike Kafka's page, the grammar names compact and
nullable arrays and shows every section of tagged fields. Two layouts of a message with equal grammars describe equal
bytes.

::

    Fetch Request (Version: 12) => replica_id [topics] TAG_BUFFER
      replica_id => INT32
      topics => COMPACT_ARRAY of topic TAG_BUFFER
        topic => COMPACT_STRING
      cluster_id<tag 0> => COMPACT_NULLABLE_STRING, default null
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwire_guide.rows import TAG_BUFFER, Row, shown
from kwirec.lowering.layout import MessageLayout


def grammar(layout: MessageLayout, rows: Sequence[Row], title: str) -> Iterator[str]:
    """Yield the lines of the grammar. ``title`` is the text before the first arrow."""
    tail = (TAG_BUFFER,) if layout.is_flexible else ()
    yield " ".join((title, "=>", *(shown(field) for field in layout.body.fields), *tail))
    for row in rows:
        yield f"{'  ' * (row.depth + 1)}{row.label} => {_right(row)}"


def _right(row: Row) -> str:
    text = row.type
    if row.parts or row.closed:
        of = " of" if row.type.endswith("ARRAY") else ""
        text = " ".join((f"{text}{of}", *row.parts, *((TAG_BUFFER,) if row.closed else ())))
    return text if row.default in (None, "-") else f"{text}, default {row.default}"
