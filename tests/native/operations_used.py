"""Prints what the functions of ``operations`` return for many arguments: a line for each.

``python -m tests.native.operations_used``. Compiled or not, it prints the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import operations  # type: ignore[import-not-found]

from tests.native.outcomes import outcome

TEXT = "aé€𝄞".encode() + b"\xff\0z"
NUMBERS = bytes(range(120, 160)) + bytes(8) + b"\xff" * 8
BIG = 2**62
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
        print(start, end, operations.cut(TEXT, start, end))
        made = operations.uuid(TEXT, start, end)
        print(start, end, type(made).__name__, bytes(made))
    for width, pos, count in product((2, 4, 8), (0, 1, 40, 55, 56, 57, 1000), (0, 1, 2, 3, 7, 14, 29, BIG)):
        print(width, pos, count, numbers(pos, count, width))
    for expected, count in product((-1, 0, 1, 5, 5000, BIG), (0, 1, 5, 6, 5000)):
        print(expected, count, operations.counted(expected, count) == list(range(count)))
    print(operations.coded([0, 1, 127, 128, 300, 2**14 - 1, 2**14, 2**21, 2**49, 2**63 - 1] * 60).hex())
    makers = (operations.Made, operations.Counted, operations.options, operations.required)
    for positional, named in product(((), (1,), (1, 5), (1, 5, "x"), (1, 5, "x", 6)), NAMED):
        print(positional, named, *(called(make, positional, named) for make in makers))
    print(operations.pause())
    for count in (1, 63, 64, 65, 200):
        print(count, reused(count))
    print({operations.uuid(TEXT, 0, 5): 1} == {TEXT[:5]: 1}, undisturbed())


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
        people[-1].tags = ((1, b"x"),)
        people[-2]._flat = operations.Flat(number=2**70)
        found += [(one.name, one.numbers, one._flat is None, one.tags) for one in people]
        del people[::2]
        numbers = operations.pairs(count, [5, 2**70])
        found += [(one.first, one.second, one.third, one.fourth) for one in (*numbers, operations.Counted())]
        del numbers[::3]
        found += [called(operations.Named, (), {"name": "x", "unknown": 1}) for _ in range(count)]
        named = [operations.Named() for _ in range(count)]
        found += [(one.name, one.numbers, one._flat, one.tags) for one in (*people, *named)]
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
