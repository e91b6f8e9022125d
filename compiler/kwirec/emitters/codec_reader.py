"""Creates the statements that read a message.

For a run of fixed-size fields, the code updates ``pos`` only once.

::

    ThrottleTimeMs int32 1+          if version >= 1:
    ErrorCode      int16 0+              throttle_time_ms = read_i32_be(data, pos)
    Topics         []Topic 0+   →        pos += 4
                                     else:
                                         throttle_time_ms = 0
                                     error_code = read_i16_be(data, pos)
                                     n = read_i32_be(data, pos + 2)
                                     pos += 6
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kwirec.emitters.codec_names import Locals, length_in
from kwirec.emitters.codec_nodes import (
    NEVER,
    Advance,
    Node,
    Nodes,
    ReadArray,
    ReadBlob,
    ReadBulk,
    ReadLength,
    ReadNullableStruct,
    ReadScalar,
    ReadStruct,
    SetDefault,
    choice,
    condition,
    in_groups,
)
from kwirec.emitters.views import ClassView
from kwirec.ir.schema import ArrayType, PrimitiveType, StructType, Type
from kwirec.lowering.coding import FieldCoding, Run, StructCoding, Versions
from kwirec.lowering.layout import SCALARS


@dataclass
class Cursor:
    """Counts the bytes read since ``pos`` was last updated."""

    pending: int = 0

    @property
    def at(self) -> str:
        return f"pos + {self.pending}" if self.pending else "pos"

    def take(self) -> int:
        """Reset the counter and return its value, which the caller's statement must add to ``pos``."""
        pending, self.pending = self.pending, 0
        return pending

    def store(self) -> Nodes:
        return (Advance(width=self.take()),) if self.pending else ()


BULK = ("int8", "int16", "int32", "int64", "uuid")
"""Primitive types whose arrays are read with a single call."""


@dataclass
class Reader:
    """Creates the body of a reading function."""

    classes: Mapping[str, ClassView]
    names: Locals
    _declared: dict[str, str] = field(default_factory=dict, init=False)
    _own: dict[str, str] = field(default_factory=dict, init=False)
    _arrays: int = field(default=0, init=False)

    def message(self, root: StructCoding, target: str) -> Nodes:
        cursor = Cursor()
        return (*self._struct(root, target, cursor), *cursor.store())

    def tagged(self, coded: FieldCoding, owner: StructCoding, target: str) -> Nodes:
        """Return the statements that read the payload of a tagged field."""
        self._declare(coded, owner, target)
        branches = []
        for run in coded.tagged:
            cursor = Cursor()
            branches.append((run.versions, self._run(coded, owner, run, target, cursor) + cursor.store()))
        return choice(branches, coded.tagged_versions)

    @property
    def declarations(self) -> tuple[tuple[str, str], ...]:
        """Local variables and their types. mypyc requires a type for variables that are assigned in more than one
        branch.
        """
        return (*self._own.items(), *self._declared.items())

    def _struct(self, struct: StructCoding, target: str, cursor: Cursor) -> Nodes:
        """Return statements that read the untagged fields into variables, create the object and read its tagged
        fields.
        """
        view = self.classes[struct.struct.name]
        coded = [one for one in struct.fields if view.fields[one.field.name].is_read]
        fields: list[Node] = []
        for parts, group in in_groups(coded, lambda one: _parts(one, struct.versions)):
            fields += self._group(group, struct, parts, cursor)
        node = ReadStruct(
            path=struct.path,
            target=target,
            cls=view.name,
            arguments=[self.names.of(one.path) for one in coded],
            fields=fields,
            tags=view.tags_in(struct),
            at=cursor.at,
            advance=cursor.take() if struct.flexible else 0,
        )
        return (node,)

    def _group(
        self, group: list[FieldCoding], struct: StructCoding, parts: tuple[Versions, ...], cursor: Cursor
    ) -> Nodes:
        if len(parts) == 1:
            return tuple(node for one in group for node in self._field(one, struct, parts[0], cursor))
        before = cursor.store()
        branches = []
        for part in parts:
            inner = Cursor()
            body = tuple(node for one in group for node in self._field(one, struct, part, inner))
            branches.append((part, body + inner.store()))
        return before + choice(branches, struct.versions)

    def _field(self, coded: FieldCoding, struct: StructCoding, part: Versions, cursor: Cursor) -> Nodes:
        """Return statements that read a field in the versions ``part``, or that set the default in versions without
        the field.
        """
        target = self.names.of(coded.path)
        self._declare(coded, struct, target)
        run = next((run for run in coded.untagged if run.versions == part), None)
        if run is None:
            view = self.classes[struct.struct.name].fields[coded.field.name]
            return (SetDefault(target=target, value=view.value),)
        return self._run(coded, struct, run, target, cursor)

    def _declare(self, coded: FieldCoding, owner: StructCoding, target: str) -> None:
        """Annotate the variable of a field with its type, unless the field is a number. mypyc infers better types for
        numbers.
        """
        type_ = coded.field.type
        if not (isinstance(type_, PrimitiveType) and type_.name in SCALARS):
            self._declared[target] = self.classes[owner.struct.name].fields[coded.field.name].annotation

    def _length(self, compact: bool) -> str:
        """Return the local variable for a value's length or null marker.

        The variable is an ``i64`` if all lengths in it are varints. Otherwise it is an ``int``, because mypyc does
        not widen fixed-size integers.
        """
        n = length_in(self._arrays)
        if self._own.get(n) != "int":
            self._own[n] = "i64" if compact else "int"
        return n

    def _run(self, coded: FieldCoding, owner: StructCoding, run: Run, target: str, cursor: Cursor) -> Nodes:
        name = self.classes[owner.struct.name].fields[coded.field.name].name
        return self._value(name, coded.field.type, run, target, cursor)

    def _value(self, name: str, type_: Type, run: Run, target: str, cursor: Cursor) -> Nodes:
        """Return statements that read one value. Array elements are never null [KAFKA-WIRE 15]."""
        nullable = NEVER if name.endswith("[]") else condition(run.nullable, run.versions)
        if isinstance(type_, PrimitiveType) and type_.name in SCALARS:
            scalar = SCALARS[type_.name]
            read = ReadScalar(type=scalar.text, target=target, at=cursor.at)
            cursor.pending += scalar.width
            return (read,)
        if isinstance(type_, StructType) and run.struct is not None and nullable == NEVER:
            return self._struct(run.struct, target, cursor)
        place = ReadLength(
            label=_label(name, type_, run, nullable),
            target=target,
            n=self._length(run.compact),
            compact=run.compact,
            nullable=nullable,
            at=cursor.at,
            advance=cursor.take(),
        )
        return (self._sized(place, name, type_, run),)

    def _sized(self, place: ReadLength, name: str, type_: Type, run: Run) -> Node:
        """Return a statement that reads a value preceded by a length, a count or a null marker."""
        common, target, inner = vars(place), place.target, Cursor()
        match type_:
            case ArrayType(PrimitiveType(element)) if element in BULK:
                return ReadBulk(**common, element=SCALARS[element])
            case ArrayType(element):
                item = self.names.item(target)
                self._own["step"] = "i64"
                self._arrays += 1
                body = self._value(f"{name}[]", element, run, item, inner) + inner.store()
                self._arrays -= 1
                return ReadArray(
                    **common,
                    item=item,
                    body=body,
                    guard=isinstance(element, StructType) and run.struct is not None and _may_be_empty(run.struct),
                )
            case StructType():
                assert run.struct is not None
                body = self._struct(run.struct, target, inner) + inner.store()
                return ReadNullableStruct(**common, tagged=run.tagged, body=body)
            case PrimitiveType(kind):
                self._own["end"] = "i64"
                return ReadBlob(**common, kind="string" if kind == "string" else "bytes")


def _label(name: str, type_: Type, run: Run, nullable: str) -> str:
    kind = {ArrayType: "array", StructType: "struct"}.get(type(type_), str(type_))
    words = ["compact"] * (run.compact and kind != "struct") + ["nullable"] * (nullable != NEVER) + [kind]
    return f"{name}: {' '.join(words)}"


def _parts(coded: FieldCoding, versions: Versions) -> tuple[Versions, ...]:
    """Return the versions that have the field, grouped by the field's coding, and then the versions without the
    field.
    """
    present = tuple(run.versions for run in coded.untagged)
    absent = tuple(v for v in versions if not any(v in part for part in present))
    return (*present, absent) if absent else present


def _may_be_empty(struct: StructCoding) -> bool:
    """Return whether an array element could be read at the end of the data without an error.

    Slicing never fails, so a struct of uuids could be read from zero bytes. All other reads would fail.
    """
    return not struct.flexible and any(_reads_nothing(struct, version) for version in struct.versions)


def _reads_nothing(struct: StructCoding, version: int) -> bool:
    for one in struct.fields:
        run = one.at(version)
        if run is None or one.field.type == PrimitiveType("uuid"):
            continue
        inner = run.struct if isinstance(one.field.type, StructType) and version not in run.nullable else None
        if inner is None or not _reads_nothing(inner, version):
            return False
    return True
