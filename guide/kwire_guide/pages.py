"""Pages of the guide, with their paths, titles, navigation groups and template variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import PurePosixPath

from kwire_guide.api_errors import ApiError
from kwire_guide.kips import Kips
from kwire_guide.messages import MessageView
from kwirec.emitters.modules import ModuleGroup
from kwirec.ir.schema import MessageKind


class Kind(Enum):
    """The subject of a page. The value is the title of its navigation group."""

    CHAPTER = "Guide"
    TABLE = "Look up"
    UPGRADE = "Releases"
    API = "APIs"
    TOPIC = "Internal topics"
    METADATA = "Metadata log"
    DATA = "Data in records and files"
    HEADER = "Headers"
    DOCUMENT = "Documentation"


MESSAGE_KINDS = {
    "api": Kind.API,
    "coordinator": Kind.TOPIC,
    "metadata": Kind.METADATA,
    "data": Kind.DATA,
    "headers": Kind.HEADER,
}
"""The kinds of message pages, by module folder."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page. ``path`` is relative to the site. ``about`` is the description for search engines."""

    path: str
    title: str
    kind: Kind
    doc: str = ""

    @property
    def about(self) -> str:
        return self.doc

    @property
    def heading(self) -> str:
        """The title in browser tabs and search results."""
        return self.title

    @property
    def root(self) -> str:
        """The relative path from the page to the root of the site."""
        return "../" * self.path.count("/")

    def way(self, path: str, root: str) -> str:
        """Return the shortest relative address of another page."""
        folder = self.path[: self.path.rfind("/") + 1]
        return path[len(folder) :] if folder and path.startswith(folder) else root + path


@dataclass(frozen=True, kw_only=True)
class MessagePage(Page):
    """The messages of a module: a request and its response, a key and its value, or a single message."""

    group: ModuleGroup
    messages: Sequence[MessageView]
    kips: Kips
    negotiation: Sequence[Sequence[str]] = ()
    package: str = ""
    errors: Sequence[ApiError] = ()

    @property
    def about(self) -> str:
        names = " and ".join(one.name for one in self.messages)
        return f"{names} {self.versions}, byte by byte: fields, bytes of an example, grammar, releases. {self.doc}"

    @property
    def heading(self) -> str:
        return f"{self.title} {self.versions}: fields and bytes"

    @property
    def versions(self) -> str:
        low = min(one.message.valid.low for one in self.messages)
        high = max(one.message.valid.high for one in self.messages)
        return f"version {low}" if low == high else f"versions {low} to {high}"

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
        """The folder of the definitions, which groups related messages."""
        path = self.messages[0].message.decl.span.source.name.replace("\\", "/")
        return PurePosixPath(path).parent.name.replace("_", " ")

    def other(self, message: MessageView) -> MessageView | None:
        """Return the request of a response, or the response of a request."""
        others = (one for one in self.messages if one is not message and one.message.is_rpc)
        return next(others, None) if message.message.is_rpc else None

    def proposals(self, message: MessageView, version: int) -> Sequence[int]:
        """Return the numbers of all KIPs of a version, both from ``kips.json`` and from remarks about the version."""
        return sorted({*self.kips.get(message.name, {}).get(version, ()), *message.remarked_kips(version)})


@dataclass(frozen=True, kw_only=True)
class OtherPage(Page):
    """A page with its own template. ``content`` holds the variables of the template. ``names`` lists other names by
    which the search finds the page.
    """

    template: str
    names: Sequence[str] = ()
    content: Mapping[str, object] = field(default_factory=dict)

    def __getattr__(self, name: str) -> object:
        try:
            return self.content[name]
        except KeyError:
            raise AttributeError(name) from None


def table_page(path: str, title: str, template: str, **content: object) -> OtherPage:
    """Return a page with a table. ``content`` holds the variables of the template."""
    return OtherPage(path=path, title=title, kind=Kind.TABLE, template=template, content=content)
