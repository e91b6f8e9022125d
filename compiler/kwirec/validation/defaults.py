"""K5xx: defaults that have the right type but cannot be, or do not mean what they look like."""

from __future__ import annotations

from collections.abc import Iterator

from kwirec.diagnostics.diagnostic import Finding, Severity
from kwirec.ir.sites import FieldSite
from kwirec.validation.examples import clock, field
from kwirec.validation.rule import on_field
from kwirec.versions import in_words


@on_field(
    "K501",
    "null-default",
    offending=clock(field("Zone", nullableVersions="1+", default="null")),
    corrected=clock(field("Zone", nullableVersions="0+", default="null")),
)
def null_default(at: FieldSite) -> Iterator[Finding]:
    """The default of a field is null although it cannot be null in all of its versions.

    A message that was not filled in could not be written in those versions. Records are exempt: their default is
    always null, in Kafka too.
    """
    required = at.live - at.within(at.field.nullable)
    if at.decl.default is None or at.field.default is not None or str(at.field.type) == "records" or not required:
        return
    nullable = at.decl.nullable_versions
    yield at.finding(
        f"the default of `{at.field.name}` is null, but it is not nullable in {in_words(required)}",
        at.decl.default.span,
        "null by default",
        others=[(nullable.span, "nullable in these versions only")] if nullable else (),
        helps=[f"make `nullableVersions` {at.field.versions}, or choose another default"],
    )


@on_field(
    "K502",
    "json-null-default",
    severity=Severity.NOTE,
    relaxable=True,
    offending=clock(field("Zones", "[]string", nullableVersions="0+", default=None)),
    corrected=clock(field("Zones", "[]string", nullableVersions="0+", default="null")),
)
def json_null_default(at: FieldSite) -> Iterator[Finding]:
    """A default is the JSON word null, without quotes.

    Kafka's generator reads it as no default at all: the field is empty by default, not null. The null default is
    the string "null".
    """
    if at.decl.default is not None and at.decl.default.value is None:
        nullable = bool(at.live & at.within(at.field.nullable))
        yield at.finding(
            f"the default of `{at.field.name}` is not null but empty" if nullable else "null is no default",
            at.decl.default.span,
            "the same as no default",
            helps=['write `"null"` for null, or remove `default`' if nullable else "remove `default`"],
        )


RULES = (null_default, json_null_default)
