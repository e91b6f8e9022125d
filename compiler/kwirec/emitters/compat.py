"""Emits facts about versions alongside the codecs: ``releases.py``, ``compat.json`` with its module, and pages.

In ``releases.py``, neighbouring releases with equal facts about an API share a row::

    "2.8.2": {"1": {"name": "Fetch", "accepts": "0-12"}}        1: (
    "3.0.2": {"1": {"name": "Fetch", "accepts": "0-12"}}    →       ("2.8.2", "3.0.2", "Fetch", "0-12", …

In ``compat.json``, versions that convert alike share a row, as do releases with equal facts. Shared rows keep the
matrix readable and comparable for a protocol with hundreds of messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kwirec.emitters.compat_matrix import MessageMatrix, message_matrix
from kwirec.emitters.compat_pages import emit_pages
from kwirec.emitters.environment import Artifact, render
from kwirec.emitters.modules import ModuleGroup
from kwirec.emitters.release_facts import ApiNegotiation, negotiations, version_facts
from kwirec.json_text import json_text
from kwirec.lowering import Layouts
from kwirec.merge.history import History, read_history, release_key, release_runs, span_text


def emit_compatibility(
    layouts: Layouts, groups: Sequence[ModuleGroup], history: History, *, package: str
) -> list[Artifact]:
    """Return ``releases.py`` if releases are known, ``compat.json`` with its module, and the pages in ``matrix/``."""
    matrices = {m.name: message_matrix(m, layouts) for group in groups for m in group.messages}
    apis = negotiations(history)
    data = {
        "releases": history.names,
        "messages": {name: _message(matrix, history) for name, matrix in matrices.items()},
        "negotiation": {api.key: _negotiation(api) for api in apis},
    }
    example = max(matrices.values(), key=lambda matrix: len(matrix.shapes), default=None)
    return [
        *([_releases(history, apis, matrices.values())] if history.releases else []),
        Artifact(path="compat.json", text=json_text(data, levels=4, indent=1) + "\n"),
        Artifact(path="compat.py", text=render("matrix/compat.jinja", package=package, example=example)),
        *emit_pages(groups, matrices, history, apis, package=package),
    ]


def _releases(history: History, apis: Iterable[ApiNegotiation], matrices: Iterable[MessageMatrix]) -> Artifact:
    text = render(
        "releases/releases.jinja",
        sources=[(name, history.sources.get(name, "definitions")) for name in history.names],
        apis=[(api.key, list(api_rows(history, api.key))) for api in apis],
        tagged=_tagged(matrices),
    )
    return Artifact(path="releases.py", text=text)


def api_rows(history: History, key: int) -> Iterator[tuple[str, str, str, str, str, str, str, str]]:
    """Yield an API's rows in ``releases.py``, with first and last release, name, versions and listeners."""

    def facts(name: str) -> tuple[str, str, str, str, str, str] | None:
        api = history.releases[name].get(key)
        if api is None:
            return None
        optional = (api.advertises or "", api.deprecated or "", api.unstable or "")
        return (api.name, api.accepts, *optional, " ".join(sorted(api.listeners)))

    for span, texts in release_runs(history.names, facts):
        yield (*span, *texts)


def _tagged(matrices: Iterable[MessageMatrix]) -> list[tuple[str, list[tuple[str, str, int, str]]]]:
    """Return the tagged fields that were added to existing versions, grouped by release."""
    found: dict[str, set[tuple[str, str, int, str]]] = {}
    for message, fields in ((matrix.message, matrix.fields) for matrix in matrices):
        for path, field in fields.items():
            if field.since is not None and field.tag is not None:
                versions = field.tagged.intersect(message.valid)
                found.setdefault(field.since, set()).add((message.name, path, field.tag, str(versions)))
    return [(release, sorted(found[release])) for release in sorted(found, key=release_key)]


def _message(matrix: MessageMatrix, history: History) -> dict[str, object]:
    return {
        "kind": matrix.message.kind.value,
        "api_key": matrix.message.api_key,
        "versions": [
            {name: value for name, value in facts.items() if value not in (None, "")}
            for facts in version_facts(matrix.message, matrix.layouts, history)
        ],
        "conversions": [
            {"from": str(source), "to": str(target)} | conversion.to_json()
            for source, target, conversion in matrix.conversions()
        ],
    }


def _negotiation(api: ApiNegotiation) -> dict[str, object]:
    """Return the negotiated versions as JSON. Rows are clients and columns are brokers, in the order of
    ``releases``.
    """
    return {"name": api.name, "releases": [span_text(span) for span, _ in api.runs], "versions": api.table()}


def history_of(paths: Iterable[Path]) -> History:
    """Return the history in the first folder that contains one, or an empty history."""
    found = (history for path in paths if path.is_dir() and (history := read_history(path)).releases)
    return next(found, History())
