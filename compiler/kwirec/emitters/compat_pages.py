"""Renders the compatibility matrix as Markdown for review: an overview, the releases, and a page for each module.

The overview shows the last release of every major line and each release that removed versions. ``releases.md`` shows
all releases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kwire_rules import REFUSED
from kwirec.emitters.compat_matrix import MessageMatrix
from kwirec.emitters.environment import Artifact, render
from kwirec.emitters.modules import ModuleGroup
from kwirec.emitters.release_facts import ApiNegotiation, offer, version_facts
from kwirec.ir.schema import MessageKind
from kwirec.merge.history import ApiFacts, History, release_runs, span_text, spans


def emit_pages(
    groups: Sequence[ModuleGroup],
    matrices: Mapping[str, MessageMatrix],
    history: History,
    apis: Sequence[ApiNegotiation],
    *,
    package: str,
) -> list[Artifact]:
    """Return all pages in ``matrix/``."""
    columns = list(decisive(history.names, apis))
    links = {m.api_key: _file(g) for g in groups for m in g.messages if m.kind is MessageKind.REQUEST}
    overview = render(
        "matrix/overview.jinja",
        package=package,
        columns=columns,
        rows=_rows(history, apis, columns, links),
        groups=[(group.title, _file(group), group.messages) for group in groups],
    )
    pages = {_file(group): _page(group, matrices, history, apis) for group in groups} | {"README.md": overview}
    if history.releases:
        rows = _rows(history, apis, history.names, {})
        pages["releases.md"] = render(
            "matrix/releases.jinja", columns=history.names, rows=rows, sources=_sources(history)
        )
        pages["negotiation.md"] = render("matrix/negotiation.jinja", **_failures(history, apis))
    return [Artifact(path=f"matrix/{path}", text=text) for path, text in pages.items()]


def _file(group: ModuleGroup) -> str:
    return f"{group.path.replace('.', '/')}.md"


# A page for a module


def _page(
    group: ModuleGroup, matrices: Mapping[str, MessageMatrix], history: History, apis: Sequence[ApiNegotiation]
) -> str:
    key = next((m.api_key for m in group.messages if m.kind is MessageKind.REQUEST), None)
    return render(
        "matrix/module.jinja",
        title=group.title,
        up="../" * group.path.count("."),
        sections=[_section(matrices[message.name], history) for message in group.messages],
        key=key,
        negotiation=next((negotiation_table(api) for api in apis if api.key == key), None),
    )


def _section(matrix: MessageMatrix, history: History) -> dict[str, object]:
    """Return the template variables for one message of a page."""
    return {
        "name": matrix.message.name,
        "versions": list(version_facts(matrix.message, matrix.layouts, history)),
        "runs": matrix.runs,
        "signs": [[source, *signs] for source, signs in matrix.signs()],
        "fields": list(matrix.fields_of_some_versions()),
        "nulls": list(_nulls(matrix)),
    }


def _nulls(matrix: MessageMatrix) -> Iterator[tuple[str, str]]:
    """Yield each field that can be null in some versions, with the versions that do not allow null."""
    found: dict[str, set[int]] = {}
    for _, target, conversion in matrix.conversions():
        for path in (*conversion.null, *conversion.missing):
            found.setdefault(path, set()).update(target)
    for path, versions in found.items():
        yield path, ", ".join(map(str, sorted(versions)))


def negotiation_table(api: ApiNegotiation) -> list[list[str]]:
    """Return a row for each run of client releases. A row contains the name of the run and the version used with each
    run of brokers.
    """
    signs: dict[int | str | None, str] = {None: "–", REFUSED: "✗"}
    return [
        [span_text(span), *(signs.get(version, str(version)) for version in row)]
        for (span, _), row in zip(api.runs, api.table(), strict=True)
    ]


# Releases


def decisive(names: Sequence[str], apis: Sequence[ApiNegotiation]) -> Iterator[str]:
    """Yield the last release of every major line, and each release that no longer accepts some versions of the
    previous release.
    """
    for before, name, after in zip(["", *names], names, [*names[1:], ""], strict=False):
        lost = (not api.offer(name).accepted.covers(api.offer(before).accepted) for api in apis)
        if _major(after) != _major(name) or any(lost):
            yield name


def _major(name: str) -> str:
    """Return the major line of a release: ``0.10`` for ``0.10.2``, ``3`` for ``3.9.1``."""
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == "0" else parts[0]


def _rows(
    history: History, apis: Iterable[ApiNegotiation], columns: Sequence[str], links: Mapping[int | None, str]
) -> Iterator[list[object]]:
    """Yield a row for each API. A row contains the key, the newest name, linked to the page of the API, and one cell
    per release.
    """
    for api in apis:
        name = f"[{api.name}]({links[api.key]})" if api.key in links else api.name
        yield [api.key, name, *(range_cell(history.releases[release].get(api.key)) for release in columns)]


def range_cell(api: ApiFacts | None) -> str:
    if api is None:
        return ""
    forms = {"{}": offer(api).accepted, "({})": api.deprecated, "[{}]": api.unstable, "{{{}}}": api.advertises}
    return " ".join(form.format(versions) for form, versions in forms.items() if versions)


def _sources(history: History) -> list[tuple[str, str]]:
    """Return the sources of the facts and the releases that each source covers."""
    having: dict[str, list[str]] = {}
    for name in history.names:
        having.setdefault(history.sources.get(name, "definitions"), []).append(name)
    return [(source, spans(releases, history.names)) for source, releases in having.items()]


# Release by release


def _failures(history: History, apis: Sequence[ApiNegotiation]) -> dict[str, object]:
    """Return the APIs that both client and broker have but cannot use, for runs of releases with equal results."""
    names = history.names
    table = {
        client: {broker: tuple(api.name for api in apis if api.fails(client, broker)) for broker in names}
        for client in names
    }
    clients = [span for span, _ in release_runs(names, lambda client: tuple(table[client].values()))]
    brokers = [span for span, _ in release_runs(names, lambda broker: tuple(row[broker] for row in table.values()))]
    rows = [
        [span_text(client), *(len(table[client[0]][broker[0]]) or "" for broker in brokers)] for client in clients
    ]
    details = [
        (span_text(client), span_text(broker), failed)
        for client in clients
        for broker, failed in release_runs(names, lambda name: table[client[0]][name] or None)  # noqa: B023
    ]
    return {"brokers": [span_text(broker) for broker in brokers], "rows": rows, "details": details}
