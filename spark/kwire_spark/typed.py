"""Typed tables, one per API and record kind, with messages as struct columns.

``messages(exchanges, "Fetch")`` converts EXCHANGES of captures or request logs. ``typed_records(records,
"OffsetCommit")`` converts RECORDS of log segments. Both functions keep all other columns, which pass through the
workers, so select only necessary columns first. The structs are defined in ``kwire_kafka.arrow``, or in another
``protocol``, as unions of all versions. Fields that a version lacks are null. Bytes that cannot be decoded become a
null struct with a ``reason``. Bodies of more than ``max_decoded`` bytes are treated in the same way, unless they
consist almost entirely of a few large values, such as records.

``names`` is a table of topic names, as returned by ``topic_names``. The table is collected in this process and sent
to the workers. The topic name is filled in where a struct contains only the topic id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from kwire.errors import UnknownApiError
from kwire.frames import MAX_DECODED
from kwire_inspect.tables.names import Typed, names_by_id
from kwire_inspect.tables.record_structs import RecordStructs, record_kind
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
    names: DataFrame | None = None,
    max_decoded: int = MAX_DECODED,
) -> DataFrame:
    """Return the exchanges of one API with ``request`` and ``response``, or only the columns in ``parts``, as
    structs.

    ``api`` is an API key, or a name such as ``Fetch`` or a former name. ``exchanges`` needs the columns ``api_key``
    and ``version``, and the columns in ``parts``. Raises :class:`~kwire.errors.UnknownApiError` for an unknown API.
    """
    if not parts or not set(parts) <= set(PARTS):
        raise ValueError(f"expected parts {' and '.join(PARTS)}, got {', '.join(parts) or 'none'}")
    if isinstance(api, str) and f"{api}Request" not in protocol:
        raise UnknownApiError(api, protocol.api_names.values())
    request = protocol.request(api) if isinstance(api, int) else protocol[f"{api}Request"]
    assert request.API_KEY is not None
    decode = ExchangeStructs(request.API_KEY, parts, protocol, max_decoded)
    needed = exchanges.drop(*(part for part in PARTS if part not in parts))
    return typed(needed, Typed(decode, names_by_id(names) if names else None))


def typed_records(
    records: DataFrame,
    name: str,
    protocol: MessageRegistry = PROTOCOL,
    *,
    names: DataFrame | None = None,
    max_decoded: int = MAX_DECODED,
) -> DataFrame:
    """Return the records of one kind with ``key`` and ``value`` as structs, and the ``version`` of the value.

    ``name`` is one of ``kwire_inspect.tables.record_structs.record_kinds()``. ``records`` needs the columns
    ``topic``, ``control``, ``key`` and ``value``. A tombstone has a null value and no ``reason``. Control records
    have a ``type`` but no key.
    """
    decode = RecordStructs(record_kind(name, protocol), protocol, max_decoded)
    return typed(records, Typed(decode, names_by_id(names) if names else None))


def typed(table: DataFrame, made: Typed) -> DataFrame:
    """Return the rows that ``made`` selects, with messages as struct columns."""
    structs, fields = made.structs, made.fields()
    gone = {*structs.replaced, "problem", *(field.name for field in fields)}
    # counterpart of structs.schema_with: other columns keep their Spark types
    kept = [field for field in table.schema if field.name not in gone]
    added = spark_schema([*([] if "reason" in table.columns else [REASON]), *fields])
    return table.where(structs.where).mapInArrow(made, StructType([*kept, *added]))
