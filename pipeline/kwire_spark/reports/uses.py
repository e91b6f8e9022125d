"""What clients use: the rows of CLIENTS brought down to one for each client, API and version. Plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_kafka.releases import RELEASES
from kwire_spark.reports.text import visible

if TYPE_CHECKING:
    from datetime import datetime

    from kwire_spark.reports.report import Cell

ANONYMOUS = "User:ANONYMOUS"


@dataclass(frozen=True, slots=True)
class Client:
    """Who sent requests, as far as this is known."""

    client_id: str | None
    host: str | None
    software: str | None
    principal: str | None

    def __str__(self) -> str:
        name = "a client without id" if self.client_id is None else visible(self.client_id, 60)
        return f"{name} at {self.host}" if self.host else name

    @property
    def cells(self) -> tuple[Cell, ...]:
        return self.client_id, self.host, self.software, self.principal


@dataclass(frozen=True, slots=True)
class Use:
    """A version of an API in use by a client. ``refusals`` are those that were seen; ``place`` is an example.

    ``nameless``: only a server log has it, and such logs know no more of a client than its address.
    """

    client: Client
    api_key: int
    api: str
    version: int
    requests: int = 1
    refusals: int = 0
    last_seen: datetime | None = None
    place: str = ""
    nameless: bool = False


def uses_of(rows: Iterable[Mapping[str, Any]]) -> list[Use]:
    """Rows of CLIENTS brought down to a use for each client, API and version.

    What several kinds of input saw counts once, as often as the one that saw most of it; ports are added up.
    """
    seen: defaultdict[tuple[Client, int, int], defaultdict[str, list[Mapping[str, Any]]]]
    seen = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["api_key"] is not None and row["version"] is not None:
            seen[_client(row), row["api_key"], row["version"]][row["seen_in"]].append(row)
    return [_use(*about, kinds) for about, kinds in seen.items()]


def _use(client: Client, api_key: int, version: int, kinds: Mapping[str, Sequence[Mapping[str, Any]]]) -> Use:
    example, *_ = rows = [row for kind in sorted(kinds) for row in kinds[kind]]  # of captures, if they have any
    place = ":".join(str(part) for part in (example["source"], example["position"]) if part is not None)
    names = (row["api"] for row in rows if row["api"])
    return Use(
        client,
        api_key,
        next(names, None) or _name(api_key),
        version,
        max(sum(row["requests"] for row in kind) for kind in kinds.values()),
        max(sum(row["refused"] for row in kind) for kind in kinds.values()),
        max((row["last_seen"] for row in rows if row["last_seen"] is not None), default=None),
        place,
        set(kinds) == {"server_log"},
    )


def _client(row: Mapping[str, Any]) -> Client:
    name, version, principal = row["software_name"], row["software_version"], row["principal"]
    software = " ".join(part for part in (name, version) if part) or None
    return Client(row["client_id"], row["client_host"], software, None if principal == ANONYMOUS else principal)


def _name(api_key: int) -> str:
    names = [release.apis[api_key].name for release in RELEASES.values() if api_key in release.apis]
    return names[-1] if names else f"key {api_key}"
