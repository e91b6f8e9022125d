"""Prints what the functions of ``operations`` return for many arguments: a line for each.

``python -m tests.native.operations_used``. Compiled or not, it prints the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import operations  # type: ignore[import-not-found]

from tests.native.outcomes import outcome

TEXT = "aé€𝄞".encode() + b"\xff\0z"
NUMBERS = bytes(range(120, 160)) + bytes(8) + b"\xff" * 8
BIG = 2**62
ONE = 3 | 2 << 60
"""The shape of structs: three bytes and an array of elements of no bytes."""
THREE = int.from_bytes(bytes([2, 4, 1, 1, 0, 2, 3]), "little") | 4 << 60
STRUCTS = [
    bytes(40),
    bytes([9, 9, 9, 1, 0] * 7),
    bytes([9, 9, 9, 5, 0, 9, 9, 9, 5, 0, 9, 9, 9, 0, 0]),
    b"".join(
        bytes(2)
        + bytes([1 + first])
        + bytes(4 * first + 1)
        + bytes([2, 9, 1 + second])
        + bytes(2 * second + 3)
        + b"\0"
        for first, second in [(3, 1), (3, 1), (3, 2), (0, 2), (0, 2), (126, 0), (126, 0), (3, 1)]
    ),
    (bytes(2) + b"\2abcde" + b"\2x" + b"\1xyz" + b"\0") * 6 + bytes(2) + b"\2abcde" + b"\2x" + b"\1xyz" + b"\1",
    (bytes(2) + b"\2abcde" + b"\2x" + b"\1xyz" + b"\0") * 5 + bytes(2) + b"\x82abcde" + b"\2x" + b"\1xyz" + b"\0",
]
NAMED: tuple[dict[str, Any], ...] = (
    {},
    {"first": 7},
    {"third": "z"},
    {"third": "z", "first": 7},
    {"second": 8, "first": 7},
    {"third": "z", "second": 8},
    {"third": "z", "second": 8, "first": 7},
    {"".join(["sec", "ond"]): 8},  # equal, not the same string
    {"fourth": 0},
)


def main() -> None:
    print("interpreted" if operations.__file__.endswith(".py") else "native")
    places = [*range(-len(TEXT) - 2, len(TEXT) + 3), BIG, -BIG]
    for start, end in product(places, places):
        print(start, end, outcome(partial(operations.text, TEXT, start, end)))
        print(start, end, operations.latin(TEXT, start, end).encode())
        print(start, end, operations.cut(TEXT, start, end))
        made = operations.uuid(TEXT, start, end)
        print(start, end, type(made).__name__, bytes(made))
    for width, pos, count in product((2, 4, 8), (0, 1, 40, 55, 56, 57, 1000), (0, 1, 2, 3, 7, 14, 29, BIG)):
        print(width, pos, count, numbers(pos, count, width))
    for expected, count in product((-1, 0, 1, 5, 5000, BIG), (0, 1, 5, 6, 5000)):
        print(expected, count, operations.counted(expected, count) == list(range(count)))
    print(operations.coded([0, 1, 127, 128, 300, 2**14 - 1, 2**14, 2**21, 2**49, 2**63 - 1] * 60).hex())
    for start, end in product(range(0, len(NUMBERS), 9), range(0, len(NUMBERS) + 3, 4)):
        print(start, end, operations.written(NUMBERS, start, end).hex())
    print(*filled())
    for shape in (0, ONE, THREE, 15 << 60 >> 4, -1, 7 << 60):
        for pos, count in product((-1, 0, 1, 5), (0, 1, 2, 7, 30)):
            print(shape, pos, count, [operations.after(data, pos, count, shape) for data in STRUCTS])
    for shape, data in product((ONE, THREE), STRUCTS[1:]):
        print([operations.after(data[:end], 0, 30, shape) for end in range(len(data))])
        print([operations.after(data[:end], 0, 7, shape) for end in range(len(data))])
    for offset, stride, size in product((-1, 0, 1, 3), (0, 4, 8, 10), (0, 1, 2, 3, 4, 8)):
        rows = operations.columns(1)[0]
        rows.write(NUMBERS)
        print(offset, stride, size, outcome(partial(operations.values, rows, offset, stride, size)))
    makers = (operations.Made, operations.Counted, operations.options, operations.required)
    for positional, named in product(((), (1,), (1, 5), (1, 5, "x"), (1, 5, "x", 6)), NAMED):
        print(positional, named, *(called(make, positional, named) for make in makers))
    print(operations.pause())
    for count in (1, 63, 64, 65, 200):
        print(count, reused(count))
    print({operations.uuid(TEXT, 0, 5): 1} == {TEXT[:5]: 1}, undisturbed())


def filled() -> Iterator[object]:
    """What operations on columns return or raise, and the columns after each."""
    outs = operations.columns(3)
    data = bytes([3, *range(8), 1, 0, 128, 2]) + b"x" * 200
    for column, pos, shift in product((0, 1, -3), (-1, 0, 1, 9, 10, 11, 12, 211, 212, 213, 240), (0, 2, 4)):
        yield outcome(partial(operations.appended, outs, column, data, pos, shift))
        yield outcome(partial(operations.copied, outs, column, data, pos, pos + shift))
        yield [out.getvalue().hex() for out in outs]
    for column in (-4, -1, 2, 3):
        yield outcome(partial(chosen, outs, column))


def chosen(outs: list[Any], column: int) -> bool:
    return operations.chosen(outs, column) is outs[column]


def numbers(pos: int, count: int, width: int) -> object:
    """No numbers beyond the end are either none or refused: the codec notices both."""
    try:
        return operations.numbers(NUMBERS, pos, count, width) or "none"
    except Exception:
        return "none"


def called(make: Callable[..., Any], positional: tuple[object, ...], named: dict[str, Any]) -> object:
    try:
        made = make(*positional, **named)
    except TypeError:
        return "refused"
    return made if isinstance(made, tuple) else (type(made).__name__, made.first, made.second, made.third)


def reused(count: int) -> list[object]:
    """What objects of two classes hold that take the memory of freed ones in turn, all of it and in part."""
    found: list[object] = []
    for _ in range(3):
        people = operations.named(count, ["a" * 50, "b"])
        people[0].numbers.append(1)
        people[-1].unknown_tags = ((1, b"x"),)
        people[-2]._flat = operations.Flat(number=2**70)
        found += [(one.name, one.numbers, one._flat is None, one.unknown_tags) for one in people]
        del people[::2]
        numbers = operations.pairs(count, [5, 2**70])
        found += [(one.first, one.second, one.third, one.fourth) for one in (*numbers, operations.Counted())]
        del numbers[::3]
        found += [called(operations.Named, (), {"name": "x", "unknown": 1}) for _ in range(count)]
        named = [operations.Named() for _ in range(count)]
        found += [(one.name, one.numbers, one._flat, one.unknown_tags) for one in (*people, *named)]
    return found


def undisturbed() -> bool:
    """Whether objects that are freed deep in nested lists leave their neighbours alone."""
    kept = []
    for _ in range(300):
        nested = [operations.Flat(number=7)]
        for _ in range(60):
            kept.append(operations.Flat(number=7))
            nested = [operations.Flat(number=3), nested]
            kept.append(operations.Flat(number=7))
        del nested
    return all(one.number == 7 for one in kept)


if __name__ == "__main__":
    main()
