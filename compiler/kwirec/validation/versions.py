"""K3xx: version ranges of messages, structs and fields, each by itself and against the message's own."""

from __future__ import annotations

from collections.abc import Iterator

from kwirec.diagnostics.diagnostic import Finding, Severity
from kwirec.frontend.syntax import StructDecl
from kwirec.ir.schema import StructType
from kwirec.ir.sites import FieldSite, MessageSite
from kwirec.validation.examples import ABSENT, clock, field, struct
from kwirec.validation.rule import on_field, on_message
from kwirec.versions import VersionRange, in_words

MAX_VALID_VERSIONS = 1000
"""So many versions of one message are compiled without asking."""


@on_message(
    "K301",
    "inverted-range",
    offending=clock(field("Zone", versions="2-0")),
    corrected=clock(field("Zone", versions="0-2")),
)
def inverted_range(at: MessageSite) -> Iterator[Finding]:
    """A range of versions has its bounds the wrong way round.

    `2-0` holds no version at all: a field with it would never be sent. Kafka's generator accepts it silently.
    """
    for site, attribute, written in at.all_ranges:
        if written.value.is_inverted:
            low, high = written.value.low, written.value.high
            yield site.finding(
                f"`{attribute}` is `{low}-{high}`, which holds no version",
                written.span,
                "the bounds are the wrong way round",
                helps=[f"write `{high}-{low}`"],
            )


@on_message(
    "K302",
    "open-valid-versions",
    offending=clock(validVersions="0+"),
    corrected=clock(validVersions="0-2"),
)
def open_valid_versions(at: MessageSite) -> Iterator[Finding]:
    """The valid versions of a message have no upper end.

    Peers negotiate the highest version both know, so the highest has to be a number. It is raised with every
    change to the message.
    """
    written = at.decl.valid_versions
    if written is not None and written.value.is_open:
        yield at.finding(
            f"`validVersions` of `{at.message.name}` has no upper end",
            written.span,
            "the highest version has to be a number",
            helps=[f"write `{written.value.low}-N` with N the highest version that is defined"],
        )


@on_field(
    "K303",
    "never-live",
    offending=clock(field("Zone", versions="3+")),
    corrected=clock(field("Zone", versions="2+")),
)
def never_live(at: FieldSite) -> Iterator[Finding]:
    """The versions of a field never meet the versions in which its struct is used.

    Such a field is never sent. Usually the valid versions of the message were not raised with it, or the struct
    around it begins later than somebody thought.
    """
    versions = at.field.versions
    if not at.reachable or at.live or versions.is_inverted or _is_outlived(at, versions):
        return
    written = at.decl.versions or at.decl.tagged_versions
    raised = versions.low > at.message.valid.high
    yield at.finding(
        f"field `{at.field.name}` is in no version of `{at.struct.name}`",
        written.span if written else at.decl.name.span,
        f"`{at.struct.name}` is used in {in_words(at.reachable)}",
        others=at.valid_label,
        helps=[
            "raise `validVersions`, or correct the field's versions" if raised else "correct the field's versions"
        ],
    )


@on_message(
    "K304",
    "beyond-valid-versions",
    severity=Severity.WARNING,
    relaxable=True,
    offending=clock(field("Zone", versions="1-3")),
    corrected=clock(field("Zone", versions="1-2")),
)
def beyond_valid_versions(at: MessageSite) -> Iterator[Finding]:
    """A range ends with a version that is higher than the highest valid version of the message.

    It states what becomes of a version that does not exist yet. Whoever adds that version will not expect an
    answer to be there. A range without an end, `1+`, is the way to say: until further notice.
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


@on_field(
    "K305",
    "idle-range",
    offending=clock(field("Zone", versions="0-1", nullableVersions="2+")),
    corrected=clock(field("Zone", versions="0+", nullableVersions="2+")),
)
def idle_range(at: FieldSite) -> Iterator[Finding]:
    """The nullable, tagged or flexible versions of a field never meet the versions in which the field is there.

    The range has no effect, although somebody thought it would. Beginning earlier than the field, or going on
    longer, is fine.
    """
    if not at.live:
        return
    for attribute, written in at.ranges:
        if not written.value or _is_outlived(at, written.value):
            continue
        if attribute == "taggedVersions" and not at.field.versions.covers(written.value):
            continue  # that is K606
        if not at.live & at.within(written.value):
            yield at.finding(
                f"`{attribute}` never applies to `{at.field.name}`",
                written.span,
                f"the field is in {in_words(at.live)}",
                others=[(at.decl.versions.span, "its versions")] if at.decl.versions else (),
                helps=["write `none` or leave it out, or correct the versions"],
            )


@on_message(
    "K306",
    "flexible-not-open",
    offending=clock(flexibleVersions="1-2"),
    corrected=clock(flexibleVersions="1+"),
)
def flexible_not_open(at: MessageSite) -> Iterator[Finding]:
    """The flexible versions of a message have an upper end.

    A message that became flexible stays flexible: write `N+`, or `none` if no version is.
    """
    written = at.decl.flexible_versions
    if written is not None and written.value and not written.value.is_open:
        yield at.finding(
            f"`flexibleVersions` of `{at.message.name}` has an upper end",
            written.span,
            "neither `none` nor open-ended",
            helps=[f"write `{written.value.low}+`"],
        )


@on_message(
    "K307",
    "missing-flexible-versions",
    severity=Severity.WARNING,
    relaxable=True,
    offending=clock(flexibleVersions=ABSENT),
    corrected=clock(flexibleVersions="none"),
)
def missing_flexible_versions(at: MessageSite) -> Iterator[Finding]:
    """A message does not say which of its versions are flexible.

    Without the attribute none is, which is seldom meant for a new message: only flexible versions carry tagged
    fields. Definitions older than Kafka 2.4 do not have it.
    """
    if at.decl.flexible_versions is None and at.message.valid:
        yield at.finding(
            f"message `{at.message.name}` has no `flexibleVersions`",
            at.decl.name.span,
            "taken as never flexible",
            helps=["add `flexibleVersions`: `N+`, or `none` if no version is flexible"],
        )


@on_message(
    "K308",
    "deprecated-not-valid",
    severity=Severity.WARNING,
    relaxable=True,
    offending=clock(deprecatedVersions="0-3"),
    corrected=clock(deprecatedVersions="0-1"),
)
def deprecated_not_valid(at: MessageSite) -> Iterator[Finding]:
    """Versions are deprecated that the message does not have.

    Deprecation warns users of a version before it is removed. Versions above the highest valid one cannot be
    meant; a range that holds no valid version is left over from a removal.
    """
    written, valid = at.decl.deprecated_versions, at.message.valid
    if written is None or not written.value or not valid:
        return
    outside = not written.value.intersect(valid)
    if outside or (written.value.high > valid.high and not written.value.is_open):
        yield at.finding(
            f"`deprecatedVersions` of `{at.message.name}` names versions that are not valid",
            written.span,
            "none of them is valid" if outside else f"there is no version {written.value.high}",
            others=at.valid_label,
            helps=["remove `deprecatedVersions`" if outside else f"write `{written.value.intersect(valid)}`"],
        )


@on_field(
    "K309",
    "struct-not-in-version",
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
    """A field uses a common struct in versions that the struct does not have.

    Kafka's generated classes refuse to read or write the struct there, at run time.
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
            others=[(written.span, f"`{used.name}` exists in these")] if written else (),
            helps=["widen the versions of the struct, or narrow those of the field"],
        )


@on_field(
    "K310",
    "outlived",
    severity=Severity.NOTE,
    relaxable=True,
    offending=clock(field("Zone", versions="0-1"), validVersions="2-3"),
    corrected=clock(validVersions="2-3"),
)
def outlived(at: FieldSite) -> Iterator[Finding]:
    """The versions of a field, or its nullable versions, ended before the lowest valid version of the message.

    They belong to versions that were removed and have no effect any more. Kafka leaves such remains now and then.
    """
    for attribute, written in at.ranges:
        if at.reachable and _is_outlived(at, written.value):
            yield at.finding(
                f"`{attribute}` of `{at.field.name}` ended before `{at.message.name}` begins",
                written.span,
                f"the lowest valid version is {at.message.valid.low}",
                others=at.valid_label,
                helps=["remove the field" if attribute == "versions" else f"remove `{attribute}`"],
            )
            return


@on_message(
    "K311",
    "many-versions",
    relaxable=True,
    offending=clock(validVersions="0-32766"),
    corrected=clock(validVersions="0-18"),
)
def many_versions(at: MessageSite) -> Iterator[Finding]:
    """A message has more than 1000 valid versions.

    Every version is laid out by itself and checked against all fields: thousands take minutes. Kafka's longest
    range has 19 versions, so this is usually a slip for `0+`, which `validVersions` may not be.
    """
    written, count = at.decl.valid_versions, len(at.message.valid)
    if written is not None and count > MAX_VALID_VERSIONS and not at.message.valid.is_open:
        yield at.finding(
            f"message `{at.message.name}` has {count} versions",
            written.span,
            f"more than {MAX_VALID_VERSIONS}",
            helps=["end with the highest version that is defined"],
        )


def _is_outlived(at: FieldSite, versions: VersionRange) -> bool:
    return bool(versions) and versions.high < at.message.valid.low


RULES = (
    inverted_range,
    open_valid_versions,
    never_live,
    beyond_valid_versions,
    idle_range,
    flexible_not_open,
    missing_flexible_versions,
    deprecated_not_valid,
    struct_not_in_version,
    outlived,
    many_versions,
)
