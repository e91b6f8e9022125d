"""Spark as an engine for the commands of ``kwire_inspect``, which finds it by its entry point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kwire_inspect.options import OptionError
from kwire_spark import relations as relations  # registers DataFrames
from kwire_spark.output import checked_output

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kwire_inspect.command.common import Run
    from kwire_inspect.command.engines import Tables
    from kwire_inspect.inputs import Inputs
    from kwire_inspect.tables.clients import Clients
    from kwire_inspect.tables.relations import Relation


class SparkEngine:
    """Spark, started when it is needed."""

    told = "Read by Spark."
    checked_output = staticmethod(checked_output)

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
            from kwire_spark.writing import check_folder

            check_folder(session, self.out)
        return session

    def read(self, table: str, inputs: Inputs, columns: Sequence[str], options: Mapping[str, str]) -> Relation:
        from kwire_spark import reading

        reads = {
            "frames": reading.read_frames,
            "exchanges": reading.read_exchanges,
            "refusals": reading.read_refusals,
            "records": reading.read_records,
        }
        if table in reads:
            return reads[table](inputs, columns=columns, spark=self.session, **options)
        if table == "metrics":
            return reading.read_metrics(inputs, spark=self.session, **options)
        return reading.read_stored(table, inputs, spark=self.session)

    def counted(self, inputs: Inputs, options: Mapping[str, str]) -> Relation:
        from kwire_spark.reading import read_counted

        return read_counted(inputs, spark=self.session, **options)

    def cached(self, table: Any) -> Relation:
        table = table.persist()
        table.count()
        return table  # type: ignore[no-any-return]

    def tables(self, run: Run) -> Tables:
        from kwire_spark.command.tables import SparkTables

        return SparkTables(run)

    def write_clients(self, seen: Clients[Any], folder: str) -> None:
        from kwire_spark.writing import write_clients

        write_clients(seen, folder, self.table_format)


def _check_format(session: Any, name: str) -> None:
    """Raise :class:`OptionError` for a format that Spark does not have: writing fails only after all work."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    sources = session._jvm.org.apache.spark.sql.execution.datasources.DataSource
    try:
        sources.lookupDataSource(name, session._jsparkSession.sessionState().conf())
    except Py4JJavaError:
        raise OptionError(f"--table-format {name}: Spark has no such format; try parquet, csv, json or orc") from None
