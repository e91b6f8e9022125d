"""K4xx: types, attributes that apply only to some types, and recursive, unused or deeply nested structs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from kwirec.diagnostics.diagnostic import Finding, Severity, did_you_mean, meant
from kwirec.diagnostics.examples import clock, field, struct
from kwirec.frontend.edits import renamed, without
from kwirec.ir.schema import ENTITY_TYPES, NULLABLE_PRIMITIVES, ArrayType, PrimitiveType, StructType
from kwirec.ir.sites import FieldSite, MessageSite, StructSite
from kwirec.validation.names import FIELD_NAME
from kwirec.validation.rule import rule
from kwirec.versions import NONE, in_words

MAX_NESTING = 16
"""The maximum number of levels of structs below a message."""
MAX_FIELDS = 1000
"""The maximum number of fields in a message. The fields of a struct count once for each use of the struct."""
MAX_LAYOUT_FIELDS = 10_000
"""The maximum number of fields in all layouts of a message, where the fields of a struct count once for each use."""


@rule(
    "K401",
    offending=clock(field("Grid", "[][]int32")),
    corrected=clock(field("Rows", "[]Row", fields=[field("Cells", "[]int32")])),
)
def nested_array(at: FieldSite) -> Iterator[Finding]:
    """A field is an array of arrays.

    The protocol does not support nested arrays. Put a struct between the two arrays, which also allows you to add
    fields later.
    """
    if at.decl.type.array_depth > 1:
        yield at.finding(
            f"field `{at.field.name}` is an array of arrays",
            at.decl.type.span,
            "at most one `[]`",
            helps=[f"make the elements a struct with a field of type `[]{at.decl.type.name}`"],
        )


@rule(
    "K402",
    offending=clock(field("Hour", "int8", nullableVersions="1+")),
    corrected=clock(field("Hour", "int8", default="-1")),
)
def not_nullable(at: FieldSite) -> Iterator[Finding]:
    """A field has `nullableVersions`, but values of its type cannot be null.

    Strings, bytes, records, arrays and structs can be null, but numbers, booleans and uuids cannot. Use a default
    such as -1 or the zero uuid for an absent value.
    """
    written, type_ = at.decl.nullable_versions, at.field.type
    if written and written.value and isinstance(type_, PrimitiveType) and type_.name not in NULLABLE_PRIMITIVES:
        yield at.finding(
            f"field `{at.field.name}` cannot be null",
            written.span,
            f"`{type_}` is not nullable",
            others=[(at.decl.type.span, "the type")],
            helps=["remove `nullableVersions` and use a default for an absent value"],
        )


@rule(
    "K403",
    severity=Severity.WARNING,
    offending=clock(field("Owner", "int32", entityType="brokerID")),
    corrected=clock(field("Owner", "int32", entityType="brokerId")),
    fixable=True,
)
def unknown_entity_type(at: FieldSite) -> Iterator[Finding]:
    """The `entityType` of a field is not one of Kafka's entity types.

    A field with a misspelt entity type would be missing from a list of all topic names or broker ids. Kafka's entity
    types are transactionalId, producerId, groupId, topicName and brokerId. Entity types do not affect bytes, so
    another protocol can have other entity types. Turn this warning off for such a protocol.
    """
    written = at.decl.entity_type
    if written is not None and FIELD_NAME.fullmatch(written.value) and written.value not in ENTITY_TYPES:
        yield at.finding(
            f"unknown entity type `{written.value}`",
            written.span,
            "not an entity type of Kafka",
            helps=[did_you_mean(written.value, ENTITY_TYPES) or f"entity types are {', '.join(ENTITY_TYPES)}"],
            fix=renamed(written.span, written.value, meant(written.value, ENTITY_TYPES)),
        )


@rule(
    "K404",
    offending=clock(field("Owner", "int64", entityType="brokerId")),
    corrected=clock(field("Owner", "int32", entityType="brokerId")),
)
def entity_type_mismatch(at: FieldSite) -> Iterator[Finding]:
    """The type of a field does not match its `entityType`.

    Broker ids are int32, producer ids are int64 and the other entity types are strings. For arrays, the element type
    must match.
    """
    written = at.decl.entity_type
    allowed = ENTITY_TYPES.get(written.value) if written else None
    if written and allowed and str(at.base) != allowed:
        fitting = [name for name, primitive in ENTITY_TYPES.items() if primitive == str(at.base)]
        yield at.finding(
            f"entity type `{written.value}` needs type `{allowed}`, not `{at.base}`",
            at.decl.type.name_span,
            f"must be `{allowed}`",
            others=[(written.span, "because of this")],
            helps=[f"entity types for `{at.base}`: {', '.join(fitting)}"] if fitting else ["remove `entityType`"],
        )


@rule(
    "K405",
    offending=clock(field("Zone", "string", fields=[field("City")])),
    corrected=clock(field("Zone", "Zone", fields=[field("City")])),
)
def fields_without_struct(at: FieldSite) -> Iterator[Finding]:
    """A field has sub-fields although its type is not a struct.

    Sub-fields define the struct named by the type. They would be ignored for a primitive type.
    """
    if at.decl.fields is not None and isinstance(at.base, PrimitiveType):
        name = at.field.name[:1].upper() + at.field.name[1:]
        yield at.finding(
            f"field `{at.field.name}` has sub-fields but is not a struct",
            at.decl.type.name_span,
            "a primitive type",
            others=[(at.decl.fields[0].name.span, "the first sub-field")] if at.decl.fields else (),
            helps=[f"use the name of the struct as the type, such as `{name}`, or remove `fields`"],
        )


@rule(
    "K406",
    offending=clock(field("Zone", mapKey=True)),
    corrected=clock(field("Zones", "[]Zone", fields=[field("Name", mapKey=True)])),
)
def map_key_on_top_level(at: StructSite) -> Iterator[Finding]:
    """A field at the top level of a message is a map key.

    `mapKey` turns an array of structs into a map whose key is the field. A message itself is not an element of an
    array.
    """
    for site in at.fields:
        if at.is_root and site.field.map_key and site.decl.map_key:
            yield site.finding(
                f"top-level field `{site.field.name}` cannot be a map key",
                site.decl.map_key.span,
                f"`{at.message.name}` is not an element of an array",
                helps=["remove `mapKey`, or move it to a field of a struct in an array"],
            )


@rule(
    "K407",
    offending=clock(field("Zone", "string", zeroCopy=True)),
    corrected=clock(field("Zone", "bytes", zeroCopy=True)),
    fixable=True,
)
def zero_copy_type(at: FieldSite) -> Iterator[Finding]:
    """A field with a type other than `bytes` has `zeroCopy`.

    A zero-copy field is a view of the received bytes. All other types must be decoded.
    """
    if at.field.zero_copy and at.decl.zero_copy and str(at.field.type) != "bytes":
        yield at.finding(
            f"field `{at.field.name}` cannot be zero copy",
            at.decl.zero_copy.span,
            "only for `bytes`",
            others=[(at.decl.type.span, f"this is `{at.field.type}`")],
            helps=["remove `zeroCopy`"],
            fix=without(at.decl.zero_copy.span, at.dialect),
        )


@rule(
    "K408",
    offending=clock(field("Hour", "int8", flexibleVersions="none")),
    corrected=clock(field("Zone", "string", flexibleVersions="none")),
    fixable=True,
)
def flexible_type(at: FieldSite) -> Iterator[Finding]:
    """A field has `flexibleVersions` but is neither a string nor bytes.

    The attribute sets the versions in which the length of the field is compact. Numbers have no length, and arrays
    and structs use the flexible versions of the message.
    """
    written = at.decl.flexible_versions
    if written is not None and str(at.field.type) not in ("string", "bytes"):
        yield at.finding(
            f"field `{at.field.name}` cannot have its own flexible versions",
            written.span,
            "only for `string` and `bytes`",
            others=[(at.decl.type.span, f"this is `{at.field.type}`")],
            helps=["remove `flexibleVersions` from the field"],
            fix=without(written.span, at.dialect) if isinstance(at.field.type, PrimitiveType) else (),
        )


@rule(
    "K409",
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
    """A struct contains itself, directly, through an array or through other structs.

    Layouts are finite, and the default value of such a struct could not be constructed. Send a tree as a list of
    nodes that refer to each other by number.
    """
    for cycle in _cycles(_edges(at)):
        first, *rest = cycle
        path = " → ".join([first.struct.name, *(str(site.base) for site in cycle)])
        yield first.finding(
            f"struct `{first.struct.name}` contains itself",
            first.decl.type.name_span,
            f"contains `{first.base}` here" if rest else "the struct of this field",
            others=[(site.decl.type.name_span, f"then `{site.base}`") for site in rest],
            notes=[f"the cycle is {path}"] if rest else [],
            helps=["send a list of elements that refer to each other by number"],
        )


def _edges(at: MessageSite) -> dict[str, list[FieldSite]]:
    """Return the fields that are structs or arrays of structs, by the name of the struct that contains the field."""
    return {
        struct.struct.name: [site for site in struct.fields if isinstance(site.base, StructType)]
        for struct in at.structs
    }


def _cycles(edges: Mapping[str, Iterable[FieldSite]]) -> Iterator[list[FieldSite]]:
    """Yield cycles found by a depth-first search. Breaking each of them leaves no cycle.

    The search is iterative because a chain of common structs can exceed Python's recursion limit.
    """
    done: set[str] = set()
    for start in edges:
        if start in done:
            continue
        names, path, open_edges = [start], list[FieldSite](), [iter(edges[start])]
        while open_edges:
            site = next(open_edges[-1], None)
            if site is None:
                open_edges.pop()
                done.add(names.pop())
                del path[-1:]
            elif (target := str(site.base)) in names:
                yield [*path, site][names.index(target) :]
            elif target not in done:
                names.append(target)
                path.append(site)
                open_edges.append(iter(edges[target]))


@rule(
    "K410",
    severity=Severity.NOTE,
    offending=clock(field("Zone"), commonStructs=[struct("Time", field("Millis", "int64"))]),
    corrected=clock(field("Start", "Time"), commonStructs=[struct("Time", field("Millis", "int64"))]),
)
def unused_struct(at: MessageSite) -> Iterator[Finding]:
    """A common struct is not used in any version of the message.

    The class of the struct would be generated but never used. Usually the last field of this type was removed. This
    is only a note because the wire format is not affected and Kafka 4.1 has such a struct.
    """
    if not at.message.valid or at.message.valid.is_open:
        return
    used = {str(site.base) for site in at.fields if site.reachable}
    for declared in at.structs:
        name = declared.struct.name
        if declared.struct.common and name not in used:
            users = [f for f in at.fields if str(f.base) == name and f.struct.name != name]
            yield declared.finding(
                f"common struct `{name}` is not used",
                declared.name_span,
                "not the type of any field in a valid version",
                others=[(f.decl.type.name_span, f"used only by unused `{f.struct.name}`") for f in users],
                helps=["remove the struct"],
            )


@rule(
    "K411",
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

    Codecs use nested loops to read and write nested arrays, and Python allows at most 20 nested blocks. Kafka's
    deepest message has five levels.
    """
    edges, deepest = _edges(at), _levels(at)[-2]
    for site in (site for name in deepest for site in edges[name] if site.live):
        yield site.finding(
            f"structs are nested more than {MAX_NESTING} levels deep",
            site.decl.type.name_span,
            f"`{site.base}` is level {MAX_NESTING + 1} of `{at.message.name}`",
            helps=["send a list of elements that refer to each other by number"],
        )
        return


@rule(
    "K412",
    offending=clock(field("Zones", "[]Zone", fields=[field("Name", versions="1+")])),
    corrected=clock(field("Zones", "[]Zone", versions="1+", fields=[field("Name", versions="1+")])),
)
def empty_elements(at: MessageSite) -> Iterator[Finding]:
    """The elements of an array occupy no bytes in a version in which the array exists.

    A few bytes could announce any number of such elements, so a small message could exhaust memory. In flexible
    versions, every element contains at least the number of its tagged fields.
    """
    flexible = at.message.flexible
    sized = {name: {version for version in used if version in flexible} for name, used in at.message.usage.items()}
    for _ in range(MAX_NESTING):  # each round propagates sizes up one level of nesting
        for site in at.fields:
            present = site.live
            if isinstance(site.field.type, StructType):
                present &= sized[site.field.type.name] | site.within(site.field.nullable)
            sized[site.struct.name] |= present
    for site in at.fields:
        empty = site.live - sized.get(str(site.base), site.live)
        if empty and isinstance(site.field.type, ArrayType):
            yield site.finding(
                f"the elements of `{site.field.name}` have no bytes in {in_words(empty)}",
                site.decl.type.name_span,
                f"`{site.base}` has no fields in these versions",
                others=[(site.decl.versions.span, "the versions of the array")] if site.decl.versions else (),
                helps=["narrow the versions of the array, or widen the versions of a field of its elements"],
            )


@rule(
    "K413",
    offending=clock(
        field("Wheel", "Wheel1"),
        commonStructs=[
            *(struct(f"Wheel{n}", *(field(f"Inner{x}", f"Wheel{n + 1}") for x in "AB")) for n in range(1, 10)),
            struct("Wheel10", field("Teeth", "int16")),
        ],
    ),
    corrected=clock(field("Wheels", "[]Wheel", fields=[field("Inside", "int32"), field("Teeth", "int16")])),
)
def large_message(at: MessageSite) -> Iterator[Finding]:
    """A message has more than 1000 fields, or more than 10,000 in all its layouts, counting each use of a struct.

    Codecs read and write structs in place, so common structs that contain each other twice would double the generated
    code with every level. The code also describes each layout, so it would grow with the product of fields and
    versions. No Kafka message has more than 100 fields, or more than 237 in all its layouts.
    """
    levels = _levels(at)
    if levels[-1]:
        return
    uses = sum(levels, Counter[str]())
    count = sum(uses[site.struct.name] for site in at.fields if site.live)
    changes = _changes(at)
    described = sum(uses[site.struct.name] * sum(change in site.live for change in changes) for site in at.fields)
    if count > MAX_FIELDS:
        yield at.finding(
            f"message `{at.message.name}` has {count} fields",
            at.decl.name.span,
            f"more than {MAX_FIELDS}, counting the fields of a struct for each of its uses",
            helps=["split the message, or send a list of elements that refer to each other by number"],
        )
    elif described > MAX_LAYOUT_FIELDS:
        yield at.finding(
            f"message `{at.message.name}` has {described} fields in its {len(changes)} layouts",
            at.decl.name.span,
            f"more than {MAX_LAYOUT_FIELDS}, counting the fields of a struct for each of its uses",
            helps=["split the message, or add several fields in one version"],
        )


def _changes(at: MessageSite) -> set[int]:
    """Return the versions in which a layout may differ from the previous version."""
    message = at.message
    ranges = {message.valid, message.flexible}
    for site in at.fields:
        ranges |= {site.field.versions, site.field.nullable, site.field.tagged, site.field.flexible or NONE}
    return {version for one in ranges if one for version in (one.low, one.high + 1) if version in message.valid}


def _levels(at: MessageSite) -> list[Counter[str]]:
    """Return the number of uses of each struct by level of nesting, up to the first level that is too deep [K411].

    All levels are empty if a struct contains itself [K409].
    """
    edges = _edges(at)
    levels = [Counter[str]() if any(_cycles(edges)) else Counter([at.message.root.name])]
    for _ in range(MAX_NESTING + 1):
        inner = Counter[str]()
        for name, times in levels[-1].items():
            for site in edges[name]:
                inner[str(site.base)] += times if site.live else 0
        levels.append(+inner)
    return levels
