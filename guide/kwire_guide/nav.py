"""The navigation that all pages share, and the index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from kwire_guide.pages import Kind, MessagePage, OtherPage, Page, table_page
from kwire_guide.releases import Releases
from kwirec.guide import anchor
from kwirec.versions import runs_text

OPEN = (Kind.API, Kind.TABLE)
"""Groups that are open on all pages; the other groups are open only on their own pages."""

ELSEWHERE = {
    Kind.TOPIC: "index.html#{}",
    Kind.METADATA: "index.html#{}",
    Kind.DATA: "index.html#{}",
    Kind.UPGRADE: "releases/index.html",
}
"""Groups of many pages, which only their own pages list; other pages link to the list."""


@dataclass(frozen=True)
class Link:
    """A page in the navigation."""

    path: str
    title: str
    key: int | None = None
    doc: str = ""


@dataclass(frozen=True)
class Links:
    """A group of pages in the navigation; ``alone`` if only its own pages show it."""

    title: str
    kind: Kind
    links: Sequence[Link]
    alone: bool = False

    @property
    def open(self) -> bool:
        return self.kind in OPEN

    @property
    def listed(self) -> str:
        """The place of the list of pages, if not on every page."""
        return ELSEWHERE.get(self.kind, "").format(anchor(self.title))

    @property
    def paths(self) -> set[str]:
        return {link.path for link in self.links}


@dataclass(frozen=True, kw_only=True)
class Site:
    """Data that all pages share."""

    title: str
    subtitle: str
    about: str
    newest: str
    lines: Sequence[tuple[str, int]]
    nav: Sequence[Links]

    def of(self, *kinds: Kind) -> list[Links]:
        """Return the groups of these kinds, which every page shows."""
        return [links for links in self.nav if links.kind in kinds and not links.alone]


def navigation(pages: Sequence[Page]) -> list[Links]:
    """Return all pages in groups, in the order of the kinds."""
    found: list[Links] = []
    for kind in Kind:
        of_kind = [page for page in pages if page.kind is kind]
        if kind is Kind.DOCUMENT:
            found += _documents([page for page in of_kind if isinstance(page, OtherPage)])
        elif of_kind:
            links = [Link(one.path, one.title, _key(one), one.doc) for one in sorted(of_kind, key=_order)]
            found.append(Links(kind.value, kind, links[::-1] if kind is Kind.UPGRADE else links))
    return found


def _documents(pages: Sequence[OtherPage]) -> Iterator[Links]:
    """Yield the pages of the top and of its folders, and each folder below with its first page."""
    below: dict[str, list[Link]] = {}
    top: list[Link] = []
    for page in pages:
        link = Link(page.path, page.title, doc=page.doc)
        if not page.folder or page.folder not in below:
            top.append(link)
        if page.folder:
            below.setdefault(page.folder, []).append(link)
    if top:
        yield Links(Kind.DOCUMENT.value, Kind.DOCUMENT, top)
    for folder, links in below.items():
        title = PurePosixPath(folder).name.replace("_", " ").replace("-", " ").capitalize()
        yield Links(title, Kind.DOCUMENT, links, alone=True)


def _key(page: Page) -> int | None:
    return page.key if isinstance(page, MessagePage) else None


def _order(page: Page) -> tuple[str, int, str]:
    """Sort messages by folder, key and name, and keep the order of other pages."""
    if not isinstance(page, MessagePage):
        return ("", 0, "")
    return (page.folder if page.kind is Kind.TOPIC else "", *by_key(page))


def by_key(page: MessagePage) -> tuple[int, str]:
    return (page.key if page.key is not None else 1 << 16, page.title)


# The index


def index_page(title: str, pages: Sequence[MessagePage], releases: Releases) -> OtherPage:
    """Return the table of all APIs, with the choices of its filters. The template lists the other groups."""
    apis = sorted((page for page in pages if page.kind is Kind.API), key=by_key)
    rows = [_api_row(page, releases) for page in apis]
    return table_page(
        "index.html",
        title,
        "index.html.jinja",
        apis=rows,
        listeners=sorted({name for page in apis for name in page.messages[0].message.listeners}),
        groups=sorted({str(row["group"]) for row in rows}),
        statuses=sorted({str(row["status"]) for row in rows if row["status"]}),
        kinds=Kind,
    )


def _api_row(page: MessagePage, releases: Releases) -> dict[str, object]:
    view = page.messages[0]
    message = view.message
    flexible = message.flexible.intersect(message.valid)
    accepted = [one.version for one in view.versions if one.status in ("stable", "deprecated")]
    statuses = {one.status for one in view.versions}
    having = [name for name in releases.names if (message.api_key or 0) in releases.history.releases[name]]
    status = next((one for one in ("stable", "deprecated", "unstable", "removed") if one in statuses), "")
    return {
        "key": message.api_key,
        "name": page.title,
        "path": page.path,
        "versions": str(message.valid),
        "flexible": f"{flexible.low}+" if flexible else "",
        "now": runs_text(accepted),
        "since": having[0] if having and message.api_key is not None else "",
        "status": status,
        "group": page.folder,
        "listeners": message.listeners,
        "doc": message.doc,
    }
