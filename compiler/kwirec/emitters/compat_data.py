"""The compatibility matrix as data: ``compat.json``, one fact a line, and the module that opens it.

Versions that convert alike are one row, releases that speak the same are one row: the matrix of a protocol with
hundreds of messages stays something to read and to compare.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kwirec.emitters.artifact import Artifact
from kwirec.emitters.compat_matrix import MessageMatrix
from kwirec.emitters.environment import render
from kwirec.emitters.negotiations import ApiNegotiation
from kwirec.emitters.releases import release_names, span_text, spans
from kwirec.ir.schema import Message, MessageKind
from kwirec.merge.history import ApiFacts, History
from kwirec.versions import VersionRange

STABLE, DEPRECATED, UNSTABLE, REMOVED = "stable", "deprecated", "unstable", "removed"
APIS = (MessageKind.REQUEST, MessageKind.RESPONSE)


@dataclass(frozen=True, kw_only=True)
class VersionFacts:
    """One version of a message. ``releases`` are those that have it, ``others`` those where its bytes were others;
    both as spans, empty where nothing is known. ``status`` is that in the newest release."""

    version: int
    header: int | None
    flexible: bool
    layout: str
    releases: str
    others: str
    status: str

    def to_json(self) -> dict[str, object]:
        facts: dict[str, object] = {"version": self.version}
        if self.header is not None:
            facts["header"] = self.header
        facts |= {"flexible": self.flexible, "layout": self.layout, "status": self.status}
        if self.releases:
            facts["releases"] = self.releases
        if self.others:
            facts["other_bytes_in"] = self.others
        return facts


def emit_compat(
    matrices: Iterable[MessageMatrix], history: History, apis: Iterable[ApiNegotiation], *, package: str
) -> list[Artifact]:
    """``compat.json`` and ``compat.py``."""
    matrices = list(matrices)
    example = max(matrices, key=lambda matrix: len(matrix.shapes), default=None)
    data = _object(
        {
            "releases": json.dumps(release_names(history)),
            "messages": _object({matrix.message.name: _message(matrix, history) for matrix in matrices}, 1),
            "negotiation": _object({str(api.key): _negotiation(api) for api in apis}, 1),
        },
        0,
    )
    return [
        Artifact(path="compat.json", text=data + "\n"),
        Artifact(path="compat.py", text=render("matrix/compat.jinja", package=package, example=example)),
    ]


def version_facts(matrix: MessageMatrix, history: History) -> list[VersionFacts]:
    """What is known of every version of a message."""
    names = release_names(history)
    message = matrix.message
    facts = []
    for version, layout in matrix.layouts.items():
        evidence = history.layouts.get(message.name, {}).get(version, {})
        seen = {name for names in evidence.values() for name in names}
        having = _accepting(message, version, history) if message.kind in APIS else seen
        others = {name for print_, names in evidence.items() if print_ != layout.fingerprint for name in names}
        facts.append(
            VersionFacts(
                version=version,
                header=matrix.headers.get(version),
                flexible=layout.is_flexible,
                layout=layout.fingerprint,
                releases=spans(having, names),
                others=spans(others, names),
                status=_status(message, version, history, having),
            )
        )
    return facts


def run_text(run: Sequence[int]) -> str:
    return str(VersionRange(run[0], run[-1]))


def _accepting(message: Message, version: int, history: History) -> set[str]:
    """The releases whose brokers accept a version, which are known for longer than the bytes are."""
    facts = {release: _facts(message, release, history) for release in history.releases}
    return {release for release, api in facts.items() if api is not None and _within(version, api.accepts)}


def _status(message: Message, version: int, history: History, having: set[str]) -> str:
    newest = next(reversed(release_names(history)), None)
    if newest is None:
        unstable = message.latest_unstable and version == message.valid.high
        return UNSTABLE if unstable else DEPRECATED if version in message.deprecated else STABLE
    if newest not in having:
        return REMOVED
    api = _facts(message, newest, history)
    if api is not None and _within(version, api.unstable):
        return UNSTABLE
    return DEPRECATED if api is not None and _within(version, api.deprecated) else STABLE


def _facts(message: Message, release: str, history: History) -> ApiFacts | None:
    """What a release says of the API that a request or response belongs to."""
    if message.kind not in APIS or message.api_key is None:
        return None
    return history.releases[release].get(message.api_key)


def _within(version: int, versions: str | None) -> bool:
    return versions is not None and version in VersionRange.parse(versions)


def _message(matrix: MessageMatrix, history: History) -> str:
    rows = [
        {"from": run_text(source), "to": run_text(target)} | conversion.to_json()
        for source, target, conversion in matrix.conversions()
    ]
    return _object(
        {
            "kind": json.dumps(matrix.message.kind.value),
            "api_key": json.dumps(matrix.message.api_key),
            "versions": _lines([facts.to_json() for facts in version_facts(matrix, history)], 3),
            "conversions": _lines(rows, 3),
        },
        2,
    )


def _negotiation(api: ApiNegotiation) -> str:
    """Rows are clients, columns brokers, both in the order of ``releases``."""
    return _object(
        {
            "name": json.dumps(api.name),
            "releases": json.dumps([span_text(span) for span, _ in api.runs]),
            "versions": _lines(api.table(), 3),
        },
        2,
    )


def _lines(entries: Iterable[object], depth: int) -> str:
    texts = [f"{' ' * (depth + 1)}{json.dumps(entry)}" for entry in entries]
    return "[\n" + ",\n".join(texts) + f"\n{' ' * depth}]" if texts else "[]"


def _object(members: Mapping[str, str], depth: int) -> str:
    texts = [f"{' ' * (depth + 1)}{json.dumps(name)}: {text}" for name, text in members.items()]
    return "{\n" + ",\n".join(texts) + f"\n{' ' * depth}}}" if texts else "{}"
