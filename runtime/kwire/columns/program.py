"""Makes programs for ``kwire.columns.messages``, and says in which columns they put the values of each field."""

from __future__ import annotations

from struct import pack, unpack
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, Union

from kwire.columns.messages import (
    BLANK,
    COMPACT,
    CONST,
    EACH,
    I8,
    I16,
    I32,
    I64,
    MARKED,
    MISSING,
    NONE,
    NULLABLE,
    NUMBERS,
    PASS,
    PLACE,
    PRESENT,
    SHORT,
    SKIP,
    TAGS,
    TEXT,
    U16,
    U32,
    UNWANTED,
    UUID,
    WANTED,
)
from kwire.schema import BLOBS, SIZES, PresentField, present_fields, struct_class
from kwire.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from kwire.message import Message, Struct

Wanted: TypeAlias = "Mapping[str, Wanted]"
"""The wanted fields of a struct by name, each with those of its own struct. ``unknown_tags`` is one of them."""

OPERATIONS = {
    "bool": I8,
    "int8": I8,
    "int16": I16,
    "uint16": U16,
    "int32": I32,
    "uint32": U32,
    "int64": I64,
    "float64": I64,
    "uuid": UUID,
}
NUMBERS_OF = {"bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "float64": 8}
"""Type of the elements of an array that ``NUMBERS`` reads → their size."""
WIDTHS = {**NUMBERS_OF, "uint16": 4, "uint32": 8, "uuid": 18}
"""Type of a value → its bytes in a column."""
MOST_COLUMNS = 0xFF00
_PASSED, _SKIPPED = 0xFFFF, 0x7FFF
"""The largest arguments of ``PASS``."""


class Values:
    """Where the values of a field are that is no struct and no array."""

    __slots__ = ("column", "type")

    def __init__(self, type: str, column: int) -> None:
        self.type = type
        self.column = column


class Lists:
    """Where the lengths of arrays are, in ``column``, and their elements. The next column has the null rows."""

    __slots__ = ("column", "elements")

    def __init__(self, column: int, elements: Place) -> None:
        self.column = column
        self.elements = elements


class Structs:
    """Where the fields of structs are. ``column`` says which are not null, if they may be; ``unknown`` has the
    unknown tags, if they are wanted and the version has any. Fields that the version lacks are left out."""

    __slots__ = ("column", "fields", "unknown")

    def __init__(self, fields: dict[str, Place]) -> None:
        self.fields = fields
        self.column: int | None = None
        self.unknown: int | None = None


Place: TypeAlias = Union["Values", "Lists", "Structs"]


class UnsuitableError(Exception):
    """Messages of this version have to be decoded: a default is not zero, null or empty where it has to be."""


class Program:
    """The program for messages of one version, and where it puts their fields. Raises ``UnsuitableError``."""

    __slots__ = ("code", "columns", "entry", "place")

    def __init__(self, cls: type[Message], version: int, wanted: Wanted) -> None:
        maker = _Maker(version)
        self.place = maker.place(cls, wanted)
        self.entry = maker.add(maker.struct(cls, self.place))
        self.code = pack(f"<{len(maker.words)}q", *maker.words)
        self.columns = maker.columns


class _Step(NamedTuple):
    """An instruction, with the word after it if it has one."""

    operation: int
    flags: int = 0
    column: int = NONE
    argument: int = 0
    constant: int | None = None


class _Maker:
    def __init__(self, version: int) -> None:
        self.version = version
        self.words = [0]  # so that no program starts at 0
        self.columns = 0

    def take(self, count: int) -> int:
        """The first of so many new columns."""
        self.columns += count
        if self.columns > MOST_COLUMNS:
            raise UnsuitableError
        return self.columns - count

    def place(self, cls: type[Struct], wanted: Wanted) -> Structs:
        """Columns for the wanted fields of a struct."""
        structs = Structs({})
        for field in present_fields(cls, self.version):
            if field.name in wanted:
                structs.fields[field.name] = self.columns_of(cls, field, wanted[field.name])
        if self.version in cls.FLEXIBLE_VERSIONS and "unknown_tags" in wanted:
            structs.unknown = self.take(3)
        return structs

    def columns_of(self, cls: type[Struct], field: PresentField, wanted: Wanted) -> Place:
        inner = struct_class(cls, field)
        if field.is_array:
            lengths = self.take(3)  # the third is for numbers
            if inner is not None:
                return Lists(lengths, self.place(inner, wanted))
            column = lengths + 2 if field.element_type in NUMBERS_OF else self.take(2)
            return Lists(lengths, Values(field.element_type, column))
        if inner is None:
            return Values(field.type, self.take(2))
        structs = self.place(inner, wanted)
        structs.column = self.take(1) if field.is_nullable else None
        return structs

    def add(self, steps: list[_Step]) -> int:
        """Add a program; its address."""
        start = 8 * len(self.words)
        steps = _joined(steps) or [_Step(SKIP)]
        for number, (operation, flags, column, argument, constant) in enumerate(steps, 1):
            word = operation | flags | column << 16 | argument << 32
            self.words.append(word - (1 << 63) if number == len(steps) else word)
            if constant is not None:
                self.words.append(constant)
        return start

    def table(self, words: list[int]) -> int:
        """Add other words; their address."""
        start = 8 * len(self.words)
        self.words += words
        return start

    def struct(self, cls: type[Struct], place: Structs | None) -> list[_Step]:
        """Reads a struct; skips it without a place."""
        steps: list[_Step] = []
        fields = {} if place is None else place.fields
        for field in present_fields(cls, self.version):
            if not field.is_tagged:
                steps += self.field(cls, field, fields.get(field.name))
        if self.version in cls.FLEXIBLE_VERSIONS:
            unknown = None if place is None else place.unknown
            steps.append(_Step(TAGS, 0, NONE if unknown is None else unknown, self.tags(cls, fields)))
        return steps

    def field(self, cls: type[Struct], field: PresentField, place: Place | None) -> list[_Step]:
        inner = struct_class(cls, field)
        flags = (COMPACT if field.is_compact else 0) | (NULLABLE if field.is_nullable else 0)
        if field.is_array:
            return [self.array(inner, field, flags, place)]
        if inner is None:
            return [_value(field.type, flags, place)]
        assert place is None or isinstance(place, Structs)
        if not field.is_nullable:
            return self.struct(inner, place)
        programs = [self.add(self.struct(inner, place)), 0 if place is None else self.add(self.blank(inner, place))]
        column = NONE if place is None or place.column is None else place.column
        return [_Step(PRESENT, MARKED if field.is_tagged else 0, column, self.table(programs))]

    def array(self, inner: type[Struct] | None, field: PresentField, flags: int, place: Place | None) -> _Step:
        if place is None:
            one = [_value(field.element_type, flags & COMPACT, None)] if inner is None else self.struct(inner, None)
            steps = _joined(one)
            if [step.operation for step in steps] == [SKIP] and steps[0].argument <= _PASSED:
                return _Step(PASS, flags, NONE, steps[0].argument)
            return _Step(EACH, flags, NONE, self.add(steps))
        assert isinstance(place, Lists)
        if field.element_type in NUMBERS_OF:
            return _Step(NUMBERS, flags, place.column, NUMBERS_OF[field.element_type])
        if inner is None:
            steps = [_value(field.element_type, flags & COMPACT, place.elements)]
        else:
            assert isinstance(place.elements, Structs)
            steps = self.struct(inner, place.elements)
        return _Step(EACH, flags, place.column, self.add(steps))

    def tags(self, cls: type[Struct], fields: dict[str, Place]) -> int:
        """The table of the tagged fields of a struct."""
        rows: list[tuple[int, int, int, int]] = []
        defaults: list[_Step] = []
        present = {field.name: field for field in present_fields(cls, self.version)}
        for known in cls.FIELDS:
            if known.tag is None or (known.name in present and not present[known.name].is_tagged):
                continue
            if known.name not in present:
                rows.append((known.tag, MISSING, 0, 0))
            elif known.name not in fields:
                rows.append((known.tag, UNWANTED, 0, 0))
            else:
                field, place = present[known.name], fields[known.name]
                blank = self.blank_field(cls, field, place)
                defaults += blank
                rows.append((known.tag, WANTED, self.add(self.field(cls, field, place)), self.add(blank)))
        words = [word for row in sorted(rows) for word in row]
        return self.table([self.add(defaults) if defaults else 0, len(rows), *words])

    def blank(self, cls: type[Struct], place: Structs) -> list[_Step]:
        """A struct of defaults: what is below a null, and tagged fields that were left out."""
        steps: list[_Step] = []
        for field in present_fields(cls, self.version):
            if field.name in place.fields:
                steps += self.blank_field(cls, field, place.fields[field.name])
        if place.unknown is not None:
            steps.append(_Step(BLANK, 0, place.unknown, 4))
        return steps

    def blank_field(self, cls: type[Struct], field: PresentField, place: Place) -> list[_Step]:
        value = field.default
        null = NULLABLE if value is None else 0
        if isinstance(place, Values):
            return [_default(field.type, value, place.column)]
        if isinstance(place, Lists):
            if value:
                raise UnsuitableError
            return [_Step(BLANK, null, place.column, 4)]
        inner: Any = struct_class(cls, field)
        present = [] if place.column is None else [_Step(CONST, 0, place.column, 1, 0 if null else 1)]
        return [*present, *self.blank(inner, place)]


def _value(kind: str, flags: int, place: Place | None) -> _Step:
    """Reads or skips a value that is no struct."""
    assert place is None or isinstance(place, Values)
    if kind not in BLOBS:
        return _Step(SKIP, 0, NONE, SIZES[kind]) if place is None else _Step(OPERATIONS[kind], 0, place.column)
    if kind == "string":
        flags |= TEXT if flags & COMPACT else TEXT | SHORT
    return _Step(PASS, flags, NONE, 1) if place is None else _Step(PLACE, flags, place.column)


def _default(kind: str, value: Any, column: int) -> _Step:
    if kind in BLOBS:
        if value:
            raise UnsuitableError
        return _Step(BLANK, NULLABLE if value is None else 0, column, 8)
    if kind == "uuid" and value != ZERO_UUID:
        raise UnsuitableError
    number: int = 0 if kind == "uuid" else unpack("<q", pack("<d" if kind == "float64" else "<q", value))[0]
    return _Step(CONST, 0, column, WIDTHS[kind], number)


def _joined(steps: list[_Step]) -> list[_Step]:
    """The same with bytes to skip in the instruction before them, if it can take them."""
    joined: list[_Step] = []
    for step in steps:
        before = joined[-1] if joined else _Step(TAGS)
        if step.operation == SKIP and before.operation in (SKIP, PLACE, *OPERATIONS.values()):
            joined[-1] = before._replace(argument=before.argument + step.argument)
        elif (
            step.operation == SKIP
            and before.operation == PASS
            and (before.argument >> 16) + step.argument <= _SKIPPED
        ):
            joined[-1] = before._replace(argument=before.argument + (step.argument << 16))
        else:
            joined.append(step)
    return joined
