"""Pages for chapters and documentation, with tables of contents, and the navigation groups of the documentation.

The `README.md` with the most links to other documents is the map of the documentation. The headings of the map
become the groups, and its links determine the order of the pages.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from pathlib import PurePosixPath
from posixpath import normpath

from kwire_guide.chapters import Chapter
from kwire_guide.documents import Document
from kwire_guide.nav import Link, Links, folder_title
from kwire_guide.pages import Kind, OtherPage
from kwire_guide.prose import Heading

MAX_CONTENTS = 40
"""Maximum number of headings in a table of contents. If a page has more, only second-level headings are listed."""


def prose_pages(chapters: Sequence[Chapter], documents: Sequence[Document]) -> Iterator[OtherPage]:
    """Yield a page for each chapter and document."""
    texts: tuple[Chapter | Document, ...] = (*chapters, *documents)
    for text in texts:
        heading, end, body = text.prose.body.partition("</h1>\n")
        yield OtherPage(
            path=text.path,
            title=text.prose.title,
            kind=Kind.DOCUMENT if isinstance(text, Document) else Kind.CHAPTER,
            doc=text.prose.about,
            template="prose.html.jinja",
            content={"first": heading + end, "body": body, "contents": contents(text.prose.headings)},
        )


def contents(headings: Sequence[Heading]) -> Sequence[Heading]:
    """Return the headings for the table of contents, or an empty sequence if there is only one heading."""
    listed = [heading for heading in headings if heading.level <= 3]
    if len(listed) > MAX_CONTENTS:
        listed = [heading for heading in listed if heading.level == 2]
    return listed if len(listed) > 1 else ()


def documentation(documents: Sequence[Document]) -> list[Links]:
    """Return the groups of the documentation: the overview, the groups of the map, the other top-level pages, and
    each folder with pages that are not in the map.
    """
    pages = {one.path: Link(one.path, one.prose.title, doc=one.prose.about) for one in documents}
    top = [one for one in documents if not one.folder]
    starts = [one for one in top if PurePosixPath(one.path).name == "README.html"]
    mapped = max((list(_map(one, pages)) for one in starts), key=_count, default=[])
    listed: set[str] = set()
    groups: list[tuple[str, list[str]]] = []
    for title, paths in [("Overview", [one.path for one in starts]), *mapped] if _count(mapped) else ():
        groups.append((title, [path for path in paths if path not in listed]))
        listed.update(paths)
    groups.append(("More" if listed else "", [one.path for one in top if one.path not in listed]))
    folders: dict[str, list[str]] = {}
    for one in documents:
        if one.folder:
            folders.setdefault(one.folder, []).append(one.path)
    shown = [(title, paths) for title, paths in groups if paths]
    return [
        *(
            Links(title or Kind.DOCUMENT.value, Kind.DOCUMENT, [pages[path] for path in paths], title)
            for title, paths in shown
        ),
        *(
            Links(name, Kind.DOCUMENT, [pages[path] for path in paths], name, alone=True)
            for folder, paths in folders.items()
            if not listed.issuperset(paths)
            for name in [folder_title(PurePosixPath(folder).name)]
        ),
    ]


def _map(document: Document, pages: Container[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each top-level heading, truncated at a colon, with the pages to which its section links."""
    folder = PurePosixPath(document.path).parent
    found: dict[str, dict[str, None]] = {}
    title = ""
    for heading in document.prose.headings:
        title = heading.title.partition(":")[0] if heading.level == 2 or not title else title
        links = (normpath(f"{folder}/{link.partition('#')[0]}") for link in heading.links)
        found.setdefault(title, {}).update(dict.fromkeys(link for link in links if link in pages))
    yield from ((title, list(paths)) for title, paths in found.items())


def _count(groups: Sequence[tuple[str, Sequence[str]]]) -> int:
    return sum(len(paths) for _, paths in groups)
