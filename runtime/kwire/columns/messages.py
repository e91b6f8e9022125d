"""Runs programs over the bytes of messages: Values become columns, without an object for each.

A program is made by ``kwire.columns.program`` for a message, a version and the wanted columns. It is an array of
64-bit words. An instruction is a word: operation (bits 0 to 7), flags (8 to 15), column (16 to 31), argument (32 to
62), and whether it is the last one of a struct (the sign). Unwanted bytes of fixed size are added to the argument of
the instruction before them. Like emitted codecs, this reads without bookkeeping and gives up on anything unusual: the
caller decodes such a frame with ``Message.decode``, which finds the error or reads what is unusual but allowed.
"""

from __future__ import annotations

from librt.strings import (
    BytesWriter,
    read_i16_be,
    read_i32_be,
    read_i64_le,
    write_i32_le,
    write_i64_le,
)

from kwire.native import i32, i64
from kwire.wire import give_up, read_length, read_tag, read_uvarint
from kwire_rules import MAX_STRING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# Constants are declared final. mypyc looks up other globals by name, which is slower than an instruction.

SKIP: Final = 0
"""The argument is the number of bytes."""
PASS: Final = 1
"""Passes over a length and its unwanted elements. The argument has their size in 16 bits, and in 15 the bytes to skip
afterwards.
"""
COPY: Final = 2
"""Fields of fixed size next to each other, as they stand: their bytes in 16 bits, bytes to skip after them in 15."""
PLACE: Final = 3
"""Reads a length and bytes. The columns are the place of the bytes and the null rows. The argument is the number of
bytes to skip afterwards.
"""
NUMBERS: Final = 4
"""A length and elements of fixed size, whose logarithm to base 2 is the argument: the end of the array among all
elements, rows that are null, elements as they stand."""
EACH: Final = 5
"""Reads a length and structs, whose program starts at the argument. The columns are the end of the array and the null
rows. The word before the program is the shape of the structs (see ``passed``), or 0. It is used if the structs are
unwanted.
"""
PRESENT: Final = 6
"""The marker of a nullable struct: 1 or 0. The argument is a table: the programs of the struct and of its default."""
TAGS: Final = 7
"""Reads tagged fields. The argument is a table. It has the program for all defaults, the number of tags, and for each
tag its number, its form (``WANTED`` …), its program and the program of its default. The columns are the rows of
unknown tags, the tags, and the places of their payloads.
"""
CONST: Final = 8
"""The bytes in the next words, as many as the argument says."""
BLANK: Final = 9
"""Null if nullable, else empty; of a place (8) or an array (4), as the argument says."""

COMPACT: Final = 1 << 8
NULLABLE: Final = 2 << 8
TEXT: Final = 4 << 8
SHORT: Final = 8 << 8
MARKED: Final = 16 << 8
"""Flags of an instruction. In order: a length is a varint instead of an integer. Null is allowed. The value is a
string. An integer has 16 bits. The marker of a struct is a varint.
"""

NONE: Final = 0xFFFF
"""Form of a known tag: skipped, read by a program, or missing from the version."""

UNWANTED: Final = 0
WANTED: Final = 1
MISSING: Final = 2
"""How a known tag is read: skipped, with a program, or not at all since the version lacks it."""

LONGEST: Final = 0x7FFF
assert LONGEST == MAX_STRING


class Machine:
    """Reads frames with one program and appends to ``outs``, its columns.

    Those in ``ends`` are Arrow's offsets of arrays: the first begins at 0, and each ends where the next begins.
    Fields of fixed size stay as they are in the message, big-endian; other numbers are little-endian.
    """

    def __init__(self, code: bytes, entry: int, columns: int, ends: list[int]) -> None:
        self.code = code
        self.entry: i64 = entry
        self.data = b""
        self.end: i64 = 0
        self.outs = [BytesWriter() for _ in range(columns)]
        for column in ends:
            write_i32_le(self.outs[column], 0)

    def read(self, data: bytes, bounds: list[int]) -> list[int]:
        """Read the frames between neighbouring ``bounds`` of ``data``, which is shorter than 2 GiB. Returns the
        numbers of the frames that could not be read; the columns have nothing of these."""
        failed: list[int] = []
        outs = self.outs
        self.data = data
        row: i64 = 0
        for number in range(len(bounds) - 1):
            sizes = [len(out) for out in outs]
            start: i64 = bounds[number]
            self.end = bounds[number + 1]
            try:
                if self.run(self.entry, start, row, 1) != self.end:
                    give_up()
                row += 1
            except (IndexError, OverflowError, ValueError):
                failed.append(number)
                for out, size in zip(outs, sizes, strict=True):
                    out.truncate(size)
        return failed

    def run(self, start: i64, pos: i64, row: i64, count: i64) -> i64:
        """Run the program at ``start`` for ``count`` structs at ``pos``, which are rows from ``row`` on; the position
        after them. Bytes beyond the last one are not there to copy: the frame then ends elsewhere than it should."""
        code, data, outs, end = self.code, self.data, self.outs, self.end
        length: i64
        stop: i64
        for index in range(row, row + count):
            if pos > end:
                give_up()
            pc: i64 = start
            while True:
                word: i64 = read_i64_le(code, pc)
                pc += 8
                op: i64 = word & 255
                column: i64 = word >> 16 & 0xFFFF
                argument: i64 = word >> 32 & 0x7FFFFFFF
                if op == PASS:
                    length = data[pos]
                    if word & COMPACT and length < 128:
                        pos += 1
                        length -= 1
                    else:
                        length, pos = read_size(word, data, pos)
                    if length > 0:
                        pos += length * (argument & 0xFFFF)
                    elif length < 0 and not word & NULLABLE:
                        give_up()
                    pos += argument >> 16
                elif op == SKIP:
                    pos += argument
                elif op == COPY:
                    stop = pos + (argument & 0xFFFF)
                    copy(outs, column, data, pos, stop)
                    pos = stop + (argument >> 16)
                elif op == PLACE:
                    length = data[pos]
                    if word & COMPACT and length < 128:
                        pos += 1
                        length -= 1
                    else:
                        length, pos = read_size(word, data, pos)
                    out = writer(outs, column)
                    if length < 0:
                        length = 0
                        write_i64_le(writer(outs, column + 1), len(out) >> 3)
                        if not word & NULLABLE:
                            give_up()
                    write_i64_le(out, pos | pos + length << 32)
                    pos += length + argument
                elif op == NUMBERS:
                    stop = -1
                    if word & COMPACT:
                        stop = array(outs, column, data, pos, argument)
                    if stop < 0:
                        stop = self.numbers(word, argument, column, pos)
                    pos = stop
                elif op == TAGS:
                    if data[pos]:
                        pos = self.tags(argument, column, pos, index)
                    else:
                        pos += 1
                        defaults: i64 = read_i64_le(code, argument)
                        if defaults:
                            self.run(defaults, pos, index, 1)
                elif op == EACH:
                    length, pos = read_size(word, data, pos)
                    if length > end - pos:
                        give_up()
                    if length < 0:
                        self.null(word, column)
                        length = 0
                    if column == NONE:
                        stop = passed(data, pos, length, read_i64_le(code, argument - 8))
                        pos = self.run(argument, pos, 0, length) if stop < 0 else stop
                    else:
                        out = writer(outs, column)
                        before: i64 = last(out)
                        write_i32_le(out, i32(before + length))
                        pos = self.run(argument, pos, before, length)
                elif op == CONST:
                    copy(outs, column, code, pc, pc + argument)
                    pc += argument + 7 & -8
                elif op == PRESENT:
                    pos = self.present(word, argument, column, pos, index)
                else:
                    self.blank(word, argument, column, pos)
                if word < 0:
                    break
        return pos

    def numbers(self, word: i64, shift: i64, column: i64, pos: i64) -> i64:
        """Read an array of values of fixed size, and return the position after it."""
        length, pos = read_size(word, self.data, pos)
        if length < 0:
            self.null(word, column)
            length = 0
        stop = pos + (length << shift)
        if stop > self.end:
            give_up()
        size = copy(self.outs, column + 2, self.data, pos, stop)
        write_i32_le(self.outs[column], i32(size >> shift))
        return stop

    def null(self, word: i64, column: i64) -> None:
        """Append a null array."""
        if not word & NULLABLE:
            give_up()
        if column != NONE:
            write_i64_le(self.outs[column + 1], (len(self.outs[column]) >> 2) - 1)

    def blank(self, word: i64, size: i64, column: i64, pos: i64) -> None:
        """Append the default of a value or array that is null or empty."""
        out = self.outs[column]
        if size == 4:
            if word & NULLABLE:
                self.null(word, column)
            write_i32_le(out, i32(last(out)))
        else:
            if word & NULLABLE:
                write_i64_le(self.outs[column + 1], len(out) >> 3)
            write_i64_le(out, pos | pos << 32)

    def present(self, word: i64, table: i64, column: i64, pos: i64, row: i64) -> i64:
        """Read a nullable struct, and return the position after it."""
        marker: i64 = self.data[pos]
        is_null: bool = marker > 127
        if word & MARKED:
            if marker > 127:
                give_up()
            is_null = marker == 0
        if is_null:
            if column != NONE:
                self.outs[column].append(0)
                self.run(read_i64_le(self.code, table + 8), pos, row, 1)
            return pos + 1
        if column != NONE:
            self.outs[column].append(1)
        return self.run(read_i64_le(self.code, table), pos + 1, row, 1)

    def tags(self, table: i64, column: i64, pos: i64, row: i64) -> i64:
        """Read a tagged section that is not empty, and return the position after it."""
        code, data = self.code, self.data
        count, pos = read_uvarint(data, pos)
        if count < 0:
            give_up()
        known: i64 = table + 16
        final: i64 = known + 32 * read_i64_le(code, table + 8)
        previous: i64 = -1
        for _ in range(count):
            tag, size, pos = read_tag(data, pos)
            if tag <= previous or size > self.end - pos:
                give_up()
            previous = tag
            while known < final and read_i64_le(code, known) < tag:
                self.default(known, pos, row)
                known += 32
            if known < final and read_i64_le(code, known) == tag:
                mode: i64 = read_i64_le(code, known + 8)
                if mode == MISSING:
                    give_up()
                if mode == WANTED and self.run(read_i64_le(code, known + 16), pos, row, 1) != pos + size:
                    give_up()
                known += 32
            elif column != NONE:
                write_i64_le(self.outs[column], row)
                write_i32_le(self.outs[column + 1], i32(tag))
                write_i64_le(self.outs[column + 2], pos | pos + size << 32)
            pos += size
        while known < final:
            self.default(known, pos, row)
            known += 32
        return pos

    def default(self, known: i64, pos: i64, row: i64) -> None:
        """Append the default of a tagged field that was left out."""
        if read_i64_le(self.code, known + 8) == WANTED:
            self.run(read_i64_le(self.code, known + 24), pos, row, 1)


def writer(outs: list[BytesWriter], column: i64) -> BytesWriter:
    """Return ``outs[column]``.

    Natively this is an operation of our own: mypyc's asks for the type of writers each time.
    """
    return outs[column]


def copy(outs: list[BytesWriter], column: i64, data: bytes, start: i64, end: i64) -> i64:
    """Append ``data[start:end]`` to a column; its length after that. Natively this is an operation of our own."""
    out = outs[column]
    out.write(data[start:end])
    return len(out)


def array(outs: list[BytesWriter], column: i64, data: bytes, pos: i64, shift: i64) -> i64:
    """Append as ``NUMBERS`` does for an array whose length is a byte, and return the position after the array.

    Append nothing and return -1 if the length is unusual or the array is longer than the data. Native builds replace
    this function with their own operation.
    """
    if not 0 <= pos < len(data) or not 0 < data[pos] < 128 or not 0 <= shift < 8:
        return -1
    stop = pos + 1 + (i64(data[pos]) - 1 << shift)
    if stop > len(data):
        return -1
    size = copy(outs, column + 2, data, pos + 1, stop)
    write_i32_le(outs[column], i32(size >> shift))
    return stop


def last(out: BytesWriter) -> i64:
    """Return the last number (int32, not negative) of a column."""
    size: i64 = len(out)
    return i64(out[size - 4]) | i64(out[size - 3]) << 8 | i64(out[size - 2]) << 16 | i64(out[size - 1]) << 24


def passed(data: bytes, pos: i64, count: i64, shape: i64) -> i64:
    """Return the position after ``count`` structs, or -1 if they may be longer than the data, or are unusual.

    A shape consists of bit fields. From the lowest bits, 8 bits hold the number of bytes at the start of a struct. Up
    to three groups follow, each with 8 bits for the size of an element and 8 bits for the number of bytes after the
    array. The highest 4 bits are the number of arrays plus one. Lengths of arrays are varints. Lengths of several
    bytes, null, and tagged fields, which follow everything else, are unusual. Native builds replace this function
    with their own operation. Most structs are as long as the struct before them, and the bytes of their lengths show
    this in one comparison.
    """
    arrays = (shape >> 60) - 1
    if not 0 <= arrays < 4 or pos < 0:
        return -1
    for _ in range(count):
        rest = shape
        pos += rest & 255
        for _ in range(arrays):
            if pos >= len(data) or not 0 < data[pos] < 128:
                return -1
            pos += 1 + (i64(data[pos]) - 1) * (rest >> 8 & 255) + (rest >> 16 & 255)
            rest >>= 16
        if pos >= len(data) or data[pos] != 0:
            return -1
        pos += 1
    return pos


def read_size(word: i64, data: bytes, pos: i64) -> tuple[i64, i64]:
    """Return a length, -1 for null, and the position after it."""
    length: i64
    if word & COMPACT:
        length = data[pos]
        pos += 1
        if length > 127:
            length, pos = read_length(data, pos)
        else:
            length -= 1
    elif word & SHORT:
        length = i64(read_i16_be(data, pos))
        pos += 2
    else:
        length = i64(read_i32_be(data, pos))
        pos += 4
    if length < -1 or (word & TEXT and length > LONGEST):
        give_up()
    return length, pos
