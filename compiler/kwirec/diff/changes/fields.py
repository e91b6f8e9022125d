"""Changes to untagged fields, and to attributes that tagged and untagged fields share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diagnostics.examples import clock, enum, field, files, value
from kwirec.diff.changes.change import FieldChange, FieldPersists, rule, span_of
from kwirec.diff.rule import Level
from kwirec.ir.sites import FieldSite, StructSite
from kwirec.naming import snake_case
from kwirec.versions import in_words


@rule(Level.WIRE, before=clock(field("Zone"), field("Hour", "int8")), after=clock(field("Zone")))
@dataclass(frozen=True, kw_only=True, eq=False)
class FieldRemovedFromVersion(FieldChange):
    """A field was removed from an existing version.

    All bytes after the field are misread. To remove a field, end its versions before the next new version.
    """

    before: FieldSite
    struct: StructSite
    """The field's struct on the new side."""

    def describe(self) -> Finding:
        text = f"`{self.subject}` was removed from {in_words(self.versions)}"
        return self.removal(text, ["remove the field only from a new version"])

    def removal(self, text: str, helps: Iterable[str] = ()) -> Finding:
        """Return a finding that points to the field on the new side, or to its struct if no version has the field."""
        if self.after is not None:
            new, label = span_of(self.after.decl, "versions", "tagged_versions"), "other versions still have it"
        else:
            new, label = self.struct.name_span, f"contained `{self.before.field.name}`"
        return finding(text, new, label, others=[(self.before.decl.name.span, "the removed field")], helps=helps)


@rule(Level.WIRE, before=clock(field("Zone")), after=clock(field("Zone"), field("Hour", "int8")))
@dataclass(frozen=True, kw_only=True, eq=False)
class FieldAddedToVersion(FieldChange):
    """A field was added to an existing version.

    All bytes after the field are misread. An untagged field needs a new version.
    """

    after: FieldSite
    struct: StructSite
    """The field's struct on the old side."""

    def describe(self) -> Finding:
        after = self.after.decl
        if self.before is not None:
            new, label = span_of(after, "versions", "tagged_versions"), "added to existing versions"
            old = self.before.decl.name.span, "its old versions"
        else:
            new, label = after.name.span, "new in existing versions"
            old = self.struct.name_span, "did not exist here"
        text = f"`{self.subject}` was added to {in_words(self.versions)}"
        return finding(
            text, new, label, others=[old], helps=["add the field in a new version, or make it a tagged " "field"]
        )


@rule(
    Level.WIRE,
    before=clock(field("Zone"), field("Hour", "int8"), field("Minute", "int8")),
    after=clock(field("Zone"), field("Minute", "int8"), field("Hour", "int8")),
)
class FieldReordered(FieldPersists):
    """A field changed its position in its struct.

    Peers identify a field only by its position. They now read another field at this position, and if the types match,
    no error reveals the mistake.
    """

    def describe(self) -> Finding:
        text = f"`{self.subject}` changed its position in {in_words(self.versions)}"
        helps = ["keep the order of existing fields (new fields can have any position)"]
        return self.contrast("name", text, "moved here", "its old position", helps=helps)


class FieldRetyped(FieldPersists):
    """A change to the type of a field. ``effect`` describes how the change affects the bytes."""

    effect: ClassVar[str]

    def describe(self) -> Finding:
        old, new = self.before.decl.type, self.after.decl.type
        change = f"changed from `{old}` to `{new}`, {self.effect}, in {in_words(self.versions)}"
        return self.contrast("type", f"the type of `{self.subject}` {change}", f"was `{old}`", "the old type")


@rule(Level.WIRE, before=clock(field("Hour", "int8")), after=clock(field("Hour", "int16")))
class FieldTypeChanged(FieldRetyped):
    """A field has a new type with a different encoding.

    The value of the field and all bytes after it are misread.
    """

    effect = "which changes its encoding"


@rule(
    Level.JSON,
    before=clock(field("Hours", "[]int32", versions="0"), flexibleVersions="1+"),
    after=clock(field("Hours", "[]Hour", versions="0", fields=[field("Value", "int32")]), flexibleVersions="1+"),
)
class FieldTypeChangedSameBytes(FieldRetyped):
    """A field has a new type with the same encoding.

    Peers are not affected, unless a value is out of range for the other type. Readers of JSON and users of the
    generated class are affected.
    """

    effect = "with the same encoding"


class FieldNullabilityChanged(FieldPersists):
    """A change to the versions in which a field can be null. ``outcome`` is the verb phrase in the message of the
    finding.
    """

    outcome: ClassVar[str]

    def describe(self) -> Finding:
        text = f"`{self.subject}` {self.outcome} in {in_words(self.versions)}"
        now, was = self.after.field.nullable, self.before.field.nullable
        return self.contrast("nullable_versions", text, f"nullable in versions {now} now", f"was {was}")


@rule(
    Level.WIRE, before=clock(field("Zone", nullableVersions="2+")), after=clock(field("Zone", nullableVersions="1+"))
)
class FieldNullabilityWidened(FieldNullabilityChanged):
    """A field became nullable in an existing version.

    Peers that support the version do not expect null, and nullable structs are encoded with an additional byte.
    """

    outcome = "became nullable"


@rule(
    Level.WIRE, before=clock(field("Zone", nullableVersions="1+")), after=clock(field("Zone", nullableVersions="2+"))
)
class FieldNullabilityNarrowed(FieldNullabilityChanged):
    """A field is no longer nullable in an existing version.

    Null values from peers or in stored data can no longer be read.
    """

    outcome = "is no longer nullable"


@rule(Level.WIRE, before=clock(field("Zone")), after=clock(field("Zone", flexibleVersions="none")))
class FieldLengthCodingChanged(FieldPersists):
    """The length of a string or bytes field is encoded differently because the field's own flexible versions changed.

    The length and all bytes after it are misread.
    """

    def describe(self) -> Finding:
        text = f"the length of `{self.subject}` is encoded differently in {in_words(self.versions)}"
        own = self.after.decl.flexible_versions is not None
        label = "because of this" if own else "no longer has its own flexible versions"
        return self.contrast("flexible_versions", text, label, "the old definition")


@rule(Level.JSON, before=clock(field("Zone")), after=clock(field("Region")))
class FieldRenamed(FieldPersists):
    """A field was renamed.

    Request logs and generated classes use the name of the field. Former names listed in `aliases` can still be read.
    """

    def describe(self) -> Finding:
        old, new = self.before.field.name, self.after.field.name
        text = f"`{self.message.name}.{self.before.path}` was renamed to `{new}`"
        helps = [] if old in self.after.field.aliases else [f'add `"aliases": ["{old}"]`']
        return self.contrast("name", text, "the new name", "the old name", helps=helps)


@rule(
    Level.SOURCE,
    before=clock(field("Zone"), field("Hour", "int8", versions="0")),
    after=clock(field("Zone"), validVersions="1-2"),
)
class FieldRemoved(FieldRemovedFromVersion):
    """A field was removed together with all versions that contained it.

    The generated class no longer has the attribute, and code that uses it breaks.
    """

    def describe(self) -> Finding:
        return self.removal(f"`{self.subject}` was removed together with {in_words(self.versions)}")


@dataclass(frozen=True, kw_only=True, eq=False)
class FieldAttributeChanged(FieldPersists):
    """A change to an attribute that does not affect the encoding. ``was`` and ``now`` are the values as written in
    definitions.
    """

    attribute: ClassVar[str]
    was: str
    now: str

    def describe(self) -> Finding:
        text = f"`{self.attribute}` of `{self.subject}` changed from `{self.was}` to `{self.now}`"
        return self.contrast(snake_case(self.attribute), text, f"was {self.was}", "the old definition")


@rule(
    Level.SOURCE,
    before=files(clock(field("Phase", "int8")), enum(value("NEW", 0))),
    after=files(clock(field("Phase", "int8", enum="Phase")), enum(value("NEW", 0))),
    severity=Severity.NOTE,
)
class FieldEnumChanged(FieldAttributeChanged):
    """The enum of a field changed.

    Bytes and types stay the same. Only the names that tools show for the values change.
    """

    attribute = "enum"


@rule(
    Level.SOURCE,
    before=clock(field("Zones", "[]Zone", fields=[field("Name")])),
    after=clock(field("Zones", "[]Region", fields=[field("Name")])),
)
class StructRenamed(FieldPersists):
    """The struct of a field was renamed.

    The generated class is renamed too, and code that uses it breaks. Bytes and JSON do not change.
    """

    def describe(self) -> Finding:
        old, new = self.before.decl.type, self.after.decl.type
        text = f"struct `{old.name}` of `{self.subject}` was renamed to `{new.name}`"
        return finding(text, new.name_span, "the new name", others=[(old.name_span, "the old name")])


@rule(
    Level.SOURCE,
    before=clock(field("Hour", "int8", versions="1+", default="1")),
    after=clock(field("Hour", "int8", versions="1+", default="2")),
)
class FieldDefaultChanged(FieldAttributeChanged):
    """The default of an untagged field changed.

    The default is the value in versions without the field, and the initial value in the generated class.
    """

    attribute = "default"


@rule(
    Level.SOURCE,
    before=clock(field("Hour", "int8", versions="1+", ignorable=True)),
    after=clock(field("Hour", "int8", versions="1+")),
)
class FieldIgnorableChanged(FieldAttributeChanged):
    """A field became ignorable, or is no longer ignorable.

    In versions without the field, the value of an ignorable field is dropped silently. If the field is not ignorable,
    writing fails.
    """

    attribute = "ignorable"


@rule(
    Level.SOURCE,
    before=clock(field("Zone")),
    after=clock(field("Zone", entityType="topicName")),
    severity=Severity.NOTE,
)
class FieldEntityTypeChanged(FieldAttributeChanged):
    """The entity type of a field changed.

    Bytes and names stay the same. Only tools that use entity types are affected.
    """

    attribute = "entityType"


@rule(
    Level.SOURCE,
    before=clock(field("Zones", "[]Zone", fields=[field("Name")])),
    after=clock(field("Zones", "[]Zone", fields=[field("Name", mapKey=True)])),
    severity=Severity.NOTE,
)
class FieldMapKeyChanged(FieldAttributeChanged):
    """A field became a map key, or is no longer a map key.

    This affects only the collections in Kafka's Java classes.
    """

    attribute = "mapKey"
