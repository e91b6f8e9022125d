"""The navigation that all pages share, and the start page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from kwire_guide.pages import Kind, MessagePage, OtherPage, Page, table_page
from kwire_guide.prose import Prose
from kwire_guide.releases import Releases, Upgrade
from kwirec.guide import anchor
from kwirec.versions import runs_text

HERE = (Kind.TABLE, Kind.HEADER)
"""Kinds whose pages are listed on every page. Pages of other kinds are listed only within their own group."""

LONG, NEAR = 24, 6
"""Maximum number of links in a group that is listed in full, and number of links on either side of the current page
in a longer group."""


@dataclass(frozen=True)
class Link:
    """A link to a page in the navigation."""

    path: str
    title: str
    key: int | None = None
    doc: str = ""


@dataclass(frozen=True)
class Links:
    """A group of pages in the navigation. ``folder`` is the folder of the pages, or empty if all pages of their kind
    are in one group. ``alone`` is true if only pages of the group show the group.
    """

    title: str
    kind: Kind
    links: Sequence[Link]
    folder: str = ""
    alone: bool = False

    @property
    def listed(self) -> str:
        """The address of a list of all pages in the group, or of the first page if there is no list."""
        if len(self.links) == 1 or self.kind is Kind.DOCUMENT:
            return self.links[0].path
        return "releases/index.html" if self.kind is Kind.UPGRADE else f"index.html#{anchor(self.title)}"

    @cached_property
    def paths(self) -> set[str]:
        return {link.path for link in self.links}

    def near(self, page: Page) -> Sequence[Link]:
        """Return the links of the group that a page lists. For a long group, these are only the first link and the
        links near the page.
        """
        at = next((number for number, link in enumerate(self.links) if link.path == page.path), 0)
        if len(self.links) <= LONG:
            return self.links
        return [*self.links[:1], *self.links[max(at - NEAR, 1) : at + NEAR + 1]]


@dataclass(frozen=True, kw_only=True)
class Site:
    """Data that all pages share. ``counts`` lists the figures on the start page with their labels. ``release`` is
    shown at the top of each page.
    """

    title: str
    subtitle: str
    about: str
    url: str
    newest: str
    nav: Sequence[Links]
    counts: Sequence[tuple[int, str]] = ()
    release: str = ""

    def of(self, *kinds: Kind) -> list[Links]:
        """Return the groups of these kinds that every page shows."""
        return [links for links in self.nav if links.kind in kinds and not links.alone]

    @cached_property
    def _whole(self) -> Mapping[Kind, Links]:
        """All pages of each kind as a single group, without the groups that only their own pages show."""
        links = {kind: [link for links in self.of(kind) for link in links.links] for kind in Kind}
        return {kind: Links(kind.value, kind, found) for kind, found in links.items() if found}

    def menu(self, page: Page) -> Iterator[tuple[str, Sequence[Links]]]:
        """Yield each kind with the groups that a page lists. Kinds other than the page's own form a single group.
        Pages of the documentation have their own menu.
        """
        if page.kind is Kind.DOCUMENT:
            yield "", [Links(self.title, Kind.TABLE, [Link("index.html", self.title)])]
        for kind in (Kind.DOCUMENT,) if page.kind is Kind.DOCUMENT else Kind:
            if page.kind is kind:
                groups = [links for links in self.nav if links.kind is kind]
                yield kind.value, [links for links in groups if not links.alone or page.path in links.paths]
            elif kind in self._whole:
                yield kind.value, [self._whole[kind]]

    def lists(self, page: Page, links: Links) -> bool:
        """Return whether a page lists all pages of a group instead of a single link to the group."""
        return len(links.links) == 1 or page.path in links.paths or links.kind in HERE

    @cached_property
    def _groups(self) -> Mapping[str, Links]:
        """The group of each page, by path. Groups of folders take precedence."""
        return {link.path: links for links in self.nav for link in links.links}

    def group(self, page: Page) -> Links | None:
        return self._groups.get(page.path)

    @cached_property
    def _turns(self) -> tuple[Mapping[str, Link], Mapping[str, Link]]:
        """The previous and next page of each page, by path."""
        sequences = [[link for links in self.of(Kind.DOCUMENT) for link in links.links]]
        sequences += [[*links.links] for links in self.nav if links.kind is not Kind.DOCUMENT or links.alone]
        pairs = [pair for links in sequences for pair in pairwise(links)]
        return {then.path: first for first, then in pairs}, {first.path: then for first, then in pairs}

    def around(self, page: Page) -> tuple[Link | None, Link | None]:
        """Return the previous and next page in the group or in the documentation."""
        before, after = self._turns
        return before.get(page.path), after.get(page.path)


def navigation(pages: Sequence[Page], documentation: Sequence[Links]) -> list[Links]:
    """Return all pages in groups, in the order of :class:`Kind`. ``documentation`` is already grouped."""
    found: list[Links] = []
    for kind in Kind:
        of_kind = [page for page in pages if page.kind is kind]
        if kind is Kind.DOCUMENT:
            found += documentation
        elif kind is Kind.API:
            folders = dict.fromkeys(sorted(page.folder for page in of_kind if isinstance(page, MessagePage)))
            for folder in folders:
                inside = [page for page in of_kind if isinstance(page, MessagePage) and page.folder == folder]
                one = len(folders) == 1
                found.append(
                    Links(kind.value if one else folder_title(folder), kind, _links(inside), "" if one else folder)
                )
        elif of_kind:
            links = _links(of_kind)
            newest_first = kind is Kind.UPGRADE
            found.append(Links(kind.value, kind, links[::-1] if newest_first else links, alone=newest_first))
    return found


def _links(pages: Sequence[Page]) -> list[Link]:
    return [Link(one.path, one.title, _key(one), one.doc) for one in sorted(pages, key=_order)]


def folder_title(name: str) -> str:
    """Return the title of the group for a folder."""
    return name.replace("_", " ").replace("-", " ").capitalize()


def _key(page: Page) -> int | None:
    return page.key if isinstance(page, MessagePage) else None


def _order(page: Page) -> tuple[str, int, str]:
    """Return a sort key: folder (for internal topics), key and name of messages. Other pages keep their order."""
    if not isinstance(page, MessagePage):
        return ("", 0, "")
    return (page.folder if page.kind is Kind.TOPIC else "", *by_key(page))


def by_key(page: MessagePage) -> tuple[int, str]:
    return (page.key if page.key is not None else 1 << 16, page.title)


# The index


def index_page(
    title: str, start: Prose | None, pages: Sequence[MessagePage], others: Sequence[OtherPage], releases: Releases
) -> OtherPage:
    """Return the start page with a description of the site, three entry points, and a table of all APIs by group. The
    template lists the other groups.
    """
    apis = sorted((page for page in pages if page.kind is Kind.API), key=by_key)
    rows = [_api_row(page, releases) for page in apis]
    groups = sorted({str(row["group"]) for row in rows})
    return table_page(
        "index.html",
        title,
        "index.html.jinja",
        start=start.body if start else "",
        removal=next((page for page in reversed(others) if page.kind is Kind.UPGRADE and _removes(page)), None),
        newest=next((page for page in reversed(others) if page.kind is Kind.UPGRADE), None),
        apis=[(group, folder_title(group), [row for row in rows if row["group"] == group]) for group in groups],
        listeners=sorted({name for page in apis for name in page.messages[0].message.listeners}),
        groups=groups,
        statuses=sorted({str(row["status"]) for row in rows if row["status"]}),
        kinds=Kind,
    )


def _removes(page: OtherPage) -> bool:
    """Return whether the release removed APIs."""
    upgrade = page.content["upgrade"]
    return isinstance(upgrade, Upgrade) and any(one.gone for one in upgrade.changes)


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
