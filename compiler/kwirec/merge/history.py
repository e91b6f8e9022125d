"""What is remembered of every release merged so far: ``releases.json``, ``layouts.json``, ``exceptions.json``.

``releases.json`` says per broker release which versions of each API it accepts, advertises, deprecates or marks
unstable. ``layouts.json`` holds, for every message and version, the fingerprints of its bytes and the releases
that had them: the evidence against which the union is proved. ``exceptions.json`` lists the numbers whose bytes
changed between releases, each with its releases and a reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RELEASES, LAYOUTS, EXCEPTIONS = "releases.json", "layouts.json", "exceptions.json"


def release_key(release: str) -> tuple[int, ...]:
    """Orders releases: ``3.10.0`` after ``3.9.1``."""
    return tuple(int(part) for part in release.split("."))


@dataclass
class ApiFacts:
    """One API in one release. Ranges as text; ``None`` where there is nothing to say."""

    name: str
    accepts: str
    advertises: str | None = None
    deprecated: str | None = None
    unstable: str | None = None
    listeners: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        facts: dict[str, object] = {"name": self.name, "accepts": self.accepts}
        for key, value in (
            ("advertises", self.advertises),
            ("deprecated", self.deprecated),
            ("unstable", self.unstable),
            ("listeners", list(self.listeners)),
        ):
            if value:
                facts[key] = value
        return facts


@dataclass
class ExceptionEntry:
    """A version number whose bytes in some releases are not those of the union.

    ``now`` is the number that has these bytes today, if any does.
    """

    message: str
    version: int
    releases: list[str]
    now: int | None
    reason: str

    def to_json(self) -> dict[str, object]:
        entry: dict[str, object] = {"message": self.message, "version": self.version}
        entry["releases"] = self.releases
        if self.now is not None:
            entry["now"] = self.now
        entry["reason"] = self.reason
        return entry


@dataclass
class History:
    """The three files, as objects."""

    releases: dict[str, dict[int, ApiFacts]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    layouts: dict[str, dict[int, dict[str, list[str]]]] = field(default_factory=dict)
    exceptions: list[ExceptionEntry] = field(default_factory=list)

    @property
    def merged(self) -> list[str]:
        """Releases with layouts, oldest first."""
        found = {r for versions in self.layouts.values() for prints in versions.values() for r in _flat(prints)}
        return sorted(found, key=release_key)

    def evidence_of(self, release: str) -> set[tuple[str, int]]:
        """The messages and versions that are known of a release."""
        return {
            (message, version)
            for message, versions in self.layouts.items()
            for version, prints in versions.items()
            if release in _flat(prints)
        }

    def record_layout(self, message: str, version: int, fingerprint: str, release: str) -> None:
        prints = self.layouts.setdefault(message, {}).setdefault(version, {})
        releases = prints.setdefault(fingerprint, [])
        if release not in releases:
            releases.append(release)
            releases.sort(key=release_key)

    def forget(self, release: str) -> None:
        """Drop what an earlier merge of this release recorded, so that merging again replaces it."""
        self.releases.pop(release, None)
        for message, versions in list(self.layouts.items()):
            for version, prints in list(versions.items()):
                for fingerprint, releases in list(prints.items()):
                    if release in releases:
                        releases.remove(release)
                    if not releases:
                        del prints[fingerprint]
                if not prints:
                    del versions[version]
            if not versions:
                del self.layouts[message]

    def rename(self, old: str, new: str) -> None:
        """Carry the evidence of a message over to its new name."""
        if old != new and old in self.layouts:
            for version, prints in self.layouts.pop(old).items():
                for fingerprint, releases in prints.items():
                    for release in releases:
                        self.record_layout(new, version, fingerprint, release)
            for entry in self.exceptions:
                entry.message = new if entry.message == old else entry.message

    def excepted(self, message: str, version: int, release: str) -> ExceptionEntry | None:
        return next(
            (e for e in self.exceptions if (e.message, e.version) == (message, version) and release in e.releases),
            None,
        )


def read_history(root: Path) -> History:
    """The history kept in folder ``root``; an empty one when it has none yet."""
    history = History()
    for release, facts in _read(root / RELEASES, {}).items():
        history.sources[release] = facts.get("source", "definitions")
        history.releases[release] = {
            int(key): ApiFacts(
                name=api["name"],
                accepts=api["accepts"],
                advertises=api.get("advertises"),
                deprecated=api.get("deprecated"),
                unstable=api.get("unstable"),
                listeners=tuple(api.get("listeners", ())),
            )
            for key, api in facts["apis"].items()
        }
    raw = _read(root / LAYOUTS, {"releases": [], "messages": {}})
    order: list[str] = raw["releases"]
    for message, versions in raw["messages"].items():
        history.layouts[message] = {
            int(version): {print_: _expand(spans, order) for print_, spans in prints.items()}
            for version, prints in versions.items()
        }
    for entry in _read(root / EXCEPTIONS, []):
        history.exceptions.append(
            ExceptionEntry(
                entry["message"],
                entry["version"],
                _expand(entry["releases"], order) if isinstance(entry["releases"], str) else entry["releases"],
                entry.get("now"),
                entry["reason"],
            )
        )
    return history


def write_history(root: Path, history: History) -> None:
    """Write the three files, one fact a line, in a stable order."""
    root.mkdir(parents=True, exist_ok=True)
    lines = []
    for release in sorted(history.releases, key=release_key):
        apis = [
            f'      "{key}": {json.dumps(facts.to_json())}'
            for key, facts in sorted(history.releases[release].items())
        ]
        source = json.dumps(history.sources.get(release, "definitions"))
        lines.append(
            f'  "{release}": {{\n    "source": {source},\n    "apis": {{\n' + ",\n".join(apis) + "\n    }\n  }"
        )
    (root / RELEASES).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")

    order = history.merged
    blocks = []
    for message, versions in sorted(history.layouts.items()):
        rows = []
        for version, prints in sorted(versions.items()):
            ordered = sorted(prints.items(), key=lambda item: release_key(item[1][0]))
            spans = {print_: _compress(releases, order) for print_, releases in ordered}
            rows.append(f'      "{version}": {json.dumps(spans)}')
        blocks.append(f'    "{message}": {{\n' + ",\n".join(rows) + "\n    }")
    (root / LAYOUTS).write_text(
        f'{{\n  "releases": {json.dumps(order)},\n  "messages": {{\n' + ",\n".join(blocks) + "\n  }\n}\n",
        encoding="utf-8",
    )

    entries = []
    for entry in _joined(history.exceptions):
        facts = entry.to_json() | {"releases": _compress(entry.releases, order)}
        entries.append("  " + json.dumps(facts, ensure_ascii=False))
    (root / EXCEPTIONS).write_text("[\n" + ",\n".join(entries) + "\n]\n" if entries else "[]\n", encoding="utf-8")


def _joined(exceptions: list[ExceptionEntry]) -> list[ExceptionEntry]:
    """One entry for all releases of a number that have the same reason."""
    joined: dict[tuple[str, int, int | None, str], list[str]] = {}
    for entry in exceptions:
        joined.setdefault((entry.message, entry.version, entry.now, entry.reason), []).extend(entry.releases)
    entries = [
        ExceptionEntry(message, version, sorted(set(releases), key=release_key), now, reason)
        for (message, version, now, reason), releases in joined.items()
    ]
    return sorted(entries, key=lambda e: (e.message, e.version, release_key(e.releases[0])))


def _read(path: Path, default: object) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else default


def _flat(prints: dict[str, list[str]]) -> Iterable[str]:
    return (release for releases in prints.values() for release in releases)


def _compress(releases: list[str], order: list[str]) -> str:
    """``["2.2.2", "2.3.1", "4.0.0"]`` → ``"2.2.2..2.3.1 4.0.0"``: neighbours in ``order`` become a span."""
    spans: list[list[str]] = []
    for release in sorted(releases, key=release_key):
        if spans and order.index(spans[-1][-1]) + 1 == order.index(release):
            spans[-1].append(release)
        else:
            spans.append([release])
    return " ".join(span[0] if len(span) == 1 else f"{span[0]}..{span[-1]}" for span in spans)


def _expand(spans: str, order: list[str]) -> list[str]:
    releases: list[str] = []
    for span in spans.split():
        first, _, last = span.partition("..")
        start = order.index(first)
        releases += order[start : order.index(last or first) + 1]
    return releases
