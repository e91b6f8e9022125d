"""Usage by client: converts rows of CLIENTS to a :class:`Use` for each client, API and version, in plain Python."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kwire_inspect.reports.release_support import BETWEEN_BROKERS
from kwire_inspect.reports.report import Column
from kwire_inspect.reports.text import visible
from kwire_inspect.schemas import CLIENTS
from kwire_inspect.tables.clients import FORWARDED, KEYS, KNOWN, METRICS, SERVER_LOG
from kwire_inspect.tables.relations import collect, query, to_arrow, to_rows
from kwire_kafka import PROTOCOL, ApiKey

if TYPE_CHECKING:
    from datetime import datetime

    from kwire_inspect.tables.relations import Relation

    Row = Mapping[str, Any]
    Item = TypeVar("Item")
    Key = TypeVar("Key")

NAMELESS = (SERVER_LOG, METRICS)
"""Input types that do not contain client ids."""
ANONYMOUS = "User:ANONYMOUS"
FOLLOWER = re.compile(r"broker-\d+-fetcher-\d+|raft-client-\d+")
"""Pattern of the client ids that followers of partitions and of the metadata log use in all Kafka releases."""
OF_BROKERS = BETWEEN_BROKERS | {
    *(ApiKey.API_VERSIONS, ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.OFFSET_FOR_LEADER_EPOCH),
    *(ApiKey.CREATE_TOPICS, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE),
}
"""APIs that brokers and controllers use to communicate with each other. Brokers send CreateTopics when a topic is
first used, and AddPartitionsToTxn to verify transactions.
"""
VERIFIES_SINCE = 4
"""First version of AddPartitionsToTxn that only brokers send [KIP-890]."""
CREATES_SINCE = 7
"""First version of CreateTopics that brokers forward under their own name."""
MAX_ROWS = 200_000
"""Maximum number of CLIENTS rows to use in a report."""

WHO = (
    Column("client_id", "client"),
    Column("client_host", "address"),
    Column("software", comment="Software that the client reported [KIP-511], or empty if the client reported none."),
    Column("principal"),
)
"""Columns of a :class:`Client`, without its owner."""


class Client(NamedTuple):
    """The sender of requests, as far as it is known. Contains the cells of :data:`WHO`, and the owner."""

    client_id: str | None
    host: str | None
    software: str | None
    principal: str | None
    owner: str | None = None

    @property
    def anywhere(self) -> Client:
        """The client without its address. A client without an id keeps its address as its only identification."""
        return self._replace(host=None) if self.client_id else self

    def __str__(self) -> str:
        if self.client_id is None and self.host is None:
            return f"clients of {visible(self.software, 60) if self.software else 'unknown software'}"
        name = visible(self.client_id, 60) if self.client_id else "a client without an id"
        return f"{name} at {self.host}" if self.host else name


@dataclass(frozen=True, slots=True)
class Use:
    """A client's use of an API version, with the number of observed refusals and the place of an example."""

    client: Client
    api_key: int
    api: str
    version: int
    requests: int = 1
    refusals: int = 0
    last_seen: datetime | None = None
    place: str = ""
    of_broker: bool = False
    """Whether the client is a broker or a controller."""
    input_kind: tuple[str, ...] = ()
    """Types of input that contain the use."""

    @property
    def between_brokers(self) -> bool:
        """Whether the requests are sent between brokers or controllers, so that an upgrade changes both ends."""
        return self.of_broker or _between_brokers(self.api_key, self.version)


def _between_brokers(api_key: int, version: int | None) -> bool:
    """Return whether only brokers and controllers send requests of this API and version."""
    verifies = api_key == ApiKey.ADD_PARTITIONS_TO_TXN and version is not None and version >= VERIFIES_SINCE
    return verifies or api_key in BETWEEN_BROKERS


_ORDER = ("first_seen", *KEYS, "source", "position")


def collected(clients: Relation, order: str) -> tuple[Sequence[Row], int]:
    """Return up to :data:`MAX_ROWS` rows of CLIENTS, earliest first, and the number of omitted rows.

    If there are more rows, the first rows in ``order`` are kept.
    """
    known = f"FROM {{clients}} WHERE {KNOWN}"
    found, more = to_arrow(query(f"SELECT * {known} LIMIT {MAX_ROWS + 1}", clients=clients), CLIENTS), 0
    if len(found) > MAX_ROWS:
        found = to_arrow(query(f"SELECT * {known} ORDER BY {order} LIMIT {MAX_ROWS}", clients=clients), CLIENTS)
        more = collect(f"SELECT count(*) AS number {known}", clients=clients)[0]["number"] - MAX_ROWS
    # sorted here, because the order must be the same in all engines
    return to_rows(found.sort_by([(name, "ascending") for name in _ORDER])), more


def by_client(rows: Iterable[Row]) -> list[tuple[Client, Row]]:
    """Return each row of CLIENTS with its client.

    Requests before a login have no principal, and requests before ApiVersions 3 have no software. An unknown value is
    filled in if only one value is known for the same client id and address. A row from a server log, which contains
    no client ids, is dropped if another input contains the same address, API and version. A forwarded request in a
    controller's log has no address. The row of such a request is dropped if another input contains the same client
    id, API and version. Otherwise, the row is assigned to the address of that client id, if there is only one such
    address.

    A broker that creates a topic on first use sends a request with the client's id. The row of such a request is
    dropped, because the client did not send it. Metrics contain only the software. See :func:`seen_elsewhere`.
    """
    rows = list(rows)
    named = [row for row in rows if row["input_kind"] not in NAMELESS]
    with_host = [row for row in named if row["client_host"] is not None]
    seen_at = {_use_by(row, "client_host") for row in named}
    seen_of = {_use_by(row, "client_id") for row in with_host}
    hosts: defaultdict[str | None, set[str]] = defaultdict(set)
    for row in with_host:
        if row["input_kind"] != FORWARDED:
            hosts[row["client_id"]].add(row["client_host"])
    kept = [
        *(row for row in with_host if not _created_by_broker(row, hosts)),
        *(
            _at_its_only_address(row, hosts)
            for row in named
            if row["client_host"] is None
            and _use_by(row, "client_id") not in seen_of
            and not _created_by_broker(row, hosts)
        ),
        *(row for row in rows if row["input_kind"] == SERVER_LOG and _use_by(row, "client_host") not in seen_at),
    ]
    seen = [(client_of(row), row) for row in kept]
    complete = completed(client for client, row in seen if row["input_kind"] not in NAMELESS)
    found = [(client if row["input_kind"] in NAMELESS else complete[client], row) for client, row in seen]
    counted = [row for row in rows if row["input_kind"] == METRICS]
    if not counted:
        return found
    elsewhere = seen_elsewhere(found, counted)
    return [*found, *((client_of(row), row) for row, others in zip(counted, elsewhere, strict=True) if not others)]


def _created_by_broker(row: Row, hosts: Mapping[str | None, set[str]]) -> bool:
    """Return whether a broker created a topic under its own name for a client that other inputs contain.

    If the client itself had sent the request, the other inputs would contain the request.
    """
    created = row["input_kind"] == FORWARDED and row["api_key"] == ApiKey.CREATE_TOPICS
    return created and (row["version"] or 0) >= CREATES_SINCE and row["client_id"] in hosts


def _at_its_only_address(row: Row, hosts: Mapping[str | None, set[str]]) -> Row:
    found = hosts.get(row["client_id"], set()) if row["input_kind"] == FORWARDED and row["client_id"] else set()
    return {**row, "client_host": next(iter(found))} if len(found) == 1 else row


def seen_elsewhere(seen: Iterable[tuple[Client, Row]], counted: Iterable[Row]) -> list[list[tuple[Client, Row]]]:
    """Return, for each row of metrics, the rows of other inputs that may describe the same requests.

    Matching rows have the same API, version and software. If the broker did not know the software, for example
    because another broker forwarded the requests, rows with any software qualify.
    """
    by_software = defaultdict(list)
    for client, row in seen:
        for software in {client.software, client_of(row).software, None}:
            by_software[software, row["api_key"], row["version"]].append((client, row))
    return [by_software.get((client_of(row).software, row["api_key"], row["version"]), []) for row in counted]


def _use_by(row: Row, who: str) -> tuple[Any, ...]:
    return row[who], row["api_key"], row["version"]


def brokers_among(seen: Iterable[tuple[Client, Row]]) -> set[Client]:
    """Return the senders that are brokers and controllers rather than clients.

    Such a sender sends requests that only brokers send or has a follower's client id, and sends no requests that
    brokers never send.
    """
    apis: defaultdict[Client, set[int]] = defaultdict(set)
    known = set()
    for client, row in seen:
        if client.client_id is not None and row["input_kind"] not in (FORWARDED, *NAMELESS):
            apis[client].add(row["api_key"])
            versions = row["versions"] if "versions" in row else [row["version"]]
            if any(_between_brokers(row["api_key"], version) for version in versions):
                known.add(client)
    return {
        client
        for client, keys in apis.items()
        if keys <= OF_BROKERS and (client in known or FOLLOWER.fullmatch(client.client_id or ""))
    }


def completed(clients: Iterable[Client]) -> dict[Client, Client]:
    """Return a mapping from each client to the same client, with unknown software and principals filled in.

    A value is filled in if it is the only known value for the client's id and address.
    """
    complete = {}
    for group in grouped(set(clients), lambda client: (client.client_id, client.host)).values():
        software = _only({client.software for client in group})
        principal = _only({client.principal for client in group})
        for client in group:
            complete[client] = client._replace(
                software=client.software or software, principal=client.principal or principal
            )
    return complete


def client_of(row: Row) -> Client:
    """Return the client that this row describes. The values of missing columns are unknown."""
    name, version, principal = row.get("software_name"), row.get("software_version"), row.get("principal")
    software = " ".join(filter(None, (name, version))) or None
    return Client(row["client_id"], row["client_host"], software, None if principal == ANONYMOUS else principal)


def uses_of(rows: Iterable[Row]) -> list[Use]:
    """Return a :class:`Use` for each client, API and version.

    Several types of input may contain the same requests, so only the count of the type with the most requests is
    used. Counts for different ports are added up.
    """
    seen = by_client(rows)
    brokers = brokers_among(seen)
    return [_use(*key, group, key[0] in brokers) for key, group in by_use(seen).items() if None not in key[1:]]


def by_use(seen: Iterable[tuple[Client, Row]]) -> dict[tuple[Client, int, int], list[Row]]:
    """Return the rows for each client, API and version."""
    groups = grouped(seen, lambda pair: (pair[0], pair[1]["api_key"], pair[1]["version"]))
    return {key: [row for _, row in group] for key, group in groups.items()}


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return the items grouped by key, in order of first occurrence."""
    groups: defaultdict[Key, list[Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups


def highest(rows: Iterable[Row], count: str) -> int:
    """Add up a count for each input type, and return the highest total."""
    sums: dict[str, int] = {}
    for row in rows:
        sums[row["input_kind"]] = sums.get(row["input_kind"], 0) + row[count]
    return max(sums.values())


def _only(texts: set[str | None]) -> str | None:
    known = texts - {None, ""}
    return known.pop() if len(known) == 1 else None


def _use(client: Client, api_key: int, version: int, rows: list[Row], of_broker: bool) -> Use:
    example, *_ = rows = sorted(rows, key=lambda row: str(row["input_kind"]))  # captures first
    place = ":".join(str(part) for part in (example["source"], example["position"]) if part is not None)
    name = PROTOCOL.api_names.get(api_key, f"key {api_key}")
    return Use(
        client,
        api_key,
        next((row["api"] for row in rows if row["api"]), name),
        version,
        highest(rows, "requests"),
        highest(rows, "refused"),
        max((row["last_seen"] for row in rows if row["last_seen"] is not None), default=None),
        place,
        of_broker,
        tuple(dict.fromkeys(row["input_kind"] for row in rows)),
    )
