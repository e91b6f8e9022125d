"""The compatibility matrix as data: ``compat.json``, with one fact on each line, and the module that reads it.

Versions that convert alike share a row, as do releases with equal facts, so that the matrix of a protocol with
hundreds of messages can still be read and compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kwirec.emitters.compat_matrix import MessageMatrix
from kwirec.emitters.environment import Artifact, render
from kwirec.emitters.negotiations import ApiNegotiation
from kwirec.ir.schema import Message
from kwirec.json_text import json_text
from kwirec.lowering.headers import header_versions
from kwirec.merge.history import ApiFacts, History, span_text, spans
from kwirec.versions import VersionRange


@dataclass(frozen=True, kw_only=True)
class VersionFacts:
    """One version of a message. ``status`` is that in the newest release.

    ``releases`` are the spans of releases that have the version, ``other_bytes_in`` those in which its bytes were
    different; empty if unknown.
    """

    version: int
    header: int | None
    flexible: bool
    layout: str
    status: str
    releases: str
    other_bytes_in: str


def emit_compat(
    matrices: Sequence[MessageMatrix], history: History, apis: Iterable[ApiNegotiation], *, package: str
) -> list[Artifact]:
    """``compat.json`` and ``compat.py``."""
    example = max(matrices, key=lambda matrix: len(matrix.shapes), default=None)
    data = {
        "releases": history.names,
        "messages": {matrix.message.name: _message(matrix, history) for matrix in matrices},
        "negotiation": {api.key: _negotiation(api) for api in apis},
    }
    return [
        Artifact(path="compat.json", text=json_text(data, levels=4, indent=1) + "\n"),
        Artifact(path="compat.py", text=render("matrix/compat.jinja", package=package, example=example)),
    ]


def _message(matrix: MessageMatrix, history: History) -> dict[str, object]:
    versions = [
        {name: value for name, value in vars(facts).items() if value not in (None, "")}
        for facts in version_facts(matrix, history)
    ]
    conversions = [
        {"from": run_text(source), "to": run_text(target)} | conversion.to_json()
        for source, target, conversion in matrix.conversions()
    ]
    message = matrix.message
    return {
        "kind": message.kind.value,
        "api_key": message.api_key,
        "versions": versions,
        "conversions": conversions,
    }


def _negotiation(api: ApiNegotiation) -> dict[str, object]:
    """Rows are clients, columns brokers, both in the order of ``releases``."""
    return {"name": api.name, "releases": [span_text(span) for span, _ in api.runs], "versions": api.table()}


def version_facts(matrix: MessageMatrix, history: History) -> list[VersionFacts]:
    """The facts about every version of a message."""
    message = matrix.message
    headers = header_versions(message)
    facts = []
    for version, shape in matrix.shapes.items():
        prints = history.prints(message.name, version)
        having = _accepting(message, version, history) if message.is_rpc else set(prints)
        others = (name for name, fingerprint in prints.items() if fingerprint != shape.layout.fingerprint)
        facts.append(
            VersionFacts(
                version=version,
                header=headers.get(version),
                flexible=shape.layout.is_flexible,
                layout=shape.layout.fingerprint,
                status=_status(message, version, history, having),
                releases=spans(having, history.names),
                other_bytes_in=spans(others, history.names),
            )
        )
    return facts


def run_text(run: Sequence[int]) -> str:
    return str(VersionRange(run[0], run[-1]))


def _accepting(message: Message, version: int, history: History) -> set[str]:
    """The releases whose brokers accept a version. They go back further than the known layouts."""
    facts = {release: _facts(message, release, history) for release in history.releases}
    return {release for release, api in facts.items() if api is not None and _within(version, api.accepts)}


def _status(message: Message, version: int, history: History, having: set[str]) -> str:
    if not history.releases:
        unstable = message.latest_unstable and version == message.valid.high
        return "unstable" if unstable else "deprecated" if version in message.deprecated else "stable"
    newest = history.names[-1]
    if newest not in having:
        return "removed"
    api = _facts(message, newest, history)
    if api is not None and _within(version, api.unstable):
        return "unstable"
    return "deprecated" if api is not None and _within(version, api.deprecated) else "stable"


def _facts(message: Message, release: str, history: History) -> ApiFacts | None:
    """The facts of a release about the API that a request or response belongs to."""
    if not message.is_rpc or message.api_key is None:
        return None
    return history.releases[release].get(message.api_key)


def _within(version: int, versions: str | None) -> bool:
    return versions is not None and version in VersionRange.parse(versions)
