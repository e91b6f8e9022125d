"""Rules about untagged fields, and about what tagged and untagged fields have in common."""

from __future__ import annotations

from collections.abc import Iterator

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diagnostics.source import Span
from kwirec.diff import changes as c
from kwirec.diff.rule import Level, Rule, rule
from kwirec.ir.sites import FieldSite
from kwirec.validation.examples import clock, field
from kwirec.versions import in_words


def full(it: c.FieldChange) -> str:
    """``FetchRequest.Topics.Partitions``: the message and the path of the field."""
    return f"{it.message.name}.{it.path}"


def surviving(it: c.FieldChange) -> Span:
    """Where on the new side something about a field that is gone can be shown: the field, else its struct."""
    return ranges_of(it.after) if it.after else it.struct.name_span


def ranges_of(site: FieldSite) -> Span:
    """Where the versions of a field are written."""
    written = site.decl.versions or site.decl.tagged_versions
    return written.span if written else site.decl.name.span


def was(site: FieldSite | None, words: str) -> Iterator[tuple[Span, str]]:
    """The old place of a field."""
    if site is not None:
        yield site.decl.name.span, words


@rule(
    c.FieldRemovedFromVersion,
    Level.WIRE,
    before=clock(field("Zone"), field("Hour", "int8")),
    after=clock(field("Zone")),
)
def field_removed_from_version(it: c.FieldRemovedFromVersion) -> Finding | None:
    """A version lost a field that it had.

    Everything behind it is read from the wrong place. To remove a field, close its range before the next version.
    """
    return finding(
        f"`{full(it)}` is gone from {in_words(it.versions)}",
        surviving(it),
        "other versions still have it" if it.after else f"`{it.before.field.name}` was in here",
        others=was(it.before, "the field that is gone"),
        helps=["take it out of a new version only"],
    )


@rule(
    c.FieldAddedToVersion,
    Level.WIRE,
    before=clock(field("Zone")),
    after=clock(field("Zone"), field("Hour", "int8")),
)
def field_added_to_version(it: c.FieldAddedToVersion) -> Finding | None:
    """A version got a field that it did not have.

    Everything behind it is read from the wrong place. An untagged field needs a new version.
    """
    others = list(was(it.before, "versions it was in")) or [(it.struct.name_span, "not in here")]
    return finding(
        f"`{full(it)}` was added to {in_words(it.versions)}",
        ranges_of(it.after) if it.before else it.after.decl.name.span,
        "came to versions that existed" if it.before else "new in versions that existed",
        others=others,
        helps=["let it begin with a new version, or make it a tagged field"],
    )


@rule(
    c.FieldReordered,
    Level.WIRE,
    before=clock(field("Zone"), field("Hour", "int8"), field("Minute", "int8")),
    after=clock(field("Zone"), field("Minute", "int8"), field("Hour", "int8")),
)
def field_reordered(it: c.FieldReordered) -> Finding | None:
    """A field stands at another place among the fields of its struct.

    Fields are known by their place alone: others are now read as this one, silently where their types agree.
    """
    return finding(
        f"`{full(it)}` moved among its neighbours in {in_words(it.versions)}",
        it.after.decl.name.span,
        "moved here",
        others=was(it.before, "its old place"),
        helps=["keep the order of fields that exist; new ones may go anywhere"],
    )


@rule(c.FieldTypeChanged, Level.WIRE, before=clock(field("Hour", "int8")), after=clock(field("Hour", "int16")))
def field_type_changed(it: c.FieldTypeChanged) -> Finding | None:
    """A field has a type with other bytes.

    Its value, and everything behind it, is misread.
    """
    return _retyped(it, "changes its bytes")


@rule(
    c.FieldTypeChangedSameBytes,
    Level.JSON,
    before=clock(field("Hours", "[]int32", versions="0"), flexibleVersions="1+"),
    after=clock(field("Hours", "[]Hour", versions="0", fields=[field("Value", "int32")]), flexibleVersions="1+"),
)
def field_type_changed_same_bytes(it: c.FieldTypeChangedSameBytes) -> Finding | None:
    """A field has another type with the same bytes.

    Peers see no difference, unless a value is beyond the range of the other type; readers of JSON and users of the
    generated class do.
    """
    return _retyped(it, "keeps its bytes")


def _retyped(it: c.FieldPersists, effect: str) -> Finding:
    old, new = it.before.decl.type, it.after.decl.type
    text = f"`{full(it)}` is `{new}` and no longer `{old}`, which {effect} in {in_words(it.versions)}"
    return finding(text, new.span, f"was `{old}`", others=[(old.span, "the old type")])


@rule(
    c.FieldNullabilityWidened,
    Level.WIRE,
    before=clock(field("Zone", nullableVersions="2+")),
    after=clock(field("Zone", nullableVersions="1+")),
)
def field_nullability_widened(it: c.FieldNullabilityWidened) -> Finding | None:
    """A field may be null in versions in which it could not be.

    Peers that know the version do not expect a null; a struct even gets a byte that was not there.
    """
    return _nullability(it, "may be null")


@rule(
    c.FieldNullabilityNarrowed,
    Level.WIRE,
    before=clock(field("Zone", nullableVersions="1+")),
    after=clock(field("Zone", nullableVersions="2+")),
)
def field_nullability_narrowed(it: c.FieldNullabilityNarrowed) -> Finding | None:
    """A field cannot be null in versions in which it could be.

    The null that a peer may send, or that was stored, can no longer be read.
    """
    return _nullability(it, "can no longer be null")


def _nullability(it: c.FieldPersists, words: str) -> Finding:
    old, new = it.before.decl, it.after.decl
    return finding(
        f"`{full(it)}` {words} in {in_words(it.versions)}",
        (new.nullable_versions or new.name).span,
        f"null in versions {it.after.field.nullable} now",
        others=[((old.nullable_versions or old.name).span, f"was {it.before.field.nullable}")],
    )


@rule(
    c.FieldLengthCodingChanged,
    Level.WIRE,
    before=clock(field("Zone")),
    after=clock(field("Zone", flexibleVersions="none")),
)
def field_length_coding_changed(it: c.FieldLengthCodingChanged) -> Finding | None:
    """A string or bytes field codes its length differently, by flexible versions of its own.

    The length, and everything behind it, is misread.
    """
    old, new = it.before.decl, it.after.decl
    return finding(
        f"`{full(it)}` codes its length differently in {in_words(it.versions)}",
        (new.flexible_versions or new.name).span,
        "because of this" if new.flexible_versions else "has no flexible versions of its own any more",
        others=[((old.flexible_versions or old.name).span, "the field before")],
    )


@rule(c.FieldRenamed, Level.JSON, before=clock(field("Zone")), after=clock(field("Region")))
def field_renamed(it: c.FieldRenamed) -> Finding | None:
    """A field has another name.

    Request logs and generated classes know it by its name. `aliases` keeps a former one understood.
    """
    old, new = it.before.field.name, it.after.field.name
    return finding(
        f"`{it.message.name}.{it.before.path}` is named `{new}` now",
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
    """A field is gone together with the versions that had it.

    The attribute of the generated class is gone too, and code that sets or reads it breaks.
    """
    return finding(
        f"`{full(it)}` is gone together with {in_words(it.versions)}",
        surviving(it),
        f"`{it.before.field.name}` was in here",
        others=was(it.before, "the field that is gone"),
    )


@rule(
    c.StructRenamed,
    Level.SOURCE,
    before=clock(field("Zones", "[]Zone", fields=[field("Name")])),
    after=clock(field("Zones", "[]Region", fields=[field("Name")])),
)
def struct_renamed(it: c.StructRenamed) -> Finding | None:
    """The struct of a field has another name.

    The generated class has it too, and code that makes one breaks. Nothing is seen outside of Python.
    """
    old, new = it.before.decl.type, it.after.decl.type
    return finding(
        f"struct `{old.name}` of `{full(it)}` is named `{new.name}` now",
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
    """An untagged field has another default.

    It is what versions without the field are read as, and what the generated class starts with.
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
    """A field became ignorable, or stopped being so.

    For versions without the field it decides whether a value is silently left out or refused.
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
    """A field is marked as another kind of entity.

    No byte and no name changes, only what tools can tell about the field.
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
    """A field became a map key, or stopped being one.

    It chooses the collection in Kafka's Java classes. No byte changes, and nothing in Python.
    """
    old, new = it.before.decl, it.after.decl
    return _attribute(it, "mapKey", (old.map_key or old.name).span, (new.map_key or new.name).span)


def _attribute(it: c.FieldAttributeChanged, attribute: str, old: Span, new: Span) -> Finding | None:
    if it.attribute != attribute:
        return None
    text = f"`{attribute}` of `{full(it)}` is {it.now} and no longer {it.was}"
    return finding(text, new, f"was {it.was}", others=[(old, "the field before")])


RULES: tuple[Rule, ...] = (
    field_removed_from_version,
    field_added_to_version,
    field_reordered,
    field_type_changed,
    field_type_changed_same_bytes,
    field_nullability_widened,
    field_nullability_narrowed,
    field_length_coding_changed,
    field_renamed,
    field_removed,
    struct_renamed,
    field_default_changed,
    field_ignorable_changed,
    field_entity_type_changed,
    field_map_key_changed,
)
