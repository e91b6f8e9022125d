"""Which version a client of one release and a broker of another use, for every API and pair of releases."""

from __future__ import annotations

from dataclasses import dataclass

from kwirec.emitters.releases import Span, api_keys, release_names, release_runs
from kwirec.merge.history import ApiFacts, History
from kwirec.versions import NONE, VersionRange

REFUSED = "refused"
"""The broker advertises the version, and closes the connection when it is used [KAFKA-18659]."""


@dataclass(frozen=True)
class Offer:
    """What one release speaks of an API, without what is unstable."""

    accepted: VersionRange
    advertised: VersionRange


@dataclass(frozen=True)
class ApiNegotiation:
    """One API between all releases; those that speak the same of it are one run."""

    key: int
    name: str
    runs: tuple[tuple[Span, Offer], ...]

    def table(self) -> list[list[int | str | None]]:
        """For every client and every broker the version they use: ``None`` for none in common, or :data:`REFUSED`."""
        return [[choose(mine, theirs) for _, theirs in self.runs] for _, mine in self.runs]


def negotiations(history: History) -> list[ApiNegotiation]:
    """All APIs with what each release speaks of them."""
    names = release_names(history)
    found = []
    for key in api_keys(history):
        offers = {name: offer(apis[key]) for name, apis in history.releases.items() if key in apis}
        newest = next(history.releases[name][key] for name in reversed(names) if name in offers)
        found.append(ApiNegotiation(key, newest.name, tuple(release_runs(names, offers.get))))
    return found


def offer(api: ApiFacts) -> Offer:
    accepted = VersionRange.parse(api.accepts)
    if api.unstable:  # always the end of the range
        below = accepted.subtract(VersionRange.parse(api.unstable))
        accepted = below[0] if below else NONE
    return Offer(accepted, VersionRange.parse(api.advertises) if api.advertises else accepted)


def choose(client: Offer, broker: Offer) -> int | str | None:
    """The highest version of both, if the broker means what it says."""
    common = client.accepted.intersect(broker.advertised)
    if common.is_empty:
        return None
    return common.high if common.high in broker.accepted else REFUSED
