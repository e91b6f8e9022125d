"""Releases as pages show them: the treatment of each version, and the changes since the release before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from kwire import releases as runtime
from kwirec.emitters.compat import api_rows
from kwirec.emitters.compat_matrix import MessageMatrix
from kwirec.merge.history import History, release_runs, span_text
from kwirec.versions import runs_text


@dataclass(frozen=True)
class Cell:
    """Neighbouring releases that treat a version alike: it is ``accepted``, ``deprecated``, ``unstable``, ``refused``
    though advertised, ``not published``, or ``none``."""

    span: str
    width: int
    status: str


@dataclass(frozen=True)
class ApiChange:
    """The changes of an API in a release: versions that it ``added``, ``removed`` or ``deprecated``, and versions
    that became ``stable`` or are ``unstable`` now. All are ranges as text, empty for none.
    """

    key: int
    name: str
    new: bool
    gone: bool
    added: str
    removed: str
    deprecated: str
    stable: str
    unstable: str


@dataclass(frozen=True)
class Upgrade:
    """A release with its changes since the release before, which is ``None`` for the oldest."""

    release: str
    before: str | None
    source: str
    changes: tuple[ApiChange, ...]


class Releases:
    """All releases of a history, oldest first."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.names = tuple(history.names)
        self._place = {name: place for place, name in enumerate(self.names)}
        keys = {key for apis in history.releases.values() for key in apis}
        self._known = runtime.Releases(
            {name: history.sources.get(name, "definitions") for name in self.names},
            {key: tuple(api_rows(history, key)) for key in keys},
            {},
        )

    @property
    def newest(self) -> str:
        """The name of the newest release; empty if none is known."""
        return self.names[-1] if self.names else ""

    @property
    def lines(self) -> list[tuple[str, int]]:
        """The lines, such as ``3.9``, each with the number of its releases."""
        return [(line, len(list(names))) for line, names in groupby(self.names, line_of)]

    def grid(self, matrix: MessageMatrix) -> Iterator[tuple[int, Sequence[Cell]]]:
        """Yield every version of a message with the treatment by each release."""
        message = matrix.message
        for version in matrix.shapes:
            if message.is_rpc:
                statuses = {release: self.status(message.api_key, version, release) for release in self.names}
            else:
                statuses = dict.fromkeys(self.names, "none")
                statuses |= dict.fromkeys(self.history.prints(message.name, version), "accepted")
                statuses |= dict.fromkeys(self.history.unpublished_in(message.name, version), "not published")
            yield version, [self._cell(span, found) for span, found in release_runs(self.names, statuses.get)]

    def _cell(self, span: tuple[str, str], status: str) -> Cell:
        first, last = span
        return Cell(in_words(span_text(span)), self._place[last] - self._place[first] + 1, status)

    def status(self, key: int | None, version: int, release: str) -> str:
        """Return the treatment of an API's version by a release, as in :class:`Cell`."""
        api = self._known[release].apis.get(-1 if key is None else key)
        found = "none" if api is None else api.status(version)
        return "accepted" if found == "stable" else found

    def first(self, key: int | None, version: int) -> str:
        """Return the first release that accepts a version of an API; empty if none does."""
        accepting = (name for name in self.names if self.status(key, version, name) in ("accepted", "deprecated"))
        return next(accepting, "")

    def upgrades(self) -> Iterator[Upgrade]:
        """Yield every release with its changes, oldest first."""
        before: str | None = None
        for name in self.names:
            release = self._known[name]
            changes = tuple(_changes(self._known[before].apis if before else {}, release.apis))
            yield Upgrade(name, before, release.source, changes)
            before = name


def in_words(spans: str) -> str:
    """``2.2.2..2.3.1 4.0.0`` → ``2.2.2 to 2.3.1, 4.0.0``"""
    return spans.replace(" ", ", ").replace("..", " to ")


def line_of(release: str) -> str:
    """``3.9.1`` → ``3.9``, ``0.10.2.1`` → ``0.10``"""
    return ".".join(release.split(".")[:2])


def _changes(old: Mapping[int, runtime.Api], new: Mapping[int, runtime.Api]) -> Iterator[ApiChange]:
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key), new.get(key)
        api = after or before
        if api is None or before == after:
            continue
        then, now = _versions(before), _versions(after)
        change = ApiChange(
            key,
            api.name,
            new=before is None,
            gone=after is None,
            added=runs_text(now["accepted"] - then["accepted"]),
            removed=runs_text(then["accepted"] - now["accepted"]),
            deprecated=runs_text(now["deprecated"] - then["deprecated"]),
            stable=runs_text((then["unstable"] - now["unstable"]) & now["accepted"]),
            unstable=runs_text(now["unstable"] - then["unstable"]),
        )
        if change != ApiChange(key, api.name, False, False, "", "", "", "", ""):
            yield change


def _versions(api: runtime.Api | None) -> dict[str, frozenset[int]]:
    if api is None:
        return dict.fromkeys(("accepted", "deprecated", "unstable"), frozenset())
    return {
        "accepted": frozenset(api.all_accepted(unstable=True)),
        "deprecated": frozenset(api.deprecated),
        "unstable": frozenset(api.unstable),
    }
