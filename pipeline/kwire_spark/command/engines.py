"""What runs a command: Spark, or this process alone, which needs no Java and answers small inputs in seconds.

Both give the same tables, as ``tables.relations`` that answer the same queries.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.abc import MetaPathFinder
from typing import TYPE_CHECKING, Any, Protocol

from kwire_spark.options import OptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kwire_spark.inputs import Inputs
    from kwire_spark.tables.clients import Clients
    from kwire_spark.tables.relations import Database, Relation

AUTO, LOCAL, SPARK = ENGINES = "auto", "local", "spark"
LOCAL_LIMIT = 1 << 30
"""Inputs of up to this many bytes are read without Spark, unless the user says otherwise."""
BRIEF_LIMIT = 1 << 30
"""Inputs of up to this many bytes are read in a brief session: see ``spark_session``."""
PARQUET = "parquet"


class Engine(Protocol):
    """Reads inputs into tables, and writes tables."""

    told: str
    """What to say about it after a report."""

    def read(self, table: str, inputs: Inputs, columns: Sequence[str], options: Mapping[str, str]) -> Relation:
        """These columns of a table of :mod:`kwire_spark.tables.read`, such as ``exchanges``."""

    def counted(self, inputs: Inputs, options: Mapping[str, str]) -> Relation:
        """The exchanges of the inputs, as ``tables.clients`` takes them."""

    def cached(self, table: Relation) -> Relation:
        """The table, computed now and kept."""

    def write_clients(self, seen: Clients[Any], folder: str) -> None:
        """Write the tables ``folder/clients`` and ``folder/problems``."""


def engine_for(name: str, inputs: Inputs, out: str, table_format: str, master: str | None) -> Engine:
    """The engine of this name. For ``auto``, this process if the inputs are small and nothing asks for Spark."""
    needs = {
        "--master": master,
        f"--table-format {table_format}": table_format != PARQUET,
        f"--out {out}": "://" in out,
    }
    needing = [option for option, given in needs.items() if given]
    if name == LOCAL and needing:
        raise OptionError(f"--engine local cannot be used with {needing[0]}, which needs Spark")
    if inputs.has_standard_input:
        if needing or name == SPARK:
            option = needing[0] if needing else "--engine spark"
            raise OptionError(f"{option} cannot be used with -, the standard input: write it to a file first")
        return LocalEngine()
    submitted = "MASTER" in os.environ or "PYSPARK_GATEWAY_PORT" in os.environ
    if name == LOCAL or (name == AUTO and not needing and not submitted and inputs.size <= LOCAL_LIMIT):
        return LocalEngine()
    return SparkEngine(master, table_format, out, brief=inputs.size <= BRIEF_LIMIT)


class SparkEngine:
    """Spark, started when it is needed."""

    told = "Read by Spark."

    def __init__(self, master: str | None, table_format: str, out: str, *, brief: bool) -> None:
        self.master, self.table_format, self.out, self.brief = master, table_format, out, brief

    @cached_property
    def session(self) -> SparkSession:
        from kwire_spark.session import JavaMissingError, spark_session

        try:
            session = spark_session(self.master, brief=self.brief)
        except JavaMissingError as error:
            raise JavaMissingError(f"{error}\nOr read the inputs without Spark: --engine local") from None
        _check_format(session, self.table_format)
        if "://" in self.out:
            from kwire_spark.tables.write import check_folder

            check_folder(session, self.out)
        return session

    def read(self, table: str, inputs: Inputs, columns: Sequence[str], options: Mapping[str, str]) -> Relation:
        from kwire_spark.tables import read

        reads = {
            "frames": read.read_frames,
            "exchanges": read.read_exchanges,
            "refusals": read.read_refusals,
            "records": read.read_records,
        }
        if table in reads:
            return reads[table](inputs, columns=columns, spark=self.session, **options)
        if table == "metrics":
            return read.read_metrics(inputs, spark=self.session, **options)
        return read.read_stored(table, inputs, spark=self.session)

    def counted(self, inputs: Inputs, options: Mapping[str, str]) -> Relation:
        from kwire_spark.tables.read import read_counted

        return read_counted(inputs, spark=self.session, **options)

    def cached(self, table: Any) -> Relation:
        table = table.persist()
        table.count()
        return table  # type: ignore[no-any-return]

    def write_clients(self, seen: Clients[Any], folder: str) -> None:
        from kwire_spark.tables.write import write_clients

        write_clients(seen, folder, self.table_format)


def _check_format(session: Any, name: str) -> None:
    """Raise :class:`OptionError` for a format that Spark does not have: writing fails only after all work."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    sources = session._jvm.org.apache.spark.sql.execution.datasources.DataSource
    try:
        sources.lookupDataSource(name, session._jsparkSession.sessionState().conf())
    except Py4JJavaError:
        raise OptionError(f"--table-format {name}: Spark has no such format; try parquet, csv, json or orc") from None


class _NoPandas(MetaPathFinder):
    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def _leave_out_pandas() -> None:
    """Have pyarrow not import pandas with the first array, which takes as long as everything else that a small input
    needs. What converts to pandas imports it all the same."""
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    sys.meta_path.insert(0, hiding := _NoPandas())
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(hiding)


class LocalEngine:
    """This process: tables are SQLite's, and what it writes is Parquet."""

    told = "Read without Spark."

    def __init__(self) -> None:
        _leave_out_pandas()

    @cached_property
    def _database(self) -> Database:
        from kwire_spark.tables.relations import Database

        return Database()

    def read(self, table: str, inputs: Inputs, columns: Sequence[str], options: Mapping[str, str]) -> Relation:
        from kwire_spark.readers import TABLES, read_batches

        names = columns or TABLES[table].names
        return self._database.table(names).add(read_batches(table, inputs, names, options))

    def counted(self, inputs: Inputs, options: Mapping[str, str]) -> Relation:
        from kwire_spark.columns import COUNTED
        from kwire_spark.readers import read_batches
        from kwire_spark.tables.clients import EXCHANGE_COLUMNS
        from kwire_spark.tables.counting import counted

        exchanges = read_batches("exchanges", inputs, EXCHANGE_COLUMNS, options)
        return self._database.table(COUNTED.names).add(counted(exchanges))

    def cached(self, table: Relation) -> Relation:
        return table

    def write_clients(self, seen: Clients[Any], folder: str) -> None:
        from kwire_spark.columns import CLIENTS, PROBLEMS
        from kwire_spark.tables.files import write_parquet

        write_parquet(seen.problems.batches(PROBLEMS), PROBLEMS, folder, "problems", origin=seen.origin)
        write_parquet(seen.table.batches(CLIENTS), CLIENTS, folder, "clients", origin=seen.origin)
