"""Running programs that convert encoded messages to columns, without an object for each value.

``kwire.columns.program`` generates a program for a message class, a version and the selected columns. A program is an
array of 64-bit words. An instruction is a word with an operation (bits 0 to 7), flags (8 to 15), a column (16 to 31)
and an argument (32 to 62). The sign bit marks the last instruction of a struct. Fields of fixed size that are not
selected are skipped by the previous instruction, whose argument includes their size. Like emitted codecs, the machine
does not track the current field and gives up on anything unusual. The caller then decodes the frame with
``Message.decode``, which accepts unusual but valid bytes and raises errors.
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

# Constants are final, because mypyc looks up other globals by name, which takes longer than running an instruction.

SKIP: Final = 0
"""Skips bytes. The argument is the number of bytes."""
PASS: Final = 1
"""Skips a length and the elements after it. The argument contains the element size (16 bits) and the number of bytes
to skip afterwards (15 bits).
"""
COPY: Final = 2
"""Copies neighbouring fields of fixed size. The argument contains their size in bytes (16 bits) and the number of
bytes to skip afterwards (15 bits)."""
PLACE: Final = 3
"""Reads a length and bytes. The columns hold the positions of the bytes and the numbers of null rows. The argument is
the number of bytes to skip afterwards.
"""
NUMBERS: Final = 4
"""Reads a length and elements of fixed size. The argument is the binary logarithm of the element size. The columns
hold the ends of the arrays, the null rows and the unchanged elements."""
EACH: Final = 5
"""Reads a length and structs. The argument is the address of the program for the structs. The columns hold the ends
of the arrays and the numbers of null rows. The word before the program is the shape of the structs (see ``passed``),
or 0. The shape is used to skip structs that are not selected.
"""
PRESENT: Final = 6
"""Reads a nullable struct. The column contains 0 for a null struct and 1 for any other struct. The argument is the
address of a table with the programs for the struct and for its default."""
TAGS: Final = 7
"""Reads tagged fields. The argument is the address of a table. The table contains the program for all defaults and
the number of known tags, followed by four words for each tag: the tag, its form (``UNWANTED``, ``WANTED`` or
``MISSING``), the program that reads it, and the program for its default. The columns hold the rows of unknown tags,
the tags, and the positions of their payloads.
"""
CONST: Final = 8
"""Appends bytes from the following words. The argument is the number of bytes."""
BLANK: Final = 9
"""Appends null if the ``NULLABLE`` flag is set, and otherwise an empty value. The argument is 8 for bytes or a
string, and 4 for an array."""

COMPACT: Final = 1 << 8
NULLABLE: Final = 2 << 8
TEXT: Final = 4 << 8
SHORT: Final = 8 << 8
MARKED: Final = 16 << 8
"""Flags of an instruction. ``COMPACT``: the length is a varint instead of an integer. ``NULLABLE``: null is allowed.
``TEXT``: the value is a string. ``SHORT``: the length is an int16. ``MARKED``: the null marker of a struct is a
varint.
"""

NONE: Final = 0xFFFF
"""The column number of values that are not selected."""

UNWANTED: Final = 0
WANTED: Final = 1
MISSING: Final = 2
"""Forms of a known tag. The tagged field is skipped, read by a program, or missing from the version."""

LONGEST: Final = 0x7FFF
assert LONGEST == MAX_STRING


class Machine:
    """Reads frames with one program and appends values to its columns, ``outs``.

    The columns in ``ends`` contain Arrow's array offsets. The first array begins at 0, and each array ends where the
    next begins. Fields of fixed size stay big-endian as in the message. Other numbers are little-endian.
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
        """Read the frames between consecutive ``bounds`` of ``data``, which must be shorter than 2 GiB.

        Return the numbers of frames that could not be read. The columns do not contain these frames.
        """
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
        """Run the program at ``start`` for ``count`` structs at ``pos``, and return the position after them.

        The structs become rows, starting at ``row``. If a struct extends beyond the data, fewer bytes are copied, and
        the returned position differs from the end of the frame.
        """
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
        """Read an array of fixed-size values, and return the position after it."""
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
        """Append null or an empty value or array, whichever is the default."""
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
        """Append the default of an omitted tagged field."""
        if read_i64_le(self.code, known + 8) == WANTED:
            self.run(read_i64_le(self.code, known + 24), pos, row, 1)


def writer(outs: list[BytesWriter], column: i64) -> BytesWriter:
    """Return ``outs[column]``.

    Native builds replace this function with their own operation, because mypyc would check the type of the writer
    each time.
    """
    return outs[column]


def copy(outs: list[BytesWriter], column: i64, data: bytes, start: i64, end: i64) -> i64:
    """Append ``data[start:end]`` to a column, and return its new length in bytes.

    Native builds replace this function with their own operation.
    """
    out = outs[column]
    out.write(data[start:end])
    return len(out)


def array(outs: list[BytesWriter], column: i64, data: bytes, pos: i64, shift: i64) -> i64:
    """Append an array with a one-byte length as ``NUMBERS`` does, and return the position after it.

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
    """Return the last number in a column of non-negative int32 values."""
    size: i64 = len(out)
    return i64(out[size - 4]) | i64(out[size - 3]) << 8 | i64(out[size - 2]) << 16 | i64(out[size - 1]) << 24


def passed(data: bytes, pos: i64, count: i64, shape: i64) -> i64:
    """Return the position after ``count`` structs, or -1 if they are unusual or may extend beyond the data.

    A shape consists of bit fields. The lowest 8 bits hold the number of bytes before the first array of a struct. Up
    to three groups follow, each with 8 bits for the size of an element and 8 bits for the number of bytes after the
    array. The highest 4 bits hold the number of arrays plus one. Array lengths are varints. Lengths of several bytes,
    null arrays and tagged fields at the end of a struct are unusual. Native builds replace this function with their
    own operation. That operation compares all length bytes of a struct with the length bytes of the previous struct
    at once, because they are usually equal.
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
    """Return a length, which is -1 for null, and the position after it."""
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
