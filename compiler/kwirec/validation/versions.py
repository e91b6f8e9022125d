"""K3xx: version ranges of messages, structs and fields, and how they relate to the valid versions."""

from __future__ import annotations

from collections.abc import Iterator

from kwirec.diagnostics.diagnostic import Finding, Severity
from kwirec.diagnostics.edits import Fix
from kwirec.diagnostics.examples import ABSENT, clock, field, struct
from kwirec.frontend.edits import with_versions, without
from kwirec.frontend.syntax import Dialect, Spanned, StructDecl, ranges
from kwirec.ir.schema import StructType
from kwirec.ir.sites import FieldSite, MessageSite
from kwirec.validation.rule import rule
from kwirec.versions import MAX_VERSION, VersionRange, in_words

MAX_VALID_VERSIONS = 1000
"""The maximum number of valid versions of a message, unless the rule is relaxed."""


@rule(
    "K301",
    offending=clock(field("Zone", versions="2-0")),
    corrected=clock(field("Zone", versions="0-2")),
    fixable=True,
)
def inverted_range(at: MessageSite) -> Iterator[Finding]:
    """The lower bound of a version range is greater than the upper bound.

    `2-0` is an empty range, so a field with this range would never be sent. Kafka's generator accepts the range
    silently.
    """
    for site, attribute, written in at.all_ranges:
        if written.value.is_inverted:
            low, high = written.value.low, written.value.high
            yield site.finding(
                f"`{attribute}` is `{low}-{high}`, an empty range",
                written.span,
                "the bounds are reversed",
                helps=[f"write `{high}-{low}`"],
                fix=with_versions(written, VersionRange(high, low), at.dialect),
            )


@rule(
    "K302",
    offending=clock(validVersions="0+"),
    corrected=clock(validVersions="0-2"),
)
def open_valid_versions(at: MessageSite) -> Iterator[Finding]:
    """The valid versions of a message have no upper bound.

    Peers negotiate the highest version that both support, so the upper bound must be a number. Every change to the
    message raises the bound.
    """
    written = at.decl.valid_versions
    if written is not None and written.value.is_open:
        yield at.finding(
            f"`validVersions` of `{at.message.name}` has no upper bound",
            written.span,
            "the highest version must be a number",
            helps=[f"write `{written.value.low}-N` with the highest defined version for N"],
        )


@rule(
    "K303",
    offending=clock(field("Zone", versions="3+")),
    corrected=clock(field("Zone", versions="2+")),
)
def never_live(at: FieldSite) -> Iterator[Finding]:
    """A field is not in any version in which its struct is used.

    The field would never be sent. Usually the valid versions of the message were not raised, or the enclosing struct
    begins in a later version.
    """
    versions = at.field.versions
    if not at.reachable or at.live or versions.is_inverted or _is_outlived(at, versions):
        return
    written = at.decl.versions or at.decl.tagged_versions
    raised = versions.low > at.message.valid.high
    yield at.finding(
        f"field `{at.field.name}` is not in any version of `{at.struct.name}`",
        written.span if written else at.decl.name.span,
        f"`{at.struct.name}` is used in {in_words(at.reachable)}",
        others=at.valid_label,
        helps=[
            "raise `validVersions`, or correct the field's versions" if raised else "correct the field's versions"
        ],
    )


@rule(
    "K304",
    severity=Severity.WARNING,
    offending=clock(field("Zone", versions="1-3")),
    corrected=clock(field("Zone", versions="1-2")),
)
def beyond_valid_versions(at: MessageSite) -> Iterator[Finding]:
    """A range ends after the highest valid version of the message.

    The range would also apply to future versions, and their authors might not notice. Use an open range such as `1+`
    for all versions from 1.
    """
    top = at.message.valid.high
    for site, attribute, written in at.all_ranges:
        if site is not at:
            reaches = bool(written.value.intersect(at.message.valid))
            if reaches and not written.value.is_open and written.value.high > top:
                yield site.finding(
                    f"`{attribute}` ends with version {written.value.high}, but `{at.message.name}` ends with {top}",
                    written.span,
                    f"there is no version {written.value.high}",
                    others=at.valid_label,
                    helps=[f"write `{VersionRange(written.value.low, top)}` or `{written.value.low}+`"],
                )


@rule(
    "K305",
    offending=clock(field("Zone", versions="0-1", nullableVersions="2+")),
    corrected=clock(field("Zone", versions="0+", nullableVersions="2+")),
)
def idle_range(at: FieldSite) -> Iterator[Finding]:
    """The nullable, tagged or flexible versions of a field do not overlap its versions.

    The range has no effect. A range that overlaps the versions of the field may begin before or end after them.
    """
    if not at.live:
        return
    for attribute, written in ranges(at.decl):
        if not written.value or _is_outlived(at, written.value):
            continue
        if attribute == "taggedVersions" and not at.field.versions.covers(written.value):
            continue  # K606 reports this
        if not at.live & at.within(written.value):
            yield at.finding(
                f"`{attribute}` never applies to `{at.field.name}`",
                written.span,
                f"the field is in {in_words(at.live)}",
                others=[(at.decl.versions.span, "its versions")] if at.decl.versions else (),
                helps=["write `none` or omit it, or correct the versions"],
            )


@rule(
    "K306",
    offending=clock(flexibleVersions="1-2"),
    corrected=clock(flexibleVersions="1+"),
    fixable=True,
)
def flexible_not_open(at: MessageSite) -> Iterator[Finding]:
    """The flexible versions of a message have an upper bound.

    A flexible message stays flexible in later versions. Write `N+`, or `none` if no version is flexible.
    """
    written = at.decl.flexible_versions
    if written is not None and written.value and not written.value.is_open:
        yield at.finding(
            f"`flexibleVersions` of `{at.message.name}` has an upper bound",
            written.span,
            "neither `none` nor open-ended",
            helps=[f"write `{written.value.low}+`"],
            fix=opened(written, at.message.valid, at.dialect),
        )


@rule(
    "K307",
    severity=Severity.WARNING,
    offending=clock(flexibleVersions=ABSENT),
    corrected=clock(flexibleVersions="none"),
)
def missing_flexible_versions(at: MessageSite) -> Iterator[Finding]:
    """A message has no `flexibleVersions`.

    By default, no version is flexible. This is rarely intended for a new message, because only flexible versions have
    tagged fields. Definitions before Kafka 2.4 do not have the attribute.
    """
    if at.decl.flexible_versions is None and at.message.valid:
        yield at.finding(
            f"message `{at.message.name}` has no `flexibleVersions`",
            at.decl.name.span,
            "no version is flexible by default",
            helps=["add `flexibleVersions`: `N+`, or `none` if no version is flexible"],
        )


@rule(
    "K308",
    severity=Severity.WARNING,
    offending=clock(deprecatedVersions="0-3"),
    corrected=clock(deprecatedVersions="0-1"),
    fixable=True,
)
def deprecated_not_valid(at: MessageSite) -> Iterator[Finding]:
    """The deprecated versions of a message include no valid version, or end after the highest valid version.

    Deprecation warns users before a version is removed. A bound above the highest valid version is a mistake. A range
    without valid versions is usually left over from a removal.
    """
    written, valid = at.decl.deprecated_versions, at.message.valid
    if written is None or not written.value or not valid:
        return
    outside = not written.value.intersect(valid)
    if outside or (written.value.high > valid.high and not written.value.is_open):
        yield at.finding(
            f"`deprecatedVersions` of `{at.message.name}` includes versions that are not valid",
            written.span,
            "none of them is valid" if outside else f"there is no version {written.value.high}",
            others=at.valid_label,
            helps=["remove `deprecatedVersions`" if outside else f"write `{written.value.intersect(valid)}`"],
            fix=(
                without(written.span, at.dialect)
                if outside
                else with_versions(written, written.value.intersect(valid), at.dialect)
            ),
        )


@rule(
    "K309",
    offending=clock(
        field("Start", "Time"),
        commonStructs=[struct("Time", field("Millis", "int64"), versions="1+")],
    ),
    corrected=clock(
        field("Start", "Time", versions="1+"),
        commonStructs=[struct("Time", field("Millis", "int64"), versions="1+")],
    ),
)
def struct_not_in_version(at: FieldSite) -> Iterator[Finding]:
    """A field uses a common struct in versions in which the struct does not exist.

    Kafka's generated classes fail at run time when they read or write the struct in these versions.
    """
    if not isinstance(at.base, StructType) or not (used := at.message.struct(at.base.name)).common:
        return
    missing = at.live - at.within(used.versions)
    if missing and not used.versions.is_inverted:
        written = used.decl.versions if isinstance(used.decl, StructDecl) else None
        yield at.finding(
            f"field `{at.field.name}` uses struct `{used.name}` in {in_words(missing)}, where it does not exist",
            at.decl.type.name_span,
            f"needed in {in_words(at.live)}",
            others=[(written.span, f"`{used.name}` exists in these versions")] if written else (),
            helps=["widen the versions of the struct, or narrow the versions of the field"],
        )


@rule(
    "K310",
    severity=Severity.NOTE,
    offending=clock(field("Zone", versions="0-1"), validVersions="2-3"),
    corrected=clock(validVersions="2-3"),
    fixable=True,
)
def outlived(at: FieldSite) -> Iterator[Finding]:
    """The versions of a field, or its nullable versions, end before the lowest valid version of the message.

    Such ranges refer to removed versions and have no effect. Kafka's definitions contain some of them.
    """
    for attribute, written in ranges(at.decl):
        if at.reachable and _is_outlived(at, written.value):
            yield at.finding(
                f"`{attribute}` of `{at.field.name}` ends before the first version of `{at.message.name}`",
                written.span,
                f"the lowest valid version is {at.message.valid.low}",
                others=at.valid_label,
                helps=["remove the field" if attribute == "versions" else f"remove `{attribute}`"],
                fix=without(written.span, at.dialect) if attribute == "nullableVersions" else (),
            )
            return


@rule(
    "K311",
    relaxable=True,
    offending=clock(validVersions="0-32766"),
    corrected=clock(validVersions="0-18"),
)
def many_versions(at: MessageSite) -> Iterator[Finding]:
    """A message has more than 1000 valid versions.

    Each version has its own layout, so thousands of versions take minutes to compile. Kafka's longest range has 19
    versions.
    """
    written, count = at.decl.valid_versions, len(at.message.valid)
    if written is not None and count > MAX_VALID_VERSIONS and not at.message.valid.is_open:
        yield at.finding(
            f"message `{at.message.name}` has {count} versions",
            written.span,
            f"more than {MAX_VALID_VERSIONS}",
            helps=["end with the highest defined version"],
        )


def _is_outlived(at: FieldSite, versions: VersionRange) -> bool:
    return bool(versions) and versions.high < at.message.valid.low


def opened(written: Spanned[VersionRange], valid: VersionRange, dialect: Dialect) -> Fix:
    """Return the fix that removes the upper bound of a range, or no fix if a valid version is above this bound."""
    is_same = not valid.is_open and written.value.high >= valid.high
    return with_versions(written, VersionRange(written.value.low, MAX_VERSION), dialect) if is_same else ()
