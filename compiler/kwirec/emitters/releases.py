"""What releases of a protocol speak, as a module: rows of equal facts instead of a table for every release.

::

    "2.8.2": {"1": {"name": "Fetch", "accepts": "0-12"}}        1: (
    "3.0.2": {"1": {"name": "Fetch", "accepts": "0-12"}}    →       ("2.8.2", "3.0.2", "Fetch", "0-12", …
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from kwirec.emitters.artifact import Artifact
from kwirec.emitters.environment import render
from kwirec.emitters.fields import field_paths
from kwirec.ir.schema import Schema
from kwirec.merge.history import ApiFacts, History, release_key

K = TypeVar("K")

Span = tuple[str, str]
"""First and last release of a run."""


def emit_releases(history: History, schema: Schema, *, package: str) -> Artifact:
    """The module ``releases``; for a protocol with no releases its tables are empty."""
    text = render(
        "releases/releases.jinja",
        package=package,
        sources=[(name, history.sources.get(name, "definitions")) for name in release_names(history)],
        apis=[(key, list(_rows(history, key))) for key in api_keys(history)],
        tagged=_tagged(schema),
    )
    return Artifact(path="releases.py", text=text)


def release_names(history: History) -> list[str]:
    """All releases, oldest first."""
    return sorted(history.releases, key=release_key)


def api_keys(history: History) -> list[int]:
    """The keys of all APIs that some release has."""
    return sorted({key for apis in history.releases.values() for key in apis})


def release_runs(names: Sequence[str], key: Callable[[str], K | None]) -> Iterator[tuple[Span, K]]:
    """Neighbouring releases with an equal key, as spans. Releases whose key is ``None`` are in none."""
    first, previous, current = "", "", None
    for name in names:
        found = key(name)
        if found != current:
            if current is not None:
                yield (first, previous), current
            first, current = name, found
        previous = name
    if current is not None:
        yield (first, previous), current


def spans(releases: Iterable[str], names: Sequence[str]) -> str:
    """``2.2.2..3.9.1 4.0.1``: releases as spans of neighbours."""
    wanted = set(releases)
    return " ".join(span_text(span) for span, _ in release_runs(names, lambda name: name in wanted or None))


def span_text(span: Span) -> str:
    return span[0] if span[0] == span[1] else f"{span[0]}..{span[1]}"


def _rows(history: History, key: int) -> Iterator[tuple[str, ...]]:
    def facts(name: str) -> tuple[str, ...] | None:
        api = history.releases[name].get(key)
        return None if api is None else _texts(api)

    for span, texts in release_runs(release_names(history), facts):
        yield (*span, *texts)


def _texts(api: ApiFacts) -> tuple[str, ...]:
    ranges = (api.accepts, api.advertises or "", api.deprecated or "", api.unstable or "")
    return (api.name, *ranges, " ".join(sorted(api.listeners)))


def _tagged(schema: Schema) -> list[tuple[str, list[tuple[str, str, int, str]]]]:
    """For every release the tagged fields it brought to versions that existed before."""
    found: dict[str, set[tuple[str, str, int, str]]] = {}
    for message in schema.messages:
        for path, one in field_paths(message):
            if one.since is not None and one.tag is not None:
                versions = one.tagged.intersect(message.valid)
                found.setdefault(one.since, set()).add((message.name, path, one.tag, str(versions)))
    return [(release, sorted(found[release])) for release in sorted(found, key=release_key)]
