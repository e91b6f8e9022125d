"""The table of all releases, and negotiation between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from kwire.errors import UnknownApiError, UnknownReleaseError
from kwire.releases.broker import ANSWERED, BrokerAnswer, BrokerFit, fit
from kwire.releases.facts import Api, Release, TaggedField, parse_versions
from kwire.releases.negotiation import Change, Negotiation, choose
from kwire_rules import API_VERSIONS

Row = tuple[str, str, str, str, str, str, str, str]
"""The first and last release, the API name, the accepted, advertised, deprecated and unstable versions, and the
listeners, all as text. Accepted versions include unstable versions. An empty text for the advertised versions means
that they equal the accepted versions."""


class Releases(Mapping[str, Release]):
    """All releases by name, oldest first. The name of a line, such as ``"4.1"``, selects the newest known release of
    that line.

    Raises ``kwire.errors.UnknownReleaseError`` for an unknown name. Objects are compared by identity.
    """

    __eq__ = object.__eq__
    __hash__ = object.__hash__

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
            name: Release(name, source, apis[name], tuple(_tag(*row) for row in self._tagged.get(name, ())))
            for name, source in self._sources.items()
        }

    def __getitem__(self, name: str) -> Release:
        known = self._known(name)
        if known is None:
            major = name.split(".")[0]
            near = [other for other in self._sources if other.split(".")[0] == major]
            newest = {other.rsplit(".", other.count(".") - 1)[0]: other for other in self._sources}
            raise UnknownReleaseError(name, near or newest.values())
        return self._releases[known]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._known(name) is not None

    def _known(self, name: str) -> str | None:
        """Return the full name of a release, given its name or its line, or ``None`` if it is unknown."""
        if name in self._sources:
            return name
        line = [known for known in self._sources if known.startswith(f"{name}.") or name.startswith(f"{known}.")]
        return line[-1] if line else None

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    @property
    def newest(self) -> Release:
        """The newest known release."""
        return self._releases[list(self._sources)[-1]]

    def negotiate(
        self, client: object, broker: object, *, listener: str | None = None, unstable: bool = False
    ) -> Negotiation:
        """Return the version of each API that ``client`` and ``broker`` would use, or why there is no such version.

        Each side is a release name, a ``Release``, a ``BrokerAnswer``, a decoded ApiVersionsResponse, or a mapping
        from API keys or names to ranges. ``listener`` excludes APIs that the broker does not offer on this listener.
        ``None`` stands for any listener. ``unstable`` enables unstable versions on both sides.

        If ``broker`` is not a release, only its advertised versions are known. The broker is assumed to accept the
        same versions as releases with the same advertised versions [KAFKA-18659].
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
        """Return the changes for APIs whose version changes or is lost when the broker ``after`` replaces
        ``before``."""
        old = self.negotiate(client, before, listener=listener, unstable=unstable)
        new = self.negotiate(client, after, listener=listener, unstable=unstable)
        both = [Change(old[key], new[key]) for key in old if key in new]
        return [change for change in both if change.before.version != change.after.version]

    def fit(self, broker: BrokerAnswer) -> BrokerFit:
        """Return the known releases closest to a broker, and its differences from the newest of them."""
        return fit(broker, self._releases, self._name)

    def of(self, broker: BrokerAnswer) -> Release:
        """Return a broker as a release, named after its address.

        The broker is assumed to accept the versions that ``negotiate`` describes, and to deprecate the same versions
        as the closest release.
        """
        nearest = self._releases[self.fit(broker).releases[-1]].apis
        apis = self._peer(broker, announced=True)
        return Release(
            broker.name,
            ANSWERED,
            {
                key: replace(api, deprecated=nearest[key].deprecated) if key in nearest else api
                for key, api in apis.items()
            },
        )

    def _peer(self, side: object, *, announced: bool) -> Mapping[int, Api]:
        """Return the APIs of one side by API key.

        With ``announced``, the ranges are advertised versions, of which the peer may accept fewer.
        """
        if isinstance(side, str):
            return self[side].apis
        if isinstance(side, Release):
            return side.apis
        return {
            key: Api(key, self._name(key), self._accepted(key, offered) if announced else offered, offered)
            for key, offered in self._ranges(side)
        }

    def _ranges(self, side: Any) -> Iterator[tuple[int, range]]:
        if isinstance(side, BrokerAnswer):
            yield from side.apis.items()
        elif isinstance(side, Mapping):
            for which, versions in side.items():
                yield self._key(which), parse_versions(versions)
        elif hasattr(side, "api_keys"):
            for api in side.api_keys:
                yield api.api_key, range(api.min_version, api.max_version + 1)
        else:
            raise TypeError(f"expected a release, the answer of a broker or a mapping of ranges, got {side!r}")

    def _key(self, which: int | str) -> int:
        if isinstance(which, int):
            return which
        for key, rows in self._rows.items():
            if any(row[2] == which for row in rows):
                return key
        raise UnknownApiError(which, [row[2] for rows in self._rows.values() for row in rows])

    def _name(self, key: int) -> str:
        return self._rows[key][-1][2] if key in self._rows else f"api key {key}"

    def _accepted(self, key: int, offered: range) -> range:
        """Return the versions that a broker accepts if it advertises ``offered``, as in the most similar release."""
        known = [release.apis[key] for release in self._releases.values() if key in release.apis]
        similar = [
            api
            for api in known
            if api.advertised and api.advertised[0] == offered.start and api.advertised[-1] in offered
        ]
        if not similar:
            return offered
        nearest = max(similar, key=lambda api: api.advertised[-1])
        return range(max(offered.start, nearest.accepted.start), offered.stop)


def _api(key: int, name: str, accepts: str, advertises: str, deprecated: str, unstable: str, listeners: str) -> Api:
    unstable_versions = parse_versions(unstable)
    accepted = parse_versions(accepts)
    if unstable_versions:  # unstable versions are always at the end of the range
        accepted = range(accepted.start, unstable_versions.start)
    advertised = parse_versions(advertises) if advertises else accepted
    return Api(
        key, name, accepted, advertised, parse_versions(deprecated), unstable_versions, tuple(listeners.split())
    )


def _tag(message: str, field: str, tag: int, versions: str) -> TaggedField:
    return TaggedField(message, field, tag, parse_versions(versions))
