"""Releases as shown on pages: the status of each version, and the changes since the previous release."""

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
    """Neighbouring releases in which a version has the same status: ``accepted``, ``deprecated``, ``unstable``,
    ``refused`` (though advertised), ``not published`` or ``none``. ``width`` is the number of columns of the cell."""

    span: str
    width: int
    status: str


@dataclass(frozen=True)
class Grid:
    """The status of all versions of a message. Neighbouring releases with the same statuses share a column, which is
    named after the first of them."""

    columns: Sequence[str]
    rows: Sequence[tuple[int, Sequence[Cell]]]


@dataclass(frozen=True)
class ApiChange:
    """The changes to an API in a release: versions that were ``added``, ``removed`` or ``deprecated``, and versions
    that became ``stable`` or ``unstable``. Each of these attributes holds ranges as text, or is empty.
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
    """A release and its changes since the release ``before``, which is ``None`` for the oldest release."""

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
        self._found: dict[tuple[int | None, int], Mapping[str, str]] = {}

    @property
    def newest(self) -> str:
        """The name of the newest release, or an empty string if no release is known."""
        return self.names[-1] if self.names else ""

    def grid(self, matrix: MessageMatrix) -> Grid:
        """Return the status of every version of a message in each release."""
        message = matrix.message
        found: dict[int, Mapping[str, str]] = {}
        for version in matrix.shapes:
            if message.is_rpc:
                found[version] = self._statuses(message.api_key, version)
            else:
                accepted = dict.fromkeys(self.history.prints(message.name, version), "accepted")
                absent = dict.fromkeys(self.history.unpublished_in(message.name, version), "not published")
                found[version] = dict.fromkeys(self.names, "none") | accepted | absent
        columns = [
            next(names) for _, names in groupby(self.names, lambda name: [one[name] for one in found.values()])
        ]
        return Grid(columns, [(version, list(self._cells(columns, one))) for version, one in found.items()])

    def _cells(self, columns: Sequence[str], statuses: Mapping[str, str]) -> Iterator[Cell]:
        for (start, end), status in release_runs(self.names, statuses.get):
            width = sum(self._place[start] <= self._place[name] <= self._place[end] for name in columns)
            yield Cell(in_words(span_text((start, end))), width, status)

    def status(self, key: int | None, version: int, release: str) -> str:
        """Return the status of an API version in a release, as in :class:`Cell`."""
        return self._statuses(key, version)[release]

    def _statuses(self, key: int | None, version: int) -> Mapping[str, str]:
        """Return the status of an API version in every release."""
        if (key, version) not in self._found:
            apis = ((name, self._known[name].apis.get(-1 if key is None else key)) for name in self.names)
            found = {name: "none" if api is None else api.status(version) for name, api in apis}
            self._found[key, version] = {name: "accepted" if one == "stable" else one for name, one in found.items()}
        return self._found[key, version]

    def first(self, key: int | None, version: int) -> str:
        """Return the first release that accepts an API version, or an empty string if no release does."""
        statuses = self._statuses(key, version).items()
        return next((name for name, status in statuses if status in ("accepted", "deprecated")), "")

    def upgrades(self) -> Iterator[Upgrade]:
        """Yield every release with its changes, oldest first."""
        before: str | None = None
        for name in self.names:
            release = self._known[name]
            changes = tuple(_changes(self._known[before].apis if before else {}, release.apis))
            yield Upgrade(name, before, release.source, changes)
            before = name


def in_words(spans: str) -> str:
    """Return ranges of releases in words: ``2.2.2..2.3.1 4.0.0`` → ``2.2.2 to 2.3.1, 4.0.0``."""
    return spans.replace(" ", ", ").replace("..", " to ")


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
