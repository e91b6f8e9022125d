"""What a projection of connections requires: which bodies must be decoded, and which connections can be skipped."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from kwire_spark.columns import EXCHANGES, FRAMES
from kwire_spark.frames import identity, payload
from kwire_spark.projection import Condition, Projection, may_pass

Table = Literal["frames", "exchanges"]

TABLES: dict[str, pa.Schema] = {"frames": FRAMES, "exchanges": EXCHANGES}

_IDENTITY = {"software_name", "software_version", "principal"}
_BODIES = {"kind", "outcome", "reason", "error_codes", "throttle_ms"}
_SHOWN = {"frames": {"raw"}, "exchanges": {"request", "response"}}
_OF_CONNECTIONS = {
    "frames": ("connection", "client_host", "client_port", "server_host", "server_port"),
    "exchanges": ("connection", "server_host", "server_port"),
}
"""Columns with the same value in all rows of a connection. The client of an exchange is not one of them: an Envelope
has a client of its own. They are null in the row that reports gaps of a connection."""


class ConnectionProjection(Projection):
    """Columns and rows of FRAMES or EXCHANGES. Columns that are not needed and take time to compute are null.

    ``errors`` and ``shown`` say whether error codes and bytes are needed, ``bodies`` which APIs have to be decoded.
    """

    __slots__ = ("bodies", "errors", "shown", "table")

    def __init__(
        self, table: Table = "frames", schema: pa.Schema | None = None, conditions: Sequence[Condition] = ()
    ) -> None:
        super().__init__(table, schema, conditions)
        self.table: Table = table
        self.errors = bool(self.columns & {"error_codes", "throttle_ms"})
        self.shown = bool(self.columns & _SHOWN[table])
        self.bodies = _bodies(self.columns, table, conditions, self.shown)

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
