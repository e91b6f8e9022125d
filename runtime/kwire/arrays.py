"""Arrays of numbers for interpreted runs: one call of ``struct`` for all elements. Never compiled.

Same names and behaviour as the loops in ``kwire.wire``. Formats of short arrays are prepared: most arrays of the
protocol are replica lists.
"""

from __future__ import annotations

from struct import Struct, unpack_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PREPARED = 32


def _reader(letter: str) -> Callable[[bytes, int, int], list[int]]:
    prepared = [Struct(f">{count}{letter}").unpack_from for count in range(PREPARED)]

    def read(data: bytes, pos: int, count: int) -> list[int]:
        if count < PREPARED:
            return list(prepared[count](data, pos))
        return list(unpack_from(f">{count}{letter}", data, pos))

    return read


FUNCTIONS: dict[str, object] = {
    "read_i8s": _reader("b"),
    "read_i16s": _reader("h"),
    "read_i32s": _reader("i"),
    "read_i64s": _reader("q"),
}
"""What replaces the functions of the same names in ``kwire.wire``."""
