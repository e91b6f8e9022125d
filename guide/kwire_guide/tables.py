"""Pages with tables of types, errors and enums."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from kwire_guide.pages import MessagePage, OtherPage, table_page
from kwire_guide.types import type_rows, varint_rows
from kwirec.frontend import ErrorDecl
from kwirec.ir.schema import Schema
from kwirec.merge.history import release_key

NOTES = (
    ("formerly", "formerly …", "An earlier name of the field. The bytes did not change."),
    ("entity", "id of …, name of …", "What the value identifies. Fields with the same note can be compared."),
    ("ignorable", "ignorable", "A writer leaves the field out of versions that lack it, whatever its value. "
     "Without this note, a value other than the default cannot be written in such versions."),
    ("map-key", "map key", "Each element of the array has a different value in this field."),
    ("since", "since 3.7.0", "The first release that knows this tagged field. Peers of older releases skip it."),
    ("tag", "tag 0", "The field is in the tagged fields at the end of its struct, if its value is not the default."),
    ("null", "null since 12", "Older versions cannot write null for this field."),
)  # fmt: skip
"""The anchor, text and meaning of each note on a field."""


def table_pages(
    schema: Schema, errors: Sequence[ErrorDecl], pages: Sequence[MessagePage], releases: Container[str] = ()
) -> Iterator[OtherPage]:
    """Yield the page of types, and the pages of errors and enums if any exist. ``releases`` contains the
    releases that have pages.
    """
    types, varints = list(type_rows()), list(varint_rows())
    yield table_page("types.html", "Types", "types.html.jinja", types=types, varints=varints, notes=NOTES)
    if errors:
        yield table_page(
            "errors.html",
            "Errors",
            "errors.html.jinja",
            errors=list(_errors(errors, pages)),
            has_since=any(error.since for error in errors),
            since=sorted({error.since.value for error in errors if error.since}, key=release_key),
            releases=releases,
        )
    if schema.enums:
        yield table_page("enums.html", "Enums", "enums.html.jinja", enums=schema.enums, uses=uses(pages))


def uses(pages: Sequence[MessagePage]) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return the fields that use each enum, with their links."""
    found: dict[str, list[tuple[str, str]]] = {}
    for page in pages:
        for view in page.messages:
            for one in view.fields:
                if one.enum:
                    link = f"{page.path}#{view.part}.{one.place}"
                    found.setdefault(one.enum.name, []).append((f"{view.name}.{one.place}", link))
    return found


def _errors(errors: Iterable[ErrorDecl], pages: Sequence[MessagePage]) -> Iterator[dict[str, object]]:
    """Yield every error, with the APIs that list the error or return it in an example."""
    seen: dict[str, dict[str, str]] = {}
    for page in pages:
        for listed in page.errors:
            seen.setdefault(str(listed.code), {})[page.title] = f"{page.path}#errors"
        for view in page.messages:
            for example in view.distinct_examples:
                if example.source:
                    for span in example.spans:
                        if span.name.endswith("error_code") and span.kind == "int16":
                            seen.setdefault(str(span.value), {}).setdefault(page.title, page.path)
    for one in sorted(errors, key=lambda error: error.code.value):
        yield {
            "code": one.code.value,
            "name": one.name.value,
            "retriable": one.retriable.value,
            "since": one.since.value if one.since else "",
            "aliases": [alias.value for alias in one.aliases],
            "about": one.about.value,
            "seen": list(seen.get(str(one.code.value), {}).items()) if one.code.value else [],
        }
