"""Pages that are tables: types, errors and enums."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from kwire_guide.pages import MessagePage, OtherPage, table_page
from kwire_guide.types import type_rows, varint_rows
from kwirec.frontend import ErrorDecl
from kwirec.ir.schema import Schema


def table_pages(
    schema: Schema, errors: Sequence[ErrorDecl], pages: Sequence[MessagePage], releases: Container[str] = ()
) -> Iterator[OtherPage]:
    """Yield the page of types, and the pages of errors and enums if any exist. ``releases`` have pages."""
    types, varints = list(type_rows()), list(varint_rows())
    yield table_page("types.html", "Types", "types.html.jinja", types=types, varints=varints)
    if errors:
        yield table_page(
            "errors.html",
            "Errors",
            "errors.html.jinja",
            errors=list(_errors(errors, pages)),
            has_since=any(error.since for error in errors),
            releases=releases,
        )
    if schema.enums:
        yield table_page("enums.html", "Enums", "enums.html.jinja", enums=schema.enums, uses=_uses(pages))


def _uses(pages: Sequence[MessagePage]) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return the fields of every enum, each with its link."""
    found: dict[str, list[tuple[str, str]]] = {}
    for page in pages:
        for view in page.messages:
            for one in view.fields:
                if one.enum:
                    link = f"{page.path}#{view.part}.{one.place}"
                    found.setdefault(one.enum.name, []).append((f"{view.name}.{one.place}", link))
    return found


def _errors(errors: Iterable[ErrorDecl], pages: Sequence[MessagePage]) -> Iterator[dict[str, object]]:
    """Yield every error, with the APIs that answer with it: those that list it, and those whose examples have it."""
    seen: dict[str, dict[str, str]] = {}
    for page in pages:
        for listed in page.errors:
            seen.setdefault(str(listed.code), {})[page.title] = f"{page.path}#errors"
        for view in page.messages:
            for layout in view.layouts:
                if layout.example.source:
                    for span in layout.example.spans:
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
