"""The page of proposals (KIPs), with the versions of each proposal and their changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kwire_guide.changes import VersionChange
from kwire_guide.kips import ReleaseKips, kips_of
from kwire_guide.messages import MessageView
from kwire_guide.pages import Kind, MessagePage, OtherPage, table_page

_BEGIN = re.compile(r"(?:Version \d+ |From version \d+ on, )(\S)")


@dataclass(frozen=True)
class KipVersion:
    """A version or release that implements a proposal, with its link. ``since`` is the first release that accepts the
    version, if any.
    """

    title: str
    path: str
    since: str


@dataclass(frozen=True)
class Kip:
    """A proposal, with its changes and the versions that each change affects."""

    number: int
    brought: Sequence[tuple[str, Sequence[KipVersion]]]


def kip_page(
    pages: Sequence[MessagePage], others: Sequence[OtherPage], release_kips: ReleaseKips
) -> OtherPage | None:
    """Return the page of proposals, or ``None`` if no version or release belongs to a proposal."""
    found: dict[int, dict[str, list[KipVersion]]] = {}
    for page in pages:
        for kip, view, change in _versions(page):
            version = change.version
            link = f"{page.path}#{view.part}-v{version}"
            entry = KipVersion(f"{page.title} {version}", link, view.first.get(version, ""))
            remarks = (text for text in view.remarks.get(version, ()) if kip in kips_of([text]))
            text = _without_version(" ".join(remarks) or _in_words(change)).replace(f" (KIP-{kip})", "")
            found.setdefault(kip, {}).setdefault(text, []).append(entry)
    for upgrade in others:
        for release in upgrade.names if upgrade.kind is Kind.UPGRADE else ():
            for kip, text in release_kips.get(release, {}).items():
                entry = KipVersion(f"release {release}", upgrade.path, "")
                found.setdefault(kip, {}).setdefault(text, []).append(entry)
    kips = [Kip(number, list(found[number].items())) for number in sorted(found, reverse=True)]
    return table_page("kips.html", "Proposals", "kips.html.jinja", kips=kips) if kips else None


def _versions(page: MessagePage) -> Iterator[tuple[int, MessageView, VersionChange]]:
    """Yield each proposal with the versions of a page that implement it. For each version, choose the message whose
    bytes changed, or else the first message.
    """
    halves: dict[tuple[int, int], list[tuple[MessageView, VersionChange]]] = {}
    for view in page.messages:
        for change in view.changes:
            for kip in page.proposals(view, change.version):
                halves.setdefault((change.version, kip), []).append((view, change))
    for (_, kip), found in sorted(halves.items(), key=lambda one: one[0]):
        view, change = next((half for half in found if not half[1].same), found[0])
        yield kip, view, change


def _in_words(change: VersionChange) -> str:
    if change.before is None:
        return "Adds the message."
    phrases = [f"{text} {', '.join(f'`{place}`' for place in places)}".strip() for text, places in change.sentences()]
    text = "; ".join(phrases)
    return f"{text[:1].upper()}{text[1:]}."


def _without_version(text: str) -> str:
    """Return a remark without its leading version, so that equal remarks about several versions can be merged."""
    return _BEGIN.sub(lambda match: match[1].upper(), text, count=1)
