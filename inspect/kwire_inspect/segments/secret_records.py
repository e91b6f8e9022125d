"""Removes secrets from records: SCRAM credentials and configurations in the cluster metadata, and connector
configurations and session keys in Kafka Connect's topic.

Values of records are returned unchanged or re-encoded. Most record types contain no secrets and are not decoded.
Copies of such logs may be in any folder, so records with secrets are also recognised by their content.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from kwire.errors import DecodeError, KwireError
from kwire.frames import MAX_DECODED
from kwire.logs import decode_record
from kwire.logs.connect import CONFIGS, connect_record, connect_topic, secrets_of
from kwire.logs.json_text import redacted_json
from kwire.primitives import read_uvarint
from kwire.redaction import redacted_bytes
from kwire.secrets import CONNECT_STARTS, METADATA_STARTS, METADATA_TOPIC, SECRETS, is_secret_record
from kwire_kafka import PROTOCOL

_LOG = "metadata"
_SECRET = frozenset(
    number
    for number in PROTOCOL.record_types(_LOG)
    if (cls := PROTOCOL.record(_LOG, number)[1]) and cls.__name__ in SECRETS
)
"""Types of metadata records that may contain secrets."""


def redacted_values(keys: pa.Array, values: pa.Array, topic: str | None) -> pa.Array:
    """Return the ``values`` of records with secrets removed. ``keys`` are the keys of the same records.

    Records that may contain secrets but cannot be decoded become empty in the metadata log, in Kafka Connect's
    configuration topic, and in files whose folder does not name a topic. In other topics such records are kept,
    because they are unrelated data that begins with the same bytes.
    """
    if topic is not None and connect_topic(topic) == CONFIGS:
        return pa.array(map(_without_config, keys.to_pylist(), values.to_pylist()), pa.binary())
    expected = topic in (METADATA_TOPIC, None)
    if expected or _any_starts(values, METADATA_STARTS):
        values = pa.array([_hidden(value, b"" if expected else value) for value in values.to_pylist()], pa.binary())
    if topic != METADATA_TOPIC and _any_starts(keys, CONNECT_STARTS):
        rows = zip(keys.to_pylist(), values.to_pylist(), strict=True)
        values = pa.array([_similar_to_config(*row, expected) for row in rows], pa.binary())
    return values


def _any_starts(found: pa.Array, starts: Sequence[bytes]) -> bool:
    similar = reduce(pc.or_, [pc.starts_with(found, pattern=start) for start in starts])
    return bool(pc.any(similar).as_py())


def _similar_to_config(key: bytes | None, value: bytes | None, expected: bool) -> bytes | None:
    """Return the ``value`` of a record, without secrets if the record resembles Kafka Connect's configuration."""
    if key is None or not key.startswith(CONNECT_STARTS) or not is_secret_record(key, value):
        return value
    return _without_config(key, value, b"" if expected else value)


def _without_config(key: bytes | None, value: bytes | None, unreadable: bytes | None = b"") -> bytes | None:
    """Return the ``value`` of a Kafka Connect configuration record without secrets, or ``unreadable`` if it is not
    JSON."""
    if value is None or key is None:
        return value and unreadable
    try:
        return redacted_json(value, secrets_of(CONFIGS, connect_record(CONFIGS, key)))
    except DecodeError:
        return unreadable


def _hidden(value: bytes | None, unreadable: bytes | None) -> bytes | None:
    """Return the ``value`` of a metadata record without secrets. Return ``unreadable`` if the record may contain
    secrets but cannot be decoded.
    """
    if value is None:
        return None
    try:
        _, start = read_uvarint(value, 0)
        kind, start = read_uvarint(value, start)
        if kind not in _SECRET:
            return value
        record = decode_record(PROTOCOL, METADATA_TOPIC, None, value, max_decoded=MAX_DECODED)
        if record.value is None:
            return unreadable
        return redacted_bytes(PROTOCOL, value, read_uvarint(value, start)[1], record.value, record.version)
    except KwireError:
        return value  # too short to contain a type, so not a message
