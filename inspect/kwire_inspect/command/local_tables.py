"""What ``decode`` writes, without Spark: tables are read from files in batches, and written as they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import compute, dataset

from kwire_inspect.command.engines import LocalEngine
from kwire_inspect.readers import TABLES
from kwire_inspect.reports.basis import problems_of
from kwire_inspect.row_layout import BATCH_BYTES
from kwire_inspect.schemas import CLIENTS, COUNTED, PROBLEMS, RECORDS, REFUSALS
from kwire_inspect.tables.clients import EXCHANGE_COLUMNS, REFUSAL_COLUMNS, Clients, clients
from kwire_inspect.tables.counting import counted
from kwire_inspect.tables.files import DATE, ParquetTable, parquet_table, write_parquet
from kwire_inspect.tables.names import TOPICS, names_of, topic_names_in, with_names
from kwire_inspect.tables.record_structs import RecordStructs, record_kinds
from kwire_inspect.tables.structs import ExchangeStructs

if TYPE_CHECKING:
    from kwire_inspect.command.common import Run
    from kwire_inspect.reports.basis import Problem
    from kwire_inspect.reports.report import Cell
    from kwire_inspect.tables.database import LocalTable

AT_ONCE = 4096
"""Rows that are read at a time."""
BY_DATE = dataset.partitioning(pa.schema([(DATE, pa.date32())]), flavor="hive")
SLOWLY = dataset.ParquetFileFormat(pre_buffer=False)
NO_READAHEAD = {"batch_readahead": 0, "fragment_readahead": 0}
KNOWN = compute.field("_corrupt").is_null()
REFUSED = pa.schema([REFUSALS.field(name) for name in REFUSAL_COLUMNS])
BROKEN = pa.schema([RECORDS.field(name) for name in ("source", "position", "_corrupt")])
Typed = Iterator[tuple[str, pa.RecordBatch]]


class LocalTables:
    """The tables written so far: ``rows`` has name, number of rows, and path of each."""

    def __init__(self, run: Run) -> None:
        self.rows: list[tuple[Cell, ...]] = []
        self._run = run
        self._protocol = run.protocol
        self._names = TOPICS.empty_table()
        self._main: dict[str, str] = {}
        self.seen: Clients[LocalTable] | None = None
        """The clients, once they are written."""

    @property
    def _engine(self) -> LocalEngine:
        assert isinstance(self._run.engine, LocalEngine)
        return self._run.engine

    def add_main(self, name: str, columns: Sequence[str] = ()) -> None:
        """Write a table that readers return."""
        schema = pa.schema([TABLES[name].field(column) for column in columns or TABLES[name].names])
        batches = self._engine.batches(name, self._run.inputs, columns, self._run.options_of(name))
        if self._add(name, batches, schema, by_date=name != "refusals"):
            self._main[name] = str(self.rows[-1][2])

    def add_topic_names(self) -> None:
        """Write the table ``topics``, from responses and records."""
        told = self._engine.database.table(TOPICS)
        answered = (compute.field("outcome") == "answered") & compute.field("response").is_valid()
        for api in ("Metadata", "CreateTopics"):
            if f"{api}Request" in self._protocol:
                decode = ExchangeStructs(self._protocol[f"{api}Request"].API_KEY or 0, ("response",), self._protocol)
                of_api = answered & (compute.field("api_key") == decode.api_key)
                stored = self._stored("exchanges", ("api_key", "version", "response"), of_api)
                told.add(topic_names_in(batch.column("response"), "topics", "name") for batch in decode(stored))
        for _, batch in self._records(("topic", "control", "key", "value"), ("TopicRecord",)):
            told.add([topic_names_in(batch.column("value"), None, "name")])
        self._names = pa.Table.from_batches(names_of(told).batches(TOPICS), TOPICS)
        self._add("topics", self._names.to_batches(), TOPICS)

    def add_apis(self) -> None:
        """Write a table for each API."""
        self._add_typed("apis", self._exchanges())

    def add_internal(self) -> None:
        """Write a table for each kind of record."""
        self._add_typed("internal", self._records((), record_kinds(self._protocol)))

    def add_clients(self) -> None:
        """Write the tables ``clients`` and ``problems``."""
        exchanges, refusals, metrics = (
            self._engine.database.table(schema).add(batches)
            for schema, batches in (
                (COUNTED, counted(self._stored("exchanges", EXCHANGE_COLUMNS))),
                (REFUSED, self._stored("refusals", REFUSAL_COLUMNS)),
                (COUNTED, self._engine.batches("metrics", self._run.inputs, (), self._run.options_of("metrics"))),
            )
        )
        self.seen = clients(exchanges, refusals, metrics, origin=self._run.origin)
        self._add("clients", self.seen.table.batches(CLIENTS), CLIENTS)
        self._add("problems", self.seen.problems.batches(PROBLEMS), PROBLEMS)

    def broken_records(self) -> list[Problem]:
        """Reasons and places of broken input that the table ``problems`` does not have."""
        return problems_of(self._engine.database.table(BROKEN).add(self._stored("records", BROKEN.names, ~KNOWN)))

    def _add(self, name: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema, **options: Any) -> int:
        with self._run.step(f"Writing {name}"):
            path, count = write_parquet(batches, schema, self._run.out, name, origin=self._run.origin, **options)
        self.rows.append((name, count, path))
        return count

    def _add_typed(self, folder: str, typed: Typed) -> None:
        """Write tables as their rows come, all at once."""
        counts: Counter[str] = Counter()
        tables: dict[str, ParquetTable] = {}
        ids, names = (self._names.column(name).combine_chunks() for name in ("topic_id", "topic"))
        with self._run.step(f"Writing {folder}"), ExitStack() as stack:
            for name, batch in typed:
                batch = with_names(batch, ids, names)
                if name not in tables:
                    table = parquet_table(self._run.out, f"{folder}/{name}", batch.schema, origin=self._run.origin)
                    tables[name] = stack.enter_context(table)
                tables[name].write(batch)
                counts[name] += batch.num_rows
                if sum(written.held for written in tables.values()) > BATCH_BYTES:
                    for written in tables.values():
                        written.flush()
        self.rows += [(f"{folder}/{name}", counts[name], tables[name].path) for name in sorted(tables)]

    def _exchanges(self) -> Typed:
        """Exchanges with structs, and their APIs."""
        for batch in self._stored("exchanges", (), compute.field("api").is_valid()):
            keys = batch.column("api_key")
            for key in keys.unique().to_pylist():
                decode = ExchangeStructs(key, protocol=self._protocol)
                for decoded in decode([batch.filter(compute.equal(keys, key))]):
                    yield self._protocol.api_name(key), decoded

    def _records(self, columns: Sequence[str], kinds: Iterable[str]) -> Typed:
        """Records with structs, and their kinds."""
        known = record_kinds(self._protocol)
        for batch in self._stored("records", columns, KNOWN):
            for kind in (known[name] for name in kinds if name in known):
                if (found := batch.filter(kind.of(batch))).num_rows:
                    for decoded in RecordStructs(kind, self._protocol)([found]):
                        yield kind.name, decoded

    def _stored(self, name: str, columns: Sequence[str] = (), where: Any = None) -> Iterator[pa.RecordBatch]:
        """The rows of a table that :meth:`add_main` has written, if it has any."""
        if name in self._main:
            stored = dataset.dataset(self._main[name], format=SLOWLY, partitioning=BY_DATE)
            for group in (group for file in stored.get_fragments() for group in file.split_by_row_group()):
                yield from group.to_batches(
                    schema=stored.schema,
                    columns=[*columns] or None,
                    filter=where,
                    batch_size=AT_ONCE,
                    use_threads=False,
                    **NO_READAHEAD,
                )
