"""Generating programs for ``kwire.columns.messages``, and assigning the columns for the values of each field."""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, Union

from kwire.columns.messages import (
    BLANK,
    COMPACT,
    CONST,
    COPY,
    EACH,
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
    UNWANTED,
    WANTED,
)
from kwire.schema import PresentField, present_fields, struct_class
from kwire_rules import CODES, SIZES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from kwire.message import Message
    from kwire.struct import Struct

Wanted: TypeAlias = "Mapping[str, Wanted]"
"""The selected fields of a struct, by name, each with the selected fields of the struct in it. The name
``unknown_tags`` selects unknown tags.
"""

MAX_COLUMNS = 0xFF00
_PASSED, _SKIPPED = 0xFFFF, 0x7FFF
"""Maximum values of the two parts of an argument of ``PASS`` or ``COPY``."""


class Rows:
    """A column for values of fixed size. Neighbouring fields share a column and stay encoded as in the message."""

    __slots__ = ("column", "size")

    def __init__(self, column: int, size: int) -> None:
        self.column = column
        self.size = size


class Values:
    """The ``offset`` of a fixed-size field within each row of ``rows``."""

    __slots__ = ("offset", "rows", "type")

    def __init__(self, type: str, rows: Rows, offset: int = 0) -> None:
        self.type = type
        self.rows = rows
        self.offset = offset


class Pieces:
    """The column for the positions of strings or bytes. The next column contains the null rows."""

    __slots__ = ("column", "type")

    def __init__(self, type: str, column: int) -> None:
        self.type = type
        self.column = column


class Lists:
    """The ``column`` for the ends of arrays, and the columns of their elements. The column after ``column`` contains
    the null rows."""

    __slots__ = ("column", "elements")

    def __init__(self, column: int, elements: Place) -> None:
        self.column = column
        self.elements = elements


class Structs:
    """The columns for the fields that structs have in one version. If null is allowed, ``column`` marks the structs
    that are not null. ``unknown`` is the first column of unknown tags if unknown tags are selected and the version is
    flexible.
    """

    __slots__ = ("column", "fields", "unknown")

    def __init__(self, fields: dict[str, Place]) -> None:
        self.fields = fields
        self.column: int | None = None
        self.unknown: int | None = None


Place: TypeAlias = Union["Values", "Pieces", "Lists", "Structs"]


class UnsuitableError(Exception):
    """Messages of this version have to be decoded into objects, because programs do not support one of the defaults
    or that many columns."""


class Program:
    """The program for messages of one version, and the columns of each field. Raises ``UnsuitableError`` if no
    program can read these messages."""

    __slots__ = ("code", "columns", "ends", "entry", "place")

    def __init__(self, cls: type[Message], version: int, wanted: Wanted) -> None:
        maker = _Maker(version)
        self.place = maker.place(cls, wanted)
        self.entry = maker.add(maker.struct(cls, self.place))
        self.code = pack(f"<{len(maker.words)}q", *maker.words)
        self.columns = maker.columns
        self.ends = maker.ends


class _Step(NamedTuple):
    """An instruction, and the constant that follows it in the program, if any."""

    operation: int
    flags: int = 0
    column: int = NONE
    argument: int = 0
    constant: bytes = b""


class _Maker:
    def __init__(self, version: int) -> None:
        self.version = version
        self.words: list[int] = []
        self.columns = 0
        self.ends: list[int] = []

    def take(self, count: int) -> int:
        """Reserve ``count`` new columns and return the number of the first column."""
        self.columns += count
        if self.columns > MAX_COLUMNS:
            raise UnsuitableError
        return self.columns - count

    def place(self, cls: type[Struct], wanted: Wanted) -> Structs:
        """Reserve and return columns for the selected fields of a struct."""
        structs = Structs({})
        rows: Rows | None = None  # rows shared with the previous field
        for field in sorted(present_fields(cls, self.version), key=lambda field: field.is_tagged):
            if field.name not in wanted:
                rows = None
            elif field.is_array or field.type not in SIZES:
                rows = None
                structs.fields[field.name] = self.columns_of(cls, field, wanted[field.name])
            else:
                if rows is None or field.is_tagged:
                    rows = Rows(self.take(1), 0)
                structs.fields[field.name] = Values(field.type, rows, rows.size)
                rows.size += SIZES[field.type]
        if self.version in cls.FLEXIBLE_VERSIONS and "unknown_tags" in wanted:
            structs.unknown = self.take(3)
        return structs

    def columns_of(self, cls: type[Struct], field: PresentField, wanted: Wanted) -> Place:
        """Reserve and return columns for a field of variable size."""
        inner = struct_class(cls, field)
        if field.is_array:
            ends = self.take(3)  # the third is for elements of fixed size
            self.ends.append(ends)
            if inner is not None:
                return Lists(ends, self.place(inner, wanted))
            if field.element_type in SIZES:
                return Lists(ends, Values(field.element_type, Rows(ends + 2, SIZES[field.element_type])))
            return Lists(ends, Pieces(field.element_type, self.take(2)))
        if inner is None:
            return Pieces(field.type, self.take(2))
        structs = self.place(inner, wanted)
        structs.column = self.take(1) if field.is_nullable else None
        return structs

    def add(self, steps: list[_Step]) -> int:
        """Add a program, preceded by the shape of its structs, and return its address."""
        steps = _joined(steps) or [_Step(SKIP)]
        self.words.append(_shape(steps))
        start = 8 * len(self.words)
        for number, (operation, flags, column, argument, constant) in enumerate(steps, 1):
            word = operation | flags | column << 16 | argument << 32
            self.words.append(word - (1 << 63) if number == len(steps) else word)
            for at in range(0, len(constant), 8):
                self.words.append(int.from_bytes(constant[at : at + 8], "little", signed=True))
        return start

    def table(self, words: list[int]) -> int:
        """Add words that are not instructions, and return their address."""
        start = 8 * len(self.words)
        self.words += words
        return start

    def struct(self, cls: type[Struct], place: Structs | None) -> list[_Step]:
        """Return the steps that read a struct, or skip it if ``place`` is ``None``."""
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
        if field.element_type in SIZES:
            return _Step(NUMBERS, flags, place.column, SIZES[field.element_type].bit_length() - 1)
        if inner is None:
            steps = [_value(field.element_type, flags & COMPACT, place.elements)]
        else:
            assert isinstance(place.elements, Structs)
            steps = self.struct(inner, place.elements)
        return _Step(EACH, flags, place.column, self.add(steps))

    def tags(self, cls: type[Struct], fields: dict[str, Place]) -> int:
        """Add the table of a struct's tagged fields, and return its address."""
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
        """Return the steps that append the default of each field of a struct, for a null struct or an omitted tagged
        field."""
        steps: list[_Step] = []
        for field in present_fields(cls, self.version):
            if field.name in place.fields:
                steps += self.blank_field(cls, field, place.fields[field.name])
        return steps

    def blank_field(self, cls: type[Struct], field: PresentField, place: Place) -> list[_Step]:
        value = field.default
        null = NULLABLE if value is None else 0
        if isinstance(place, Values):
            constant = pack(f">{CODES[field.type]}", value)
            return [_Step(CONST, 0, place.rows.column, len(constant), constant)]
        if isinstance(place, Lists | Pieces):
            if value:
                raise UnsuitableError
            return [_Step(BLANK, null, place.column, 4 if isinstance(place, Lists) else 8)]
        inner: Any = struct_class(cls, field)
        present = [] if place.column is None else [_Step(CONST, 0, place.column, 1, b"\0" if null else b"\1")]
        return [*present, *self.blank(inner, place)]


def _value(kind: str, flags: int, place: Place | None) -> _Step:
    """Return a step that reads a value other than a struct, or skips it if ``place`` is ``None``."""
    if kind in SIZES:
        if place is None:
            return _Step(SKIP, 0, NONE, SIZES[kind])
        assert isinstance(place, Values)
        return _Step(COPY, 0, place.rows.column, SIZES[kind])
    if kind == "string":
        flags |= TEXT if flags & COMPACT else TEXT | SHORT
    if place is None:
        return _Step(PASS, flags, NONE, 1)
    assert isinstance(place, Pieces)
    return _Step(PLACE, flags, place.column)


def _joined(steps: list[_Step]) -> list[_Step]:
    """Return equivalent steps. Two consecutive steps are combined if both fill the same column or the second skips
    bytes."""
    joined: list[_Step] = []
    for step in steps:
        together = _together(joined[-1], step) if joined else None
        if together is None:
            joined.append(step)
        else:
            joined[-1] = together
    return joined


def _shape(steps: list[_Step]) -> int:
    """Return the shape of a skipped struct for ``kwire.columns.messages.passed``, or 0 if no shape describes it."""
    *arrays, tags = steps
    if tags.operation != TAGS or tags.column != NONE:
        return 0
    sizes = [arrays.pop(0).argument if arrays and arrays[0].operation == SKIP else 0]
    for step in arrays:
        if step.operation != PASS or not step.flags & COMPACT:
            return 0
        sizes += [step.argument & 0xFFFF, step.argument >> 16]
    if len(sizes) > 7 or max(sizes) > 255:
        return 0
    return int.from_bytes(bytes(sizes), "little") | (len(arrays) + 1) << 60


def _together(first: _Step, second: _Step) -> _Step | None:
    """Return a single step that is equivalent to both steps, or ``None`` if there is no such step."""
    size = first.argument + second.argument
    if second.operation == SKIP:
        if first.operation in (SKIP, PLACE):
            return first._replace(argument=size)
        if first.operation in (PASS, COPY) and (first.argument >> 16) + second.argument <= _SKIPPED:
            return first._replace(argument=first.argument + (second.argument << 16))
    elif first.operation == second.operation and first.column == second.column:
        if first.operation == COPY and size <= _PASSED:
            return first._replace(argument=size)
        if first.operation == CONST:
            return first._replace(argument=size, constant=first.constant + second.constant)
    return None
