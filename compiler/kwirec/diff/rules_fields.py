"""Rules about untagged fields, and about attributes shared by tagged and untagged fields."""

from __future__ import annotations

from collections.abc import Iterable

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diagnostics.examples import clock, enum, field, files, value
from kwirec.diff import changes as c
from kwirec.diff.rule import Level, contrast, rule, span_of
from kwirec.naming import snake_case
from kwirec.versions import in_words


def removed(change: c.FieldRemovedFromVersion, text: str, helps: Iterable[str] = ()) -> Finding:
    """A finding about a removed field: on the new side at the field if other versions have it, else at its struct."""
    if change.after is not None:
        new, label = span_of(change.after.decl, "versions", "tagged_versions"), "other versions still have it"
    else:
        new, label = change.struct.name_span, f"contained `{change.before.field.name}`"
    return finding(text, new, label, others=[(change.before.decl.name.span, "the removed field")], helps=helps)


@rule(Level.WIRE, before=clock(field("Zone"), field("Hour", "int8")), after=clock(field("Zone")))
def field_removed_from_version(change: c.FieldRemovedFromVersion) -> Finding:
    """A field was removed from an existing version.

    All bytes after it are misread. To remove a field, end its versions before the next new version.
    """
    text = f"`{change.subject}` was removed from {in_words(change.versions)}"
    return removed(change, text, ["remove it only from a new version"])


@rule(Level.WIRE, before=clock(field("Zone")), after=clock(field("Zone"), field("Hour", "int8")))
def field_added_to_version(change: c.FieldAddedToVersion) -> Finding:
    """A field was added to an existing version.

    All bytes after it are misread. An untagged field needs a new version.
    """
    after = change.after.decl
    if change.before is not None:
        new, label = span_of(after, "versions", "tagged_versions"), "added to existing versions"
        old = change.before.decl.name.span, "its old versions"
    else:
        new, label = after.name.span, "new in existing versions"
        old = change.struct.name_span, "did not exist here"
    text = f"`{change.subject}` was added to {in_words(change.versions)}"
    return finding(text, new, label, others=[old], helps=["add it in a new version, or make it a tagged field"])


@rule(
    Level.WIRE,
    before=clock(field("Zone"), field("Hour", "int8"), field("Minute", "int8")),
    after=clock(field("Zone"), field("Minute", "int8"), field("Hour", "int8")),
)
def field_reordered(change: c.FieldReordered) -> Finding:
    """A field changed its position in its struct.

    Fields are identified only by their position: other fields are now read as this one, without an error if their
    types match.
    """
    text = f"`{change.subject}` changed its position in {in_words(change.versions)}"
    helps = ["keep the order of existing fields; new fields can have any position"]
    return contrast(change, "name", text, "moved here", "its old position", helps=helps)


@rule(Level.WIRE, before=clock(field("Hour", "int8")), after=clock(field("Hour", "int16")))
def field_type_changed(change: c.FieldTypeChanged) -> Finding:
    """A field has a new type with a different encoding.

    Its value and all bytes after it are misread.
    """
    return _retyped(change, "which changes its encoding")


@rule(
    Level.JSON,
    before=clock(field("Hours", "[]int32", versions="0"), flexibleVersions="1+"),
    after=clock(field("Hours", "[]Hour", versions="0", fields=[field("Value", "int32")]), flexibleVersions="1+"),
)
def field_type_changed_same_bytes(change: c.FieldTypeChangedSameBytes) -> Finding:
    """A field has a new type with the same encoding.

    Peers are not affected, unless a value is out of range for the other type. Readers of JSON and users of the
    generated class are.
    """
    return _retyped(change, "with the same encoding")


def _retyped(change: c.FieldPersists, effect: str) -> Finding:
    old, new = change.before.decl.type, change.after.decl.type
    text = f"the type of `{change.subject}` changed from `{old}` to `{new}`, {effect}, in {in_words(change.versions)}"
    return contrast(change, "type", text, f"was `{old}`", "the old type")


@rule(
    Level.WIRE, before=clock(field("Zone", nullableVersions="2+")), after=clock(field("Zone", nullableVersions="1+"))
)
def field_nullability_widened(change: c.FieldNullabilityWidened) -> Finding:
    """A field became nullable in an existing version.

    Peers that support the version do not expect null, and nullable structs are encoded with an additional byte.
    """
    return _nullability(change, "became nullable")


@rule(
    Level.WIRE, before=clock(field("Zone", nullableVersions="1+")), after=clock(field("Zone", nullableVersions="2+"))
)
def field_nullability_narrowed(change: c.FieldNullabilityNarrowed) -> Finding:
    """A field is no longer nullable in an existing version.

    Null values from peers or from stored data can no longer be read.
    """
    return _nullability(change, "is no longer nullable")


def _nullability(change: c.FieldPersists, words: str) -> Finding:
    text = f"`{change.subject}` {words} in {in_words(change.versions)}"
    now, was = change.after.field.nullable, change.before.field.nullable
    return contrast(change, "nullable_versions", text, f"nullable in versions {now} now", f"was {was}")


@rule(Level.WIRE, before=clock(field("Zone")), after=clock(field("Zone", flexibleVersions="none")))
def field_length_coding_changed(change: c.FieldLengthCodingChanged) -> Finding:
    """The length of a string or bytes field is encoded differently because of its own flexible versions.

    The length and all bytes after it are misread.
    """
    text = f"the length of `{change.subject}` is encoded differently in {in_words(change.versions)}"
    own = change.after.decl.flexible_versions is not None
    label = "because of this" if own else "no longer has its own flexible versions"
    return contrast(change, "flexible_versions", text, label, "the old definition")


@rule(Level.JSON, before=clock(field("Zone")), after=clock(field("Region")))
def field_renamed(change: c.FieldRenamed) -> Finding:
    """A field was renamed.

    Request logs and generated classes use its name. Former names listed in `aliases` can still be read.
    """
    old, new = change.before.field.name, change.after.field.name
    text = f"`{change.message.name}.{change.before.path}` was renamed to `{new}`"
    helps = [] if old in change.after.field.aliases else [f'add `"aliases": ["{old}"]`']
    return contrast(change, "name", text, "the new name", "the old name", helps=helps)


@rule(
    Level.SOURCE,
    before=clock(field("Zone"), field("Hour", "int8", versions="0")),
    after=clock(field("Zone"), validVersions="1-2"),
)
def field_removed(change: c.FieldRemoved) -> Finding:
    """A field was removed together with all of its versions.

    The generated class no longer has the attribute, and code that uses it breaks.
    """
    return removed(change, f"`{change.subject}` was removed together with {in_words(change.versions)}")


@rule(
    Level.SOURCE,
    before=files(clock(field("Phase", "int8")), enum(value("NEW", 0))),
    after=files(clock(field("Phase", "int8", enum="Phase")), enum(value("NEW", 0))),
    severity=Severity.NOTE,
)
def field_enum_changed(change: c.FieldAttributeChanged) -> Finding | None:
    """The enum of a field changed.

    Bytes and types stay the same; only the names of the values that tools show are others.
    """
    return _attribute(change, "enum")


@rule(
    Level.SOURCE,
    before=clock(field("Zones", "[]Zone", fields=[field("Name")])),
    after=clock(field("Zones", "[]Region", fields=[field("Name")])),
)
def struct_renamed(change: c.StructRenamed) -> Finding:
    """The struct of a field was renamed.

    The generated class is renamed too, and code that uses it breaks. Bytes and JSON do not change.
    """
    old, new = change.before.decl.type, change.after.decl.type
    text = f"struct `{old.name}` of `{change.subject}` was renamed to `{new.name}`"
    return finding(text, new.name_span, "the new name", others=[(old.name_span, "the old name")])


@rule(
    Level.SOURCE,
    before=clock(field("Hour", "int8", versions="1+", default="1")),
    after=clock(field("Hour", "int8", versions="1+", default="2")),
)
def field_default_changed(change: c.FieldAttributeChanged) -> Finding | None:
    """The default of an untagged field changed.

    It is the value in versions without the field, and the initial value in the generated class.
    """
    return _attribute(change, "default")


@rule(
    Level.SOURCE,
    before=clock(field("Hour", "int8", versions="1+", ignorable=True)),
    after=clock(field("Hour", "int8", versions="1+")),
)
def field_ignorable_changed(change: c.FieldAttributeChanged) -> Finding | None:
    """A field became ignorable, or is no longer ignorable.

    In versions without the field, the value of an ignorable field is dropped silently; otherwise writing fails.
    """
    return _attribute(change, "ignorable")


@rule(
    Level.SOURCE,
    before=clock(field("Zone")),
    after=clock(field("Zone", entityType="topicName")),
    severity=Severity.NOTE,
)
def field_entity_type_changed(change: c.FieldAttributeChanged) -> Finding | None:
    """The entity type of a field changed.

    Bytes and names stay the same; only tools that use entity types are affected.
    """
    return _attribute(change, "entityType")


@rule(
    Level.SOURCE,
    before=clock(field("Zones", "[]Zone", fields=[field("Name")])),
    after=clock(field("Zones", "[]Zone", fields=[field("Name", mapKey=True)])),
    severity=Severity.NOTE,
)
def field_map_key_changed(change: c.FieldAttributeChanged) -> Finding | None:
    """A field became a map key, or is no longer a map key.

    This affects only the collections in Kafka's Java classes.
    """
    return _attribute(change, "mapKey")


def _attribute(change: c.FieldAttributeChanged, attribute: str) -> Finding | None:
    if change.attribute != attribute:
        return None
    text = f"`{attribute}` of `{change.subject}` changed from `{change.was}` to `{change.now}`"
    return contrast(change, snake_case(attribute), text, f"was {change.was}", "the old definition")
