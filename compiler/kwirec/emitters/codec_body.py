"""The bodies of emitted readers and writers: walks one message and strings the templates of its wire kinds together.

A message has two bodies each way, for its classic and its flexible versions, with structs inlined and
``if version >= n`` where versions differ. Fixed offsets are merged: ``pos`` is stored once for a run of fields of
fixed size (docs/decisions/codec-shape.md has the measurements).

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kwirec.emitters.environment import macro
from kwirec.emitters.ranges import ALWAYS, NEVER, condition, runs
from kwirec.emitters.views import ClassView, FieldView
from kwirec.ir.schema import ArrayType, Field, Message, PrimitiveType, Struct, StructType, Type

WIDTHS = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}
READ_RUNS = {
    "int8": "read_i8s",
    "int16": "read_i16s",
    "int32": "read_i32s",
    "int64": "read_i64s",
    "uuid": "read_uuids",
}

KINDS = "codec/kinds"
UNTAGGED = ("compact", "classic")


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


@dataclass
class Body:
    """One half of a message: which versions, and what the readers and writers of it need."""

    message: Message
    classes: Mapping[str, ClassView]
    versions: Sequence[int]
    flexible: bool
    declarations: dict[str, str] = field(default_factory=dict)
    counter: int = 0

    def occurrence(self) -> int:
        """A number for every place where a struct is inlined: it keeps the locals of all places apart."""
        self.counter += 1
        return self.counter - 1

    def mode(self, one: Field, version: int) -> str:
        """How ``one`` is coded in ``version``: absent, tagged, or untagged with a compact or classic length."""
        if version not in one.versions:
            return "absent"
        if self.flexible and one.tag is not None and version in one.tagged:
            return "tagged"
        return "compact" if self.compact(one, version) else "classic"

    def compact(self, one: Field, version: int) -> bool:
        return self.flexible and (one.flexible is None or version in one.flexible)

    def runs(self, one: Field, versions: Sequence[int]) -> list[tuple[str, list[int]]]:
        """``versions`` cut where the coding of ``one`` changes. The mark of a nullable struct is part of it."""
        struct = isinstance(one.type, StructType)
        cut = runs(versions, lambda v: (self.mode(one, v), struct and v in one.nullable))
        return [(mode, run) for (mode, _), run in cut]

    def nullable(self, one: Field, versions: Sequence[int]) -> str:
        return condition([v for v in versions if v in one.nullable], versions)


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
            count=f"count_{target}",
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
        if not isinstance(element, StructType) or self._body.flexible:
            return False
        fields = self._body.message.struct(element.name).fields
        return any(
            all(one.type == PrimitiveType("uuid") for one in fields if version in one.versions)
            for version in versions
        )


class Writer:
    """Writes the text that writes a message."""

    def __init__(self, body: Body) -> None:
        self._body = body

    def message(self, source: str) -> str:
        return self.struct(self._body.message.root, source, self._body.versions) or "pass\n"

    def struct(self, struct: Struct, source: str, versions: Sequence[int]) -> str:
        number = self._body.occurrence()
        view = self._body.classes[struct.name]
        fields = "".join(self.field(one, source, number, versions) for one in view.fields)
        tags = tag_mode(self._body, struct)
        defaults = [one.is_default(source) for one in view.fields if is_tagged(self._body, one.field)]
        return macro(f"{KINDS}/struct.jinja", "write", source, view.name, fields, tags, defaults)

    def field(self, view: FieldView, source: str, number: int, versions: Sequence[int]) -> str:
        """Write one untagged field where it is there; elsewhere see that nothing would be lost."""
        blocks: list[tuple[list[int], str]] = []
        for mode, run in self._body.runs(view.field, versions):
            block = ""
            if mode in UNTAGGED:
                block = self.value(view, view.field.type, f"{source}.{view.name}", f"{view.name}_{number}", run)
            elif mode == "absent" and not view.field.ignorable:
                block = macro(f"{KINDS}/flow.jinja", "absent", view.differs(source))
            if block:
                blocks.append((run, block))
        return choose(blocks, versions)

    def tagged(self, view: FieldView, source: str, number: int, versions: Sequence[int]) -> str:
        """Write the payload of a tagged field."""
        place, local = f"{source}.{view.name}", f"{view.name}_{number}"
        found = [run for mode, run in self._body.runs(view.field, versions) if mode == "tagged"]
        if len(found) == 1:
            return self.value(view, view.field.type, place, local, found[0], tagged=True)
        blocks = [(run, self.value(view, view.field.type, place, local, run, tagged=True)) for run in found]
        return choose(blocks, versions)

    def value(
        self,
        view: FieldView,
        type_: Type,
        source: str,
        local: str,
        versions: Sequence[int],
        *,
        tagged: bool = False,
    ) -> str:
        one = view.field
        outer = type_ is one.type
        nullable = self._body.nullable(one, versions) if outer else NEVER
        # A tagged field whose default is null is not written when it is null.
        optional = outer and view.annotation.endswith("| None") and not (tagged and view.value == "None")
        compact = self._body.compact(one, versions[0])
        match type_:
            case ArrayType(element):
                item = f"item{self._body.occurrence()}"
                body = self.value(view, element, item, f"{item}_value", versions)
                return macro(
                    f"{KINDS}/array.jinja",
                    "write",
                    source=source,
                    local=local,
                    compact=compact,
                    nullable=nullable,
                    optional=optional,
                    element=item,
                    body=body,
                )
            case StructType(name):
                struct = self._body.message.struct(name)
                if nullable == NEVER and not optional:
                    if outer:
                        return f"{local} = {source}\n" + self.struct(struct, local, versions)
                    return self.struct(struct, source, versions)
                body = self.struct(struct, local, versions)
                return macro(f"{KINDS}/struct.jinja", "write_nullable", source, local, nullable, tagged, body)
            case PrimitiveType(name) if name in WIDTHS:
                return macro(f"{KINDS}/scalar.jinja", "write", name, source)
            case PrimitiveType(name):
                kind = "string" if name == "string" else "bytes"
                return macro(f"{KINDS}/blob.jinja", "write", kind, source, local, compact, nullable, optional)


def choose(blocks: Sequence[tuple[list[int], str]], versions: Sequence[int], otherwise: str = "") -> str:
    """The block for each run of versions, and ``otherwise`` for the versions that have none."""
    if not blocks:
        return otherwise
    branches = [(condition(run, versions), block) for run, block in blocks]
    if branches[0][0] == ALWAYS:
        return branches[0][1]
    if sum(len(run) for run, _ in blocks) == len(versions):
        branches[-1], otherwise = ("", branches[-1][1]), ""
    return macro(f"{KINDS}/flow.jinja", "choose", branches, otherwise)


def is_tagged(body: Body, one: Field) -> bool:
    """Whether the field is a tagged one in any flexible version."""
    return one.tag is not None and any(v in one.tagged and v in body.message.flexible for v in body.message.valid)


def tag_mode(body: Body, struct: Struct) -> str:
    """Whether a struct ends with tags of which some are ``known``, all ``unknown``, or with ``none``."""
    if not body.flexible:
        return "none"
    return "known" if any(is_tagged(body, one) for one in struct.fields) else "unknown"
