"""Changes to tagged fields."""

from __future__ import annotations

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diagnostics.examples import clock, field, tagged
from kwirec.diff.changes.change import FieldPersists, rule
from kwirec.diff.changes.fields import FieldAddedToVersion, FieldRemovedFromVersion
from kwirec.diff.rule import Level
from kwirec.ir.literals import default_text
from kwirec.versions import in_words


@rule(
    Level.WIRE,
    before=clock(tagged("Zone", 0)),
    after=clock(tagged("Zone", 0), tagged("Region", 1)),
    severity=Severity.NOTE,
)
class TagAdded(FieldAddedToVersion):
    """A tagged field was added to an existing version.

    This is safe because peers that do not know the tag skip the field.
    """

    def describe(self) -> Finding:
        text = f"tagged field `{self.subject}` was added to {in_words(self.versions)}"
        return finding(text, self.after.decl.name.span, f"new, with tag {self.after.field.tag}")


@rule(Level.JSON, before=clock(tagged("Zone", 0), tagged("Region", 1)), after=clock(tagged("Zone", 0)))
class TagRemoved(FieldRemovedFromVersion):
    """A tagged field was removed from an existing version.

    The bytes of the field are now skipped or kept as an unknown tag, and its value is no longer accessible by name.
    The tag must not be reused.
    """

    def describe(self) -> Finding:
        tag = self.before.field.tag
        return self.removal(f"tagged field `{self.subject}` (tag {tag}) was removed from {in_words(self.versions)}")


@rule(Level.WIRE, before=clock(tagged("Zone", 0)), after=clock(tagged("Hour", 0, "int8")))
class TagReused(FieldPersists):
    """The tag of a field is now used by another field.

    Peers with the old definition read the new field as the old one, even in a new version.
    """

    def describe(self) -> Finding:
        tag, other = self.after.field.tag, self.before.field.name
        text = f"tag {tag} of `{self.subject}` was the tag of `{other}`"
        helps = ["use a tag that was never used in this struct"]
        return self.contrast("tag", text, "was used before", f"by `{other}`", helps=helps)


@rule(Level.WIRE, before=clock(tagged("Zone", 0)), after=clock(tagged("Zone", 1)))
class TagNumberChanged(FieldPersists):
    """The tag of a field changed.

    New peers do not recognise the old tag, and old peers do not recognise the new one.
    """

    def describe(self) -> Finding:
        was, now = self.before.field.tag, self.after.field.tag
        text = f"the tag of `{self.subject}` changed from {was} to {now} in {in_words(self.versions)}"
        return self.contrast("tag", text, f"was {was}", "the old tag")


@rule(
    Level.WIRE,
    before=clock(tagged("Hour", 0, "int8", default="1")),
    after=clock(tagged("Hour", 0, "int8", default="2")),
)
class TagDefaultChanged(FieldPersists):
    """The default of a tagged field changed.

    A tagged field is not sent if its value is the default, so old and new peers read an absent field differently.
    """

    def describe(self) -> Finding:
        was, now = default_text(self.before.field), default_text(self.after.field)
        text = (
            f"the default of tagged field `{self.subject}` changed from `{was}` to `{now}` "
            f"in {in_words(self.versions)}"
        )
        return self.contrast("default", text, f"was {was}", "the old definition")


@rule(
    Level.WIRE,
    before=clock(field("Zone"), field("Hour", "int8", versions="1+")),
    after=clock(field("Zone"), tagged("Hour", 0, "int8")),
)
class FieldTaggingChanged(FieldPersists):
    """A field became tagged, or is no longer tagged, in an existing version.

    Peers expect the field in another part of the struct.
    """

    def describe(self) -> Finding:
        became = any(version in self.after.field.tagged for version in self.versions)
        text = f"`{self.subject}` {'became' if became else 'is no longer'} tagged in {in_words(self.versions)}"
        label = "because of this" if self.after.decl.tagged_versions else "not tagged now"
        return self.contrast("tagged_versions", text, label, "the old definition")
