"""Converts Arrow batches with encoded messages to batches with structs, for typed tables. Spark is not required.

Bytes that cannot be decoded become a null struct with a ``reason``, and never raise an error.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kwire.errors import KwireError
from kwire.frames import MAX_DECODED
from kwire.message import Message, pause_collector, too_many_values
from kwire.policy import LIKE_KAFKA
from kwire_kafka import PROTOCOL

if TYPE_CHECKING:
    from kwire.arrow import Columns
    from kwire.protocol import MessageRegistry

AT_ONCE = 1 << 20
"""Approximate number of bytes to decode at a time. The decoded objects need ten times as much memory."""

REASON = pa.field("reason", pa.string(), metadata={"comment": "Why a value could not be decoded."})

Decoded = tuple[Message | None, int, str | None]
"""A message and its version, or the reason why the message could not be decoded. :data:`NOTHING` means that there are
no bytes."""

NOTHING: Decoded = (None, 0, None)


def in_pieces(
    batches: Iterable[pa.RecordBatch], convert: Callable[[pa.RecordBatch], pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Convert all rows, and yield them in batches of about :data:`AT_ONCE` bytes, or of a single larger row."""
    for batch in batches:
        rows = max(1, batch.num_rows * AT_ONCE // max(batch.nbytes, 1))
        for start in range(0, batch.num_rows, rows):
            paused = pause_collector()  # messages contain no reference cycles
            try:
                converted = convert(batch.slice(start, rows))
            finally:
                if paused:
                    gc.enable()
            yield converted


@dataclass(frozen=True, slots=True)
class ExchangeStructs:
    """Converts requests, responses or both (``parts``) of one API of ``protocol`` to structs.

    For ``max_decoded``, see :class:`kwire.connection.ConnectionDecoder`.
    """

    api_key: int
    parts: Sequence[str] = ("request", "response")
    protocol: MessageRegistry = PROTOCOL
    max_decoded: int = MAX_DECODED
    replaced: ClassVar[Sequence[str]] = ("request", "response")

    @property
    def name(self) -> str:
        """Name of the API."""
        return self.protocol.api_name(self.api_key)

    @property
    def where(self) -> str:
        """SQL condition for exchanges of this API."""
        return f"api_key = {self.api_key}"

    def of(self, exchanges: pa.RecordBatch) -> pa.Array:
        """Return a mask of the exchanges of this API."""
        return pc.equal(exchanges.column("api_key"), self.api_key)

    def fields(self) -> list[pa.Field]:
        """Return the columns that replace the binary columns."""
        return [message_field(self.protocol, part, self._message(part).__name__) for part in self.parts]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return in_pieces(batches, self._converted)

    def _converted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns, reasons = {}, []
        for part in self.parts:
            columns[part], why = self._decoded(part, batch)
            reasons.append(why)
        return with_columns(batch, self.replaced, self.fields(), columns, *reasons)

    def _message(self, part: str) -> type[Message]:
        return self.protocol.request(self.api_key) if part == "request" else self.protocol.response(self.api_key)

    def _decoded(self, part: str, batch: pa.RecordBatch) -> tuple[pa.Array, list[str | None]]:
        """Return the column of a part, and the reason for each row whose bytes cannot be decoded."""
        payloads = batch.column(part).to_pylist()
        versions = batch.column("version").to_pylist() if part == "response" else payloads
        bodies = [
            NO_BODY if payload is None or version is None else self._body(part, payload, version)
            for payload, version in zip(payloads, versions, strict=True)
        ]
        rows = [row for row, body in enumerate(bodies) if body.start]
        columns = columns_of(self.protocol, self._message(part).__name__)
        found = columns.decode(
            [payloads[row] for row in rows],
            [bodies[row].version for row in rows],
            start=[bodies[row].start for row in rows],
            policy=LIKE_KAFKA,
            max_decoded=self.max_decoded,
        )
        array = found.array
        if len(rows) < len(bodies):  # otherwise, large values would be copied twice
            places = {row: place for place, row in enumerate(rows)}
            padded = pa.concat_arrays([array, columns.array([None], [0])])  # a null index would make the fields null
            array = padded.take(pa.array([places.get(row, len(rows)) for row in range(len(bodies))], pa.int64()))
        reasons = [body.reason for body in bodies]
        for place, error in found.errors.items():
            large = too_many_values(payloads[rows[place]])
            reasons[rows[place]] = large if error.reason == large else str(error)
        return array, reasons

    def _body(self, part: str, payload: bytes, version: int) -> _Body:
        """Return the offset and version of the body in a frame, or the reason why the body cannot be decoded."""
        try:
            if part == "request":
                header, start, cls = self.protocol.request_header(payload, LIKE_KAFKA)
                version = header.api_version
                if header.api_key != self.api_key:
                    return _Body(reason=f"expected a request with API key {self.api_key}, got {header.api_key}")
            else:
                _, start, cls, version = self.protocol.response_header(payload, self.api_key, version, LIKE_KAFKA)
        except KwireError as error:
            return _Body(reason=str(error))
        return _Body(start, version) if cls else _Body(reason=self.protocol.unknown(self.api_key, version))


class _Body(NamedTuple):
    """Offset and version of a body. The offset is 0 if the body is missing or cannot be decoded. If the body cannot
    be decoded, ``reason`` says why."""

    start: int = 0
    version: int = 0
    reason: str | None = None


NO_BODY = _Body()


def with_columns(
    batch: pa.RecordBatch,
    replaced: Sequence[str],
    fields: Sequence[pa.Field],
    columns: dict[str, pa.Array],
    *reasons: Sequence[str | None],
) -> pa.RecordBatch:
    """Return the batch with some columns replaced. See :func:`schema_with`.

    The column ``reason`` contains the first known reason of each row.
    """
    first = batch.column("reason").to_pylist() if "reason" in batch.schema.names else [None] * batch.num_rows
    for more in reasons:
        first = [known or reason for known, reason in zip(first, more, strict=True)]
    columns = {**columns, "reason": pa.array(first, pa.string())}
    schema = schema_with(batch.schema, replaced, fields)
    staying = batch.select([name for name in schema.names if name not in columns])
    if batch.nbytes > AT_ONCE:  # so that no column keeps the large values of all columns in memory
        staying = staying.take(pa.array(range(batch.num_rows), pa.int64()))
    arrays = [columns[name] if name in columns else staying.column(name) for name in schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def schema_with(schema: pa.Schema, replaced: Sequence[str], fields: Sequence[pa.Field]) -> pa.Schema:
    """Return a schema with the remaining columns, followed by ``reason`` unless it is one of them, and by the new
    columns."""
    gone = {*replaced, "problem", *(field.name for field in fields)}
    kept = [field for field in schema if field.name not in gone]
    return pa.schema([*kept, *([] if "reason" in schema.names else [REASON]), *fields])


def message_field(protocol: MessageRegistry, name: str, message: str) -> pa.Field:
    """Return a field for a column of messages. The comment of the field is the first line of the message's
    description."""
    description = (protocol[message].__doc__ or "").partition("\n")[0]
    return pa.field(name, columns_of(protocol, message).type, metadata={"comment": description})


def structs(protocol: MessageRegistry, name: str, decoded: Sequence[Decoded]) -> pa.Array:
    """Return a column of these messages, with nulls for missing messages."""
    columns = columns_of(protocol, name)
    return columns.array([message for message, _, _ in decoded], [version for _, version, _ in decoded])


def columns_of(protocol: MessageRegistry, message: str) -> Columns:
    """Return the columns of a message from the ``arrow`` module of its package."""
    columns: Columns = import_module(f"{protocol.package}.arrow").ARROW[message]
    return columns
