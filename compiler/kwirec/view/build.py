"""Builds the view of a ``Schema``. With a selection, the view contains only the selected versions.

The schema must have passed validation. Building a view cannot fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwire_rules import TYPES
from kwirec.emitters.modules import attribute_of, class_names, group_modules
from kwirec.emitters.release_facts import negotiations, version_facts
from kwirec.emitters.views import default_is_null
from kwirec.frontend import ErrorDecl
from kwirec.ir import schema as ir
from kwirec.lowering import lower, lower_message
from kwirec.lowering.layout import ArrayKind, BlobKind, FieldLayout, Kind, ScalarKind, StructKind, TagLayout, describe
from kwirec.merge.history import History
from kwirec.versions import VersionRange
from kwirec.view import model
from kwirec.view.selection import Selection, newest

_ZERO: Mapping[str, model.Value] = {"bool": False, "int": 0, "float": 0.0, "Uuid": bytes(16)}
IMPLICIT_VALUES: Mapping[str, model.Value] = {kind: _ZERO[python] for kind, python in TYPES.items()} | {
    "string": "",
    "bytes": b"",
}
"""Implicit defaults of primitive types. Other types have the implicit default ``()``."""


def view_of(
    schema: ir.Schema, errors: Sequence[ErrorDecl], history: History, selection: Selection | None = None
) -> model.Schema:
    """Return the view of a validated schema."""
    layouts = lower(schema)
    classes: dict[tuple[str, str], str] = {}
    modules: dict[str, str] = {}
    for group in group_modules(schema):
        classes |= class_names(group.messages)
        modules |= dict.fromkeys((message.name for message in group.messages), group.path)
    enums = {enum.name: _enum(enum) for enum in schema.enums}
    messages = []
    for message in schema.messages:
        versions = selection.versions(message) if selection else tuple(message.valid)
        if versions:
            facts = list(version_facts(message, layouts.by_message[message.name], history))
            builder = _Message(message, frozenset(versions), enums, classes)
            messages.append(builder.build(facts, modules[message.name]))
    by_name = {message.name: message for message in messages}
    used = {one.enum.name for m in messages for struct in m.structs for one in struct.fields if one.enum}
    return model.Schema(
        messages=tuple(messages),
        apis=tuple(_apis(schema, by_name, history)),
        enums=tuple(enum for enum in enums.values() if selection is None or enum.name in used),
        errors=tuple(map(_error, errors)),
        releases=tuple(model.Release(name=name, apis=len(history.releases[name])) for name in history.names),
    )


def _enum(enum: ir.Enum) -> model.Enum:
    values = (model.EnumValue(name=one.name, value=one.value, description=one.doc) for one in enum.values)
    return model.Enum(name=enum.name, type=enum.type.name, values=tuple(values), description=enum.doc)


def _error(error: ErrorDecl) -> model.ErrorCode:
    return model.ErrorCode(
        name=error.name.value,
        code=error.code.value,
        retriable=error.retriable.value,
        since=error.since.value if error.since else None,
        description=error.about.value,
    )


def _apis(schema: ir.Schema, by_name: Mapping[str, model.Message], history: History) -> Iterable[model.Api]:
    offers = {api.key: api for api in negotiations(history)}
    for key, *pair in schema.pairs():
        request, response = (by_name.get(message.name) if message else None for message in pair)
        if either := request or response:
            runs = offers[key].runs if key in offers else ()
            releases = tuple((*span, str(offer.accepted)) for span, offer in runs)
            yield model.Api(name=either.api, key=key, request=request, response=response, releases=releases)


class _Message:
    """Builds the view of a message in the ``selected`` versions."""

    def __init__(
        self,
        message: ir.Message,
        selected: frozenset[int],
        enums: Mapping[str, model.Enum],
        classes: Mapping[tuple[str, str], str],
    ) -> None:
        self._message = message
        self._selected = selected
        self._enums = enums
        self._classes = classes
        self._structs: dict[str, model.Struct] = {}

    def build(self, facts: Iterable[Mapping[str, object]], module: str) -> model.Message:
        message = self._message
        for struct in message.structs:
            used = message.usage[struct.name] & self._selected
            if used or struct is message.root:
                self._structs[struct.name] = self._struct(struct, used)
        having: dict[tuple[str, ...], list[int]] = {}
        for version in sorted(self._selected):  # equal bytes may still have different field names
            body = lower_message(message, version).body
            having.setdefault(tuple(describe(body)), []).append(version)
        made = [self._layout(number, versions) for number, versions in enumerate(having.values())]
        layout_of = {version: layout for layout in made for version in layout.versions}
        versions = (self._version(one, layout_of) for one in facts if one["version"] in self._selected)
        valid = message.valid
        latest = VersionRange(valid.high, valid.high) if message.latest_unstable else ()
        return model.Message(
            name=message.name,
            kind=message.kind.value,
            api=message.name.removesuffix("Request").removesuffix("Response"),
            api_key=message.api_key,
            listeners=message.listeners,
            valid=self._versions(valid),
            classic=self._versions(version for version in valid if version not in message.flexible),
            flexible=self._versions(message.flexible),
            deprecated=self._versions(message.deprecated),
            unstable=self._versions(latest),
            newest=newest(message, self._selected),
            structs=tuple(self._structs.values()),
            versions=tuple(versions),
            layouts=tuple(made),
            aliases=message.aliases,
            description=message.doc,
            python_module=module,
        )

    def _versions(self, versions: Iterable[int], within: frozenset[int] | None = None) -> model.Versions:
        """Return the members of ``versions`` that are in ``within``, which defaults to the selected versions."""
        there = self._selected if within is None else within
        if isinstance(versions, VersionRange):
            return model.Versions(tuple(sorted(version for version in there if version in versions)))
        return model.Versions(tuple(sorted(there.intersection(versions))))

    def _struct(self, struct: ir.Struct, used: frozenset[int]) -> model.Struct:
        fields = (self._field(one, used) for one in struct.fields)
        return model.Struct(
            name=struct.name,
            root=struct is self._message.root,
            common=struct.common,
            versions=self._versions(used),
            fields=tuple(one for one in fields if one.versions),
            description=struct.doc or (self._message.doc if struct is self._message.root else ""),
            python_class=self._classes[self._message.name, struct.name],
        )

    def _field(self, field: ir.Field, used: frozenset[int]) -> model.Field:
        live = self._versions(field.versions, used)
        having = frozenset(live)
        flexible = self._versions(self._message.flexible, having)
        tagged = self._versions(field.tagged, frozenset(flexible)) if field.tag is not None else model.Versions()
        return model.Field(
            name=field.name,
            type=_type(field.type),
            versions=live,
            classic=self._versions(having - set(flexible)),
            flexible=flexible,
            compact=flexible if field.flexible is None else self._versions(field.flexible, frozenset(flexible)),
            nullable=self._versions(field.nullable, having),
            tagged=tagged,
            tag=field.tag if tagged else None,
            default=_default(field),
            explicit_default=field.default is not ir.IMPLICIT,
            ignorable=field.ignorable,
            map_key=field.map_key,
            zero_copy=field.zero_copy,
            entity_type=field.entity_type,
            enum=self._enums.get(field.enum.name) if field.enum else None,
            aliases=field.aliases,
            since=field.since,
            description=field.doc,
            python_name=attribute_of(self._message.name, field.name),
        )

    def _version(self, facts: Mapping[str, object], layout_of: Mapping[int, model.Layout]) -> model.Version:
        number = int(str(facts["version"]))
        spans = (span.partition("..") for span in str(facts["releases"]).split())
        header = facts["header"]
        return model.Version(
            number=number,
            flexible=layout_of[number].flexible,
            header=header if isinstance(header, int) else None,
            status=str(facts["status"]),
            releases=tuple((first, last or first) for first, _, last in spans),
            layout=layout_of[number],
        )

    def _layout(self, number: int, versions: Sequence[int]) -> model.Layout:
        layout = lower_message(self._message, versions[0])
        return model.Layout(
            number=number,
            fingerprint=layout.fingerprint,
            versions=self._versions(versions),
            flexible=layout.is_flexible,
            text=layout.body.text,
            body=self._kind(layout.body, ir.StructType(self._message.name), ""),
        )

    def _kind(self, kind: Kind, type_: ir.Type, path: str) -> model.WireKind:
        width = length = element = struct = None
        fields: tuple[model.LayoutField, ...] = ()
        flexible = False
        match kind, type_:
            case ScalarKind(width=size), _:
                width, name = size, str(type_)
            case BlobKind(), _:
                length, name = "uvarint" if kind.compact else "int16" if kind.string else "int32", str(type_)
            case ArrayKind(), ir.ArrayType(inner):
                length, name = "uvarint" if kind.compact else "int32", "array"
                element = self._kind(kind.element, inner, f"{path}[]")
            case StructKind(), _:
                name, struct, flexible = "struct", kind.name, kind.tags is not None
                fields = tuple(self._layout_field(self._structs[struct], one, path) for one in kind.all_fields)
            case _:
                raise AssertionError(f"{type_} is no {kind}")
        return model.WireKind(
            kind=name,
            nullable=not isinstance(kind, ScalarKind) and kind.nullable,
            width=width,
            length=length,
            element=element,
            struct=struct,
            flexible=flexible,
            fields=fields,
            text=kind.text,
        )

    def _layout_field(self, struct: model.Struct, one: FieldLayout | TagLayout, path: str) -> model.LayoutField:
        field = next(field for field in struct.fields if field.name == one.name)
        place = f"{path}.{field.python_name}".removeprefix(".")
        return model.LayoutField(
            name=one.name,
            path=place,
            kind=self._kind(one.kind, self._type_of(struct.name, one.name), place),
            tag=one.tag if isinstance(one, TagLayout) else None,
            default=field.default,
            field=field,
        )

    def _type_of(self, struct: str, field: str) -> ir.Type:
        return next(one.type for one in self._message.struct(struct).fields if one.name == field)


def _type(type_: ir.Type) -> model.Type:
    match type_:
        case ir.ArrayType(element):
            return model.Type(kind="array", element=_type(element))
        case ir.StructType(name):
            return model.Type(kind="struct", struct=name)
        case ir.PrimitiveType(name):
            return model.Type(kind=name)


def _default(field: ir.Field) -> model.Value:
    if default_is_null(field):
        return None
    return IMPLICIT_VALUES.get(str(field.type), ()) if isinstance(field.default, ir.Implicit) else field.default
