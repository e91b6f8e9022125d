"""The statements that write a message.

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
from kwirec.emitters.codec_nodes import NEVER, Node, Nodes, choice, condition, in_groups
from kwirec.emitters.views import ClassView
from kwirec.ir.schema import ArrayType, PrimitiveType, StructType, Type
from kwirec.lowering.coding import FieldCoding, Run, StructCoding, Versions
from kwirec.lowering.layout import SCALARS
from kwirec.versions import runs_by


@dataclass(frozen=True)
class Writer:
    """Makes the body of one function that writes."""

    classes: Mapping[str, ClassView]
    names: Locals

    def message(self, root: StructCoding, source: str) -> Nodes:
        return self._struct(root, source, source)

    def tagged(self, coded: FieldCoding, owner: StructCoding, source: str) -> Nodes:
        """Write the payload of a tagged field."""
        view = self.classes[owner.struct.name].fields[coded.field.name]
        # A field whose default is null is not written when it is null.
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
        written = Node("struct.write", path=struct.path, source=source, local=local, cls=view, fields=fields)
        written.tags = view.tags_in(struct)
        return (written,)

    def _field(self, coded: FieldCoding, struct: StructCoding, part: Versions, source: str) -> Nodes:
        """Write an untagged field in the versions that have it; in all others, check that nothing would be lost."""
        view = self.classes[struct.struct.name].fields[coded.field.name]
        run = coded.at(part[0])
        if run is None:
            return () if coded.field.ignorable else (Node("flow.require_default", source=source, field=view),)
        if run.tagged:
            return ()
        return self._run(coded, run, f"{source}.{view.name}", optional=view.optional)

    def _run(self, coded: FieldCoding, run: Run, source: str, *, optional: bool) -> Nodes:
        nullable = condition(run.nullable, run.versions)
        return self._value(coded.field.type, run, source, self.names.of(coded.path), nullable, optional=optional)

    def _value(self, type_: Type, run: Run, source: str, local: str, nullable: str, *, optional: bool) -> Nodes:
        if isinstance(type_, PrimitiveType) and type_.name in SCALARS:
            return (Node("scalar.write", type=SCALARS[type_.name].text, source=source),)
        node = Node("", source=source, local=local, nullable=nullable, optional=optional, compact=run.compact)
        match type_:
            case ArrayType(element):
                node.macro, node.kind, node.item = "array.write", "array", self.names.beside(local, "item")
                node.body = self._value(element, run, node.item, node.item, NEVER, optional=False)
            case StructType():
                assert run.struct is not None
                if nullable == NEVER and not optional:
                    return self._struct(run.struct, source, local)
                node.macro, node.tagged = "struct.write_nullable", run.tagged
                node.body = self._struct(run.struct, local, local)
            case PrimitiveType(name):
                node.macro, node.kind = "blob.write", "string" if name == "string" else "bytes"
        return (node,)
