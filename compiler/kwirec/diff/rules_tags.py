"""Rules about tagged fields."""

from __future__ import annotations

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diagnostics.source import Span
from kwirec.diff import changes as c
from kwirec.diff.compare_fields import default_text
from kwirec.diff.rule import Level, rule
from kwirec.diff.rules_fields import full, surviving, was
from kwirec.ir.sites import FieldSite
from kwirec.validation.examples import Node, clock, field
from kwirec.versions import in_words


def tagged(name: str, tag: int, type_: str = "string", **attributes: object) -> Node:
    """A field tagged in all flexible versions."""
    return field(name, type_, **{"versions": "1+", "taggedVersions": "1+", "tag": tag, **attributes})


def tag_place(site: FieldSite) -> Span:
    """The span of the tag of a field."""
    return (site.decl.tag or site.decl.name).span


@rule(
    c.TagAdded,
    Level.WIRE,
    before=clock(tagged("Zone", 0)),
    after=clock(tagged("Zone", 0), tagged("Region", 1)),
    severity=Severity.NOTE,
)
def tag_added(it: c.TagAdded) -> Finding | None:
    """A tagged field was added to an existing version.

    This is safe: peers that do not know the tag skip the field.
    """
    text = f"tagged field `{full(it)}` was added to {in_words(it.versions)}"
    return finding(text, it.after.decl.name.span, f"new, with tag {it.after.field.tag}")


@rule(
    c.TagRemoved,
    Level.JSON,
    before=clock(tagged("Zone", 0), tagged("Region", 1)),
    after=clock(tagged("Zone", 0)),
)
def tag_removed(it: c.TagRemoved) -> Finding | None:
    """A tagged field was removed from an existing version.

    Its bytes are now skipped or kept as an unknown tag, and its value no longer has a name. The tag must not be
    reused.
    """
    return finding(
        f"tagged field `{full(it)}` (tag {it.before.field.tag}) was removed from {in_words(it.versions)}",
        surviving(it),
        "other versions still have it" if it.after else f"contained `{it.before.field.name}`",
        others=was(it.before, "the removed field"),
    )


@rule(
    c.TagReused,
    Level.WIRE,
    before=clock(tagged("Zone", 0)),
    after=clock(tagged("Hour", 0, "int8")),
)
def tag_reused(it: c.TagReused) -> Finding | None:
    """The tag of a field is now used by another field.

    Peers with the old definition read the new field as the old one, even in a new version.
    """
    tag, other = it.after.field.tag, it.before.field.name
    return finding(
        f"tag {tag} of `{full(it)}` was the tag of `{other}`",
        tag_place(it.after),
        "was used before",
        others=[(tag_place(it.before), f"by `{other}`")],
        helps=["use a tag that was never used in this struct"],
    )


@rule(c.TagNumberChanged, Level.WIRE, before=clock(tagged("Zone", 0)), after=clock(tagged("Zone", 1)))
def tag_number_changed(it: c.TagNumberChanged) -> Finding | None:
    """The tag of a field changed.

    New peers do not recognise the old tag, and old peers do not recognise the new one.
    """
    was_, now = it.before.field.tag, it.after.field.tag
    return finding(
        f"the tag of `{full(it)}` changed from {was_} to {now} in {in_words(it.versions)}",
        tag_place(it.after),
        f"was {was_}",
        others=[(tag_place(it.before), "the old tag")],
    )


@rule(
    c.TagDefaultChanged,
    Level.WIRE,
    before=clock(tagged("Hour", 0, "int8", default="1")),
    after=clock(tagged("Hour", 0, "int8", default="2")),
)
def tag_default_changed(it: c.TagDefaultChanged) -> Finding | None:
    """The default of a tagged field changed.

    A tagged field is omitted if it has its default, so old and new peers read an absent field differently.
    """
    old, new = it.before.decl, it.after.decl
    was_, now = default_text(it.before.field), default_text(it.after.field)
    return finding(
        f"the default of tagged field `{full(it)}` changed from {was_} to {now} in {in_words(it.versions)}",
        (new.default or new.name).span,
        f"was {was_}",
        others=[((old.default or old.name).span, "the old definition")],
    )


@rule(
    c.FieldTaggingChanged,
    Level.WIRE,
    before=clock(field("Zone"), field("Hour", "int8", versions="1+")),
    after=clock(field("Zone"), tagged("Hour", 0, "int8")),
)
def field_tagging_changed(it: c.FieldTaggingChanged) -> Finding | None:
    """A field became tagged, or is no longer tagged, in an existing version.

    Peers expect it in another part of the struct.
    """
    old, new = it.before.decl, it.after.decl
    became = any(version in it.after.field.tagged for version in it.versions)
    return finding(
        f"`{full(it)}` {'became' if became else 'is no longer'} tagged in {in_words(it.versions)}",
        (new.tagged_versions or new.name).span,
        "because of this" if new.tagged_versions else "not tagged now",
        others=[((old.tagged_versions or old.name).span, "the old definition")],
    )
