"""The versions that each release of a protocol supports, as a module: a row for each run of releases that agree.

::

    "2.8.2": {"1": {"name": "Fetch", "accepts": "0-12"}}        1: (
    "3.0.2": {"1": {"name": "Fetch", "accepts": "0-12"}}    →       ("2.8.2", "3.0.2", "Fetch", "0-12", …
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kwirec.emitters.compat_matrix import MessageMatrix
from kwirec.emitters.environment import Artifact, render
from kwirec.merge.history import History, release_key, release_runs


def emit_releases(history: History, matrices: Iterable[MessageMatrix], *, package: str) -> Artifact:
    """The module ``releases``."""
    text = render(
        "releases/releases.jinja",
        package=package,
        sources=[(name, history.sources.get(name, "definitions")) for name in history.names],
        apis=[(key, list(_rows(history, key))) for key in api_keys(history)],
        tagged=_tagged(matrices),
    )
    return Artifact(path="releases.py", text=text)


def api_keys(history: History) -> list[int]:
    """The keys of all APIs of all releases."""
    return sorted({key for apis in history.releases.values() for key in apis})


def _rows(history: History, key: int) -> Iterator[tuple[str, ...]]:
    def facts(name: str) -> tuple[str, ...] | None:
        api = history.releases[name].get(key)
        if api is None:
            return None
        ranges = (api.accepts, api.advertises or "", api.deprecated or "", api.unstable or "")
        return (api.name, *ranges, " ".join(sorted(api.listeners)))

    for span, texts in release_runs(history.names, facts):
        yield (*span, *texts)


def _tagged(matrices: Iterable[MessageMatrix]) -> list[tuple[str, list[tuple[str, str, int, str]]]]:
    """For every release the tagged fields that it added to existing versions."""
    found: dict[str, set[tuple[str, str, int, str]]] = {}
    for message, fields in ((matrix.message, matrix.fields) for matrix in matrices):
        for path, field in fields.items():
            if field.since is not None and field.tag is not None:
                versions = field.tagged.intersect(message.valid)
                found.setdefault(field.since, set()).add((message.name, path, field.tag, str(versions)))
    return [(release, sorted(found[release])) for release in sorted(found, key=release_key)]
