"""The version that a client of one release and a broker of another use, for every API and pair of releases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kwirec.emitters.releases import api_keys
from kwirec.merge.history import ApiFacts, History, Span, release_runs
from kwirec.versions import NONE, VersionRange

REFUSED = "refused"
"""The broker advertises the version but closes the connection when it is used [KAFKA-18659]."""


@dataclass(frozen=True)
class Offer:
    """The versions of an API that one release supports, without unstable ones."""

    accepted: VersionRange
    advertised: VersionRange


@dataclass(frozen=True)
class ApiNegotiation:
    """One API in all releases that have it. ``runs`` are the spans of releases with equal offers."""

    key: int
    name: str
    offers: Mapping[str, Offer]
    runs: tuple[tuple[Span, Offer], ...]

    def table(self) -> list[list[int | str | None]]:
        """For every client and every broker the version they use: ``None`` for none in common, or :data:`REFUSED`."""
        return [[choose(client, broker) for _, broker in self.runs] for _, client in self.runs]

    def fails(self, client: str, broker: str) -> bool:
        """Whether both releases offer the API and cannot use it with each other."""
        if client not in self.offers or broker not in self.offers:
            return False
        ours, theirs = self.offers[client], self.offers[broker]
        return bool(ours.accepted and theirs.advertised) and not isinstance(choose(ours, theirs), int)


def negotiations(history: History) -> list[ApiNegotiation]:
    """All APIs under their newest names, with the offer of each release."""
    found = []
    for key in api_keys(history):
        having = [name for name in history.names if key in history.releases[name]]
        offers = {name: offer(history.releases[name][key]) for name in having}
        runs = release_runs(history.names, offers.get)
        found.append(ApiNegotiation(key, history.releases[having[-1]][key].name, offers, tuple(runs)))
    return found


def offer(api: ApiFacts) -> Offer:
    accepted = VersionRange.parse(api.accepts)
    if api.unstable:  # always the end of the range
        below = accepted.subtract(VersionRange.parse(api.unstable))
        accepted = below[0] if below else NONE
    return Offer(accepted, VersionRange.parse(api.advertises) if api.advertises else accepted)


def choose(client: Offer, broker: Offer) -> int | str | None:
    """The highest common version, if the broker accepts what it advertises."""
    common = client.accepted.intersect(broker.advertised)
    if common.is_empty:
        return None
    return common.high if common.high in broker.accepted else REFUSED
