"""Converting frames to columns. A program fills buffers, which become Arrow arrays."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate

import pyarrow as pa
from librt.strings import BytesWriter
from pyarrow import compute

from kwire.arrow.buffers import MAX_BYTES, cut, numbers, valid_rows
from kwire.arrow.schema import TAG, TAGS
from kwire.arrow.write import absent, structs_of, uuid_texts
from kwire.columns.messages import Machine
from kwire.columns.program import Lists, Pieces, Place, Program, Structs, Values, Wanted
from kwire.columns.rows import ends, signed, unsigned, uuids
from kwire.message import Message
from kwire_rules import SIZES


def wanted(kind: pa.StructType) -> Wanted:
    """Return the fields of a struct type by name, as ``Program`` expects them."""
    found = {}
    for field in kind:
        inner = field.type.value_type if pa.types.is_list(field.type) else field.type
        found[field.name] = wanted(inner) if pa.types.is_struct(inner) and inner != TAG else {}
    return found


class Reader:
    """Reads messages of one version as structs of ``kind``. The constructor raises ``UnsuitableError`` if the
    messages have to be decoded into objects."""

    __slots__ = ("make", "program")

    def __init__(self, message: type[Message], version: int, kind: pa.StructType) -> None:
        self.program = Program(message, version, wanted(kind))
        self.make = _structs(kind, self.program.place)

    def read(self, frames: Sequence[bytes], starts: Sequence[int]) -> tuple[pa.StructArray, set[int], set[int]]:
        """Return an array of the messages in ``frames``. ``starts`` holds the offset of the message in each frame.

        Also return the numbers of frames that could not be read and are not in the array, and the rows of the array
        that contain invalid UTF-8. Raise ``ValueError`` if the total size of the frames is 2 GiB or more.
        """
        data, bounds = _joined(frames, starts)
        program = self.program
        machine = Machine(program.code, program.entry, program.columns, program.ends)
        failed = {*machine.read(data, bounds)}
        found = _Filled(pa.py_buffer(data), machine.outs)
        return self.make(found, len(frames) - len(failed)), failed, found.rows_without_text


def _joined(frames: Sequence[bytes], starts: Sequence[int]) -> tuple[bytes, list[int]]:
    """Return the concatenated frames, and a list with the start of each message and the end of the last message."""
    if len(frames) == 1 and 0 <= starts[0] <= len(frames[0]):
        bounds = [starts[0], len(frames[0])]
    else:
        frames = [frame[start:] if start else frame for frame, start in zip(frames, starts, strict=True)]
        bounds = [0, *accumulate(map(len, frames))]
    if bounds[-1] > MAX_BYTES:
        raise ValueError(
            f"the frames have {bounds[-1]} bytes in total, but the limit is {MAX_BYTES}: decode fewer at a time"
        )
    return frames[0] if len(frames) == 1 else b"".join(frames), bounds


EMPTY = BytesWriter()
"""A placeholder for a column that is no longer needed."""


class _Filled:
    """The filled columns of a program. While the elements of a list are converted, ``ends`` holds the offsets of this
    list and of all enclosing lists."""

    __slots__ = ("columns", "data", "ends", "rows_without_text")

    def __init__(self, data: pa.Buffer, columns: list[BytesWriter]) -> None:
        self.data = data
        self.columns = columns
        self.ends: list[pa.Array] = []
        self.rows_without_text: set[int] = set()

    def take(self, first: int, count: int) -> list[bytes]:
        """Remove and return ``count`` columns, so that their memory can be freed."""
        taken = [out.getvalue() for out in self.columns[first : first + count]]
        self.columns[first : first + count] = [EMPTY] * count
        return taken


Make = Callable[[_Filled, int], pa.Array]
"""A function that returns an array with the given number of values. The function for a struct is composed once from
the functions for its fields.
"""


def _structs(kind: pa.StructType, place: Structs) -> Make:
    fields = list(kind)
    makers = [_field(field, place) for field in fields]
    rows = {found.rows.column for found in place.fields.values() if isinstance(found, Values)}

    def make(found: _Filled, count: int) -> pa.StructArray:
        arrays = [make(found, count) for make in makers]
        for column in rows:
            found.columns[column] = EMPTY
        null = None
        if place.column is not None:
            null = compute.invert(numbers(pa.bool_(), *found.take(place.column, 1)))
        if not arrays:
            return structs_of(kind, arrays, null, count)
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=null)

    return make


def _field(field: pa.Field, place: Structs) -> Make:
    if field.name in place.fields:
        return _values(field.type, place.fields[field.name])
    if field.name == "unknown_tags" and place.unknown is not None:
        return partial(_tags, place.unknown)
    kind = field.type
    return lambda found, count: absent(kind, count)


def _values(kind: pa.DataType, place: Place) -> Make:
    if isinstance(place, Structs):
        return _structs(kind, place)
    if isinstance(place, Lists):
        return partial(_lists, kind, place.column, _values(kind.value_type, place.elements))
    if isinstance(place, Pieces):
        return partial(_pieces, place.column, place.type == "string")
    column, offset, stride, size = place.rows.column, place.offset, place.rows.size, SIZES[place.type]
    if place.type == "uuid":
        return lambda found, count: uuid_texts(uuids(found.columns[column], offset, stride), count)
    turn = unsigned if place.type in ("uint16", "uint32") else signed
    return lambda found, count: numbers(kind, turn(found.columns[column], offset, stride, size))


def _lists(kind: pa.ListType, column: int, make: Make, found: _Filled, count: int) -> pa.ListArray:
    ends, nulls = found.take(column, 2)
    offsets = numbers(pa.int32(), ends)
    found.ends.append(offsets)
    elements = make(found, offsets[count].as_py())
    found.ends.pop()
    valid = valid_rows(nulls, count)
    mask = None if valid is None else compute.invert(valid)
    return pa.ListArray.from_arrays(offsets, elements, type=kind, mask=mask)


def _pieces(column: int, are_texts: bool, found: _Filled, count: int) -> pa.Array:
    places, nulls = found.take(column, 2)
    pieces = cut(found.data, places, nulls)
    return _texts(found, pieces) if are_texts else pieces


def _texts(found: _Filled, pieces: pa.Array) -> pa.Array:
    """Return binary values as strings. Add the rows of messages with invalid UTF-8 to ``rows_without_text``."""
    texts = pieces.view(pa.string())
    try:
        texts.validate(full=True)  # faster than a cast
    except pa.ArrowInvalid:
        rows = [row for row, value in enumerate(pieces.to_pylist()) if not _is_text(value)]
        for offsets in reversed(found.ends):
            starts = offsets.to_pylist()
            rows = [bisect_right(starts, row) - 1 for row in rows]
        found.rows_without_text.update(rows)
    return texts


def _tags(first: int, found: _Filled, count: int) -> pa.Array:
    rows, tags, places = found.take(first, 3)
    if not rows:
        return pa.nulls(count, TAGS)
    elements = structs_of(TAG, [numbers(pa.int32(), tags), cut(found.data, places)])
    without = valid_rows(rows, count)
    return pa.ListArray.from_arrays(numbers(pa.int32(), ends(rows, count)), elements, type=TAGS, mask=without)


def _is_text(value: bytes | None) -> bool:
    try:
        return value is None or value.decode() is not None
    except UnicodeDecodeError:
        return False
