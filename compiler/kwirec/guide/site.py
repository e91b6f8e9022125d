"""All pages of the guide as artifacts. Input is what the compiler has: schema, layouts, history, errors, examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from kwirec.emitters.compat_matrix import message_matrix
from kwirec.emitters.compat_pages import negotiation_table
from kwirec.emitters.environment import Artifact
from kwirec.emitters.modules import ModuleGroup, group_modules
from kwirec.emitters.release_facts import negotiations
from kwirec.frontend import ErrorDecl
from kwirec.guide.assets import assets
from kwirec.guide.chapters import Chapter
from kwirec.guide.examples import Examples, Recorded
from kwirec.guide.kips import Kips
from kwirec.guide.links import page_of
from kwirec.guide.messages import MessageView, message_view
from kwirec.guide.page import render
from kwirec.guide.release_pages import release_pages
from kwirec.guide.releases import Releases
from kwirec.guide.search import search_script
from kwirec.guide.types import type_rows, varint_rows
from kwirec.ir.schema import Message, MessageKind, Schema
from kwirec.lowering import Layouts
from kwirec.merge.history import History
from kwirec.versions import runs_text

Progress = Callable[[int, int], None]
"""Called with the number of finished pages and of all pages."""

SECTIONS = {
    "api": "APIs",
    "coordinator": "Internal topics",
    "metadata": "Metadata log",
    "data": "Data in records and files",
    "headers": "Headers",
}
"""The groups of pages, by the folder of their modules."""


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What a guide is made from. ``package`` is the name of the generated package; empty if Python is not shown."""

    schema: Schema
    layouts: Layouts
    history: History
    errors: Sequence[ErrorDecl]
    recorded: Sequence[Recorded]
    chapters: Sequence[Chapter]
    kips: Kips
    title: str
    package: str


@dataclass(frozen=True)
class Link:
    """A page in the navigation."""

    path: str
    title: str
    key: int | None = None
    doc: str = ""


@dataclass(frozen=True)
class Links:
    """A group of pages in the navigation, which is ``open`` on all pages, or only on its own."""

    title: str
    links: Sequence[Link]
    open: bool = False

    @property
    def paths(self) -> set[str]:
        return {link.path for link in self.links}


@dataclass(frozen=True, kw_only=True)
class Site:
    """What all pages share."""

    title: str
    subtitle: str
    about: str
    newest: str
    lines: Sequence[tuple[str, int]]
    nav: Sequence[Links]
    chapters: Sequence[Link]


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page. ``path`` is relative to the site."""

    path: str
    title: str

    @property
    def root(self) -> str:
        """The way from the page to the root of the site."""
        return "../" * self.path.count("/")


@dataclass(frozen=True, kw_only=True)
class MessagePage(Page):
    """The messages of one module: request and response, key and value, or one message."""

    group: ModuleGroup
    messages: Sequence[MessageView]
    kips: Kips
    negotiation: Sequence[Sequence[str]] = ()
    package: str = ""

    @property
    def module(self) -> str:
        return self.group.path

    @property
    def key(self) -> int | None:
        return next((one.message.api_key for one in self.messages), None)

    @property
    def chips(self) -> Iterator[str]:
        first = self.messages[0].message
        if first.api_key is not None:
            yield f"{'API key' if first.is_rpc else 'type'} {first.api_key}"
        yield from first.listeners
        if not first.is_rpc and first.kind is not MessageKind.HEADER and self.folder:
            yield self.folder
        aliases = dict.fromkeys(alias for one in self.messages for alias in one.message.aliases)
        yield from (f"was {alias}" for alias in aliases)

    @property
    def folder(self) -> str:
        """The folder of the definitions, which groups what belongs together."""
        path = self.messages[0].message.decl.span.source.name.replace("\\", "/")
        return PurePosixPath(path).parent.name.replace("_", " ")

    def proposals(self, message: MessageView, version: int) -> Sequence[int]:
        """The numbers of the KIPs that a version is of."""
        return self.kips.get(message.name, {}).get(version, ())


@dataclass(frozen=True, kw_only=True)
class OtherPage(Page):
    """A page with its own template; ``content`` are its variables."""

    template: str
    content: Mapping[str, object] = field(default_factory=dict)

    def __getattr__(self, name: str) -> object:
        try:
            return self.content[name]
        except KeyError:
            raise AttributeError(name) from None


def emit_site(inputs: Inputs, progress: Progress = lambda done, total: None) -> list[Artifact]:
    """Every file of the site."""
    releases = Releases(inputs.history)
    pages = list(_message_pages(inputs, releases))
    others = list(_other_pages(inputs, releases, pages))
    site = _site(inputs, releases, pages, others)
    total = len(pages) + len(others) + 1
    found = []
    for number, page in enumerate([_index(inputs, releases, site, pages), *pages, *others], 1):
        template = page.template if isinstance(page, OtherPage) else "message.html.jinja"
        found.append(Artifact(path=page.path, text=render(template, page=page, site=site)))
        progress(number, total)
    search = Artifact(path="assets/search.js", text=search_script(inputs, pages, site.nav))
    return [*found, *assets(), search]


# Pages of messages


def _message_pages(inputs: Inputs, releases: Releases) -> Iterator[MessagePage]:
    groups = group_modules(inputs.schema)
    classes = {message: names for group in groups for message, names in group.names.items()}
    examples = Examples(inputs.layouts, inputs.recorded, classes)
    tables = {api.key: negotiation_table(api) for api in negotiations(inputs.history)}
    for group in groups:
        views = [
            message_view(one, inputs.layouts, message_matrix(one, inputs.layouts), releases, examples)
            for one in group.messages
        ]
        key = next((one.api_key for one in group.messages if one.is_rpc), None)
        table = tables.get(-1 if key is None else key, ())
        yield MessagePage(
            path=page_of(group.path),
            title=title_of(group),
            group=group,
            messages=views,
            negotiation=table if len(table) > 1 else (),
            package=inputs.package,
            kips=inputs.kips,
        )


def title_of(group: ModuleGroup) -> str:
    """The API or record type of a module: its messages without ``Request``, ``Response``, ``Key`` and ``Value``."""
    first = group.messages[0]
    if first.kind is MessageKind.HEADER:
        return "Headers"
    endings = {
        MessageKind.REQUEST: "Request",
        MessageKind.RESPONSE: "Response",
        MessageKind.COORDINATOR_KEY: "Key",
        MessageKind.COORDINATOR_VALUE: "Value",
    }
    return first.name.removesuffix(endings.get(first.kind, ""))


# Other pages


def _other_pages(inputs: Inputs, releases: Releases, pages: Sequence[MessagePage]) -> Iterator[OtherPage]:
    for chapter in inputs.chapters:
        yield OtherPage(
            path=chapter.path, title=chapter.title, template="chapter.html.jinja", content={"body": chapter.body}
        )
    yield OtherPage(
        path="types.html",
        title="Types",
        template="types.html.jinja",
        content={"types": list(type_rows()), "varints": list(varint_rows())},
    )
    if inputs.errors:
        yield OtherPage(
            path="errors.html",
            title="Errors",
            template="errors.html.jinja",
            content={"errors": list(_errors(inputs.errors, pages))},
        )
    if inputs.schema.enums:
        yield OtherPage(
            path="enums.html",
            title="Enums",
            template="enums.html.jinja",
            content={"enums": inputs.schema.enums, "uses": _uses(pages)},
        )
    for path, title, template, content in release_pages(inputs.history, releases, pages):
        yield OtherPage(path=path, title=title, template=template, content=content)


def _uses(pages: Sequence[MessagePage]) -> Mapping[str, Sequence[tuple[str, str]]]:
    """For every enum the fields that have it, each with its link."""
    found: dict[str, list[tuple[str, str]]] = {}
    for page in pages:
        for view in page.messages:
            for one in view.fields:
                if one.enum:
                    link = f"{page.path}#{view.part}.{one.place}"
                    found.setdefault(one.enum.name, []).append((f"{view.name}.{one.place}", link))
    return found


def _errors(errors: Iterable[ErrorDecl], pages: Sequence[MessagePage]) -> Iterator[dict[str, object]]:
    """Every error, with the APIs whose examples have it."""
    seen: dict[str, dict[str, str]] = {}
    for page in pages:
        for view in page.messages:
            for layout in view.layouts:
                if layout.example.source:
                    codes = (
                        s.text for s in layout.example.spans if s.name.endswith("error_code") and s.kind == "int16"
                    )
                    for code in codes:
                        seen.setdefault(code, {})[page.title] = page.path
    for one in sorted(errors, key=lambda error: error.code.value):
        yield {
            "code": one.code.value,
            "name": one.name.value,
            "retriable": one.retriable.value,
            "about": one.about.value,
            "seen": list(seen.get(str(one.code.value), {}).items()) if one.code.value else [],
        }


# Navigation and index


def _site(inputs: Inputs, releases: Releases, pages: Sequence[MessagePage], others: Sequence[OtherPage]) -> Site:
    chapters = [Link(one.path, one.title, doc=one.about) for one in inputs.chapters]
    tables = [Link(one.path, one.title) for one in others if one.template in _TABLES]
    upgrades = [Link(one.path, one.title) for one in others if one.template == "release.html.jinja"]
    nav = [
        *([Links("Guide", chapters)] if chapters else []),
        *_page_links(pages),
        Links("Tables", tables, open=True),
        *([Links("Upgrades", upgrades[::-1])] if upgrades else []),
    ]
    count = sum(len(page.messages) for page in pages)
    span = f"{releases.names[0]} to {releases.newest}, " if releases.names else ""
    return Site(
        title=inputs.title,
        subtitle=f"{span}every version",
        about=f"{count} messages in {inputs.layouts.count} versions.",
        newest=releases.newest,
        lines=releases.lines,
        nav=nav,
        chapters=chapters,
    )


_TABLES = ("types.html.jinja", "errors.html.jinja", "enums.html.jinja", "releases.html.jinja")


def _page_links(pages: Sequence[MessagePage]) -> Iterator[Links]:
    for folder, title in SECTIONS.items():
        found = [page for page in pages if page.path.partition("/")[0].removesuffix(".html") == folder]
        ordered = sorted(found, key=lambda page: (page.folder if folder == "coordinator" else "", _order(page)))
        links = [Link(page.path, page.title, page.key, page.messages[0].message.doc) for page in ordered]
        if links:
            yield Links(title, links, open=folder == "api")


def _order(page: MessagePage) -> tuple[int, str]:
    return (page.key if page.key is not None else 1 << 16, page.title)


def _index(inputs: Inputs, releases: Releases, site: Site, pages: Sequence[MessagePage]) -> OtherPage:
    apis = sorted((page for page in pages if page.path.startswith("api/")), key=_order)
    rows = [_api_row(page, releases) for page in apis]
    return OtherPage(
        path="index.html",
        title=inputs.title,
        template="index.html.jinja",
        content={
            "apis": rows,
            "listeners": sorted({one for page in apis for one in page.messages[0].message.listeners}),
            "groups": sorted({str(row["group"]) for row in rows}),
            "statuses": sorted({str(row["status"]) for row in rows if row["status"]}),
            "others": [links for links in site.nav if links.title in SECTIONS.values() and links.title != "APIs"],
        },
    )


def _api_row(page: MessagePage, releases: Releases) -> dict[str, object]:
    view = page.messages[0]
    message: Message = view.message
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
