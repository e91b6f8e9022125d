"""Columns of the tables, as Arrow schemas. The metadata key ``comment`` holds a column's description.

==============  =====================================================================================================
``FRAMES``      frames and other events of connections
``EXCHANGES``   requests, each with its response, from captures and request logs
``REFUSALS``    requests that a broker refused before processing them, from server logs
``RECORDS``     records of log segments and snapshots
``CLIENTS``     API versions that each client used, from all of these
``PROBLEMS``    input that could not be read
==============  =====================================================================================================

The last column of the tables that sources return is ``problem``. It is null, except in rows that report broken input.
These describe the problem there, and locate it in ``source`` and ``position``. Most of their other columns are null.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa

TIME = pa.timestamp("us", tz="UTC")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HEADERS = pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))

Column = tuple[str, pa.DataType, str]
"""Name, type and description of a column."""


def schema(*columns: Column) -> pa.Schema:
    """Return an Arrow schema with these columns."""
    return pa.schema([pa.field(name, kind, metadata={"comment": comment}) for name, kind, comment in columns])


PLACE = (
    ("source", pa.string(), "Path of the file with this row."),
    ("position", pa.int64(), "Byte offset of the packet, line or batch in the uncompressed file."),
)
PEERS = (
    ("connection", pa.string(), "Name of the connection: client, server and, in captures, when it was first seen."),
    ("client_host", pa.string(), "Address of the client; null in logs that only name the forwarding broker."),
    ("client_port", pa.int32(), "Port of the client."),
    ("server_host", pa.string(), "Address of the server: a broker or controller."),
    ("server_port", pa.int32(), "Port of the server."),
)
IDENTITY = (
    ("client_id", pa.string(), "Client id in the header of the request; null if the header has none."),
    ("software_name", pa.string(), "Library of the client, if it has sent its name up to this request [KIP-511]."),
    ("software_version", pa.string(), "Version of that library."),
    ("principal", pa.string(), "Principal of the client, such as User:name, from SASL or a log."),
)
API = (
    ("api_key", pa.int16(), "Number of the API."),
    ("api", pa.string(), "Name of the API; null if the number is unknown."),
    ("version", pa.int16(), "Version of the request."),
    ("correlation_id", pa.int32(), "Correlation id of the request."),
)
PROBLEM = ("problem", pa.string(), "Description of invalid input; null in all other rows.")

FRAMES = schema(
    *PLACE,
    *PEERS,
    ("number", pa.int64(), "Number of the row on its connection, from 0."),
    ("direction", pa.string(), "Sender: client or server."),
    ("kind", pa.string(), "request, response, unanswered, undecodable, sasl_token, skipped, gap or not_kafka."),
    ("started", TIME, "When its first byte was seen."),
    ("time", TIME, "When its last byte was seen."),
    ("size", pa.int64(), "Size in bytes, including the four-byte length before a frame."),
    *API,
    *IDENTITY,
    ("request", pa.int64(), "Number of the request that this answers, or that is unanswered."),
    ("latency_ms", pa.float64(), "Milliseconds from the last byte of the request to the last byte of the response."),
    ("error_codes", pa.list_(pa.int16()), "Distinct error codes in a response, except 0."),
    ("throttle_ms", pa.int32(), "Milliseconds for which the response asks the client to pause."),
    ("reason", pa.string(), "Why it cannot be decoded, is unanswered or was skipped."),
    ("raw", pa.binary(), "The bytes without the four-byte length, redacted; null if secrets cannot be removed."),
    PROBLEM,
)

EXCHANGES = schema(
    *PLACE,
    *PEERS,
    (
        "number",
        pa.int64(),
        "Number of the request on its connection, from 0; null in request logs. In rows with a problem, 0 is the "
        "first of a connection that does not speak Kafka, or may not.",
    ),
    ("time", TIME, "When the request was complete; in request logs, when it was answered."),
    *API,
    *IDENTITY,
    ("outcome", pa.string(), "answered, unanswered, none (no response was asked for) or undecodable; see reason."),
    ("error_codes", pa.list_(pa.int16()), "Distinct error codes in the response, except 0."),
    ("throttle_ms", pa.int32(), "Milliseconds for which the response asks the client to pause."),
    ("latency_ms", pa.float64(), "Milliseconds from the request to the response, where they were observed."),
    ("queue_ms", pa.float64(), "Part of the latency spent in queues for requests and responses (request logs)."),
    ("local_ms", pa.float64(), "Part of the latency spent in the leader (request logs)."),
    ("remote_ms", pa.float64(), "Part of the latency spent waiting for other brokers (request logs)."),
    ("request_size", pa.int64(), "Bytes of the request's frame; null in request logs."),
    ("response_size", pa.int64(), "Bytes of the response's frame; null in request logs."),
    ("response_version", pa.int16(), "Version of the response; 0 if ApiVersions fell back."),
    ("forwarded", pa.bool_(), "Whether another broker forwarded the request in an Envelope."),
    ("listener", pa.string(), "Name of the listener (request logs)."),
    ("security_protocol", pa.string(), "Security protocol, such as SASL_SSL (request logs)."),
    ("reason", pa.string(), "Why request or response cannot be decoded, or why the response is missing."),
    ("request", pa.binary(), "The request: header and body, redacted."),
    ("response", pa.binary(), "The response: header and body, redacted."),
    ("unread", pa.int64(), "Bytes that were not read because of the problem (captures)."),
    ("packets", pa.int64(), "Number of packets that the problem is about, if it is about packets."),
    PROBLEM,
)

REFUSALS = schema(
    *PLACE,
    *PEERS,
    ("time", TIME, "When the broker wrote the line; null if lines have no time."),
    ("api_key", pa.int16(), "Number of the API."),
    ("api", pa.string(), "Name of the API; the name in the line if the API is unknown."),
    ("version", pa.int16(), "Version of the request."),
    ("listener", pa.string(), "Name of the listener, if the line has it."),
    ("principal", pa.string(), "Principal of the client, if the line has it."),
    ("message", pa.string(), "The line with the reason."),
    PROBLEM,
)

RECORDS = schema(
    *PLACE,
    ("topic", pa.string(), "From the name of the folder."),
    ("partition", pa.int32(), "From the name of the folder."),
    ("offset", pa.int64(), "Offset of the record."),
    ("time", TIME, "Timestamp of the record; null if it has none or it is not in the years 1 to 9999."),
    ("timestamp_type", pa.string(), "create, append or none."),
    ("leader_epoch", pa.int32(), "Leader epoch of the batch; -1 before message format 2."),
    ("magic", pa.int8(), "Message format: 0, 1 or 2."),
    ("codec", pa.string(), "Compression of the batch: none, gzip, snappy, lz4 or zstd."),
    ("producer_id", pa.int64(), "Id of the producer; -1 if it is neither idempotent nor transactional."),
    ("producer_epoch", pa.int16(), "Epoch of the producer; -1 if it has no id."),
    ("base_sequence", pa.int32(), "First sequence number of the batch; -1 if the producer has no id."),
    ("transactional", pa.bool_(), "Whether the record is part of a transaction."),
    ("control", pa.bool_(), "Whether this is a control record, such as a transaction marker."),
    ("key", pa.binary(), "The key, or null."),
    ("value", pa.binary(), "The value; null for a tombstone, or if the problem is that the record is too large."),
    ("headers", HEADERS, "Headers in their order; keys may repeat."),
    PROBLEM,
)

PACKETS = schema(
    *PLACE,
    ("time", TIME, "When the packet was seen."),
    ("flow", pa.binary(), "Name of the two ends, the same in both directions."),
    ("key", pa.binary(), "Addresses and ports of source and target, as on the wire."),
    ("seq", pa.int64(), "TCP sequence number."),
    ("ack", pa.int64(), "TCP acknowledgement number."),
    ("flags", pa.int16(), "TCP flags."),
    ("data", pa.binary(), "Captured part of the payload."),
    ("missing", pa.int32(), "Number of payload bytes that were not captured."),
    ("unread", pa.int64(), "Bytes that were not read because of the problem."),
    ("packets", pa.int64(), "Number of packets that the problem is about, if it is about packets."),
    PROBLEM,
)

CLIENTS = schema(
    (
        "input_kind",
        pa.string(),
        "capture, request_log, server_log, metrics, or forwarded by a broker; counts may overlap.",
    ),
    ("client_host", pa.string(), "Address of the client."),
    ("server_port", pa.int32(), "Port of the server, which identifies the listener."),
    *IDENTITY,
    ("api_key", pa.int16(), "API key."),
    ("api", pa.string(), "Name of the API."),
    ("version", pa.int16(), "Version of the requests."),
    ("first_seen", TIME, "Time of the first of these requests."),
    ("last_seen", TIME, "Time of the last of these requests."),
    ("requests", pa.int64(), "Number of requests."),
    ("errors", pa.int64(), "Number of requests answered with an error code."),
    ("refused", pa.int64(), "Requests refused in a log, or at which the server closed the connection."),
    ("connections", pa.int64(), "Number of connections."),
    ("source", pa.string(), "File of the first request."),
    ("position", pa.int64(), "Byte offset of the first request in that file."),
    ("bytes", pa.int64(), "Bytes of the requests and their responses (captures)."),
    ("begun", pa.int64(), "Number of connections whose first request is among them (captures)."),
)
COUNTED = pa.schema([*CLIENTS, *(EXCHANGES.field(name) for name in ("connection", "unread", "problem"))])
"""Columns of requests that were counted while reading: CLIENTS, including rows for problems. Rows of a single
connection have its name instead of the number of connections."""
PROBLEMS = schema(
    ("problem", pa.string(), "Description of input that could not be read, with the reason."),
    ("places", pa.int64(), "Number of places, or of packets, with this problem."),
    ("connections", pa.int64(), "Number of connections that were not read at all (captures)."),
    ("unread", pa.int64(), "Bytes that were not read (captures)."),
    ("client_host", pa.string(), "Address of the client, if it is known."),
    ("server_port", pa.int32(), "Port of the server, if it is known."),
    ("source", pa.string(), "Path of the file."),
    ("position", pa.int64(), "Byte offset in the uncompressed file."),
)
