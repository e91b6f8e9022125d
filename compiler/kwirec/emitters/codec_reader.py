"""The text of an emitted reader: walks one message and strings the templates of its wire kinds together.

Fixed offsets are merged: ``pos`` is stored once for a run of fields of fixed size.

::

    ThrottleTimeMs int32 1+          if version >= 1:
    ErrorCode      int16 0+              throttle_time_ms_0 = read_i32_be(data, pos)
    Topics         []Topic 0+   →        pos += 4
                                     else:
                                         throttle_time_ms_0 = 0
                                     error_code_0 = read_i16_be(data, pos)
                                     n = read_i32_be(data, pos + 2)
                                     pos += 6
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kwirec.emitters.codec_body import KINDS, UNTAGGED, WIDTHS, Body, choose, tag_mode
from kwirec.emitters.environment import macro
from kwirec.emitters.ranges import ALWAYS, NEVER, condition
from kwirec.emitters.views import FieldView
from kwirec.ir.schema import ArrayType, Field, PrimitiveType, Struct, StructType, Type

READ_RUNS = {
    "int8": "read_i8s",
    "int16": "read_i16s",
    "int32": "read_i32s",
    "int64": "read_i64s",
    "uuid": "read_uuids",
}
"""Primitives whose arrays are read at once."""


@dataclass
class Cursor:
    """How many bytes were read since ``pos`` was stored."""

    pending: int = 0

    @property
    def at(self) -> str:
        return f"pos + {self.pending}" if self.pending else "pos"

    def taken(self) -> int:
        """The pending bytes, which the caller's text stores now."""
        pending, self.pending = self.pending, 0
        return pending

    def stored(self) -> str:
        """A line that stores ``pos`` if there is anything to store."""
        pending = self.taken()
        return f"pos += {pending}\n" if pending else ""


class Reader:
    """Writes the text that reads a message."""

    def __init__(self, body: Body) -> None:
        self._body = body

    def message(self, target: str) -> str:
        cursor = Cursor()
        text = self.struct(self._body.message.root, target, self._body.versions, cursor)
        return text + cursor.stored()

    def struct(self, struct: Struct, target: str, versions: Sequence[int], cursor: Cursor) -> str:
        """Read the untagged fields into locals, make the object, read its tags."""
        number = self._body.occurrence()
        view = self._body.classes[struct.name]
        arguments = [f"{one.name}_{number}" for one in view.made_from]
        fields = "".join(self.field(one, f"{one.name}_{number}", versions, cursor) for one in view.made_from)
        tags = tag_mode(self._body, struct)
        at, advance = cursor.at, 0 if tags == "none" else cursor.taken()
        return macro(f"{KINDS}/struct.jinja", "read", target, view.name, arguments, fields, tags, at, advance)

    def field(self, view: FieldView, target: str, versions: Sequence[int], cursor: Cursor) -> str:
        """Read one untagged field, where it is there; its default elsewhere."""
        untagged = [run for mode, run in self._body.runs(view.field, versions) if mode in UNTAGGED]
        self.declare(view, target)
        if not untagged:
            return f"{target} = {view.value}\n"
        if condition(untagged[0], versions) == ALWAYS:
            return self.value(view.field, view.field.type, target, untagged[0], cursor)
        before = cursor.stored()
        blocks = [(run, self._block(view, target, run)) for run in untagged]
        return before + choose(blocks, versions, f"{target} = {view.value}\n")

    def tagged(self, view: FieldView, target: str, versions: Sequence[int]) -> str:
        """Read the payload of a tagged field."""
        self.declare(view, target)
        found = [run for mode, run in self._body.runs(view.field, versions) if mode == "tagged"]
        if len(found) == 1:
            return self._block(view, target, found[0], tagged=True)
        return choose([(run, self._block(view, target, run, tagged=True)) for run in found], versions)

    def _block(self, view: FieldView, target: str, run: Sequence[int], *, tagged: bool = False) -> str:
        cursor = Cursor()
        text = self.value(view.field, view.field.type, target, run, cursor, tagged=tagged)
        return text + cursor.stored()

    def declare(self, view: FieldView, target: str) -> None:
        """mypyc wants a type for what is assigned in more than one branch; numbers are inferred best."""
        if not (isinstance(view.field.type, PrimitiveType) and view.field.type.name in WIDTHS):
            self._body.declarations[target] = view.annotation

    def value(
        self, one: Field, type_: Type, target: str, versions: Sequence[int], cursor: Cursor, *, tagged: bool = False
    ) -> str:
        outer = type_ is one.type
        nullable = self._body.nullable(one, versions) if outer else NEVER
        compact = self._body.compact(one, versions[0])
        match type_:
            case ArrayType(element):
                return self._array(one, element, target, versions, cursor, compact=compact, nullable=nullable)
            case StructType(name):
                struct = self._body.message.struct(name)
                if nullable == NEVER:
                    return self.struct(struct, target, versions, cursor)
                at = cursor.at
                advance = cursor.taken()
                inner = Cursor()
                body = self.struct(struct, target, versions, inner) + inner.stored()
                return macro(f"{KINDS}/struct.jinja", "read_nullable", target, nullable, tagged, body, at, advance)
            case PrimitiveType(name) if name in WIDTHS:
                text = macro(f"{KINDS}/scalar.jinja", "read", name, target, cursor.at)
                cursor.pending += WIDTHS[name]
                return text
            case PrimitiveType(name):
                at = cursor.at
                kind = "string" if name == "string" else "bytes"
                return macro(f"{KINDS}/blob.jinja", "read", kind, target, compact, nullable, at, cursor.taken())

    def _array(
        self,
        one: Field,
        element: Type,
        target: str,
        versions: Sequence[int],
        cursor: Cursor,
        *,
        compact: bool,
        nullable: str,
    ) -> str:
        at, advance = cursor.at, cursor.taken()
        run = READ_RUNS.get(str(element), "") if isinstance(element, PrimitiveType) else ""
        item, body, guard = "", "", False
        if not run:
            item = f"item{self._body.occurrence()}"
            inner = Cursor()
            body = self.value(one, element, item, versions, inner) + inner.stored()
            guard = self._may_be_empty(element, versions)
        return macro(
            f"{KINDS}/array.jinja",
            "read",
            target=target,
            count=item.replace("item", "count"),
            compact=compact,
            nullable=nullable,
            guard=guard,
            run=run,
            width=WIDTHS.get(str(element), 0),
            element=item,
            body=body,
            at=at,
            advance=advance,
        )

    def _may_be_empty(self, element: Type, versions: Sequence[int]) -> bool:
        """Whether reading an element of an array at the end of the data could succeed.

        Slices never fail, so a struct of uuids reads "nothing" as long as the count says so; any other read fails.
        """
        if self._body.flexible or not isinstance(element, StructType):
            return False
        return any(self._reads_nothing(element, version) for version in versions)

    def _reads_nothing(self, type_: Type, version: int) -> bool:
        if type_ == PrimitiveType("uuid"):
            return True
        return isinstance(type_, StructType) and all(
            self._reads_nothing(one.type, version) and version not in one.nullable
            for one in self._body.message.struct(type_.name).fields
            if version in one.versions
        )
