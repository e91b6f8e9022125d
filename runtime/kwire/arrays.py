"""Reads and writes arrays of numbers in interpreted code, with one ``struct`` call per array.

These functions replace the loops with the same names in ``kwire.wire``. Formats for short arrays are prepared
at import, because most arrays in the protocol are replica lists. This module is never compiled.
"""

from __future__ import annotations

from struct import Struct, unpack_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from kwire.native import i64

    class ReadArray(Protocol):
        def __call__(self, data: bytes, pos: i64, count: i64) -> list[int]: ...


PREPARED = 32


def _reader(letter: str) -> ReadArray:
    prepared = [Struct(f">{count}{letter}").unpack_from for count in range(PREPARED)]

    def read(data: bytes, pos: i64, count: i64) -> list[int]:
        if count < PREPARED:
            return list(prepared[count](data, pos))
        return list(unpack_from(f">{count}{letter}", data, pos))

    return read


read_i8s = _reader("b")
read_i16s = _reader("h")
read_i32s = _reader("i")
read_i64s = _reader("q")
