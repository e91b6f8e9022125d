"""Facts about all merged releases, kept in ``releases.json``, ``layouts.json`` and ``exceptions.json``.

``releases.json`` records which versions of each API a broker release accepts, advertises, deprecates or marks as
unstable. ``layouts.json`` records the fingerprints of each message version and the releases that had them. These
fingerprints are the evidence for the union. ``exceptions.json`` lists the versions whose bytes changed between
releases, with the releases and a reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from kwirec.files import read_regular
from kwirec.json_text import json_text
from kwirec.versions import RELEASE, VersionRange

K = TypeVar("K")

Span = tuple[str, str]
"""The first and last release of a run of consecutive releases."""

_FORMS = {
    "a text": re.compile(".*", re.DOTALL),
    "a release": RELEASE,
    "the name of an API": re.compile("[A-Za-z][A-Za-z0-9]*"),
}
RELEASES, LAYOUTS, EXCEPTIONS = "releases.json", "layouts.json", "exceptions.json"


@lru_cache(1024)
def release_key(release: str) -> tuple[int, ...]:
    """Return a sort key for releases that places ``3.10.0`` after ``3.9.1``."""
    return tuple(int(part) for part in release.split("."))


@dataclass
class ApiFacts:
    """One API in one release. Version ranges are strings or ``None``."""

    name: str
    accepts: str
    advertises: str | None = None
    deprecated: str | None = None
    unstable: str | None = None
    listeners: tuple[str, ...] = ()


@dataclass
class ExceptionEntry:
    """A version whose bytes in some releases differ from its bytes in the union.

    ``now`` is the version that has these bytes in the union, if any.
    """

    message: str
    version: int
    releases: list[str]
    now: int | None
    reason: str


@dataclass
class History:
    """The contents of the three files. ``layouts`` maps message, version and release to a fingerprint."""

    releases: dict[str, dict[int, ApiFacts]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    layouts: dict[str, dict[int, dict[str, str]]] = field(default_factory=dict)
    exceptions: list[ExceptionEntry] = field(default_factory=list)
    unpublished: dict[str, list[str]] = field(default_factory=dict)
    """Messages whose module was not published with a release, by release. They are neither present in the release nor
    removed.
    """

    @property
    def names(self) -> list[str]:
        """All releases, oldest first."""
        return sorted(self.releases, key=release_key)

    @property
    def merged(self) -> list[str]:
        """Releases with layouts, oldest first."""
        return sorted({release for _, _, release, _ in self.evidence()}, key=release_key)

    def evidence(self) -> Iterator[tuple[str, int, str, str]]:
        """Yield the message, version, release and fingerprint of each known layout."""
        for message, versions in self.layouts.items():
            for version, prints in versions.items():
                for release, fingerprint in prints.items():
                    yield message, version, release, fingerprint

    def evidence_of(self, release: str) -> set[tuple[str, int]]:
        """Return the pairs of message and version whose layout is known for a release."""
        return {(message, version) for message, version, other, _ in self.evidence() if other == release}

    def prints(self, message: str, version: int) -> dict[str, str]:
        """Return the fingerprint of a message version for each release."""
        return self.layouts.get(message, {}).get(version, {})

    def unpublished_in(self, message: str, version: int) -> set[str]:
        """Return the releases without a message's module, if the last release with the module had the version."""
        if not any(message in messages for messages in self.unpublished.values()):
            return set()
        found: set[str] = set()
        there = False
        for release in self.names:
            if message not in self.unpublished.get(release, ()):
                there = release in self.prints(message, version)
            elif there:
                found.add(release)
        return found

    def record_layout(self, message: str, version: int, fingerprint: str, release: str) -> None:
        self.layouts.setdefault(message, {}).setdefault(version, {})[release] = fingerprint

    def forget(self, release: str) -> None:
        """Drop the facts from an earlier merge of this release, so that a new merge can replace them."""
        self.releases.pop(release, None)
        self.unpublished.pop(release, None)
        left = [entry for entry in self.evidence() if entry[2] != release]
        self.layouts.clear()
        for message, version, other, fingerprint in left:
            self.record_layout(message, version, fingerprint, other)

    def rename(self, old: str, new: str) -> None:
        """Move the evidence of a message to its new name."""
        if old != new and old in self.layouts:
            for version, prints in self.layouts.pop(old).items():
                for release, fingerprint in prints.items():
                    self.record_layout(new, version, fingerprint, release)
            for messages in self.unpublished.values():
                messages[:] = [new if message == old else message for message in messages]
            for entry in self.exceptions:
                entry.message = new if entry.message == old else entry.message

    def excepted(self, message: str, version: int, release: str) -> ExceptionEntry | None:
        return next(
            (e for e in self.exceptions if (e.message, e.version) == (message, version) and release in e.releases),
            None,
        )


class HistoryError(OSError):
    """Raised when ``releases.json``, ``layouts.json`` or ``exceptions.json`` has invalid contents."""


def read_history(root: Path) -> History:
    """Return the history in the folder ``root``, or an empty history. Raises :class:`HistoryError`."""
    history = History()
    path = root / RELEASES
    try:
        for release, facts in _read(path, {}).items():
            history.sources[_text(release, "a release")] = _text(facts["source"])
            apis = facts["apis"].items()
            history.releases[release] = {int(key): _api_facts((release, key), **api) for key, api in apis}
            if lacking := [_text(message) for message in facts.get("unpublished", ())]:
                history.unpublished[release] = lacking
        path = root / LAYOUTS
        raw = _read(path, {"releases": [], "messages": {}})
        order = [_text(release, "a release") for release in raw["releases"]]
        for message, versions in raw["messages"].items():
            for version, prints in versions.items():
                for fingerprint, spans in prints.items():
                    for release in _expand(spans, order):
                        history.record_layout(message, int(version), fingerprint, release)
        path = root / EXCEPTIONS
        history.exceptions += (_exception(order, **facts) for facts in _read(path, []))
    except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError) as problem:
        raise HistoryError(
            f"{path.as_posix()} does not have the format that `kwirec merge` writes: {problem!r}"
        ) from problem
    return history


def _api_facts(place: tuple[str, str], name: str, listeners: Iterable[str] = (), **versions: Any) -> ApiFacts:
    for attribute, text in versions.items():
        if VersionRange.parse("none" if text is None else text).is_open:
            where = f"`{attribute}` of api key {place[1]} in {place[0]}"
            raise ValueError(f"{where} is {text!r}, but must end with the last version, as in `0-4`")
    return ApiFacts(_text(name, "the name of an API"), listeners=tuple(map(_text, listeners)), **versions)


def _exception(
    order: list[str], message: str, version: int, releases: str, reason: str, now: int | None = None
) -> ExceptionEntry:
    if {type(version), type(now or 0)} != {int}:
        raise TypeError(f"version {version!r} or {now!r} is not a number")
    return ExceptionEntry(_text(message), version, _expand(releases, order), now, _text(reason))


def _text(value: str, form: str = "a text") -> str:
    """Return ``value`` from JSON. Raises ``TypeError`` or ``ValueError`` unless it is a string of this form."""
    if not _FORMS[form].fullmatch(value):
        raise ValueError(f"{value!r} is not {form}")
    return value


def history_files(history: History) -> dict[str, str]:
    """Return the contents of the three files by file name, with one fact per line in a stable order."""
    releases = {
        release: {
            "source": history.sources.get(release, "definitions"),
            **({"unpublished": sorted(lacking)} if (lacking := history.unpublished.get(release)) else {}),
            "apis": {key: _facts(facts) for key, facts in sorted(history.releases[release].items())},
        }
        for release in history.names
    }
    order = history.merged
    messages = {
        message: {version: _grouped(prints, order) for version, prints in sorted(versions.items())}
        for message, versions in sorted(history.layouts.items())
    }
    layouts = {"releases": order, "messages": messages}
    entries = [_facts(entry) | {"releases": spans(entry.releases, order)} for entry in _joined(history.exceptions)]
    return {
        RELEASES: json_text(releases, levels=3, indent=2) + "\n",
        LAYOUTS: json_text(layouts, levels=3, indent=2) + "\n",
        EXCEPTIONS: json_text(entries, levels=1, indent=2) + "\n",
    }


def _facts(entry: ApiFacts | ExceptionEntry) -> dict[str, object]:
    """Return the attributes with a value, for JSON."""
    return {name: value for name, value in vars(entry).items() if value not in (None, ())}


def _grouped(prints: Mapping[str, str], order: Sequence[str]) -> dict[str, str]:
    """Return the spans of releases by fingerprint, oldest fingerprint first."""
    fingerprints = dict.fromkeys(prints[release] for release in sorted(prints, key=release_key))
    return {
        fingerprint: spans((release for release in prints if prints[release] == fingerprint), order)
        for fingerprint in fingerprints
    }


def _joined(exceptions: list[ExceptionEntry]) -> list[ExceptionEntry]:
    """Return the exceptions, with one entry for all releases in which a version is excepted for the same reason."""
    joined: dict[tuple[str, int, int | None, str], list[str]] = {}
    for entry in exceptions:
        joined.setdefault((entry.message, entry.version, entry.now, entry.reason), []).extend(entry.releases)
    entries = [
        ExceptionEntry(message, version, sorted(set(releases), key=release_key), now, reason)
        for (message, version, now, reason), releases in joined.items()
    ]
    return sorted(entries, key=lambda e: (e.message, e.version, release_key(e.releases[0])))


def _read(path: Path, default: object) -> Any:
    return json.loads(read_regular(path)) if path.exists() else default


def release_runs(names: Sequence[str], key: Callable[[str], K | None]) -> Iterator[tuple[Span, K]]:
    """Yield each run of consecutive releases with an equal key, and the key. Skip releases with the key ``None``."""
    for value, group in groupby(names, key):
        releases = list(group)
        if value is not None:
            yield (releases[0], releases[-1]), value


def span_text(span: Span) -> str:
    return span[0] if span[0] == span[1] else f"{span[0]}..{span[1]}"


def spans(releases: Iterable[str], names: Sequence[str]) -> str:
    """Join neighbours in ``names`` into spans: ``["2.2.2", "2.3.1", "4.0.0"]`` becomes ``"2.2.2..2.3.1 4.0.0"``."""
    selected = set(releases)
    return " ".join(span_text(span) for span, _ in release_runs(names, lambda name: name in selected or None))


def _expand(spans: str, order: list[str]) -> list[str]:
    releases: list[str] = []
    for span in spans.split():
        first, _, last = span.partition("..")
        releases += order[order.index(first) : order.index(last or first) + 1]
    return releases
