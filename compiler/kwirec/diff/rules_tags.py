"""Rules about tagged fields."""

from __future__ import annotations

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diagnostics.examples import clock, field, tagged
from kwirec.diff import changes as c
from kwirec.diff.compare_fields import default_text
from kwirec.diff.rule import Level, contrast, rule
from kwirec.diff.rules_fields import removed
from kwirec.versions import in_words


@rule(
    Level.WIRE,
    before=clock(tagged("Zone", 0)),
    after=clock(tagged("Zone", 0), tagged("Region", 1)),
    severity=Severity.NOTE,
)
def tag_added(change: c.TagAdded) -> Finding:
    """A tagged field was added to an existing version.

    This is safe: peers that do not know the tag skip the field.
    """
    text = f"tagged field `{change.subject}` was added to {in_words(change.versions)}"
    return finding(text, change.after.decl.name.span, f"new, with tag {change.after.field.tag}")


@rule(Level.JSON, before=clock(tagged("Zone", 0), tagged("Region", 1)), after=clock(tagged("Zone", 0)))
def tag_removed(change: c.TagRemoved) -> Finding:
    """A tagged field was removed from an existing version.

    Its bytes are now skipped or kept as an unknown tag, and its value no longer has a name. The tag must not be
    reused.
    """
    tag = change.before.field.tag
    return removed(
        change, f"tagged field `{change.subject}` (tag {tag}) was removed from {in_words(change.versions)}"
    )


@rule(Level.WIRE, before=clock(tagged("Zone", 0)), after=clock(tagged("Hour", 0, "int8")))
def tag_reused(change: c.TagReused) -> Finding:
    """The tag of a field is now used by another field.

    Peers with the old definition read the new field as the old one, even in a new version.
    """
    tag, other = change.after.field.tag, change.before.field.name
    text = f"tag {tag} of `{change.subject}` was the tag of `{other}`"
    helps = ["use a tag that was never used in this struct"]
    return contrast(change, "tag", text, "was used before", f"by `{other}`", helps=helps)


@rule(Level.WIRE, before=clock(tagged("Zone", 0)), after=clock(tagged("Zone", 1)))
def tag_number_changed(change: c.TagNumberChanged) -> Finding:
    """The tag of a field changed.

    New peers do not recognise the old tag, and old peers do not recognise the new one.
    """
    was, now = change.before.field.tag, change.after.field.tag
    text = f"the tag of `{change.subject}` changed from {was} to {now} in {in_words(change.versions)}"
    return contrast(change, "tag", text, f"was {was}", "the old tag")


@rule(
    Level.WIRE,
    before=clock(tagged("Hour", 0, "int8", default="1")),
    after=clock(tagged("Hour", 0, "int8", default="2")),
)
def tag_default_changed(change: c.TagDefaultChanged) -> Finding:
    """The default of a tagged field changed.

    A tagged field is omitted if it has its default, so old and new peers read an absent field differently.
    """
    was, now = default_text(change.before.field), default_text(change.after.field)
    text = (
        f"the default of tagged field `{change.subject}` changed from `{was}` to `{now}` "
        f"in {in_words(change.versions)}"
    )
    return contrast(change, "default", text, f"was {was}", "the old definition")


@rule(
    Level.WIRE,
    before=clock(field("Zone"), field("Hour", "int8", versions="1+")),
    after=clock(field("Zone"), tagged("Hour", 0, "int8")),
)
def field_tagging_changed(change: c.FieldTaggingChanged) -> Finding:
    """A field became tagged, or is no longer tagged, in an existing version.

    Peers expect it in another part of the struct.
    """
    became = any(version in change.after.field.tagged for version in change.versions)
    text = f"`{change.subject}` {'became' if became else 'is no longer'} tagged in {in_words(change.versions)}"
    label = "because of this" if change.after.decl.tagged_versions else "not tagged now"
    return contrast(change, "tagged_versions", text, label, "the old definition")
