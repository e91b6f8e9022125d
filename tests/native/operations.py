"""A module to compile: every expression for which ``kwirec.native_ops`` has an operation."""

from __future__ import annotations

from librt.strings import BytesWriter

from kwire.native import i64, install_constructors, made_by, mypyc_attr
from kwire.records.writing import view, write_coded
from kwire.uuids import Uuid
from kwire.wire import empty_list, read_i16s, read_i32s, read_i64s


@mypyc_attr(acyclic=True)
class Flat:
    """Not known to Python's collector."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def text(data: bytes, start: i64, end: i64) -> str:
    return data[start:end].decode()


def cut(data: bytes, start: i64, end: i64) -> bytes:
    return data[start:end]


def uuid(data: bytes, start: i64, end: i64) -> Uuid:
    return Uuid(data[start:end])


def numbers(data: bytes, pos: i64, count: i64, width: int) -> list[int]:
    if width == 2:
        return read_i16s(data, pos, count)
    if width == 4:
        return read_i32s(data, pos, count)
    return read_i64s(data, pos, count)


def counted(expected: i64, count: i64) -> list[int]:
    """``count`` numbers in a list with room for ``expected``."""
    values: list[int] = empty_list(expected)
    for number in range(count):
        values.append(number)
    return values


class Made:
    """A class whose calls are those of a function."""

    __slots__ = ("first", "second", "third")

    def __init__(self, first: int, second: int, third: str = "c") -> None:
        self.first = first
        self.second = second
        self.third = third


def make(first: int, second: int, third: str = "c") -> Made:
    return Made(first, second, third)


def coded(numbers: list[int]) -> bytes:
    """The bytes of the numbers, each after those of all before it."""
    out = BytesWriter()
    for number in numbers:
        write_coded(out, number)
        seen = bytes(view(out))
    return seen


install_constructors(globals())
made_by(Made, make)
