"""K5xx: defaults that have the right type but are invalid or misleading."""

from __future__ import annotations

from collections.abc import Iterator

from kwirec.diagnostics.diagnostic import Finding, Severity
from kwirec.diagnostics.examples import clock, field
from kwirec.frontend.edits import without
from kwirec.ir.sites import FieldSite
from kwirec.validation.rule import rule
from kwirec.versions import in_words


@rule(
    "K501",
    offending=clock(field("Zone", nullableVersions="1+", default="null")),
    corrected=clock(field("Zone", nullableVersions="0+", default="null")),
)
def null_default(at: FieldSite) -> Iterator[Finding]:
    """The default of a field is null, but the field is not nullable in all of its versions.

    A message with this default could not be written in the versions in which the field is not nullable. Fields of
    type `records` are exempt because their default is always null, as in Kafka.
    """
    required = at.live - at.within(at.field.nullable)
    if at.decl.default is None or at.field.default is not None or str(at.field.type) == "records" or not required:
        return
    nullable = at.decl.nullable_versions
    yield at.finding(
        f"the default of `{at.field.name}` is null, but the field is not nullable in {in_words(required)}",
        at.decl.default.span,
        "the default",
        others=[(nullable.span, "nullable only in these versions")] if nullable else (),
        helps=[f"set `nullableVersions` to `{at.field.versions}`, or use another default"],
    )


@rule(
    "K502",
    severity=Severity.NOTE,
    offending=clock(field("Zones", "[]string", nullableVersions="0+", default=None)),
    corrected=clock(field("Zones", "[]string", nullableVersions="0+", default="null")),
    fixable=True,
)
def json_null_default(at: FieldSite) -> Iterator[Finding]:
    """A default is JSON null instead of the string "null".

    Kafka's generator treats JSON null as a missing default, so the field is empty by default, not null.
    """
    if at.decl.default is not None and at.decl.default.value is None:
        nullable = bool(at.live & at.within(at.field.nullable))
        yield at.finding(
            f"the default of `{at.field.name}` is empty, not null" if nullable else "null is not a default",
            at.decl.default.span,
            "JSON null means no default",
            helps=['write `"null"` for null, or remove `default`' if nullable else "remove `default`"],
            fix=() if nullable else without(at.decl.default.span, at.dialect),
        )
