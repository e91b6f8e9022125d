"""Creates the statements that write a message.

::

    ThrottleTimeMs int32 1+          if version >= 1:
    Topics         []Topic 0+   →        write_i32_be(out, message.throttle_time_ms)
                                     topics = message.topics
                                     write_i32_be(out, len(topics))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kwirec.emitters.codec_names import Locals
from kwirec.emitters.codec_nodes import (
    NEVER,
    Node,
    Nodes,
    RequireDefault,
    WriteArray,
    WriteBlob,
    WriteLength,
    WriteNullableStruct,
    WriteScalar,
    WriteStruct,
    choice,
    condition,
    in_groups,
)
from kwirec.emitters.views import ClassView
from kwirec.ir.schema import ArrayType, PrimitiveType, StructType, Type
from kwirec.lowering.coding import FieldCoding, Run, StructCoding, Versions
from kwirec.lowering.layout import SCALARS
from kwirec.versions import runs_by


@dataclass(frozen=True)
class Writer:
    """Creates the body of a writing function."""

    classes: Mapping[str, ClassView]
    names: Locals

    def message(self, root: StructCoding, source: str) -> Nodes:
        return self._struct(root, source, source)

    def tagged(self, coded: FieldCoding, owner: StructCoding, source: str) -> Nodes:
        """Return the statements that write the payload of a tagged field."""
        view = self.classes[owner.struct.name].fields[coded.field.name]
        # A tagged field with its default value, here null, is not written.
        optional = view.optional and view.value != "None"
        branches = [
            (run.versions, self._run(coded, run, f"{source}.{view.name}", optional=optional)) for run in coded.tagged
        ]
        return choice(branches, coded.tagged_versions)

    def _struct(self, struct: StructCoding, source: str, local: str) -> Nodes:
        view = self.classes[struct.struct.name]
        fields: list[Node] = []
        for parts, group in in_groups(struct.fields, lambda one: tuple(runs_by(struct.versions, one.at))):
            branches = [
                (part, tuple(node for one in group for node in self._field(one, struct, part, local)))
                for part in parts
            ]
            fields += choice(branches, struct.versions)
        tags = view.tags_in(struct)
        return (WriteStruct(path=struct.path, source=source, local=local, cls=view, fields=fields, tags=tags),)

    def _field(self, coded: FieldCoding, struct: StructCoding, part: Versions, source: str) -> Nodes:
        """Return statements that write an untagged field in the versions ``part``.

        If these versions lack the field, the statements check that no value is lost.
        """
        view = self.classes[struct.struct.name].fields[coded.field.name]
        run = coded.at(part[0])
        if run is None:
            return () if coded.field.ignorable else (RequireDefault(source=source, field=view),)
        if run.tagged:
            return ()
        return self._run(coded, run, f"{source}.{view.name}", optional=view.optional)

    def _run(self, coded: FieldCoding, run: Run, source: str, *, optional: bool) -> Nodes:
        nullable = condition(run.nullable, run.versions)
        return self._value(coded.field.type, run, source, self.names.of(coded.path), nullable, optional=optional)

    def _value(self, type_: Type, run: Run, source: str, local: str, nullable: str, *, optional: bool) -> Nodes:
        if isinstance(type_, PrimitiveType) and type_.name in SCALARS:
            return (WriteScalar(type=SCALARS[type_.name].text, source=source),)
        place = WriteLength(source=source, local=local, nullable=nullable, optional=optional, compact=run.compact)
        match type_:
            case ArrayType(element):
                item = self.names.item(local)
                body = self._value(element, run, item, item, NEVER, optional=False)
                return (WriteArray(**vars(place), item=item, body=body),)
            case StructType():
                assert run.struct is not None
                if nullable == NEVER and not optional:
                    return self._struct(run.struct, source, local)
                body = self._struct(run.struct, local, local)
                return (WriteNullableStruct(**vars(place), tagged=run.tagged, body=body),)
            case PrimitiveType(name):
                return (WriteBlob(**vars(place), kind="string" if name == "string" else "bytes"),)
