"""The columns of the tables, as Arrow schemas; a column's metadata has its description under ``comment``.

==============  =====================================================================================================
``FRAMES``      what was seen on connections, a row for each frame and for whatever is not one
``EXCHANGES``   requests, each with its response: from captures and from request logs alike
``REFUSALS``    requests that a broker refused before it looked at them, from server logs
``RECORDS``     records of log segments and snapshots
``CLIENTS``     who spoke what, from all of these
==============  =====================================================================================================

The last column of every source is ``_corrupt``: null, except for rows that report broken input.
Such a row has the problem in ``_corrupt`` and its place in ``source`` and ``position``; its other columns are null.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa

TIME = pa.timestamp("us", tz="UTC")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def schema(*columns: tuple[str, pa.DataType, str]) -> pa.Schema:
    """A schema of columns, each with its name, type and description."""
    return pa.schema([pa.field(name, kind, metadata={"comment": comment}) for name, kind, comment in columns])


PLACE = schema(
    ("source", pa.string(), "Path of the file in which this stands."),
    ("position", pa.int64(), "Byte offset in that file, of its uncompressed bytes: the packet, line or batch."),
)
PEERS = schema(
    ("connection", pa.string(), "Names the TCP connection: client, server and, in captures, when it was first seen."),
    ("client_host", pa.string(), "Address of the client; null where a log has only that of a broker between."),
    ("client_port", pa.int32(), "Port of the client."),
    ("server_host", pa.string(), "Address of the server, a broker or controller."),
    ("server_port", pa.int32(), "Port of the server."),
)
IDENTITY = schema(
    ("client_id", pa.string(), "What the client calls itself in the header of its request; null if it does not."),
    ("software_name", pa.string(), "Library of the client, if it told the server [KIP-511]: before this, or in it."),
    ("software_version", pa.string(), "Version of that library."),
    ("principal", pa.string(), "Who the client is to the server, as User:name: learnt from SASL, or from a log."),
)
API = schema(
    ("api_key", pa.int16(), "Number of the API."),
    ("api", pa.string(), "Name of the API, null if the number is not known."),
    ("version", pa.int16(), "Version of the request."),
    ("correlation_id", pa.int32(), "Number that the client gave to the request."),
)
CORRUPT = schema(("_corrupt", pa.string(), "What is broken here; null in all other rows."))


def _joined(*schemas: pa.Schema) -> pa.Schema:
    return pa.schema([field for schema in schemas for field in schema])


FRAMES = _joined(
    PLACE,
    PEERS,
    schema(
        ("number", pa.int64(), "Counts what was seen on the connection, from 0."),
        ("direction", pa.string(), "Who sent it: client or server."),
        (
            "kind",
            pa.string(),
            "request, response, unanswered, undecodable, sasl_token, skipped, gap or not_kafka.",
        ),
        ("started", TIME, "When its first byte was seen."),
        ("time", TIME, "When its last byte was seen."),
        ("size", pa.int64(), "Bytes, with the four in front of a frame that tell its size."),
    ),
    API,
    IDENTITY,
    schema(
        ("request", pa.int64(), "Number of the request that this answers, or that stays unanswered."),
        ("latency_ms", pa.float64(), "From the last byte of the request to the last byte of the response."),
        ("error_codes", pa.list_(pa.int16()), "The error codes in a response, each once, without 0."),
        ("throttle_ms", pa.int32(), "How long the response asks the client to pause."),
        ("reason", pa.string(), "Why it could not be decoded, is unanswered or was skipped."),
        ("raw", pa.binary(), "The bytes, without the four in front that tell the size; null where it has secrets."),
    ),
    CORRUPT,
)

EXCHANGES = _joined(
    PLACE,
    PEERS,
    schema(
        ("number", pa.int64(), "Counts the requests of a connection, from 0; null in request logs."),
        ("time", TIME, "When the request was complete; in a request log, when it was answered."),
    ),
    API,
    IDENTITY,
    schema(
        (
            "outcome",
            pa.string(),
            "answered, unanswered, none (a request that asks for no response), or undecodable: see reason.",
        ),
        ("error_codes", pa.list_(pa.int16()), "The error codes in the response, each once, without 0."),
        ("throttle_ms", pa.int32(), "How long the response asks the client to pause."),
        ("latency_ms", pa.float64(), "From the request to the response, as the observer saw it."),
        ("queue_ms", pa.float64(), "Of that, waiting for a thread and to be sent (request logs)."),
        ("local_ms", pa.float64(), "Of that, at work on the leader (request logs)."),
        ("remote_ms", pa.float64(), "Of that, waiting for others (request logs)."),
        ("request_size", pa.int64(), "Bytes of the request's frame; null in request logs."),
        ("response_size", pa.int64(), "Bytes of the response's frame; null in request logs."),
        ("response_version", pa.int16(), "Version of the response: 0 where ApiVersions falls back."),
        ("forwarded", pa.bool_(), "Whether another broker passed the request on, in an Envelope."),
        ("listener", pa.string(), "Name of the listener (request logs)."),
        ("security_protocol", pa.string(), "PLAINTEXT, SASL_SSL and so on (request logs)."),
        ("reason", pa.string(), "Why request or response could not be decoded, or why there is no response."),
        ("request", pa.binary(), "The request: header and body, redacted."),
        ("response", pa.binary(), "The response: header and body, redacted."),
    ),
    CORRUPT,
)

REFUSALS = _joined(
    PLACE,
    PEERS,
    schema(
        ("time", TIME, "When the broker wrote the line; null if its layout has no time."),
        ("api_key", pa.int16(), "Number of the API."),
        ("api", pa.string(), "Name of the API, or what the broker calls one that has none here."),
        ("version", pa.int16(), "Version of the request."),
        ("listener", pa.string(), "Name of the listener, where the line has it."),
        ("principal", pa.string(), "Who the client is to the broker, where the line has it."),
        ("message", pa.string(), "The line that says so."),
    ),
    CORRUPT,
)

RECORDS = _joined(
    PLACE,
    schema(
        ("topic", pa.string(), "From the name of the folder."),
        ("partition", pa.int32(), "From the name of the folder."),
        ("offset", pa.int64(), "Of the record."),
        ("time", TIME, "Timestamp of the record; null if it has none, or none of years 1 to 9999."),
        ("timestamp_type", pa.string(), "create, append or none."),
        ("leader_epoch", pa.int32(), "Of the batch; -1 before message format 2."),
        ("magic", pa.int8(), "Message format: 0, 1 or 2."),
        ("codec", pa.string(), "How the batch is compressed: none, gzip, snappy, lz4 or zstd."),
        ("producer_id", pa.int64(), "-1 if the producer is neither idempotent nor transactional."),
        ("producer_epoch", pa.int16(), "-1 as above."),
        ("base_sequence", pa.int32(), "-1 as above."),
        ("transactional", pa.bool_(), "Whether the record is part of a transaction."),
        ("control", pa.bool_(), "Whether this is a control record, as the end of a transaction."),
        ("key", pa.binary(), "The key; null if there is none."),
        ("value", pa.binary(), "The value; null for a tombstone."),
        (
            "headers",
            pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
            "In their order; keys may repeat.",
        ),
    ),
    CORRUPT,
)

PACKETS = _joined(
    PLACE,
    schema(
        ("time", TIME, "When the packet was seen."),
        ("flow", pa.binary(), "Names the two ends: the same for both directions."),
        ("key", pa.binary(), "Addresses and ports of source and target, as on the wire."),
        ("seq", pa.int64(), "TCP sequence number."),
        ("ack", pa.int64(), "TCP acknowledgement number."),
        ("flags", pa.int16(), "TCP flags."),
        ("data", pa.binary(), "What was captured of the payload."),
        ("missing", pa.int32(), "How many bytes of the payload were not captured."),
    ),
    CORRUPT,
)

CLIENTS = _joined(
    schema(
        ("seen_in", pa.string(), "capture, request_log or server_log: counts of one do not add to those of another."),
        ("client_host", pa.string(), "Address of the client."),
        ("server_port", pa.int32(), "Port of the server, which tells listeners apart."),
    ),
    IDENTITY,
    schema(
        ("api_key", pa.int16(), "Number of the API."),
        ("api", pa.string(), "Name of the API."),
        ("version", pa.int16(), "Version of the requests."),
        ("first_seen", TIME, "The first of these requests."),
        ("last_seen", TIME, "The last of these requests."),
        ("requests", pa.int64(), "How many there were."),
        ("errors", pa.int64(), "How many were answered with an error code."),
        (
            "refused",
            pa.int64(),
            "How many were not answered as the server closed the connection, or refused in a log.",
        ),
        ("connections", pa.int64(), "On how many connections."),
        ("source", pa.string(), "File of the first of them."),
        ("position", pa.int64(), "Its byte offset in that file."),
    ),
)
