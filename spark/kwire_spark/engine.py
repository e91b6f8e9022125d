"""Spark as an engine for the commands of ``kwire_inspect``, which find the engine through its entry point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire_inspect.command.engines import PARQUET, Written
from kwire_inspect.options import OptionError
from kwire_inspect.tables.files import DATE
from kwire_spark import relations as relations  # registers the backend for DataFrames
from kwire_spark.output import checked_output
from kwire_spark.types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kwire_inspect.inputs import Inputs
    from kwire_inspect.stored import Origin
    from kwire_inspect.tables.names import Typed
    from kwire_inspect.tables.relations import Relation

AT_ONCE = 4
"""Number of typed tables to write in parallel. For small tables, most of the time is spent on starting a job."""


class SparkEngine:
    """Engine that starts Spark on first use."""

    label = "Engine: Spark."
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

        self.brief = True  # only a few rows pass through Java, however large the inputs
        return read_counted(inputs, spark=self.session, **options)

    def cached(self, table: Any) -> Relation:
        table = table.persist()
        table.count()
        return table  # type: ignore[no-any-return]

    def write(
        self, table: Any, schema: pa.Schema, folder: str, name: str, *, origin: Origin, by_date: bool = False
    ) -> Written:
        from kwire_spark.writing import write

        few = table if by_date else table.coalesce(1)
        path = write(few, folder, name, self.table_format, by_date=by_date, origin=origin)
        reader = self.session.read.format(self.table_format)
        if self.table_format == PARQUET:
            reader = reader.schema(spark_schema([*schema, *([pa.field(DATE, pa.date32())] if by_date else [])]))
            # an empty table that is partitioned by date has no file from which to read the columns
            if by_date and reader.load(path).isEmpty():
                write(few.limit(0), folder, name, origin=origin)
        stored = reader.load(path)
        return Written(name, path, stored, stored.count)

    def write_typed(self, table: Any, folder: str, typed: Mapping[str, Typed], *, origin: Origin) -> list[Written]:
        from pyspark.sql import functions as F

        from kwire_spark.typed import typed as made_of
        from kwire_spark.writing import write

        counted = {name: F.count_if(F.expr(made.structs.where)).alias(name) for name, made in typed.items()}
        (row,) = table.agg(*counted.values()).collect()
        counts = {name: count for name, count in sorted(row.asDict().items()) if count}

        def written(name: str) -> Written:
            rows = made_of(table, typed[name])
            path = write(rows, folder, name, self.table_format, origin=origin)
            return Written(name, path, rows, partial(counts.__getitem__, name))

        with ThreadPoolExecutor(AT_ONCE) as workers:
            return list(workers.map(written, counts))


def _check_format(session: Any, name: str) -> None:
    """Raise :class:`OptionError` if Spark lacks this format, because Spark reports the error only when it writes a
    table.
    """
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    sources = session._jvm.org.apache.spark.sql.execution.datasources.DataSource
    try:
        sources.lookupDataSource(name, session._jsparkSession.sessionState().conf())
    except Py4JJavaError:
        raise OptionError(f"--table-format {name}: not supported by Spark. Try parquet, csv, json or orc") from None
