"""The clients that the readiness report names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kwire_inspect.command.engines import LocalEngine
from kwire_inspect.inputs import find
from kwire_inspect.reports.readiness import readiness
from kwire_inspect.tables.clients import EXCHANGE_COLUMNS, REFUSAL_COLUMNS, Clients, clients


def named(paths: Sequence[str], target: str) -> set[str]:
    """Who is refused by ``target``, by client id, according to captures and logs."""
    return {str(client) for client in readiness(spoken(paths), target).table("refused").column("client_id")}


def spoken(paths: Sequence[str]) -> Clients[Any]:
    """The clients in captures and logs."""
    engine, inputs = LocalEngine(), find(paths)
    exchanges = engine.read("exchanges", inputs, EXCHANGE_COLUMNS, {})
    return clients(exchanges, engine.read("refusals", inputs, REFUSAL_COLUMNS, {}))
