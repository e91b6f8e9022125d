"""The table of all releases, and the questions it answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from kwire.errors import KwireError
from kwire.protocol import API_VERSIONS, UnknownApi
from kwire.releases.facts import Api, Release, TaggedField, parse_versions
from kwire.releases.negotiation import Change, Negotiation, choose

Row = tuple[str, str, str, str, str, str, str, str]
"""First and last release for which it holds, name, accepted, advertised, deprecated and unstable versions as texts,
listeners. Accepted are the unstable versions too; no advertised versions mean that they are the accepted ones."""


class UnknownReleaseError(KwireError, KeyError):
    """A release about which nothing is known; the message names those nearby."""

    __str__ = Exception.__str__


class Releases(Mapping[str, Release]):
    """All releases, oldest first, by name. ``"4.1"`` finds the newest known release of that line."""

    def __init__(
        self,
        sources: Mapping[str, str],
        apis: Mapping[int, tuple[Row, ...]],
        tagged: Mapping[str, tuple[tuple[str, str, int, str], ...]],
    ) -> None:
        self._sources = sources
        self._rows = apis
        self._tagged = tagged

    @cached_property
    def _releases(self) -> dict[str, Release]:
        order = list(self._sources)
        apis: dict[str, dict[int, Api]] = {name: {} for name in order}
        for key, rows in sorted(self._rows.items()):
            for first, last, *facts in rows:
                api = _api(key, *facts)
                for name in order[order.index(first) : order.index(last) + 1]:
                    apis[name][key] = api
        return {
            name: Release(name, source, apis[name], tuple(_tag(*one) for one in self._tagged.get(name, ())))
            for name, source in self._sources.items()
        }

    def __getitem__(self, name: str) -> Release:
        if name in self._releases:
            return self._releases[name]
        line = [known for known in self._releases if known.startswith(f"{name}.") or name.startswith(f"{known}.")]
        if not line:
            major = name.split(".")[0]
            near = [known for known in self._releases if known.split(".")[0] == major] or list(self._releases)
            raise UnknownReleaseError(f"nothing is known of release {name!r}, only of {', '.join(near)}")
        return self._releases[line[-1]]

    def __contains__(self, name: object) -> bool:
        return name in self._sources

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    @property
    def newest(self) -> Release:
        return self._releases[list(self._sources)[-1]]

    def negotiate(
        self, client: object, broker: object, *, listener: str | None = None, unstable: bool = False
    ) -> Negotiation:
        """The version that each API would use between ``client`` and ``broker``, or why none.

        Each is the name of a release, a :class:`Release`, a decoded ApiVersionsResponse, or a mapping from api keys
        or names to ranges. ``listener`` leaves out what the broker does not offer there; ``None`` is any listener.
        ``unstable`` switches unstable versions on, on both sides.

        Of a broker that is not given as a release only what it advertises is known. What it accepts of that is taken
        to be what releases do that advertise the same [KAFKA-18659].
        """
        clients, brokers = self._peer(client, announced=False), self._peer(broker, announced=True)
        choices = [
            choose(key, clients.get(key), brokers.get(key), listener, unstable=unstable)
            for key in sorted({*clients, *brokers})
        ]
        return Negotiation(choices, blind=API_VERSIONS not in brokers)

    def changes(
        self,
        client: object,
        before: object,
        after: object,
        *,
        listener: str | None = None,
        unstable: bool = False,
    ) -> list[Change]:
        """The APIs of a client that use another version, or none, when broker ``after`` replaces ``before``."""
        old = self.negotiate(client, before, listener=listener, unstable=unstable)
        new = self.negotiate(client, after, listener=listener, unstable=unstable)
        both = [Change(old[key], new[key]) for key in old if key in new]
        return [change for change in both if change.before.version != change.after.version]

    def _peer(self, side: object, *, announced: bool) -> Mapping[int, Api]:
        """The APIs of one side. ``announced``: the ranges are what it says, and it may accept less."""
        if isinstance(side, str):
            return self[side].apis
        if isinstance(side, Release):
            return side.apis
        return {
            key: Api(key, self._name(key), self._accepted(key, offered) if announced else offered, offered)
            for key, offered in self._ranges(side)
        }

    def _ranges(self, side: Any) -> Iterator[tuple[int, range]]:
        if isinstance(side, Mapping):
            for which, versions in side.items():
                yield self._key(which), parse_versions(versions)
        elif hasattr(side, "api_keys"):
            for one in side.api_keys:
                yield one.api_key, range(one.min_version, one.max_version + 1)
        else:
            raise TypeError(f"{side!r} is neither a release nor an ApiVersionsResponse nor a mapping of ranges")

    def _key(self, which: int | str) -> int:
        if isinstance(which, int):
            return which
        for key, rows in self._rows.items():
            if any(row[2] == which for row in rows):
                return key
        raise UnknownApi(f"no release has an api {which!r}")

    def _name(self, key: int) -> str:
        return self._rows[key][-1][2] if key in self._rows else f"api {key}"

    def _accepted(self, key: int, offered: range) -> range:
        """What a broker accepts that offers this, going by the release with the nearest such offer from below."""
        known = [release.apis[key] for release in self._releases.values() if key in release.apis]
        alike = [
            a for a in known if a.advertised and a.advertised[0] == offered.start and a.advertised[-1] in offered
        ]
        if not alike:
            return offered
        nearest = max(alike, key=lambda api: api.advertised[-1])
        return range(max(offered.start, nearest.accepted.start), offered.stop)


def _api(key: int, name: str, accepts: str, advertises: str, deprecated: str, unstable: str, listeners: str) -> Api:
    beyond = parse_versions(unstable)
    accepted = parse_versions(accepts)
    if beyond:  # always the end of the range
        accepted = range(accepted.start, beyond.start)
    advertised = parse_versions(advertises) if advertises else accepted
    return Api(key, name, accepted, advertised, parse_versions(deprecated), beyond, tuple(listeners.split()))


def _tag(message: str, field: str, tag: int, versions: str) -> TaggedField:
    return TaggedField(message, field, tag, parse_versions(versions))
