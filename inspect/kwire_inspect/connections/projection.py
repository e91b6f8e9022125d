"""What a projection of connections requires: which bodies must be decoded, and which connections can be skipped."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa

from kwire.errors import KwireError
from kwire.frames import MAX_DECODED
from kwire.message import too_many_values
from kwire_inspect.connections import identity, payload
from kwire_inspect.connections.answers import outcome_of
from kwire_inspect.connections.error_code_scanner import NONE, Outcome, Scan
from kwire_inspect.projection import Condition, Projection, may_pass
from kwire_inspect.schemas import EXCHANGES, FRAMES
from kwire_kafka import PROTOCOL

if TYPE_CHECKING:
    from kwire.connection import RequestEvent, ResponseEvent
    from kwire.protocol import MessageRegistry
    from kwire_inspect.connections.context import RequestContext
    from kwire_inspect.row_layout import Row

Table = Literal["frames", "exchanges"]

Bodies = Literal["all", "codes"]
ALL: Bodies = "all"
CODES: Bodies = "codes"
"""Whether all bodies are decoded, or only those that identify clients, and others read for error codes alone."""

TABLES: dict[str, pa.Schema] = {"frames": FRAMES, "exchanges": EXCHANGES}

_IDENTITY = {"software_name", "software_version", "principal"}
_BODIES = {"kind", "outcome", "reason", "error_codes", "throttle_ms"}
_SHOWN = {"frames": {"raw"}, "exchanges": {"request", "response"}}
_OF_CONNECTIONS = {
    "frames": ("connection", "client_host", "client_port", "server_host", "server_port"),
    "exchanges": ("connection", "server_host", "server_port"),
}
"""Columns with the same value in all rows of a connection. The client of an exchange is not one of them: an Envelope
has a client of its own."""


class Budget(NamedTuple):
    """Limits of memory, in bytes.

    ``decoded``: larger frames are only decoded if they have few values. ``held``: what all connections of a task keep
    while they wait for the rest of a frame, or for a response.
    """

    decoded: int = MAX_DECODED
    held: int = 32 << 20


BUDGET = Budget()
"""The defaults."""


class ConnectionProjection(Projection):
    """Columns and rows of FRAMES or EXCHANGES. Columns that are not needed and take time to compute are null.

    ``errors`` and ``shown`` say whether error codes and bytes are needed, ``bodies`` which APIs have to be decoded.
    With ``scans``, error codes of the others are looked up in their bytes.
    """

    __slots__ = ("_scanners", "bodies", "budget", "errors", "scans", "shown", "table")

    def __init__(
        self,
        table: Table = "frames",
        schema: pa.Schema | None = None,
        conditions: Sequence[Condition] = (),
        budget: Budget = BUDGET,
        protocol: MessageRegistry = PROTOCOL,
        bodies: Bodies = ALL,
    ) -> None:
        super().__init__(table, schema, conditions, protocol)
        self.budget = budget
        self._scanners: dict[int, Scan] = {}  # by API key and version
        self.table: Table = table
        self.errors = bool(self.columns & {"error_codes", "throttle_ms"})
        self.shown = bool(self.columns & _SHOWN[table])
        self.scans = bodies == CODES and table == "exchanges" and not self.shown
        if self.scans:
            self.bodies: frozenset[str] | bool = identity.MESSAGES | {"Envelope"}
        else:
            self.bodies = _bodies(self.columns, table, conditions, self.shown)

    def undecoded(self, event: RequestEvent | ResponseEvent, context: RequestContext) -> str | None:
        """Why the body of a frame above ``budget.decoded`` was not decoded; ``None`` if it was, or is not needed."""
        if event.message is not None or context.unknown:
            return None
        if self.bodies is not True and event.name not in (self.bodies or ()):
            return None
        return too_many_values(event.data)

    def outcome(self, api_key: int, version: int, data: bytes, at: int) -> Outcome:
        """Error codes and throttle time of a response with its body at ``at``; none if its bytes cannot be read."""
        key = api_key << 16 | version
        scan = self._scanners.get(key)
        if scan is None:
            scan = self._scanners[key] = outcome_of(self.protocol, api_key, version)
        try:
            return scan(data, at)
        except (KwireError, IndexError, ValueError):
            return NONE

    def broken(self, source: str, position: int, reason: str, unread: int, packets: int) -> list[Row]:
        """The row of a problem of a file, if it passes; ``unread`` bytes and ``packets`` if there are any."""
        more = {"unread": unread or None, "packets": packets or None}
        if self.table == "frames":
            more = {"size": unread or None}
        return self.rows([self.layout.corrupt(source, position, reason, **more)])

    def takes(self, peers: Mapping[str, Any]) -> bool:
        """Whether a connection may have rows that are needed; ``peers`` are its columns by name."""
        fixed = _OF_CONNECTIONS[self.table]
        return may_pass(self.conditions, {column: value for column, value in peers.items() if column in fixed})


def _bodies(
    columns: Collection[str], table: Table, conditions: Sequence[Condition], show: bool
) -> frozenset[str] | bool:
    """Which bodies must be decoded: all, or those of some APIs."""
    some: set[str] = set()
    if _IDENTITY.intersection(columns):
        some |= identity.APIS
    if table == "exchanges":
        some.add("Envelope")
    if show:
        some |= payload.APIS
    if not _BODIES.intersection(columns):
        return frozenset(some)
    for condition in conditions:
        if condition.column == "api" and condition.test in ("=", "in") and not condition.negated:
            values = [condition.value] if condition.test == "=" else condition.value
            return frozenset(some.union(values))
    return True
