"""Removes secrets from records of the cluster metadata: salted passwords and sensitive configurations.

Takes the value of a record and returns it unchanged or re-encoded. Most record types have no secrets and are not
decoded.
"""

from __future__ import annotations

from kwire.errors import KwireError
from kwire.logs import decode_record
from kwire.primitives import read_uvarint
from kwire_kafka import PROTOCOL
from kwire_spark.secrets import METADATA_TOPIC, may_have_secrets, redacted_bytes

_LOG = "metadata"
_SECRET = frozenset(
    number
    for number in PROTOCOL.record_types(_LOG)
    if (cls := PROTOCOL.record(_LOG, number)[1]) and may_have_secrets(cls.__name__)
)
"""The types of records that may contain secrets."""


def hidden(value: bytes | None) -> bytes | None:
    """The ``value`` of a metadata record without its secrets; empty if it may contain secrets but cannot be read."""
    if value is None:
        return None
    try:
        _, start = read_uvarint(value, 0)
        kind, _ = read_uvarint(value, start)
        return _clean(value) if kind in _SECRET else value
    except KwireError:
        return value  # too short to contain a type, so not a message


def _clean(value: bytes) -> bytes:
    record = decode_record(PROTOCOL, METADATA_TOPIC, None, value)
    start = read_uvarint(value, read_uvarint(value, read_uvarint(value, 0)[1])[1])[1]
    return redacted_bytes(value, start, record.value, record.version)
