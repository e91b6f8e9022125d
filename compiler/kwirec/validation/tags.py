"""K6xx: tagged fields, their tags and their tagged versions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from kwire_rules import MAX_TAG
from kwirec.diagnostics.diagnostic import Finding, Severity
from kwirec.diagnostics.examples import clock, field, tagged
from kwirec.ir.schema import Struct
from kwirec.ir.sites import FieldSite, StructSite
from kwirec.validation.rule import rule
from kwirec.validation.versions import opened
from kwirec.versions import NONE, RELEASE, in_words


@rule(
    "K601",
    offending=clock(tagged("Zone", -1)),
    corrected=clock(tagged("Zone", 0)),
)
def negative_tag(at: FieldSite) -> Iterator[Finding]:
    """The tag of a field is negative or too large.

    Tags are encoded as unsigned numbers. The largest tag that Kafka writes is 2147483646.
    """
    if at.decl.tag is not None and not 0 <= at.decl.tag.value <= MAX_TAG:
        yield at.finding(
            f"tag {at.decl.tag.value} of `{at.field.name}` is {'negative' if at.decl.tag.value < 0 else 'too large'}",
            at.decl.tag.span,
            f"expected 0 to {MAX_TAG}",
            helps=[_next_free(at.struct)],
        )


@rule(
    "K602",
    offending=clock(tagged("Zone", 0), tagged("Leap", 0, "bool")),
    corrected=clock(tagged("Zone", 0), tagged("Leap", 1, "bool")),
)
def duplicate_tag(at: StructSite) -> Iterator[Finding]:
    """Two fields of one struct have the same tag in the same versions.

    Tagged fields are identified only by their tags on the wire.
    """
    seen: defaultdict[int, list[FieldSite]] = defaultdict(list)
    for site in at.fields:
        if site.decl.tag is None:
            continue
        for earlier in seen[site.decl.tag.value]:
            shared = site.field.tagged.intersect(earlier.field.tagged)
            if earlier.decl.tag and shared:
                yield site.finding(
                    f"tag {site.field.tag} is used by two fields",
                    site.decl.tag.span,
                    f"already used in {in_words(shared)}",
                    others=[(earlier.decl.tag.span, "first used here")],
                    helps=[_next_free(at.struct)],
                )
                break
        seen[site.decl.tag.value].append(site)


@rule(
    "K603",
    severity=Severity.WARNING,
    offending=clock(tagged("Zone", 0), tagged("Leap", 2, "bool")),
    corrected=clock(tagged("Zone", 0), tagged("Leap", 1, "bool")),
)
def tag_gap(at: StructSite) -> Iterator[Finding]:
    """The tags of a struct are not consecutive numbers from 0.

    A missing tag can belong to a removed field and might be reused by mistake. Kafka's generator requires tags
    without gaps. Turn this rule off for private extensions that use large tags.
    """
    tags = [(site.decl.tag, site) for site in at.fields if site.decl.tag and site.decl.tag.value >= 0]
    expected = 0
    for tag, site in sorted(tags, key=lambda pair: pair[0].value):
        if tag.value > expected:
            yield site.finding(
                f"tag {tag.value} of `{site.field.name}` leaves a gap in `{at.struct.name}`",
                tag.span,
                f"the next tag is {expected}",
                helps=[f"write `{expected}`, or turn K603 off if the gap is intended"],
            )
        expected = tag.value + 1


@rule(
    "K604",
    offending=clock(field("Zone", versions="1+", tag=0)),
    corrected=clock(tagged("Zone", 0)),
)
def incomplete_tag(at: FieldSite) -> Iterator[Finding]:
    """A field has a tag but no tagged versions, or tagged versions but no tag.

    A tagged field needs both: a tag, and the versions in which it is tagged.
    """
    decl, tagged = at.decl, at.decl.tagged_versions
    if decl.tag is not None and (tagged is None or tagged.value == NONE):
        yield at.finding(
            f"field `{at.field.name}` has a tag but no tagged versions",
            decl.tag.span,
            "never used",
            others=[(tagged.span, "an empty range")] if tagged else (),
            helps=["add `taggedVersions`, or remove `tag`"],
        )
    if decl.tag is None and tagged is not None and tagged.value:
        yield at.finding(
            f"field `{at.field.name}` is tagged but has no tag",
            tagged.span,
            "needs a `tag`",
            helps=[f"add `tag`; {_next_free(at.struct)}"],
        )


@rule(
    "K605",
    offending=clock(tagged("Zone", 0, taggedVersions="1-2")),
    corrected=clock(tagged("Zone", 0)),
    fixable=True,
)
def tagged_not_open(at: FieldSite) -> Iterator[Finding]:
    """The tagged versions of a field have an upper bound.

    A tag must never be reused. An obsolete field keeps its tag and is left unset.
    """
    written = at.decl.tagged_versions
    if written is not None and written.value and not written.value.is_open:
        yield at.finding(
            f"`taggedVersions` of `{at.field.name}` has an upper bound",
            written.span,
            "must be open-ended",
            helps=[f"write `{written.value.low}+`"],
            fix=(
                opened(written, at.message.valid, at.dialect)
                if at.decl.versions is None or at.field.versions.is_open
                else ()
            ),
        )


@rule(
    "K606",
    offending=clock(tagged("Zone", 0, versions="2+")),
    corrected=clock(tagged("Zone", 0)),
)
def tagged_not_in_versions(at: FieldSite) -> Iterator[Finding]:
    """The tagged versions of a field are not within its versions.

    In a tagged version outside of `versions`, it would be unclear whether the field exists. Omit `versions` if the
    field is tagged in all its versions.
    """
    versions, tagged = at.decl.versions, at.decl.tagged_versions
    if versions and tagged and versions.value and not versions.value.covers(tagged.value):
        outside = " and ".join(map(in_words, tagged.value.subtract(versions.value)))
        yield at.finding(
            f"field `{at.field.name}` is tagged in {outside}, where it does not exist",
            tagged.span,
            "not within its versions",
            others=[(versions.span, "its versions")],
            helps=[f"write `{tagged.value}` for both, or begin `taggedVersions` later"],
        )


@rule(
    "K607",
    offending=clock(tagged("Zone", 0, versions="0+", taggedVersions="0+")),
    corrected=clock(tagged("Zone", 0)),
)
def tagged_not_flexible(at: FieldSite) -> Iterator[Finding]:
    """A field is tagged in versions that are not flexible.

    Only flexible versions have tagged fields. The flexible versions of the message apply, unless the field itself has
    `flexibleVersions`.
    """
    tagged = at.decl.tagged_versions
    flexible = at.message.flexible if at.field.flexible is None else at.field.flexible
    if tagged is None or not tagged.value or flexible.is_inverted:
        return
    if not flexible or tagged.value.low < flexible.low:
        written = at.decl.flexible_versions or at.message.decl.flexible_versions
        place = (written.span, "the flexible versions") if written else (at.message.decl.name.span, "never flexible")
        yield at.finding(
            f"field `{at.field.name}` is tagged in versions that are not flexible",
            tagged.span,
            f"flexible versions are {flexible}",
            others=[place],
            helps=[f"write `{flexible.low}+`"] if flexible else ["make the message flexible, or the field untagged"],
        )


@rule(
    "K608",
    offending=clock(tagged("Log", 0, "records", nullableVersions="1+")),
    corrected=clock(field("Log", "records", versions="1+", nullableVersions="1+")),
)
def tagged_records(at: FieldSite) -> Iterator[Finding]:
    """A field of type `records` is tagged.

    A tagged field is written after its size, but records are passed on without computing their size.
    """
    if at.field.tagged and str(at.base) == "records":
        yield at.finding(
            f"field `{at.field.name}` holds records and cannot be tagged",
            at.decl.type.span,
            "cannot be tagged",
            others=[(at.decl.tag.span, "tagged here")] if at.decl.tag else (),
            helps=["remove `tag` and `taggedVersions`, or use `bytes`"],
        )


@rule(
    "K609",
    offending=clock(field("Zones", "[]Zone", versions="1+", fields=[tagged("Name", 0, mapKey=True)])),
    corrected=clock(field("Zones", "[]Zone", versions="1+", fields=[field("Name", versions="1+", mapKey=True)])),
)
def tagged_map_key(at: FieldSite) -> Iterator[Finding]:
    """A map key is tagged.

    A tagged field can be absent, but elements are looked up by their key.
    """
    if at.field.tagged and at.field.map_key and at.decl.map_key:
        others = [(at.decl.tag.span, "tagged here")] if at.decl.tag else []
        yield at.finding(
            f"map key `{at.field.name}` cannot be tagged",
            at.decl.map_key.span,
            "makes it a map key",
            others=others,
            helps=["remove `mapKey`, or `tag` and `taggedVersions`"],
        )


@rule(
    "K610",
    offending=clock(tagged("Zone", 0, nullableVersions="2+")),
    corrected=clock(tagged("Zone", 0, nullableVersions="1+")),
)
def partly_nullable_tag(at: FieldSite) -> Iterator[Finding]:
    """A tagged field is nullable in only some of its tagged versions.

    A tagged field that equals its default is not sent, so its default must be the same in all of these versions.
    """
    nullable, tagged = at.live_tagged & at.within(at.field.nullable), at.decl.tagged_versions
    if at.decl.nullable_versions and tagged and nullable and nullable != at.live_tagged:
        yield at.finding(
            f"tagged field `{at.field.name}` is nullable only in {in_words(nullable)}",
            at.decl.nullable_versions.span,
            f"not in {in_words(at.live_tagged - nullable)}",
            others=[(tagged.span, "tagged in these versions")],
            helps=[f"write `{tagged.value}` for both"],
        )


@rule(
    "K611",
    offending=clock(tagged("Zone", 0, since="next")),
    corrected=clock(tagged("Zone", 0, since="4.1.1")),
)
def since_release(at: FieldSite) -> Iterator[Finding]:
    """The `since` of a field is not a release, which consists of numbers separated by dots.

    `merge` uses `since` to record the release that added the tagged field, and compares it with other releases.
    """
    if at.decl.since is not None and not RELEASE.fullmatch(at.decl.since.value):
        label = "expected numbers separated by dots, such as `4.1.1`"
        yield at.finding(f"`{at.decl.since.value}` is not a release", at.decl.since.span, label)


def _next_free(struct: Struct) -> str:
    """Return a help text that names the next free tag."""
    taken = {field.tag for field in struct.fields}
    free = next(tag for tag in range(len(taken) + 1) if tag not in taken)
    return f"the next free tag is {free}"
