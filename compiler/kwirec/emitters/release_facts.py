"""Facts from the release history: which versions clients and brokers use, and the status of each version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kwire_rules import choose
from kwirec.ir.schema import Message
from kwirec.lowering import MessageLayout
from kwirec.lowering.headers import header_versions
from kwirec.merge.history import ApiFacts, History, Span, release_runs, spans
from kwirec.merge.proof import as_of
from kwirec.versions import NONE, VersionRange


@dataclass(frozen=True)
class Offer:
    """The stable versions of an API that one release supports."""

    accepted: VersionRange
    advertised: VersionRange


NO_OFFER = Offer(NONE, NONE)


@dataclass(frozen=True)
class ApiNegotiation:
    """The offers of one API in all releases that have the API. ``runs`` are spans of consecutive releases with equal
    offers.
    """

    key: int
    name: str
    offers: Mapping[str, Offer]
    runs: tuple[tuple[Span, Offer], ...]

    def offer(self, release: str) -> Offer:
        return self.offers.get(release, NO_OFFER)

    def table(self) -> list[list[int | str | None]]:
        """Return the version that each client uses with each broker, with one row per client.

        An entry is ``None`` if there is no common version, or :data:`REFUSED` if the broker does not accept the
        version.
        """
        return [[chosen(client, broker) for _, broker in self.runs] for _, client in self.runs]

    def fails(self, client: str, broker: str) -> bool:
        """Return whether both releases offer the API but cannot use it with each other."""
        ours, theirs = self.offer(client), self.offer(broker)
        return bool(ours.accepted and theirs.advertised) and not isinstance(chosen(ours, theirs), int)


def negotiations(history: History) -> list[ApiNegotiation]:
    """Return all APIs under their newest names, including the offer of each release."""
    found = []
    for key in sorted({key for apis in history.releases.values() for key in apis}):
        having = [name for name in history.names if key in history.releases[name]]
        offers = {name: offer(history.releases[name][key]) for name in having}
        runs = release_runs(history.names, offers.get)
        found.append(ApiNegotiation(key, history.releases[having[-1]][key].name, offers, tuple(runs)))
    return found


def offer(api: ApiFacts) -> Offer:
    stable = VersionRange.parse(api.accepts).subtract(VersionRange.parse(api.unstable or "none"))
    accepted = stable[0] if stable else NONE  # Unstable versions are always at the end of the range.
    return Offer(accepted, VersionRange.parse(api.advertises) if api.advertises else accepted)


def chosen(client: Offer, broker: Offer) -> int | str | None:
    """Return the version that a client uses with a broker, as an entry of :meth:`ApiNegotiation.table`."""
    return choose(*(range(one.low, one.high + 1) for one in (client.accepted, broker.advertised, broker.accepted)))


def version_facts(
    message: Message, layouts: Mapping[int, MessageLayout], history: History
) -> Iterator[dict[str, object]]:
    """Yield the facts about each version of a message, with its ``status`` in the newest release.

    ``releases`` names the spans of releases that have the version. ``other_bytes_in`` names the spans in which the
    version has other bytes, not counting tagged fields that were added later. Both are empty if unknown. ``header``
    is ``None`` for messages without a header. ``layout`` is a fingerprint.
    """
    headers = header_versions(message)
    releases = history.releases if message.is_rpc else {}
    apis = {name: facts[message.api_key] for name, facts in releases.items() if message.api_key in facts}
    accepts = {name: VersionRange.parse(api.accepts) for name, api in apis.items()}
    names = history.names
    newest = names[-1] if names else None
    unstable, deprecated = _marked(message, newest, apis)
    for version, layout in layouts.items():
        prints = history.prints(message.name, version)
        # Accepted versions are known for more releases than layouts.
        accepting = (name for name, versions in accepts.items() if version in versions)
        having = set(accepting if message.is_rpc else prints)
        differing = (name for name, fingerprint in prints.items() if fingerprint != layout.fingerprint)
        others = (name for name in differing if prints[name] != as_of(layout, name).fingerprint)
        status = "unstable" if version in unstable else "deprecated" if version in deprecated else "stable"
        if newest is not None and newest not in having:
            away = newest in history.unpublished_in(message.name, version)
            status = "not published" if away else "removed"
        yield {
            "version": version,
            "header": headers.get(version),
            "flexible": layout.is_flexible,
            "layout": layout.fingerprint,
            "status": status,
            "releases": spans(having, names),
            "other_bytes_in": spans(others, names),
        }


def _marked(message: Message, newest: str | None, apis: Mapping[str, ApiFacts]) -> tuple[VersionRange, VersionRange]:
    """Return the unstable and deprecated versions, from the newest release or, if none is known, the definitions."""
    if newest is None:
        latest = VersionRange(message.valid.high, message.valid.high)
        return latest if message.latest_unstable else NONE, message.deprecated
    texts = (apis[newest].unstable, apis[newest].deprecated) if newest in apis else (None, None)
    unstable, deprecated = (VersionRange.parse(text or "none") for text in texts)
    return unstable, deprecated
