"""The text of an emitted writer: walks one message and strings the templates of its wire kinds together.

::

    ThrottleTimeMs int32 1+          if version >= 1:
    Topics         []Topic 0+   →        write_i32_be(out, message.throttle_time_ms)
                                     topics_0 = message.topics
                                     write_i32_be(out, len(topics_0))
"""

from __future__ import annotations

from collections.abc import Sequence

from kwirec.emitters.codec_body import KINDS, UNTAGGED, WIDTHS, Body, choose, is_tagged, tag_mode
from kwirec.emitters.environment import macro
from kwirec.emitters.ranges import NEVER
from kwirec.emitters.views import FieldView
from kwirec.ir.schema import ArrayType, PrimitiveType, Struct, StructType, Type


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
