"""The tables that ``kwire tables`` writes. Later steps read the written tables, so that the inputs are decoded only
once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire_inspect.options import KINDS
from kwire_inspect.readers import TABLES
from kwire_inspect.reports.basis import problems_of
from kwire_inspect.schemas import CLIENTS, COUNTED, EXCHANGES, PROBLEMS, RECORDS
from kwire_inspect.tables.clients import EXCHANGE_COLUMNS, Clients, clients, counted
from kwire_inspect.tables.names import TOPICS, Typed, names_by_id, topic_names
from kwire_inspect.tables.record_structs import RecordStructs, record_kinds
from kwire_inspect.tables.relations import map_batches
from kwire_inspect.tables.structs import ExchangeStructs

if TYPE_CHECKING:
    from kwire_inspect.command.common import Run
    from kwire_inspect.command.engines import Written
    from kwire_inspect.reports.basis import Problem
    from kwire_inspect.reports.report import Cell

NEEDED = pa.schema([EXCHANGES.field(name) for name in EXCHANGE_COLUMNS])
PLACE = pa.schema([RECORDS.field(name) for name in ("source", "position", "problem")])


class Tables:
    """Writes the tables of a run: rows of the inputs, topic names, and one table per API and kind of record."""

    def __init__(self, run: Run, raw: bool) -> None:
        self.rows: list[tuple[Cell, ...]] = []
        """Name, number of rows and path of each written table."""
        self._run = run
        self._main: dict[str, Any] = {}
        for name in ("frames", "exchanges", "refusals", "records"):
            if any(getattr(run.inputs, kind) for kind in KINDS[name]):
                schema = pa.schema([field for field in TABLES[name] if raw or field.name != "raw"])
                rows = run.engine.read(name, run.inputs, schema.names, run.options_of(name))
                self._main[name] = self._add(name, rows, schema, by_date=True)
        protocol = run.protocol
        apis = [ExchangeStructs(key, protocol=protocol) for key in protocol.api_keys]
        kinds = [RecordStructs(kind, protocol) for kind in record_kinds(protocol).values()]
        if told := self._found("exchanges", "records"):
            names = names_by_id(self._add("topics", topic_names(*told, protocol=protocol), TOPICS))
            self._add_typed("apis", "exchanges", [Typed(one, names) for one in apis])
            self._add_typed("internal", "records", [Typed(one, names) for one in kinds])

    def clients(self) -> Clients[Any] | None:
        """Write and return the tables ``clients`` and ``problems``. Return ``None`` if no input contains requests."""
        found = [map_batches(one, NEEDED, partial(counted, most=0), COUNTED) for one in self._found("exchanges")]
        found += self._found("refusals")
        if self._run.inputs.metrics:
            found.append(self._run.read("metrics"))
        if not found:
            return None
        with clients(*found).kept() as seen:
            written = self._add("clients", seen.table, CLIENTS), self._add("problems", seen.problems, PROBLEMS)
        return clients(*written, origin=self._run.origin)

    def broken_records(self) -> list[Problem]:
        """Return the problems of broken records, which the table ``problems`` does not contain."""
        with self._run.step("Looking for broken input"):
            corrupt = "problem IS NOT NULL"
            return problems_of(
                *(map_batches(one, PLACE, _broken, PLACE, where=corrupt) for one in self._found("records"))
            )

    def _found(self, *names: str) -> list[Any]:
        return [self._main[name] for name in names if name in self._main]

    def _add(self, name: str, table: Any, schema: pa.Schema, **options: Any) -> Any:
        run = self._run
        with run.step(f"Writing {name}"):
            return self._added(run.engine.write(table, schema, run.out, name, origin=run.origin, **options))

    def _add_typed(self, folder: str, of: str, typed: Iterable[Typed]) -> None:
        run, named = self._run, {f"{folder}/{one.structs.name}": one for one in typed}
        for table in self._found(of):
            with run.step(f"Writing {folder}"):
                for written in run.engine.write_typed(table, run.out, named, origin=run.origin):
                    self._added(written)

    def _added(self, written: Written) -> Any:
        self.rows.append((written.name, written.count(), written.path))
        return written.table


def _broken(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.filter(batch.column("problem").is_valid())
