"""Combines each client's use of an API with the verdict for a target, in plain Python.

Each verdict applies to a client at one address, because each address negotiates separately. ``rolled_up`` combines
the addresses of each client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_inspect.reports.client_usage import Client, Use, grouped
from kwire_inspect.reports.release_support import REFUSED, SEVERITY, Verdict, judge
from kwire_kafka.releases import RELEASES
from kwire_rules import API_VERSIONS

if TYPE_CHECKING:
    from kwire.releases import Release, Releases

Judged = list[tuple[Use, Verdict]]
Addresses = Mapping[Client, Sequence[str]]
"""Maps each client, as returned by ``anywhere``, to its addresses."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdicts for a target, worst first.

    ``clients`` contains the verdicts on clients' requests. ``between`` contains the verdicts on requests that brokers
    and controllers send to each other.
    """

    target: Release
    clients: Judged
    between: Judged

    @classmethod
    def of(cls, uses: Iterable[Use], target: Release, releases: Releases = RELEASES) -> Judgement:
        """Judge these uses of API versions. ``releases`` are the known releases."""
        found = judged(uses, target, releases)
        clients = [(use, verdict) for use, verdict in found if not use.between_brokers]
        return cls(target, clients, [(use, verdict) for use, verdict in found if use.between_brokers])

    def rolled_up(self) -> Judgement:
        """Return the judgement with all addresses of each client combined. The worst verdict on each API version is
        kept.
        """
        by_use = grouped(self.clients, lambda pair: (pair[0].client.anywhere, pair[0].api_key, pair[0].version))
        clients = [(_joined([use for use, _ in group]), group[0][1]) for group in by_use.values()]
        return replace(self, clients=sorted(clients, key=_worst_first))

    def by_client(self) -> dict[Client, Judged]:
        """Return the verdicts for each client, worst first."""
        return grouped(self.clients, lambda pair: pair[0].client)

    def refused(self) -> list[Client]:
        """Return the clients that use a refused version."""
        return list(dict.fromkeys(use.client for use, verdict in self.clients if verdict.state == REFUSED))


def judged(uses: Iterable[Use], target: Release, releases: Releases = RELEASES) -> Judged:
    """Return each use with the verdict for the target, worst first.

    A client negotiates if its ApiVersions requests were seen, or if its software is known, because only ApiVersions
    requests name the software. Request logs do not contain ApiVersions requests that were sent before a login.
    """
    uses = list(uses)
    asking = (use.client for use in uses if use.api_key == API_VERSIONS or use.client.software)
    negotiating = {(client.client_id, client.host) for client in asking}

    @cache
    def verdict(api_key: int, version: int, negotiates: bool) -> Verdict:
        return judge(api_key, version, target, negotiates=negotiates, releases=releases)

    found = (
        (use, verdict(use.api_key, use.version, (use.client.client_id, use.client.host) in negotiating))
        for use in uses
    )
    return sorted(found, key=_worst_first)


def addresses_of(judgement: Judgement) -> Addresses:
    """Return the addresses of each client in a judgement that is not rolled up."""
    hosts = grouped(judgement.by_client(), lambda client: client.anywhere)
    return {client: sorted({one.host for one in group if one.host}) for client, group in hosts.items()}


def _joined(uses: Sequence[Use]) -> Use:
    """Combine a client's uses of an API version at several addresses. The example is from the first address."""
    return replace(
        uses[0],
        client=uses[0].client.anywhere,
        requests=sum(use.requests for use in uses),
        refusals=sum(use.refusals for use in uses),
        last_seen=max((use.last_seen for use in uses if use.last_seen is not None), default=None),
        input_kind=tuple(dict.fromkeys(name for use in uses for name in use.input_kind)),
    )


def _worst_first(judged: tuple[Use, Verdict]) -> tuple[Any, ...]:
    use, verdict = judged
    return -SEVERITY[verdict.state], [cell or "" for cell in use.client], use.api_key, use.version
