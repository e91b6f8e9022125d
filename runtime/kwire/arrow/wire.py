"""Frames → columns: what a program found in the bytes becomes Arrow arrays."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import pyarrow as pa
from pyarrow import compute

from kwire.arrow.buffers import MOST_BYTES, cut, numbers, valid_rows
from kwire.arrow.schema import TAG, TAGS
from kwire.arrow.write import absent, structs_of, uuid_texts
from kwire.columns.messages import Machine
from kwire.columns.program import Lists, Place, Program, Structs, Wanted


def wanted(kind: pa.StructType) -> Wanted:
    """The fields of a struct type by name, as a program takes them."""
    found = {}
    for field in kind:
        inner = field.type.value_type if pa.types.is_list(field.type) else field.type
        found[field.name] = wanted(inner) if pa.types.is_struct(inner) and inner != TAG else {}
    return found


def read_frames(
    kind: pa.StructType, program: Program, frames: Sequence[bytes], starts: Sequence[int]
) -> tuple[pa.StructArray, set[int], set[int]]:
    """The messages in ``frames``, which begin at ``starts``, as structs of ``kind``.

    Also the numbers of the frames that could not be read, which are left out of the array; and the rows of the array
    whose texts are not UTF-8. ``ValueError`` if there are 2 GiB of frames.
    """
    data, bounds = _joined(frames, starts)
    machine = Machine(program.code, program.entry, program.columns)
    failed = {*machine.read(data, bounds)}
    found = _Arrays(pa.py_buffer(data), [out.getvalue() for out in machine.outs])
    array = found.structs(kind, program.place, len(frames) - len(failed))
    return array, failed, found.rows_without_text


def _joined(frames: Sequence[bytes], starts: Sequence[int]) -> tuple[bytes, list[int]]:
    """All frames in one, and where each begins and the last ends."""
    if len(frames) == 1 and 0 <= starts[0] <= len(frames[0]):
        bounds = [starts[0], len(frames[0])]
    else:
        frames = [frame[start:] if start else frame for frame, start in zip(frames, starts, strict=True)]
        bounds = [0, *accumulate(map(len, frames))]
    if bounds[-1] > MOST_BYTES:
        raise ValueError(f"{bounds[-1]} bytes of frames: the limit is {MOST_BYTES}, decode fewer at a time")
    return frames[0] if len(frames) == 1 else b"".join(frames), bounds


class _Arrays:
    """Arrays from the columns of a program. ``ends``, while the elements of lists are made, are the offsets of those
    lists and of the lists around them."""

    def __init__(self, data: pa.Buffer, columns: list[bytes]) -> None:
        self.data = data
        self.columns = columns
        self.ends: list[pa.Array] = []
        self.rows_without_text: set[int] = set()

    def structs(self, kind: pa.StructType, place: Structs, count: int) -> pa.StructArray:
        columns = []
        for column in kind:
            if column.name in place.fields:
                columns.append(self.values(column.type, place.fields[column.name], count))
            elif column.name == "unknown_tags" and place.unknown is not None:
                columns.append(self.tags(place.unknown))
            else:
                columns.append(absent(column.type, count))
        null = None if place.column is None else compute.invert(numbers(pa.bool_(), self.columns[place.column]))
        return structs_of(kind, columns, null, count)

    def values(self, kind: pa.DataType, place: Place, count: int) -> pa.Array:
        if isinstance(place, Structs):
            return self.structs(kind, place, count)
        if isinstance(place, Lists):
            return self.lists(kind, place)
        values = self.columns[place.column]
        if place.type == "uuid":
            return uuid_texts(values, count)
        if place.type not in ("string", "bytes", "records"):
            return numbers(kind, values)
        found = cut(self.data, values, self.columns[place.column + 1])
        return self.texts(found) if place.type == "string" else found

    def lists(self, kind: pa.ListType, place: Lists) -> pa.ListArray:
        lengths = numbers(pa.int32(), self.columns[place.column])
        ends = _ends(lengths)
        self.ends.append(ends)
        elements = self.values(kind.value_type, place.elements, ends[-1].as_py())
        self.ends.pop()
        valid = valid_rows(self.columns[place.column + 1], len(lengths))
        mask = None if valid is None else compute.invert(valid)
        return pa.ListArray.from_arrays(ends, elements, type=kind, mask=mask)

    def texts(self, found: pa.Array) -> pa.Array:
        """Bytes as strings. Those that are not UTF-8 are noted by the message that they are in."""
        try:
            return found.cast(pa.string())
        except pa.ArrowInvalid:
            rows = [row for row, value in enumerate(found.to_pylist()) if not _is_text(value)]
        for ends in reversed(self.ends):
            starts = ends.to_pylist()
            rows = [bisect_right(starts, row) - 1 for row in rows]
        self.rows_without_text.update(rows)
        return found.cast(pa.string(), safe=False)

    def tags(self, column: int) -> pa.Array:
        counts = numbers(pa.int32(), self.columns[column])
        tags = self.columns[column + 1]
        if not tags:
            return pa.nulls(len(counts), TAGS)
        payloads = cut(self.data, self.columns[column + 2])
        elements = structs_of(TAG, [numbers(pa.int32(), tags), payloads])
        return pa.ListArray.from_arrays(_ends(counts), elements, type=TAGS, mask=compute.equal(counts, 0))


def _ends(lengths: pa.Array) -> pa.Array:
    """Offsets of lists of these lengths."""
    return compute.cumulative_sum(pa.concat_arrays([pa.array([0], pa.int32()), lengths]))


def _is_text(value: bytes | None) -> bool:
    try:
        return value is None or value.decode() is not None
    except UnicodeDecodeError:
        return False
