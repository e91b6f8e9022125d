"""Instances of every generated class, made from ``FIELDS``: one walk over the fields, four sources of values.

``make(cls, version, source)`` builds an instance that ``version`` can carry: fields that it lacks keep their default
unless they may be ignored, null stands only where that version allows it, unknown tags only where it is flexible.
The source decides all else: the extremes for the fixed cases, Hypothesis for properties, ``random`` for fuzzing.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

from kwire.message import Message
from kwire.schema import Field, struct_class
from kwire.struct import Struct
from kwire.uuids import ZERO_UUID, Uuid
from kwire_kafka.index import MODULES, PROTOCOL
from kwire_rules import INTEGER_RANGES
from tests.support.each import each

T = TypeVar("T")

NAMES = tuple(sorted(MODULES))
"""The names of all messages."""

LONGEST = 0x7FFF
MAX_TAG = 0x7FFFFFFE

FLOATS = (0.0, -0.0, 1.5, -1.0, 5e-324, sys.float_info.max, -sys.float_info.max, float("inf"), float("-inf"))
UUIDS = (ZERO_UUID, Uuid(b"\xff" * 16), Uuid(range(16)), Uuid(b"\0" * 15 + b"\1"))
TEXTS = ("", "a", "topic-1", "\0", "ü", "\ud7ff\ue000\uffff", "\U0001f600\U0010ffff", "x" * 126, "x" * 127, "ü" * 64)
LONG_TEXTS = ("x" * LONGEST, "\U0001f600" * (LONGEST // 4) + "abc", "ü" * 8191)
BLOBS = (b"", b"\0", b"\xff\xfe", bytes(range(256)), b"z" * 126, b"z" * 127, b"z" * 16382, b"z" * 16383)


def message_class(name: str) -> type[Message]:
    return PROTOCOL[name]


def pairs(names: Sequence[str] = NAMES) -> Iterator[tuple[type[Message], int]]:
    """Every message with every version of it."""
    for name in names:
        cls = message_class(name)
        for version in cls.VALID_VERSIONS:
            yield cls, version


each_message = each(lambda: ((name, (name,)) for name in NAMES))
"""Decorates a test that takes the name of a message."""
each_version = each(lambda: ((f"{cls.__name__} v{version}", (cls, version)) for cls, version in pairs()))
"""Decorates a test that takes the class of a message and a version."""


def integers(kind: str) -> tuple[int, ...]:
    """The numbers at which something happens to a type."""
    low, high = INTEGER_RANGES[kind]
    middle = (0, 1, -1, 126, 127, 128, 255, 256, 32767, 32768)
    return (low, high, low + 1, high - 1, *[number for number in middle if low <= number <= high])


class Source:
    """Decides the values. This one gives the defaults of the wire: zero, empty, present."""

    def scalar(self, kind: str) -> Any:
        return {"bool": False, "float64": 0.0, "uuid": ZERO_UUID}.get(kind, 0)

    def text(self) -> str:
        return ""

    def blob(self) -> bytes:
        return b""

    def null(self) -> bool:
        return False

    def count(self) -> int:
        return 0

    def tagged(self) -> bool:
        """Whether a tagged field is set."""
        return False

    def ignored(self) -> bool:
        """Whether a field that the version lacks but may ignore is set."""
        return False

    def unknown(self, known: frozenset[int]) -> tuple[tuple[int, bytes], ...]:
        return ()


class Extreme(Source):
    """Every value at one end of its range; every array with two elements, every tagged field set."""

    def __init__(self, end: str) -> None:
        self._high = end == "max"

    def scalar(self, kind: str) -> Any:
        if kind in INTEGER_RANGES:
            return INTEGER_RANGES[kind][self._high]
        if kind == "bool":
            return self._high
        if kind == "uuid":
            return Uuid(b"\xff" * 16) if self._high else Uuid(b"\0" * 15 + b"\1")
        return sys.float_info.max if self._high else -sys.float_info.max

    def text(self) -> str:
        return "\U0010ffff" * 200 + "z" if self._high else "\0"

    def blob(self) -> bytes:
        return b"\xff" * 16384 if self._high else b"\0"

    def count(self) -> int:
        return 2

    def tagged(self) -> bool:
        return True

    def ignored(self) -> bool:
        return True


class Nulls(Source):
    """Null wherever it is allowed; arrays that must be there have an element, so that it can hold nulls too."""

    def null(self) -> bool:
        return True

    def count(self) -> int:
        return 1

    def tagged(self) -> bool:
        return True


class UnknownTags(Source):
    """Unknown tags on every struct: the lowest free one, one of five bytes, the largest."""

    def count(self) -> int:
        return 1

    def tagged(self) -> bool:
        return True

    def unknown(self, known: frozenset[int]) -> tuple[tuple[int, bytes], ...]:
        lowest = next(number for number in range(len(known) + 1) if number not in known)
        return (lowest, b""), (2**28, b"\0" * 200), (MAX_TAG, b"\xff")


class LongTexts(Source):
    """The longest string everywhere."""

    def __init__(self) -> None:
        self._turn = 0

    def text(self) -> str:
        self._turn += 1
        return LONG_TEXTS[self._turn % len(LONG_TEXTS)]

    def count(self) -> int:
        return 1

    def tagged(self) -> bool:
        return True


FIXED: dict[str, Source] = {
    "zero": Source(),
    "max": Extreme("max"),
    "min": Extreme("min"),
    "null": Nulls(),
    "unknown tags": UnknownTags(),
    "long": LongTexts(),
}
"""The sources of the fixed cases, which every message and version is written and read with."""


class RandomSource(Source):
    """For fuzzing: everything small, now and then at a boundary."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self._random.random() * len(choices))]

    def chance(self, one_in: int) -> bool:
        return self._random.random() * one_in < 1

    def scalar(self, kind: str) -> Any:
        if kind in INTEGER_RANGES:
            return self.pick(integers(kind))
        return self.pick({"bool": (False, True), "float64": FLOATS, "uuid": UUIDS}[kind])

    def text(self) -> str:
        return self.pick(TEXTS)

    def blob(self) -> bytes:
        return self.pick(BLOBS[:6])

    def null(self) -> bool:
        return self.chance(4)

    def count(self) -> int:
        return self.pick((0, 1, 1, 2))

    def tagged(self) -> bool:
        return self.chance(2)

    def ignored(self) -> bool:
        return self.chance(8)

    def unknown(self, known: frozenset[int]) -> tuple[tuple[int, bytes], ...]:
        if not self.chance(6):
            return ()
        numbers = {self.pick((0, 1, 2, 3, 10, 127, 128, 10001, 2**28, MAX_TAG)) for _ in range(self.pick((1, 2)))}
        return tuple((number, self.pick(BLOBS[:5])) for number in sorted(numbers - known))


_INTEGERS = {kind: st.sampled_from(integers(kind)) | st.integers(*INTEGER_RANGES[kind]) for kind in INTEGER_RANGES}
_SCALARS: dict[str, st.SearchStrategy[Any]] = {
    **_INTEGERS,
    "bool": st.booleans(),
    "float64": st.sampled_from(FLOATS) | st.floats(allow_nan=False),
    "uuid": st.sampled_from(UUIDS) | st.binary(min_size=16, max_size=16).map(Uuid),
}
_TEXT = st.text(max_size=12) | st.sampled_from(TEXTS + LONG_TEXTS)
_BLOB = st.binary(max_size=20) | st.sampled_from(BLOBS)
_ONE_IN_FOUR = st.integers(0, 3).map(lambda number: number == 3)
_COUNT = st.sampled_from((0, 1, 1, 2, 3))
_TAGS = st.dictionaries(
    st.sampled_from((0, 1, 2, 3, 63, 127, 128, 10001, MAX_TAG)) | st.integers(0, MAX_TAG),
    st.binary(max_size=12) | st.sampled_from(BLOBS[:6]),
    max_size=3,
)


class Draw(Protocol):
    """``draw`` of a composite strategy, or that of ``st.data()``."""

    def __call__(self, strategy: st.SearchStrategy[T], /) -> T: ...


class DrawnSource(Source):
    """Everything from Hypothesis."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def scalar(self, kind: str) -> Any:
        return self._draw(_SCALARS[kind])

    def text(self) -> str:
        return self._draw(_TEXT)

    def blob(self) -> bytes:
        return self._draw(_BLOB)

    def null(self) -> bool:
        return self._draw(_ONE_IN_FOUR)

    def count(self) -> int:
        return self._draw(_COUNT)

    def tagged(self) -> bool:
        return self._draw(st.booleans())

    def ignored(self) -> bool:
        return self._draw(_ONE_IN_FOUR)

    def unknown(self, known: frozenset[int]) -> tuple[tuple[int, bytes], ...]:
        if not self._draw(_ONE_IN_FOUR):
            return ()
        return tuple((tag, payload) for tag, payload in sorted(self._draw(_TAGS).items()) if tag not in known)


def instances(cls: type[Message], version: int) -> st.SearchStrategy[Message]:
    """Messages of ``cls`` that ``version`` can carry."""

    @st.composite
    def drawn(draw: st.DrawFn) -> Message:
        return make(cls, version, DrawnSource(draw))

    return drawn()


def make(cls: type[Message], version: int, source: Source) -> Message:
    """An instance that ``version`` can carry, decided by ``source``."""
    return _struct(cls, version, version in cls.FLEXIBLE_VERSIONS, source)  # type: ignore[return-value]


def known_tags(cls: type[Struct]) -> frozenset[int]:
    return frozenset(field.tag for field in cls.FIELDS if field.tag is not None)


def _struct(cls: type[Struct], version: int, flexible: bool, source: Source) -> Struct:
    values: dict[str, Any] = {}
    for field in cls.FIELDS:
        if version not in field.versions:
            if field.ignorable and source.ignored():
                values[field.name] = _absent(cls, field, source)
        elif version not in field.tagged or source.tagged():
            values[field.name] = _value(cls, field, field.type, version, flexible, source)
    if flexible:
        values["unknown_tags"] = source.unknown(known_tags(cls))
    return cls(**values)


def _absent(cls: type[Struct], field: Field, source: Source) -> Any:
    """A value for a field that will not be written; its structs need not suit the version."""
    kind = field.type
    owner = struct_class(cls, field)
    if owner is not None:
        return [owner()] if kind.startswith("[]") else owner()
    return [_scalar(kind[2:], source)] if kind.startswith("[]") else _scalar(kind, source)


def _value(cls: type[Struct], field: Field, kind: str, version: int, flexible: bool, source: Source) -> Any:
    if kind == field.type and version in field.nullable and source.null():
        return None
    if kind.startswith("[]"):
        return [_value(cls, field, kind[2:], version, flexible, source) for _ in range(source.count())]
    owner = struct_class(cls, field)
    return _scalar(kind, source) if owner is None else _struct(owner, version, flexible, source)


def _scalar(kind: str, source: Source) -> Any:
    if kind == "string":
        return source.text()
    return source.blob() if kind in ("bytes", "records") else source.scalar(kind)


def as_decoded(value: Any, version: int) -> Any:
    """What comes back when ``value`` is written in ``version`` and read: absent fields have their defaults."""
    if isinstance(value, list):
        return [as_decoded(item, version) for item in value]
    if not isinstance(value, Struct):
        return value
    cls: type[Any] = type(value)
    names = [field.name for field in cls.FIELDS if version in field.versions] + ["unknown_tags"]
    return cls(**{name: as_decoded(getattr(value, name), version) for name in names})


def exact(value: Any) -> Any:
    """A form in which equal means the same types and bytes too, which ``==`` does not: True is 1, -0.0 is 0.0."""
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, Struct):
        return type(value), [
            exact(getattr(value, name)) for name in (*[field.name for field in value.FIELDS], "unknown_tags")
        ]
    return type(value), struct.pack(">d", value) if isinstance(value, float) else value
