"""Columns of the tables, as Arrow schemas. The metadata key ``comment`` holds a column's description.

==============  =====================================================================================================
``FRAMES``      frames and other events of connections
``EXCHANGES``   requests, each with its response, from captures and request logs
``REFUSALS``    requests that a broker refused before processing them, from server logs
``RECORDS``     records of log segments and snapshots
``CLIENTS``     API versions used by each client, from captures, broker logs and metrics
``PROBLEMS``    input that could not be read
==============  =====================================================================================================

The last column of the tables that sources return is ``problem``. The value of ``problem`` is null except in rows that
report broken input, where it describes the problem. ``source`` and ``position`` locate the problem. Most other
columns of a row with a problem are null.
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
    ("source", pa.string(), "Path of the file that contains this row."),
    ("position", pa.int64(), "Byte offset of the packet, line or batch in the uncompressed file."),
)
PEERS = (
    (
        "connection",
        pa.string(),
        "Name of the connection: client, server and, in captures, the time of the first packet.",
    ),
    ("client_host", pa.string(), "Address of the client, or null in logs that only name the forwarding broker."),
    ("client_port", pa.int32(), "Port of the client."),
    ("server_host", pa.string(), "Address of the server, which is a broker or controller."),
    ("server_port", pa.int32(), "Port of the server."),
)
IDENTITY = (
    ("client_id", pa.string(), "Client id in the request header, or null if the header has none."),
    ("software_name", pa.string(), "Client library, if reported in this or an earlier request [KIP-511]."),
    ("software_version", pa.string(), "Version of the client library."),
    ("principal", pa.string(), "Principal of the client, such as User:name, from SASL or a log."),
)
API = (
    ("api_key", pa.int16(), "Key of the API."),
    ("api", pa.string(), "Name of the API, or null if the key is unknown."),
    ("version", pa.int16(), "Version of the request."),
    ("correlation_id", pa.int32(), "Correlation id of the request."),
)
PROBLEM = ("problem", pa.string(), "Description of invalid input, or null in rows that do not report invalid input.")

FRAMES = schema(
    *PLACE,
    *PEERS,
    ("number", pa.int64(), "Number of the row within its connection, starting at 0."),
    ("direction", pa.string(), "Sender: client or server."),
    (
        "kind",
        pa.string(),
        "Kind of row: request, response, unanswered, undecodable, sasl_token, skipped, gap or not_kafka.",
    ),
    ("started", TIME, "When the first byte was seen."),
    ("time", TIME, "When the last byte was seen."),
    ("size", pa.int64(), "Size in bytes, including a frame's four-byte length prefix."),
    *API,
    *IDENTITY,
    ("request", pa.int64(), "Number of the request that this row answers or reports as unanswered."),
    ("latency_ms", pa.float64(), "Milliseconds from the last byte of the request to the last byte of the response."),
    ("error_codes", pa.list_(pa.int16()), "Distinct error codes in a response, except 0."),
    ("throttle_ms", pa.int32(), "Milliseconds that the response asks the client to wait before its next request."),
    ("reason", pa.string(), "Why the bytes cannot be decoded or were skipped, or why the request is unanswered."),
    ("raw", pa.binary(), "Redacted bytes without the length prefix, or null if secrets cannot be removed."),
    PROBLEM,
)

EXCHANGES = schema(
    *PLACE,
    *PEERS,
    (
        "number",
        pa.int64(),
        "Number of the request within its connection, starting at 0, or null in request logs. In rows with a "
        "problem, 0 marks the first row of a connection that is not, or may not be, a Kafka connection.",
    ),
    ("time", TIME, "When the request was complete or, in request logs, when the request was answered."),
    *API,
    *IDENTITY,
    ("outcome", pa.string(), "Outcome: answered, unanswered, undecodable, or none if no response was requested."),
    ("error_codes", pa.list_(pa.int16()), "Distinct error codes in the response, except 0."),
    ("throttle_ms", pa.int32(), "Milliseconds that the response asks the client to wait before its next request."),
    ("latency_ms", pa.float64(), "Milliseconds from the request to the response, as seen in the capture or log."),
    ("queue_ms", pa.float64(), "Milliseconds of the latency spent in request and response queues (request logs)."),
    ("local_ms", pa.float64(), "Milliseconds of the latency that the leader spent on the request (request logs)."),
    ("remote_ms", pa.float64(), "Milliseconds of the latency spent waiting for other brokers (request logs)."),
    ("request_size", pa.int64(), "Size of the request frame in bytes, or null in request logs."),
    ("response_size", pa.int64(), "Size of the response frame in bytes, or null in request logs."),
    (
        "response_version",
        pa.int16(),
        "Version of the response, or 0 if the broker rejects the version of ApiVersions.",
    ),
    ("forwarded", pa.bool_(), "Whether another broker forwarded the request in an Envelope."),
    ("listener", pa.string(), "Name of the listener (request logs)."),
    ("security_protocol", pa.string(), "Security protocol, such as SASL_SSL (request logs)."),
    ("reason", pa.string(), "Why the request or response cannot be decoded, or why the response is missing."),
    ("request", pa.binary(), "Redacted header and body of the request."),
    ("response", pa.binary(), "Redacted header and body of the response."),
    ("unread", pa.int64(), "Number of bytes that were not read because of the problem (captures)."),
    ("packets", pa.int64(), "Number of packets with the problem, or null if the problem is not about packets."),
    PROBLEM,
)

REFUSALS = schema(
    *PLACE,
    *PEERS,
    ("time", TIME, "When the broker wrote the log line, or null if log lines contain no time."),
    ("api_key", pa.int16(), "Key of the API."),
    ("api", pa.string(), "Name of the API. An unknown API has the name in the log line."),
    ("version", pa.int16(), "Version of the request."),
    ("listener", pa.string(), "Name of the listener, if the log line contains it."),
    ("principal", pa.string(), "Principal of the client, if the log line contains it."),
    ("message", pa.string(), "Log line that contains the reason for the refusal."),
    PROBLEM,
)

RECORDS = schema(
    *PLACE,
    ("topic", pa.string(), "Topic, from the folder name."),
    ("partition", pa.int32(), "Partition, from the folder name."),
    ("offset", pa.int64(), "Offset of the record."),
    ("time", TIME, "Timestamp of the record, or null if it is missing or not in the years 1 to 9999."),
    ("timestamp_type", pa.string(), "Type of the timestamp: create, append or none."),
    ("leader_epoch", pa.int32(), "Leader epoch of the batch, or -1 before message format 2."),
    ("magic", pa.int8(), "Message format: 0, 1 or 2."),
    ("codec", pa.string(), "Compression of the batch: none, gzip, snappy, lz4 or zstd."),
    ("producer_id", pa.int64(), "Id of the producer, or -1 if it is neither idempotent nor transactional."),
    ("producer_epoch", pa.int16(), "Epoch of the producer, or -1 if it has no id."),
    ("base_sequence", pa.int32(), "First sequence number of the batch, or -1 if the producer has no id."),
    ("transactional", pa.bool_(), "Whether the record is part of a transaction."),
    ("control", pa.bool_(), "Whether this is a control record, such as a transaction marker."),
    ("key", pa.binary(), "Key of the record, or null."),
    ("value", pa.binary(), "Value, or null for a tombstone or a record that is too large (see problem)."),
    ("headers", HEADERS, "Headers in their original order. Keys may repeat."),
    PROBLEM,
)

PACKETS = schema(
    *PLACE,
    ("time", TIME, "When the packet was captured."),
    ("flow", pa.binary(), "Identifier of the two endpoints, equal for both directions of the connection."),
    ("key", pa.binary(), "Addresses and ports of source and destination, encoded as on the wire."),
    ("seq", pa.int64(), "TCP sequence number."),
    ("ack", pa.int64(), "TCP acknowledgement number."),
    ("flags", pa.int16(), "TCP flags."),
    ("data", pa.binary(), "Captured part of the payload."),
    ("missing", pa.int32(), "Number of payload bytes that were not captured."),
    ("unread", pa.int64(), "Number of bytes that were not read because of the problem."),
    ("packets", pa.int64(), "Number of packets with the problem, or null if the problem is not about packets."),
    PROBLEM,
)

CLIENTS = schema(
    (
        "input_kind",
        pa.string(),
        "Type of input: capture, request_log, server_log, metrics, or forwarded (by a broker). "
        "The same request may be counted for several types.",
    ),
    ("client_host", pa.string(), "Address of the client."),
    ("server_port", pa.int32(), "Port of the server, which identifies the listener."),
    *IDENTITY,
    ("api_key", pa.int16(), "Key of the API."),
    ("api", pa.string(), "Name of the API."),
    ("version", pa.int16(), "Version of the requests."),
    ("first_seen", TIME, "Time of the first of these requests."),
    ("last_seen", TIME, "Time of the last of these requests."),
    ("requests", pa.int64(), "Number of requests."),
    ("errors", pa.int64(), "Number of requests answered with an error code."),
    (
        "refused",
        pa.int64(),
        "Number of requests that a log reports as refused, or after which the server closed the connection.",
    ),
    ("connections", pa.int64(), "Number of connections."),
    ("source", pa.string(), "File that contains the first request."),
    ("position", pa.int64(), "Byte offset of the first request in that file."),
    ("bytes", pa.int64(), "Total size of the requests and responses in bytes (captures)."),
    ("begun", pa.int64(), "Number of connections whose first request is one of these requests (captures)."),
)
COUNTED = pa.schema([*CLIENTS, *(EXCHANGES.field(name) for name in ("connection", "unread", "problem"))])
"""Columns of the rows that count requests while the input is read: the columns of CLIENTS, and three columns of
EXCHANGES. A row that counts a single connection contains the connection's name instead of the number of
connections."""
PROBLEMS = schema(
    ("problem", pa.string(), "Description of input that could not be read, with the reason."),
    ("places", pa.int64(), "Number of places or packets with this problem."),
    ("connections", pa.int64(), "Number of connections that were not read at all (captures)."),
    ("unread", pa.int64(), "Number of bytes that were not read (captures)."),
    ("client_host", pa.string(), "Address of the client, if known."),
    ("server_port", pa.int32(), "Port of the server, if known."),
    ("source", pa.string(), "Path of the file."),
    ("position", pa.int64(), "Byte offset in the uncompressed file."),
)
