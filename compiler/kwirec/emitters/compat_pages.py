"""The compatibility matrix as Markdown, for review: an overview, the releases, and a page for every module.

The overview shows the last release of every major line and every release that took something away, because those are
what decides; ``releases.md`` has all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kwirec.emitters.artifact import Artifact
from kwirec.emitters.compat_data import VersionFacts, run_text, version_facts
from kwirec.emitters.compat_matrix import INCONVERTIBLE, LOSSLESS, LOSSY, SAME, MessageMatrix
from kwirec.emitters.environment import render
from kwirec.emitters.modules import ModuleGroup
from kwirec.emitters.negotiations import REFUSED, ApiNegotiation, Offer, choose, offer
from kwirec.emitters.releases import Span, api_keys, release_names, release_runs, span_text, spans
from kwirec.ir.schema import MessageKind
from kwirec.merge.history import ApiFacts, History
from kwirec.versions import VersionRange

SIGNS = {SAME: "=", LOSSLESS: "≈", LOSSY: "−", INCONVERTIBLE: "✗"}


@dataclass(frozen=True, kw_only=True)
class FieldRow:
    """A field that only some versions have, and what happens where it is missing."""

    path: str
    versions: str
    without: str


@dataclass(frozen=True, kw_only=True)
class MessagePage:
    """One message of a page: rows of texts, ready to be put between bars."""

    name: str
    kind: str
    versions: list[VersionFacts]
    runs: list[str]
    signs: list[list[str]]
    fields: list[FieldRow]
    nulls: list[tuple[str, str]]


def emit_pages(
    groups: Sequence[ModuleGroup],
    matrices: dict[str, MessageMatrix],
    history: History,
    apis: Sequence[ApiNegotiation],
    *,
    package: str,
) -> list[Artifact]:
    """All pages, below ``matrix/``."""
    names = release_names(history)
    by_key = {api.key: api for api in apis}
    artifacts = []
    for group in groups:
        pages = [_page(matrices[message.name], history) for message in group.messages]
        key = next((m.api_key for m in group.messages if m.kind is MessageKind.REQUEST), None)
        text = render(
            "matrix/module.jinja",
            title=_title(group),
            up="../" * group.path.count("."),
            pages=pages,
            key=key,
            negotiation=_table(by_key[key]) if key in by_key else None,
        )
        artifacts.append(Artifact(path=f"matrix/{group.path.replace('.', '/')}.md", text=text))
    links = {
        m.api_key: f"{g.path.replace('.', '/')}.md" for g in groups for m in g.messages if m.kind.value == "request"
    }
    overview = render(
        "matrix/overview.jinja",
        package=package,
        columns=(columns := _deciding(history)),
        rows=_rows(history, columns),
        links=links,
        groups=[(_title(group), f"{group.path.replace('.', '/')}.md", group.messages) for group in groups],
    )
    artifacts.append(Artifact(path="matrix/README.md", text=overview))
    if names:
        text = render("matrix/releases.jinja", columns=names, rows=_rows(history, names), sources=_sources(history))
        artifacts.append(Artifact(path="matrix/releases.md", text=text))
        text = render("matrix/negotiation.jinja", **_failures(history, apis))
        artifacts.append(Artifact(path="matrix/negotiation.md", text=text))
    return artifacts


def _title(group: ModuleGroup) -> str:
    return " and ".join(message.name for message in group.messages)


# A page for a module


def _page(matrix: MessageMatrix, history: History) -> MessagePage:
    runs = matrix.runs
    return MessagePage(
        name=matrix.message.name,
        kind=matrix.message.kind.value,
        versions=version_facts(matrix, history),
        runs=[run_text(run) for run in runs],
        signs=[[SIGNS[matrix.convert(one[0], other[0]).relation] for other in runs] for one in runs],
        fields=list(_fields(matrix)),
        nulls=list(_nulls(matrix)),
    )


def _fields(matrix: MessageMatrix) -> Iterator[FieldRow]:
    for path, one, having in matrix.fields_of_some_versions():
        without = "dropped" if one.ignorable else "refused if set"
        yield FieldRow(path=path, versions=str(VersionRange.covering(having)), without=without)


def _nulls(matrix: MessageMatrix) -> Iterator[tuple[str, str]]:
    """Fields that are null in some versions and must not be in others, with the others."""
    found: dict[str, set[int]] = {}
    for _, target, conversion in matrix.conversions():
        for path in (*conversion.null, *conversion.missing):
            found.setdefault(path, set()).update(target)
    for path, versions in found.items():
        yield path, ", ".join(map(str, sorted(versions)))


def _table(api: ApiNegotiation) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Broker releases, and for every run of client releases the version with each."""
    brokers = [span_text(span) for span, _ in api.runs]
    return brokers, [(name, [_choice(one) for one in row]) for name, row in zip(brokers, api.table(), strict=True)]


def _choice(choice: int | str | None) -> str:
    return "–" if choice is None else "✗" if choice == REFUSED else str(choice)


# Releases


def _deciding(history: History) -> list[str]:
    names = release_names(history)
    last = {_major(name): name for name in names}
    return [
        name
        for index, name in enumerate(names)
        if name in last.values() or (index and _takes_away(history, names[index - 1], name))
    ]


def _major(name: str) -> str:
    """``0.10.2`` → ``0.10``, ``3.9.1`` → ``3``"""
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == "0" else parts[0]


def _takes_away(history: History, before: str, after: str) -> bool:
    for key, old in history.releases[before].items():
        new = history.releases[after].get(key)
        if new is None or not offer(new).accepted.covers(offer(old).accepted):
            return True
    return False


def _rows(history: History, columns: Sequence[str]) -> list[tuple[int, str, list[str]]]:
    """For every API its key, its newest name, and a cell for each release."""
    rows = []
    for key in api_keys(history):
        having = [history.releases[name].get(key) for name in release_names(history)]
        newest = next(api for api in reversed(having) if api is not None)
        rows.append((key, newest.name, [_cell(history.releases[name].get(key)) for name in columns]))
    return rows


def _cell(api: ApiFacts | None) -> str:
    if api is None:
        return ""
    accepted = offer(api).accepted
    parts = [str(accepted)] if accepted else []
    if api.deprecated:
        parts.append(f"({api.deprecated})")
    if api.unstable:
        parts.append(f"[{api.unstable}]")
    if api.advertises:
        parts.append(f"{{{api.advertises}}}")
    return " ".join(parts)


def _sources(history: History) -> list[tuple[str, str]]:
    """What the releases are known from, and which from that."""
    names = release_names(history)
    having: dict[str, list[str]] = {}
    for name in names:
        having.setdefault(history.sources.get(name, "definitions"), []).append(name)
    return [(source, spans(releases, names)) for source, releases in having.items()]


# Release by release


def _failures(history: History, apis: Iterable[ApiNegotiation]) -> dict[str, object]:
    """Which APIs clients and brokers have in common and cannot use, for runs of releases with the same answer."""
    names = release_names(history)
    offers = _offers(apis, names)

    def failing(client: str, broker: str) -> tuple[str, ...]:
        return tuple(
            name for name, by_release in offers.items() if _fails(by_release.get(client), by_release.get(broker))
        )

    table = {client: {broker: failing(client, broker) for broker in names} for client in names}
    clients = [span for span, _ in release_runs(names, lambda client: tuple(table[client].values()))]
    brokers = [span for span, _ in release_runs(names, lambda broker: tuple(row[broker] for row in table.values()))]
    rows = [(span_text(client), [len(table[client[0]][broker[0]]) or "" for broker in brokers]) for client in clients]
    details = [
        (span_text(client), span_text(span), failed)
        for client in clients
        for span, failed in _failing_runs(table[client[0]])
    ]
    return {"brokers": [span_text(broker) for broker in brokers], "rows": rows, "details": details}


def _failing_runs(row: dict[str, tuple[str, ...]]) -> Iterator[tuple[Span, tuple[str, ...]]]:
    return release_runs(list(row), lambda broker: row[broker] or None)


def _offers(apis: Iterable[ApiNegotiation], names: Sequence[str]) -> dict[str, dict[str, Offer]]:
    return {api.name: {name: spoken for span, spoken in api.runs for name in _within(span, names)} for api in apis}


def _within(span: Span, names: Sequence[str]) -> Sequence[str]:
    return names[names.index(span[0]) : names.index(span[1]) + 1]


def _fails(client: Offer | None, broker: Offer | None) -> bool:
    if client is None or broker is None or not client.accepted or not broker.advertised:
        return False
    return not isinstance(choose(client, broker), int)
