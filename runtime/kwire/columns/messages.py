"""Runs programs over the bytes of messages: values become columns, without an object for each.

A program is made by :mod:`kwire.columns.program` for a message, a version and the wanted columns. It is an array of
64-bit words. An instruction is a word: operation (bits 0 to 7), flags (8 to 15), column (16 to 31), argument (32 to
62), and whether it is the last one of a struct (the sign). Unwanted bytes of fixed size are added to the argument of
the instruction before them.

Like emitted codecs, this reads without bookkeeping and gives up on anything unusual: the caller decodes such a frame
with ``Message.decode``, which finds the error or reads what is unusual but allowed.
"""

from __future__ import annotations

from librt.strings import (
    BytesWriter,
    read_i16_be,
    read_i32_be,
    read_i64_be,
    read_i64_le,
    write_i16_le,
    write_i32_le,
    write_i64_be,
    write_i64_le,
)

from kwire.native import i16, i32, i64
from kwire.wire import MAX_STRING, give_up, read_length, read_tag, read_uvarint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# Constants are declared final: mypyc looks up others by name, which takes longer than an instruction.

SKIP: Final = 0
"""The argument is the number of bytes."""
PASS: Final = 1
"""A length and so many elements, which are not wanted; their size in 16 bits, bytes to skip after them in 15."""
I8: Final = 2
I16: Final = 3
I32: Final = 4
I64: Final = 5
U16: Final = 6
U32: Final = 7
UUID: Final = 8
"""A number, or a uuid and two zeros; the argument is the number of bytes to skip after it."""
PLACE: Final = 9
"""A length and bytes: the place of the bytes, and in the next column the rows that are null; the argument is the
number of bytes to skip after them."""
NUMBERS: Final = 10
"""A length and numbers of as many bytes as the argument says: length, rows that are null, numbers."""
EACH: Final = 11
"""A length and structs, whose program starts at the argument: length, rows that are null."""
PRESENT: Final = 12
"""The marker of a nullable struct: 1 or 0. The argument is a table: the programs of the struct and of its default."""
TAGS: Final = 13
"""Tagged fields. The argument is a table: the program for the defaults of all of them, their number, and for each its
tag, how it is read (:data:`WANTED` …), its program and that of its default. Columns: the number of unknown tags, the
tags, the places of their payloads."""
CONST: Final = 14
"""The number in the next word, of as many bytes as the argument says."""
BLANK: Final = 15
"""Null if nullable, else empty; of a place (8) or a length (4), as the argument says."""

COMPACT: Final = 1 << 8
NULLABLE: Final = 2 << 8
TEXT: Final = 4 << 8
SHORT: Final = 8 << 8
MARKED: Final = 16 << 8
"""Flags: a length is a varint instead of an integer; null is allowed; a string; an integer of 16 bits; the marker of
a struct is a varint."""

NONE: Final = 0xFFFF
"""The column of what is not wanted."""

UNWANTED: Final = 0
WANTED: Final = 1
MISSING: Final = 2
"""How a known tag is read: skipped, with a program, or not at all since the version lacks it."""

LONGEST: Final = 0x7FFF
assert LONGEST == MAX_STRING


class Machine:
    """Reads frames with one program and appends to ``outs``, its columns. Numbers are little-endian."""

    def __init__(self, code: bytes, entry: int, columns: int) -> None:
        self.code = code
        self.entry: i64 = entry
        self.data = b""
        self.end: i64 = 0
        self.outs = [BytesWriter() for _ in range(columns)]

    def read(self, data: bytes, bounds: list[int]) -> list[int]:
        """Read the frames between neighbouring ``bounds`` of ``data``, which is shorter than 2 GiB. Returns the
        numbers of the frames that could not be read; the columns have nothing of these."""
        failed: list[int] = []
        outs = self.outs
        self.data = data
        for number in range(len(bounds) - 1):
            sizes = [len(out) for out in outs]
            start: i64 = bounds[number]
            self.end = bounds[number + 1]
            try:
                if self.run(self.entry, start, 1) != self.end:
                    give_up()
            except (IndexError, OverflowError, ValueError):
                failed.append(number)
                for out, size in zip(outs, sizes, strict=True):
                    out.truncate(size)
        return failed

    def run(self, start: i64, pos: i64, count: i64) -> i64:
        """Run the program at ``start`` for ``count`` structs at ``pos``; the position after them."""
        code, data, outs, end = self.code, self.data, self.outs, self.end
        length: i64
        for _ in range(count):
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
                elif op == I32:
                    write_i32_le(outs[column], read_i32_be(data, pos))
                    pos += 4 + argument
                elif op == PLACE:
                    length = data[pos]
                    if word & COMPACT and length < 128:
                        pos += 1
                        length -= 1
                    else:
                        length, pos = read_size(word, data, pos)
                    out = outs[column]
                    if length < 0:
                        length = 0
                        write_i64_le(outs[column + 1], len(out) >> 3)
                        if not word & NULLABLE:
                            give_up()
                    write_i64_le(out, pos | pos + length << 32)
                    pos += length + argument
                elif op == NUMBERS:
                    pos = self.numbers(word, pos)
                elif op == TAGS:
                    if data[pos]:
                        pos = self.tags(argument, column, pos)
                    else:
                        pos += 1
                        if column != NONE:
                            write_i32_le(outs[column], 0)
                        defaults: i64 = read_i64_le(code, argument)
                        if defaults:
                            self.run(defaults, pos, 1)
                elif op == I16:
                    write_i16_le(outs[column], read_i16_be(data, pos))
                    pos += 2 + argument
                elif op == I64:
                    write_i64_le(outs[column], read_i64_be(data, pos))
                    pos += 8 + argument
                elif op == I8:
                    outs[column].append(data[pos])
                    pos += 1 + argument
                elif op == EACH:
                    length, pos = read_size(word, data, pos)
                    if length > end - pos:
                        give_up()
                    length = self.length(word, length)
                    pos = self.run(argument, pos, length)
                elif op == CONST:
                    constant(outs[column], argument, read_i64_le(code, pc))
                    pc += 8
                else:
                    pos = self.rare(op, word, pos)
                if word < 0:
                    break
        return pos

    def rare(self, op: i64, word: i64, pos: i64) -> i64:
        """One of the operations that are seldom needed; the position after it."""
        data = self.data
        column: i64 = word >> 16 & 0xFFFF
        argument: i64 = word >> 32 & 0x7FFFFFFF
        if op == PRESENT:
            return self.present(word, argument, column, pos)
        out = self.outs[column]
        if op == UUID:
            write_i64_be(out, read_i64_be(data, pos))
            write_i64_be(out, read_i64_be(data, pos + 8))
            write_i16_le(out, 0)
            return pos + 16 + argument
        if op == U16:
            write_i32_le(out, i32(i64(read_i16_be(data, pos)) & 0xFFFF))
            return pos + 2 + argument
        if op == U32:
            write_i64_le(out, i64(read_i32_be(data, pos)) & 0xFFFFFFFF)
            return pos + 4 + argument
        if word & NULLABLE:  # of BLANK
            write_i64_le(self.outs[column + 1], len(out) // argument)
        if argument == 8:
            write_i64_le(out, pos | pos << 32)
        else:
            write_i32_le(out, 0)
        return pos

    def length(self, word: i64, length: i64) -> i64:
        """Append the length of an array; the number of its elements."""
        column: i64 = word >> 16 & 0xFFFF
        if length < 0 and not word & NULLABLE:
            give_up()
        if column != NONE:
            out = self.outs[column]
            if length < 0:
                write_i64_le(self.outs[column + 1], len(out) >> 2)
            write_i32_le(out, i32(length) if length > 0 else 0)
        return length if length > 0 else 0

    def numbers(self, word: i64, pos: i64) -> i64:
        """An array of numbers."""
        data = self.data
        column: i64 = word >> 16 & 0xFFFF
        length: i64 = data[pos]
        if word & COMPACT and 0 < length < 128:
            pos += 1
            length -= 1
            write_i32_le(self.outs[column], i32(length))
        else:
            length, pos = read_size(word, data, pos)
            length = self.length(word, length)
        size: i64 = word >> 32 & 0x7FFFFFFF
        stop: i64 = pos + size * length
        if stop > self.end:
            give_up()
        out = self.outs[column + 2]
        if size == 4:
            for index in range(pos, stop, 4):
                write_i32_le(out, read_i32_be(data, index))
        elif size == 8:
            for index in range(pos, stop, 8):
                write_i64_le(out, read_i64_be(data, index))
        elif size == 2:
            for index in range(pos, stop, 2):
                write_i16_le(out, read_i16_be(data, index))
        else:
            out.write(data[pos:stop])
        return stop

    def present(self, word: i64, table: i64, column: i64, pos: i64) -> i64:
        """A nullable struct."""
        marker: i64 = self.data[pos]
        is_null: bool = marker > 127
        if word & MARKED:
            if marker > 127:
                give_up()
            is_null = marker == 0
        if is_null:
            if column != NONE:
                self.outs[column].append(0)
                self.run(read_i64_le(self.code, table + 8), pos, 1)
            return pos + 1
        if column != NONE:
            self.outs[column].append(1)
        return self.run(read_i64_le(self.code, table), pos + 1, 1)

    def tags(self, table: i64, column: i64, pos: i64) -> i64:
        """A tagged section that is not empty."""
        code, data = self.code, self.data
        count, pos = read_uvarint(data, pos)
        if count < 0:
            give_up()
        known: i64 = table + 16
        last: i64 = known + 32 * read_i64_le(code, table + 8)
        previous: i64 = -1
        unknown: i32 = 0
        for _ in range(count):
            tag, size, pos = read_tag(data, pos)
            if tag <= previous or size > self.end - pos:
                give_up()
            previous = tag
            while known < last and read_i64_le(code, known) < tag:
                self.default(known, pos)
                known += 32
            if known < last and read_i64_le(code, known) == tag:
                mode: i64 = read_i64_le(code, known + 8)
                if mode == MISSING:
                    give_up()
                if mode == WANTED and self.run(read_i64_le(code, known + 16), pos, 1) != pos + size:
                    give_up()
                known += 32
            elif column != NONE:
                write_i32_le(self.outs[column + 1], i32(tag))
                write_i64_le(self.outs[column + 2], pos | pos + size << 32)
                unknown += 1
            pos += size
        while known < last:
            self.default(known, pos)
            known += 32
        if column != NONE:
            write_i32_le(self.outs[column], unknown)
        return pos

    def default(self, known: i64, pos: i64) -> None:
        """The default of a tagged field that was left out."""
        if read_i64_le(self.code, known + 8) == WANTED:
            self.run(read_i64_le(self.code, known + 24), pos, 1)


def read_size(word: i64, data: bytes, pos: i64) -> tuple[i64, i64]:
    """A length and the position after it; -1 is null."""
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


def constant(out: BytesWriter, size: i64, value: i64) -> None:
    """A number of ``size`` bytes; 18 are the zero uuid and two zeros."""
    if size == 4:
        write_i32_le(out, i32(value))
    elif size == 8:
        write_i64_le(out, value)
    elif size == 2:
        write_i16_le(out, i16(value))
    elif size == 1:
        out.append(value & 255)
    else:
        write_i64_le(out, 0)
        write_i64_le(out, 0)
        write_i16_le(out, 0)
