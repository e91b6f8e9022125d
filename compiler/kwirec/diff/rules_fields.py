"""Rules about untagged fields, and about attributes shared by tagged and untagged fields."""

from __future__ import annotations

from collections.abc import Iterator

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diagnostics.source import Span
from kwirec.diff import changes as c
from kwirec.diff.rule import Level, rule
from kwirec.ir.sites import FieldSite
from kwirec.validation.examples import clock, field
from kwirec.versions import in_words


def full(it: c.FieldChange) -> str:
    """The message and the path of the field: ``FetchRequest.Topics.Partitions``."""
    return f"{it.message.name}.{it.path}"


def surviving(it: c.FieldChange) -> Span:
    """Where to show a removed field on the new side: at the field if it still exists, else at its struct."""
    return ranges_of(it.after) if it.after else it.struct.name_span


def ranges_of(site: FieldSite) -> Span:
    """The span of the versions of a field."""
    written = site.decl.versions or site.decl.tagged_versions
    return written.span if written else site.decl.name.span


def was(site: FieldSite | None, words: str) -> Iterator[tuple[Span, str]]:
    """The label of the field on the old side, if it exists there."""
    if site is not None:
        yield site.decl.name.span, words


@rule(
    c.FieldRemovedFromVersion,
    Level.WIRE,
    before=clock(field("Zone"), field("Hour", "int8")),
    after=clock(field("Zone")),
)
def field_removed_from_version(it: c.FieldRemovedFromVersion) -> Finding | None:
    """A field was removed from an existing version.

    All bytes after it are misread. To remove a field, end its versions before the next new version.
    """
    return finding(
        f"`{full(it)}` was removed from {in_words(it.versions)}",
        surviving(it),
        "other versions still have it" if it.after else f"contained `{it.before.field.name}`",
        others=was(it.before, "the removed field"),
        helps=["remove it only from a new version"],
    )


@rule(
    c.FieldAddedToVersion,
    Level.WIRE,
    before=clock(field("Zone")),
    after=clock(field("Zone"), field("Hour", "int8")),
)
def field_added_to_version(it: c.FieldAddedToVersion) -> Finding | None:
    """A field was added to an existing version.

    All bytes after it are misread. An untagged field needs a new version.
    """
    others = list(was(it.before, "its old versions")) or [(it.struct.name_span, "did not exist here")]
    return finding(
        f"`{full(it)}` was added to {in_words(it.versions)}",
        ranges_of(it.after) if it.before else it.after.decl.name.span,
        "added to existing versions" if it.before else "new in existing versions",
        others=others,
        helps=["add it in a new version, or make it a tagged field"],
    )


@rule(
    c.FieldReordered,
    Level.WIRE,
    before=clock(field("Zone"), field("Hour", "int8"), field("Minute", "int8")),
    after=clock(field("Zone"), field("Minute", "int8"), field("Hour", "int8")),
)
def field_reordered(it: c.FieldReordered) -> Finding | None:
    """A field changed its position in its struct.

    Fields are identified only by their position: other fields are now read as this one, without an error if their
    types match.
    """
    return finding(
        f"`{full(it)}` changed its position in {in_words(it.versions)}",
        it.after.decl.name.span,
        "moved here",
        others=was(it.before, "its old position"),
        helps=["keep the order of existing fields; new fields can have any position"],
    )


@rule(c.FieldTypeChanged, Level.WIRE, before=clock(field("Hour", "int8")), after=clock(field("Hour", "int16")))
def field_type_changed(it: c.FieldTypeChanged) -> Finding | None:
    """A field has a new type with a different encoding.

    Its value and all bytes after it are misread.
    """
    return _retyped(it, "which changes its encoding")


@rule(
    c.FieldTypeChangedSameBytes,
    Level.JSON,
    before=clock(field("Hours", "[]int32", versions="0"), flexibleVersions="1+"),
    after=clock(field("Hours", "[]Hour", versions="0", fields=[field("Value", "int32")]), flexibleVersions="1+"),
)
def field_type_changed_same_bytes(it: c.FieldTypeChangedSameBytes) -> Finding | None:
    """A field has a new type with the same encoding.

    Peers are not affected, unless a value is out of range for the other type. Readers of JSON and users of the
    generated class are.
    """
    return _retyped(it, "with the same encoding")


def _retyped(it: c.FieldPersists, effect: str) -> Finding:
    old, new = it.before.decl.type, it.after.decl.type
    text = f"the type of `{full(it)}` changed from `{old}` to `{new}`, {effect}, in {in_words(it.versions)}"
    return finding(text, new.span, f"was `{old}`", others=[(old.span, "the old type")])


@rule(
    c.FieldNullabilityWidened,
    Level.WIRE,
    before=clock(field("Zone", nullableVersions="2+")),
    after=clock(field("Zone", nullableVersions="1+")),
)
def field_nullability_widened(it: c.FieldNullabilityWidened) -> Finding | None:
    """A field became nullable in an existing version.

    Peers that support the version do not expect null, and nullable structs are encoded with an additional byte.
    """
    return _nullability(it, "became nullable")


@rule(
    c.FieldNullabilityNarrowed,
    Level.WIRE,
    before=clock(field("Zone", nullableVersions="1+")),
    after=clock(field("Zone", nullableVersions="2+")),
)
def field_nullability_narrowed(it: c.FieldNullabilityNarrowed) -> Finding | None:
    """A field is no longer nullable in an existing version.

    Null values from peers or from stored data can no longer be read.
    """
    return _nullability(it, "is no longer nullable")


def _nullability(it: c.FieldPersists, words: str) -> Finding:
    old, new = it.before.decl, it.after.decl
    return finding(
        f"`{full(it)}` {words} in {in_words(it.versions)}",
        (new.nullable_versions or new.name).span,
        f"nullable in versions {it.after.field.nullable} now",
        others=[((old.nullable_versions or old.name).span, f"was {it.before.field.nullable}")],
    )


@rule(
    c.FieldLengthCodingChanged,
    Level.WIRE,
    before=clock(field("Zone")),
    after=clock(field("Zone", flexibleVersions="none")),
)
def field_length_coding_changed(it: c.FieldLengthCodingChanged) -> Finding | None:
    """The length of a string or bytes field is encoded differently because of its own flexible versions.

    The length and all bytes after it are misread.
    """
    old, new = it.before.decl, it.after.decl
    return finding(
        f"the length of `{full(it)}` is encoded differently in {in_words(it.versions)}",
        (new.flexible_versions or new.name).span,
        "because of this" if new.flexible_versions else "no longer has its own flexible versions",
        others=[((old.flexible_versions or old.name).span, "the old definition")],
    )


@rule(c.FieldRenamed, Level.JSON, before=clock(field("Zone")), after=clock(field("Region")))
def field_renamed(it: c.FieldRenamed) -> Finding | None:
    """A field was renamed.

    Request logs and generated classes use its name. Former names listed in `aliases` can still be read.
    """
    old, new = it.before.field.name, it.after.field.name
    return finding(
        f"`{it.message.name}.{it.before.path}` was renamed to `{new}`",
        it.after.decl.name.span,
        "the new name",
        others=was(it.before, "the old name"),
        helps=[] if old in it.after.field.aliases else [f'add `"aliases": ["{old}"]`'],
    )


@rule(
    c.FieldRemoved,
    Level.SOURCE,
    before=clock(field("Zone"), field("Hour", "int8", versions="0")),
    after=clock(field("Zone"), validVersions="1-2"),
)
def field_removed(it: c.FieldRemoved) -> Finding | None:
    """A field was removed together with all of its versions.

    The generated class no longer has the attribute, and code that uses it breaks.
    """
    return finding(
        f"`{full(it)}` was removed together with {in_words(it.versions)}",
        surviving(it),
        f"contained `{it.before.field.name}`",
        others=was(it.before, "the removed field"),
    )


@rule(
    c.StructRenamed,
    Level.SOURCE,
    before=clock(field("Zones", "[]Zone", fields=[field("Name")])),
    after=clock(field("Zones", "[]Region", fields=[field("Name")])),
)
def struct_renamed(it: c.StructRenamed) -> Finding | None:
    """The struct of a field was renamed.

    The generated class is renamed too, and code that uses it breaks. Bytes and JSON do not change.
    """
    old, new = it.before.decl.type, it.after.decl.type
    return finding(
        f"struct `{old.name}` of `{full(it)}` was renamed to `{new.name}`",
        new.name_span,
        "the new name",
        others=[(old.name_span, "the old name")],
    )


@rule(
    c.FieldAttributeChanged,
    Level.SOURCE,
    before=clock(field("Hour", "int8", versions="1+", default="1")),
    after=clock(field("Hour", "int8", versions="1+", default="2")),
)
def field_default_changed(it: c.FieldAttributeChanged) -> Finding | None:
    """The default of an untagged field changed.

    It is the value in versions without the field, and the initial value in the generated class.
    """
    old, new = it.before.decl, it.after.decl
    return _attribute(it, "default", (old.default or old.name).span, (new.default or new.name).span)


@rule(
    c.FieldAttributeChanged,
    Level.SOURCE,
    before=clock(field("Hour", "int8", versions="1+", ignorable=True)),
    after=clock(field("Hour", "int8", versions="1+")),
)
def field_ignorable_changed(it: c.FieldAttributeChanged) -> Finding | None:
    """A field became ignorable, or is no longer ignorable.

    In versions without the field, the value of an ignorable field is dropped silently; otherwise writing fails.
    """
    old, new = it.before.decl, it.after.decl
    return _attribute(it, "ignorable", (old.ignorable or old.name).span, (new.ignorable or new.name).span)


@rule(
    c.FieldAttributeChanged,
    Level.SOURCE,
    before=clock(field("Zone")),
    after=clock(field("Zone", entityType="topicName")),
    severity=Severity.NOTE,
)
def field_entity_type_changed(it: c.FieldAttributeChanged) -> Finding | None:
    """The entity type of a field changed.

    Bytes and names stay the same; only tools that use entity types are affected.
    """
    old, new = it.before.decl, it.after.decl
    return _attribute(it, "entityType", (old.entity_type or old.name).span, (new.entity_type or new.name).span)


@rule(
    c.FieldAttributeChanged,
    Level.SOURCE,
    before=clock(field("Zones", "[]Zone", fields=[field("Name")])),
    after=clock(field("Zones", "[]Zone", fields=[field("Name", mapKey=True)])),
    severity=Severity.NOTE,
)
def field_map_key_changed(it: c.FieldAttributeChanged) -> Finding | None:
    """A field became a map key, or is no longer a map key.

    This affects only the collections in Kafka's Java classes.
    """
    old, new = it.before.decl, it.after.decl
    return _attribute(it, "mapKey", (old.map_key or old.name).span, (new.map_key or new.name).span)


def _attribute(it: c.FieldAttributeChanged, attribute: str, old: Span, new: Span) -> Finding | None:
    if it.attribute != attribute:
        return None
    text = f"`{attribute}` of `{full(it)}` changed from {it.was} to {it.now}"
    return finding(text, new, f"was {it.was}", others=[(old, "the old definition")])
