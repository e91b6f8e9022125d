"""Typed tables: one for each API and for each kind of record, with messages as columns of structs.

``messages(exchanges, "Fetch")`` takes the EXCHANGES of captures or request logs, ``records(records, "OffsetCommit")``
the RECORDS of log segments. Both keep all other columns that they are given: select before what is of use, and only
that travels through the workers. The structs are those of ``kwire_kafka.arrow``, unions of all versions; a field is
null where the version lacks it. What cannot be decoded is a null struct, with a ``reason``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from kwire.errors import UnknownApiError
from kwire_kafka import PROTOCOL
from kwire_spark.spark_types import spark_schema
from kwire_spark.tables.record_structs import RecordKind, RecordStructs, record_kind
from kwire_spark.tables.structs import REASON, ExchangeStructs

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

PARTS = ("request", "response")


def messages(exchanges: DataFrame, api: str | int, parts: Sequence[str] = PARTS) -> DataFrame:
    """The exchanges of one API, with ``request`` and ``response`` as structs, or one of them: see ``parts``.

    ``api`` is a name as ``Fetch``, also one of an earlier release, or an api key. Needs the columns ``api_key``,
    ``version`` and those of ``parts``. :class:`~kwire.errors.UnknownApiError` if there is no such API.
    """
    if not parts or not set(parts) <= set(PARTS):
        raise ValueError(f"parts are {' and '.join(PARTS)}, not {', '.join(parts) or 'nothing'}")
    decode = ExchangeStructs(_api_key(api), parts)
    chosen = exchanges.where(exchanges["api_key"] == decode.api_key)
    unused = [part for part in PARTS if part not in parts]
    schema = _schema(exchanges, PARTS, decode.fields())
    return chosen.drop(*unused).mapInArrow(decode, schema)


def records(logged: DataFrame, name: str) -> DataFrame:
    """The records of one kind: ``key`` and ``value`` as structs, and ``version``, that of the value.

    ``name`` is one of ``kwire_spark.tables.record_structs.record_kinds()``. Needs the columns ``topic``, ``control``,
    ``key`` and ``value``. A tombstone has a null value and no ``reason``. Control records have ``type`` and no key.
    """
    kind = record_kind(name)
    decode = RecordStructs(kind)
    schema = _schema(logged, ("key", "value"), decode.fields())
    return logged.where(is_of(logged, kind)).mapInArrow(decode, schema)


def _api_key(api: str | int) -> int:
    if isinstance(api, str) and f"{api}Request" not in PROTOCOL:
        raise UnknownApiError(api, [PROTOCOL.api_name(key) for key in PROTOCOL.api_keys])
    request = PROTOCOL.request(api) if isinstance(api, int) else PROTOCOL[f"{api}Request"]
    assert request.API_KEY is not None
    return request.API_KEY


def is_of(logged: DataFrame, kind: RecordKind) -> Column:
    """Chosen before anything is decoded: by the topic, and by the type with which the key or the value begins."""
    from pyspark.sql import functions as F

    typed = logged["key"] if kind.key or kind.topic is None else logged["value"]
    starts = reduce(or_, [F.substring(typed, 1, len(start)) == F.lit(start) for start in kind.starts])
    if kind.topic is None:
        return logged["control"] & starts
    return ~logged["control"] & (logged["topic"] == kind.topic) & starts


def _schema(table: DataFrame, replaced: Sequence[str], fields: list[pa.Field]) -> StructType:
    """As ``structs.schema_with``, of Spark: the types of other columns are what they are."""
    import pyarrow as pa
    from pyspark.sql.types import StructType

    gone = {*replaced, "_corrupt", *(field.name for field in fields)}
    kept = [field for field in table.schema if field.name not in gone]
    added = spark_schema(pa.schema([*([] if "reason" in table.columns else [REASON]), *fields]))
    return StructType([*kept, *added])
