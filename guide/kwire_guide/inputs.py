"""Reads the inputs of a guide: definitions, the files next to them, and documentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kwire_guide.api_errors import ApiErrors, read_api_errors
from kwire_guide.chapters import Chapter, read_chapters, read_start
from kwire_guide.documents import Document, read_documents
from kwire_guide.examples import Recorded, read_examples
from kwire_guide.kips import Kips, ReleaseKips, read_kips, read_release_kips
from kwire_guide.prose import Prose
from kwire_guide.synonyms import Synonyms, read_synonyms
from kwirec.driver import Loaded
from kwirec.emitters.compat import history_of
from kwirec.frontend import ErrorDecl
from kwirec.ir.schema import Schema
from kwirec.lowering import Layouts, lower
from kwirec.merge.history import History


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The inputs of a guide. ``package`` is the name of the generated package, or empty if pages show no Python.

    ``url`` is the address of the published site, or empty if unknown. ``release`` is shown at the top of each page.
    """

    schema: Schema
    layouts: Layouts
    history: History
    errors: Sequence[ErrorDecl]
    api_errors: ApiErrors
    recorded: Sequence[Recorded]
    start: Prose | None
    chapters: Sequence[Chapter]
    synonyms: Synonyms
    documents: Sequence[Document]
    kips: Kips
    release_kips: ReleaseKips
    title: str
    package: str
    url: str = ""
    release: str = ""


def read_inputs(
    loaded: Loaded,
    paths: Sequence[Path],
    *,
    title: str,
    package: str,
    docs: Sequence[Path] = (),
    url: str = "",
    release: str = "",
) -> Inputs:
    """Read the documentation and the files next to the definitions. Raise ``OSError`` or ``ValueError`` with the name
    of an invalid file."""
    enums = sorted(loaded.schema.enums, key=lambda enum: enum.name)
    return Inputs(
        schema=replace(loaded.schema, enums=tuple(enums)),
        layouts=lower(loaded.schema),
        history=history_of(paths),
        errors=loaded.errors,
        api_errors=read_api_errors(paths, loaded.errors),
        recorded=read_examples(paths),
        kips=read_kips(paths),
        release_kips=read_release_kips(paths),
        start=read_start(paths),
        chapters=read_chapters(paths),
        synonyms=read_synonyms(paths),
        documents=read_documents(docs),
        title=title,
        package=package,
        url=url,
        release=release,
    )
