"""Typed tables: one for each API and for each kind of record, with messages as columns of structs.

``messages(exchanges, "Fetch")`` takes EXCHANGES of captures or request logs; ``typed_records(records,
"OffsetCommit")`` takes RECORDS of log segments. Both keep all other columns, which pass through the workers: select
the needed columns first. The structs are those of ``kwire_kafka.arrow``, or of another ``protocol``, unions of all
versions; a field that the version lacks is null. Bytes that cannot be decoded are a null struct, with a ``reason``;
so are those of over ``max_decoded`` bytes, unless a few large values, such as records, make up nearly all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from kwire.errors import UnknownApiError
from kwire.frames import MAX_DECODED
from kwire_inspect.tables.record_structs import RecordKind, RecordStructs, record_kind
from kwire_inspect.tables.structs import REASON, ExchangeStructs
from kwire_kafka import PROTOCOL
from kwire_spark.types import spark_schema

if TYPE_CHECKING:
    from kwire.protocol import MessageRegistry

PARTS = ("request", "response")


def messages(
    exchanges: DataFrame,
    api: str | int,
    parts: Sequence[str] = PARTS,
    protocol: MessageRegistry = PROTOCOL,
    *,
    max_decoded: int = MAX_DECODED,
) -> DataFrame:
    """The exchanges of one API, with ``request`` and ``response``, or only one of them (``parts``), as structs.

    ``api`` is an API key, or a name such as ``Fetch``, including former names. Needs the columns ``api_key``,
    ``version`` and those of ``parts``. :class:`~kwire.errors.UnknownApiError` if there is no such API.
    """
    if not parts or not set(parts) <= set(PARTS):
        raise ValueError(f"expected parts {' and '.join(PARTS)}, got {', '.join(parts) or 'none'}")
    if isinstance(api, str) and f"{api}Request" not in protocol:
        raise UnknownApiError(api, protocol.api_names.values())
    request = protocol.request(api) if isinstance(api, int) else protocol[f"{api}Request"]
    assert request.API_KEY is not None
    decode = ExchangeStructs(request.API_KEY, parts, protocol, max_decoded)
    of_api = exchanges.where(exchanges["api_key"] == decode.api_key)
    schema = _schema(exchanges, PARTS, decode.fields())
    return of_api.drop(*(part for part in PARTS if part not in parts)).mapInArrow(decode, schema)


def typed_records(
    records: DataFrame, name: str, protocol: MessageRegistry = PROTOCOL, *, max_decoded: int = MAX_DECODED
) -> DataFrame:
    """The records of one kind: ``key`` and ``value`` as structs, and ``version``, that of the value.

    ``name`` is one of ``kwire_inspect.tables.record_structs.record_kinds()``. Needs the columns ``topic``,
    ``control``, ``key`` and ``value``. A tombstone has a null value and no ``reason``. Control records have ``type``
    and no key.
    """
    kind = record_kind(name, protocol)
    decode = RecordStructs(kind, protocol, max_decoded)
    schema = _schema(records, ("key", "value"), decode.fields())
    return records.where(is_of(records, kind)).mapInArrow(decode, schema)


def is_of(records: DataFrame, kind: RecordKind) -> Column:
    """Whether a record is of this kind, by its topic and the type that its key or value starts with: without decoding
    it."""
    typed = records[kind.column]
    starts = reduce(or_, [F.substring(typed, 1, len(start)) == F.lit(start) for start in kind.starts])
    if kind.topic is None:
        return records["control"] & starts
    mine = records["topic"] == kind.topic if kind.value else records["topic"].rlike(f"^(?:{kind.topic})$")
    return ~records["control"] & mine & starts


def _schema(table: DataFrame, replaced: Sequence[str], fields: list[pa.Field]) -> StructType:
    """The counterpart of ``structs.schema_with`` in Spark types, which other columns keep."""
    gone = {*replaced, "_corrupt", *(field.name for field in fields)}
    kept = [field for field in table.schema if field.name not in gone]
    added = spark_schema([*([] if "reason" in table.columns else [REASON]), *fields])
    return StructType([*kept, *added])
