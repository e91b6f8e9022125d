"""Each use of an API by a client with the verdict of a target. Plain Python."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire.protocol import API_VERSIONS
from kwire_kafka.releases import RELEASES
from kwire_spark.reports.client_usage import Client, Use, grouped
from kwire_spark.reports.release_support import REFUSED, SEVERITY, Verdict, judge

if TYPE_CHECKING:
    from kwire.releases import Release, Releases

Judged = list[tuple[Use, Verdict]]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdicts of a target, the worst first: on requests of clients, and on those that brokers and controllers
    send to each other."""

    target: Release
    clients: Judged
    between: Judged

    @classmethod
    def of(cls, uses: Iterable[Use], target: Release, releases: Releases = RELEASES) -> Judgement:
        """The judgement of these uses; ``releases`` are the known ones."""
        found = judged(uses, target, releases)
        clients = [(use, verdict) for use, verdict in found if not use.between_brokers]
        return cls(target, clients, [(use, verdict) for use, verdict in found if use.between_brokers])

    def by_client(self) -> dict[Client, Judged]:
        """The verdicts of each client, the worst first."""
        return grouped(self.clients, lambda pair: pair[0].client)

    def refused(self) -> list[Client]:
        """The clients of which a version is refused."""
        return list(dict.fromkeys(use.client for use, verdict in self.clients if verdict.state == REFUSED))


def judged(uses: Iterable[Use], target: Release, releases: Releases = RELEASES) -> Judged:
    """Each use with the verdict of the target, the worst first.

    A client negotiates if its ApiVersions requests were seen, or its software is known, which only these tell: before
    a login, a request log has none of them."""
    uses = list(uses)
    asking = (use.client for use in uses if use.api_key == API_VERSIONS or use.client.software)
    negotiating = {(client.client_id, client.host) for client in asking}

    def verdict(use: Use) -> Verdict:
        negotiates = (use.client.client_id, use.client.host) in negotiating
        return judge(use.api_key, use.version, target, negotiates=negotiates, releases=releases)

    def worst_first(judged: tuple[Use, Verdict]) -> tuple[Any, ...]:
        use, verdict = judged
        return -SEVERITY[verdict.state], [cell or "" for cell in use.client], use.api_key, use.version

    return sorted(((use, verdict(use)) for use in uses), key=worst_first)
