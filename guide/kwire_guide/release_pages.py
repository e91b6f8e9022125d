"""Pages of releases: the table of all releases, and a page for each release that changed versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from kwire_guide.kips import ReleaseKips
from kwire_guide.pages import Kind, MessagePage, OtherPage, table_page
from kwire_guide.releases import ApiChange, Releases, Upgrade
from kwirec.emitters.compat_pages import decisive, range_cell
from kwirec.emitters.release_facts import negotiations
from kwirec.merge.history import History
from kwirec.versions import VersionRange

SECTIONS: Mapping[str, Callable[[ApiChange], str]] = {
    "Removed APIs": lambda one: one.removed if one.gone else "",
    "Removed versions": lambda one: "" if one.gone else one.removed,
    "New APIs": lambda one: one.added if one.new else "",
    "New versions": lambda one: "" if one.new else one.added,
    "Deprecated versions": lambda one: one.deprecated,
    "Versions that became stable": lambda one: one.stable,
    "Versions that are unstable": lambda one: one.unstable,
}
"""The sections of a release page. Each function returns the versions of an API that its section lists."""


def release_pages(
    history: History, releases: Releases, pages: Sequence[MessagePage], product: str, release_kips: ReleaseKips
) -> Iterator[OtherPage]:
    """Yield ``releases/index.html`` and each ``releases/RELEASE.html``, or nothing if there are no releases."""
    if not releases.names:
        return
    by_key = {page.key: page for page in pages if page.kind is Kind.API}
    shown: list[Upgrade] = []
    same: dict[str, list[str]] = {}
    for upgrade in releases.upgrades():
        if upgrade.changes or upgrade.before is None:
            shown.append(upgrade)
        else:
            same.setdefault(shown[-1].release, []).append(upgrade.release)
    table = _table(history, shown, by_key)
    yield table_page("releases/index.html", "Releases", "releases.html.jinja", **table)
    for before, upgrade in zip((None, *shown), shown, strict=False):
        sections = list(_sections(upgrade, by_key))
        kips = list(_kips(upgrade, by_key, release_kips.get(upgrade.release, {})))
        content = {
            "upgrade": upgrade,
            "before": f"{before.release}.html" if before else "",
            "same": same.get(upgrade.release, []),
            "sections": sections,
            "kips": kips,
            "accepted": list(_accepted(history, upgrade.release, by_key)),
        }
        yield OtherPage(
            path=f"releases/{upgrade.release}.html",
            title=f"{product} {short(upgrade.release)}",
            kind=Kind.UPGRADE,
            doc=" ".join([*_about(sections), *(f"KIP-{number}" for number, *_ in kips)]),
            template="release.html.jinja",
            names=[upgrade.release, *same.get(upgrade.release, [])],
            content=content,
        )


def short(release: str) -> str:
    """Return the short form of a release: ``4.0.0`` → ``4.0``."""
    return release.removesuffix(".0") if release.count(".") > 1 else release


def _about(sections: Sequence[tuple[str, Sequence[Mapping[str, object]]]]) -> Iterator[str]:
    """Yield a line for each section, with the names of its APIs."""
    for title, rows in sections:
        yield f"{title}: {', '.join(str(row['name']) for row in rows)}."


def _kips(
    upgrade: Upgrade, by_key: Mapping[int | None, MessagePage], told: Mapping[int, str]
) -> Iterator[tuple[int, str, Sequence[tuple[str, str]]]]:
    """Yield each proposal in a release: its number, what it changed, and links to its new or newly stable versions.
    Proposals listed in ``told`` come first.
    """
    found: dict[int, dict[str, str]] = {number: {} for number in sorted(told)}
    for one in upgrade.changes:
        page = by_key.get(one.key)
        for version in sorted({*_numbers(one.added), *_numbers(one.stable)}) if page else ():
            for view in page.messages if page else ():
                for kip in page.proposals(view, version) if page else ():
                    title = f"{one.name} {version}"
                    found.setdefault(kip, {}).setdefault(title, f"{page.path if page else ''}#{view.part}-v{version}")
    order = sorted(found, key=lambda number: (number not in told, -number))
    yield from ((number, told.get(number, ""), list(found[number].items())) for number in order)


def _numbers(versions: str) -> Iterator[int]:
    for text in filter(None, versions.split(", ")):
        yield from VersionRange.parse(text)


def _table(
    history: History, shown: Sequence[Upgrade], by_key: Mapping[int | None, MessagePage]
) -> Mapping[str, object]:
    """Return the variables of the table: the releases with pages, newest first, and the accepted versions of each API
    in the last release of each major line and in each release that dropped versions.
    """
    listed = [(short(one.release), f"{one.release}.html", _summary(one)) for one in reversed(shown)]
    apis = negotiations(history)
    columns = list(decisive(history.names, apis))
    rows = [
        {
            "key": api.key,
            "name": api.name,
            "path": by_key[api.key].path if api.key in by_key else "",
            "cells": [range_cell(history.releases[name].get(api.key)) for name in columns],
        }
        for api in apis
    ]
    return {"releases": listed, "columns": columns, "rows": rows}


def _accepted(
    history: History, release: str, by_key: Mapping[int | None, MessagePage]
) -> Iterator[tuple[str, str, str]]:
    """Yield the name, page and versions of every API in a release, by key."""
    for key, api in sorted(history.releases[release].items()):
        yield api.name, by_key[key].path if key in by_key else "", range_cell(api)


def _summary(upgrade: Upgrade) -> str:
    counts = {title: sum(bool(found(one)) for one in upgrade.changes) for title, found in SECTIONS.items()}
    return ", ".join(f"{title[0].lower()}{title[1:]}: {count}" for title, count in counts.items() if count)


def _sections(
    upgrade: Upgrade, by_key: Mapping[int | None, MessagePage]
) -> Iterator[tuple[str, list[dict[str, object]]]]:
    for title, versions in SECTIONS.items():
        rows = [
            {
                "key": one.key,
                "name": one.name,
                "path": by_key[one.key].path if one.key in by_key else "",
                "versions": versions(one),
                "details": list(_details(by_key.get(one.key), one)) if title == "New versions" else [],
            }
            for one in upgrade.changes
            if versions(one)
        ]
        if rows:
            yield title, rows


def _details(page: MessagePage | None, change: ApiChange) -> Iterator[tuple[str, str, Sequence[int]]]:
    """Yield the changes to the request and response in each new version of an API, with a link to the comparison and
    with the proposals.
    """
    for view in page.messages if page else ():
        added = set(_numbers(change.added))
        for one in view.changes:
            if one.version in added and one.before is not None:
                sentences = "; ".join(" ".join((text, ", ".join(places))).strip() for text, places in one.sentences())
                anchor = f"{page.path if page else ''}#{view.part}-v{one.version}-vs-{one.before}"
                kips = page.proposals(view, one.version) if page else ()
                yield f"{view.part} {one.version} {sentences}", anchor, kips
