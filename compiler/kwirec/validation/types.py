"""K4xx: types and the attributes that only some types can have; structs that hold themselves or are not used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kwirec.diagnostics.diagnostic import Finding, Severity, did_you_mean
from kwirec.ir.schema import ENTITY_TYPES, NULLABLE_PRIMITIVES, PrimitiveType, StructType
from kwirec.ir.sites import FieldSite, MessageSite, StructSite
from kwirec.validation.examples import clock, field, struct
from kwirec.validation.rule import on_field, on_message, on_struct

MAX_NESTING = 16
"""So many levels of structs a message may have below itself."""


@on_field(
    "K401",
    "nested-array",
    offending=clock(field("Grid", "[][]int32")),
    corrected=clock(field("Rows", "[]Row", fields=[field("Cells", "[]int32")])),
)
def nested_array(at: FieldSite) -> Iterator[Finding]:
    """The elements of an array are arrays.

    The protocol has no such thing. A struct between the two arrays leaves room for more fields later.
    """
    if at.decl.type.array_depth > 1:
        yield at.finding(
            f"field `{at.field.name}` is an array of arrays",
            at.decl.type.span,
            "one `[]` at most",
            helps=[f"make the elements a struct with a field of type `[]{at.decl.type.name}`"],
        )


@on_field(
    "K402",
    "not-nullable",
    offending=clock(field("Hour", "int8", nullableVersions="1+")),
    corrected=clock(field("Hour", "int8", default="-1")),
)
def not_nullable(at: FieldSite) -> Iterator[Finding]:
    """A field is nullable whose type has no null.

    Strings, bytes, records, arrays and structs can be null. Numbers, booleans and uuids have no bytes for it: a
    default such as -1, or the zero uuid, stands for "not there".
    """
    written, type_ = at.decl.nullable_versions, at.field.type
    if written and written.value and isinstance(type_, PrimitiveType) and type_.name not in NULLABLE_PRIMITIVES:
        yield at.finding(
            f"field `{at.field.name}` cannot be null",
            written.span,
            f"`{type_}` has no null",
            others=[(at.decl.type.span, "type given here")],
            helps=["remove `nullableVersions` and choose a default that stands for its absence"],
        )


@on_field(
    "K403",
    "unknown-entity-type",
    offending=clock(field("Owner", "int32", entityType="brokerID")),
    corrected=clock(field("Owner", "int32", entityType="brokerId")),
)
def unknown_entity_type(at: FieldSite) -> Iterator[Finding]:
    """The `entityType` of a field is not one that exists.

    Reports and type aliases are made by entity type; a misspelt one would leave the field out of them. Known are
    transactionalId, producerId, groupId, topicName and brokerId.
    """
    written = at.decl.entity_type
    if written is not None and written.value not in ENTITY_TYPES:
        yield at.finding(
            f"there is no entity type `{written.value}`",
            written.span,
            "unknown entity type",
            helps=[did_you_mean(written.value, ENTITY_TYPES) or f"entity types are {', '.join(ENTITY_TYPES)}"],
        )


@on_field(
    "K404",
    "entity-type-mismatch",
    offending=clock(field("Owner", "int64", entityType="brokerId")),
    corrected=clock(field("Owner", "int32", entityType="brokerId")),
)
def entity_type_mismatch(at: FieldSite) -> Iterator[Finding]:
    """A field has another type than its `entityType` stands on.

    A broker id is an int32 wherever it occurs, a producer id an int64, the others are strings. For an array the
    type of the elements counts.
    """
    written = at.decl.entity_type
    wanted = ENTITY_TYPES.get(written.value) if written else None
    if written and wanted and str(at.base) != wanted:
        fitting = [name for name, primitive in ENTITY_TYPES.items() if primitive == str(at.base)]
        yield at.finding(
            f"entity type `{written.value}` needs type `{wanted}`, not `{at.base}`",
            at.decl.type.name_span,
            f"has to be `{wanted}`",
            others=[(written.span, "because of this")],
            helps=[f"entity types for `{at.base}`: {', '.join(fitting)}"] if fitting else ["remove `entityType`"],
        )


@on_field(
    "K405",
    "fields-without-struct",
    offending=clock(field("Zone", "string", fields=[field("City")])),
    corrected=clock(field("Zone", "Zone", fields=[field("City")])),
)
def fields_without_struct(at: FieldSite) -> Iterator[Finding]:
    """A field has sub-fields although its type is not a struct.

    Sub-fields define the struct that the type names. Beside a primitive type they would be lost.
    """
    if at.decl.fields is not None and isinstance(at.base, PrimitiveType):
        name = at.field.name[:1].upper() + at.field.name[1:]
        yield at.finding(
            f"field `{at.field.name}` has sub-fields but is no struct",
            at.decl.type.name_span,
            "a primitive type",
            others=[(at.decl.fields[0].name.span, "the first sub-field")] if at.decl.fields else (),
            helps=[f"name the struct as the type, for example `{name}`, or remove `fields`"],
        )


@on_struct(
    "K406",
    "map-key-on-top-level",
    offending=clock(field("Zone", mapKey=True)),
    corrected=clock(field("Zones", "[]Zone", fields=[field("Name", mapKey=True)])),
)
def map_key_on_top_level(at: StructSite) -> Iterator[Finding]:
    """A field at the top level of a message is a map key.

    `mapKey` makes an array of structs a collection that is looked up by this field. A message is not an element of
    anything.
    """
    for one in at.fields:
        if at.is_root and one.field.map_key and one.decl.map_key:
            yield one.finding(
                f"top-level field `{one.field.name}` cannot be a map key",
                one.decl.map_key.span,
                f"`{at.message.name}` is not an element of an array",
                helps=["remove `mapKey`, or move it to a field of a struct in an array"],
            )


@on_field(
    "K407",
    "zero-copy-type",
    offending=clock(field("Zone", "string", zeroCopy=True)),
    corrected=clock(field("Zone", "bytes", zeroCopy=True)),
)
def zero_copy_type(at: FieldSite) -> Iterator[Finding]:
    """A field that is not of type `bytes` is marked for zero copy.

    Zero copy hands out a view of the received bytes. Every other type has to be decoded.
    """
    if at.field.zero_copy and at.decl.zero_copy and str(at.field.type) != "bytes":
        yield at.finding(
            f"field `{at.field.name}` cannot be zero copy",
            at.decl.zero_copy.span,
            "only for `bytes`",
            others=[(at.decl.type.span, f"this is `{at.field.type}`")],
            helps=["remove `zeroCopy`"],
        )


@on_field(
    "K408",
    "flexible-type",
    offending=clock(field("Hour", "int8", flexibleVersions="none")),
    corrected=clock(field("Zone", "string", flexibleVersions="none")),
)
def flexible_type(at: FieldSite) -> Iterator[Finding]:
    """A field has its own flexible versions but is neither string nor bytes.

    The attribute says in which versions the length of the field is compact. Numbers have no length, and arrays and
    structs follow their message.
    """
    written = at.decl.flexible_versions
    if written is not None and str(at.field.type) not in ("string", "bytes"):
        yield at.finding(
            f"field `{at.field.name}` cannot have flexible versions of its own",
            written.span,
            "only for `string` and `bytes`",
            others=[(at.decl.type.span, f"this is `{at.field.type}`")],
            helps=["remove `flexibleVersions` from the field"],
        )


@on_message(
    "K409",
    "recursive-struct",
    offending=clock(
        field("Root", "Gear"),
        commonStructs=[struct("Gear", field("Teeth", "int16"), field("Drives", "[]Gear"))],
    ),
    corrected=clock(
        field("Gears", "[]Gear"),
        commonStructs=[struct("Gear", field("Teeth", "int16"), field("DrivenBy", "int16"))],
    ),
)
def recursive_struct(at: MessageSite) -> Iterator[Finding]:
    """A struct holds itself, directly, through an array or through other structs.

    The layout of a version is a finite list of fields, and a struct of defaults could never be built. Trees are
    sent as a list of nodes that refer to each other by number.
    """
    for cycle in _cycles(_edges(at)):
        first, *rest = cycle
        way = " → ".join([first.struct.name, *(str(one.base) for one in cycle)])
        yield first.finding(
            f"struct `{first.struct.name}` holds itself",
            first.decl.type.name_span,
            f"`{first.base}` is reached here" if rest else "the struct that this field is in",
            others=[(one.decl.type.name_span, f"then `{one.base}`") for one in rest],
            notes=[f"the way is {way}"] if rest else [],
            helps=["send a list of elements that refer to each other by number"],
        )


def _edges(at: MessageSite) -> dict[str, list[FieldSite]]:
    """For every struct its fields that are structs or arrays of them."""
    return {
        struct.struct.name: [one for one in struct.fields if isinstance(one.base, StructType)]
        for struct in at.structs
    }


def _cycles(edges: Mapping[str, Iterable[FieldSite]]) -> Iterator[list[FieldSite]]:
    """Ways from a struct to itself, so many that cutting each once leaves none; a depth-first search.

    Without recursion: a chain of common structs may be longer than Python's stack.
    """
    done: set[str] = set()
    for start in edges:
        if start in done:
            continue
        names, way, open_edges = [start], list[FieldSite](), [iter(edges[start])]
        while open_edges:
            one = next(open_edges[-1], None)
            if one is None:
                open_edges.pop()
                done.add(names.pop())
                del way[-1:]
            elif (target := str(one.base)) in names:
                yield [*way, one][names.index(target) :]
            elif target not in done:
                names.append(target)
                way.append(one)
                open_edges.append(iter(edges[target]))


@on_message(
    "K410",
    "unused-struct",
    severity=Severity.NOTE,
    relaxable=True,
    offending=clock(field("Zone"), commonStructs=[struct("Time", field("Millis", "int64"))]),
    corrected=clock(field("Start", "Time"), commonStructs=[struct("Time", field("Millis", "int64"))]),
)
def unused_struct(at: MessageSite) -> Iterator[Finding]:
    """No version of the message uses a common struct.

    Its class would be generated and never filled. Usually the last field of its type was removed. A note, because
    it costs nothing on the wire and Kafka 4.1 has one.
    """
    if not at.message.valid or at.message.valid.is_open:
        return
    mentioned = {str(one.base) for one in at.fields if one.reachable}
    for one in at.structs:
        name = one.struct.name
        if one.struct.common and name not in mentioned:
            users = [f for f in at.fields if str(f.base) == name and f.struct.name != name]
            yield one.finding(
                f"common struct `{name}` is not used",
                one.name_span,
                "no live field has this type",
                others=[(f.decl.type.name_span, f"only `{f.struct.name}` mentions it, unused itself") for f in users],
                helps=["remove the struct"],
            )


@on_message(
    "K411",
    "deep-nesting",
    offending=clock(
        field("Start", "[]Wheel1"),
        commonStructs=[
            *(struct(f"Wheel{n}", field("Inner", f"[]Wheel{n + 1}")) for n in range(1, MAX_NESTING + 1)),
            struct(f"Wheel{MAX_NESTING + 1}", field("Teeth", "int16")),
        ],
    ),
    corrected=clock(field("Wheels", "[]Wheel", fields=[field("Inside", "int32"), field("Teeth", "int16")])),
)
def deep_nesting(at: MessageSite) -> Iterator[Finding]:
    """Structs are nested more than 16 levels deep, with or without arrays between them.

    Codecs read and write a struct where it stands, an array as a loop in the loop around it, and Python nests at
    most 20 blocks. Kafka's deepest message has five levels.
    """
    edges = _edges(at)
    if any(_cycles(edges)):
        return  # that is K409
    level = {at.message.root.name}
    for _ in range(MAX_NESTING):
        level = {str(one.base) for name in level for one in edges[name] if one.live}
    for one in (one for name in edges if name in level for one in edges[name] if one.live):
        yield one.finding(
            f"structs are nested more than {MAX_NESTING} levels deep",
            one.decl.type.name_span,
            f"`{one.base}` is level {MAX_NESTING + 1} of `{at.message.name}`",
            helps=["send a list of elements that refer to each other by number"],
        )
        return


RULES = (
    nested_array,
    not_nullable,
    unknown_entity_type,
    entity_type_mismatch,
    fields_without_struct,
    map_key_on_top_level,
    zero_copy_type,
    flexible_type,
    recursive_struct,
    unused_struct,
    deep_nesting,
)
