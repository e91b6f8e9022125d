"""A module to compile: every expression for which ``kwirec.native_ops`` has an operation."""

from __future__ import annotations

import gc

from librt.strings import BytesWriter

from kwire.columns.messages import array, copy, passed, writer
from kwire.columns.rows import turned
from kwire.native import constructor, i64, mypyc_attr
from kwire.records.writing import view, write_coded
from kwire.schema import NEVER, Field, slots
from kwire.uuids import Uuid
from kwire.wire import empty_list, read_i16s, read_i32s, read_i64s


@mypyc_attr(acyclic=True)
class Flat:
    """Not known to Python's collector."""

    __slots__ = ("number",)

    def __init__(self, *, number: int = 0) -> None:
        self.number = number


@mypyc_attr(acyclic=True)
class Named:
    FIELDS = (
        Field("name", "Name", "string", NEVER),
        Field("numbers", "Numbers", "[]int32", NEVER),
        Field("flat", "Flat", "Flat", NEVER),
        Field("size", "Size", "int32", NEVER),
    )
    __slots__ = slots(FIELDS, lazy=("flat",))

    def __init__(
        self,
        *,
        name: str = "nobody",
        numbers: list[int] | None = None,
        flat: Flat | None = None,
        size: int = 0,
        unknown_tags: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.numbers = [] if numbers is None else numbers
        self._flat: Flat | None = flat
        self.size = size
        self.unknown_tags = unknown_tags


@mypyc_attr(acyclic=True)
class Counted:
    """As large as ``Named``, so they take each other's memory."""

    FIELDS = tuple(Field(name, name, "int64", NEVER) for name in ("first", "second", "third", "fourth"))
    __slots__ = slots(FIELDS)

    def __init__(
        self,
        *,
        first: int = 1,
        second: int = 2,
        third: object = 3,
        fourth: int = 4,
        unknown_tags: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.first = first
        self.second = second
        self.third = third
        self.fourth = fourth
        self.unknown_tags = unknown_tags


def named(count: i64, names: list[str]) -> list[Named]:
    return [new_Named(name) for name in names for _ in range(count)]


def pairs(count: i64, numbers: list[int]) -> list[Counted]:
    return [new_Counted(number, number + 1) for number in numbers for _ in range(count)]


def options(first: int, second: int = 2, *, third: object = 3) -> tuple[int, int, object]:
    return first, second, third


def required(first: int, *, second: int, third: object = 3) -> tuple[int, int, object]:
    return first, second, third


def pause() -> list[bool]:
    """Whether the collector runs, at every step."""
    before = gc.isenabled()
    gc.disable()
    within = gc.isenabled()
    gc.enable()
    return [before, within, gc.isenabled()]


def text(data: bytes, start: i64, end: i64) -> str:
    return data[start:end].decode()


def latin(data: bytes, start: i64, end: i64) -> str:
    """Text in another encoding than the operation reads."""
    return data[start:end].decode("latin-1")


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


def columns(count: int) -> list[BytesWriter]:
    return [BytesWriter() for _ in range(count)]


def written(data: bytes, start: i64, end: i64) -> bytes:
    """A part of the data, twice."""
    out = BytesWriter()
    out.write(data[start:end])
    out.write(data[start:end])
    return out.getvalue()


def copied(outs: list[BytesWriter], column: i64, data: bytes, start: i64, end: i64) -> int:
    return copy(outs, column, data, start, end)


def appended(outs: list[BytesWriter], column: i64, data: bytes, pos: i64, shift: i64) -> int:
    return array(outs, column, data, pos, shift)


def chosen(outs: list[BytesWriter], column: i64) -> BytesWriter:
    return writer(outs, column)


def after(data: bytes, pos: i64, count: i64, shape: i64) -> int:
    return passed(data, pos, count, shape)


def values(rows: BytesWriter, offset: i64, stride: i64, size: i64) -> bytes:
    return turned(rows, offset, stride, size)


class Made:
    """Made with arguments by position or by name."""

    __slots__ = ("first", "second", "third")

    def __init__(self, first: int, second: int, third: str = "c") -> None:
        self.first = first
        self.second = second
        self.third = third


def coded(numbers: list[int]) -> bytes:
    """The bytes of the numbers, each after those of all before it."""
    out = BytesWriter()
    for number in numbers:
        write_coded(out, number)
        seen = bytes(view(out))
    return seen


new_Named = constructor(Named, without=("numbers", "flat", "size"))
new_Counted = constructor(Counted, without=("first", "third"))
