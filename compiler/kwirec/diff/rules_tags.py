"""Rules about tagged fields."""

from __future__ import annotations

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diagnostics.source import Span
from kwirec.diff import changes as c
from kwirec.diff.compare_fields import default_text
from kwirec.diff.rule import Level, Rule, rule
from kwirec.diff.rules_fields import full, surviving, was
from kwirec.ir.sites import FieldSite
from kwirec.validation.examples import Node, clock, field
from kwirec.versions import in_words


def tagged(name: str, tag: int, type_: str = "string", **attributes: object) -> Node:
    """A field that is tagged in all flexible versions."""
    return field(name, type_, **{"versions": "1+", "taggedVersions": "1+", "tag": tag, **attributes})


def tag_place(site: FieldSite) -> Span:
    """Where the number of a tagged field is written."""
    return (site.decl.tag or site.decl.name).span


@rule(
    c.TagAdded,
    Level.WIRE,
    before=clock(tagged("Zone", 0)),
    after=clock(tagged("Zone", 0), tagged("Region", 1)),
    severity=Severity.NOTE,
)
def tag_added(it: c.TagAdded) -> Finding | None:
    """A tagged field came to versions that existed before.

    This is what tags are for: peers that do not know it skip it.
    """
    text = f"tagged field `{full(it)}` came to {in_words(it.versions)}"
    return finding(text, it.after.decl.name.span, f"new, with tag {it.after.field.tag}")


@rule(
    c.TagRemoved,
    Level.JSON,
    before=clock(tagged("Zone", 0), tagged("Region", 1)),
    after=clock(tagged("Zone", 0)),
)
def tag_removed(it: c.TagRemoved) -> Finding | None:
    """A version lost a tagged field that it had.

    Its bytes are still skipped or kept as those of an unknown tag, but its value no longer has a name. Nobody may
    use the number again.
    """
    return finding(
        f"tagged field `{full(it)}` (tag {it.before.field.tag}) is gone from {in_words(it.versions)}",
        surviving(it),
        "other versions still have it" if it.after else f"`{it.before.field.name}` was in here",
        others=was(it.before, "the field that is gone"),
    )


@rule(
    c.TagReused,
    Level.WIRE,
    before=clock(tagged("Zone", 0)),
    after=clock(tagged("Hour", 0, "int8")),
)
def tag_reused(it: c.TagReused) -> Finding | None:
    """The number of a tagged field now belongs to another field.

    Peers that know the number from before read the new field as the old one, in whichever version it comes.
    """
    tag, other = it.after.field.tag, it.before.field.name
    return finding(
        f"tag {tag} of `{full(it)}` was that of `{other}`",
        tag_place(it.after),
        "taken before",
        others=[(tag_place(it.before), f"by `{other}`")],
        helps=["take a number that was never used in this struct"],
    )


@rule(c.TagNumberChanged, Level.WIRE, before=clock(tagged("Zone", 0)), after=clock(tagged("Zone", 1)))
def tag_number_changed(it: c.TagNumberChanged) -> Finding | None:
    """A tagged field has another number.

    Under the old number nobody finds it any more, and under the new one old peers do not know it.
    """
    was_, now = it.before.field.tag, it.after.field.tag
    return finding(
        f"`{full(it)}` has tag {now} and no longer {was_} in {in_words(it.versions)}",
        tag_place(it.after),
        f"was {was_}",
        others=[(tag_place(it.before), "the old number")],
    )


@rule(
    c.TagDefaultChanged,
    Level.WIRE,
    before=clock(tagged("Hour", 0, "int8", default="1")),
    after=clock(tagged("Hour", 0, "int8", default="2")),
)
def tag_default_changed(it: c.TagDefaultChanged) -> Finding | None:
    """A tagged field has another default.

    A tagged field that is left out means its default, so old and new peers understand its absence differently.
    """
    old, new = it.before.decl, it.after.decl
    was_, now = default_text(it.before.field), default_text(it.after.field)
    return finding(
        f"`{full(it)}` is left out when it is {now} and no longer when it is {was_}, in {in_words(it.versions)}",
        (new.default or new.name).span,
        f"was {was_}",
        others=[((old.default or old.name).span, "the field before")],
    )


@rule(
    c.FieldTaggingChanged,
    Level.WIRE,
    before=clock(field("Zone"), field("Hour", "int8", versions="1+")),
    after=clock(field("Zone"), tagged("Hour", 0, "int8")),
)
def field_tagging_changed(it: c.FieldTaggingChanged) -> Finding | None:
    """A field moved into the tagged fields of versions that existed before, or out of them.

    It is looked for at the wrong end of its struct.
    """
    old, new = it.before.decl, it.after.decl
    became = any(version in it.after.field.tagged for version in it.versions)
    return finding(
        f"`{full(it)}` {'became' if became else 'is no longer'} tagged in {in_words(it.versions)}",
        (new.tagged_versions or new.name).span,
        "because of this" if new.tagged_versions else "not tagged now",
        others=[((old.tagged_versions or old.name).span, "the field before")],
    )


RULES: tuple[Rule, ...] = (
    tag_added,
    tag_removed,
    tag_reused,
    tag_number_changed,
    tag_default_changed,
    field_tagging_changed,
)
