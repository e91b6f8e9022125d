"""Removes secrets from records of the cluster metadata: salted passwords and sensitive configurations.

Takes the values of records and returns them unchanged or re-encoded. Most record types have no secrets and are not
decoded. Copies of a metadata log may lie in any folder, so its records are recognised by their content as well.
"""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from kwire.errors import KwireError
from kwire.frames import MAX_DECODED
from kwire.logs import decode_record
from kwire.primitives import read_uvarint
from kwire.redaction import redacted_bytes
from kwire.secrets import METADATA_STARTS, METADATA_TOPIC, SECRETS
from kwire_kafka import PROTOCOL

_LOG = "metadata"
_SECRET = frozenset(
    number
    for number in PROTOCOL.record_types(_LOG)
    if (cls := PROTOCOL.record(_LOG, number)[1]) and cls.__name__ in SECRETS
)
"""The types of records that may contain secrets."""


def redacted_values(values: pa.Array, topic: str | None) -> pa.Array:
    """The ``values`` of records without secrets.

    Those of the metadata, and of files in a folder without the name of a topic, become empty if they may contain
    secrets but cannot be read. In other topics they stay: there they are something else that starts alike.
    """
    if topic in (METADATA_TOPIC, None):
        return pa.array([_hidden(value, b"") for value in values.to_pylist()], pa.binary())
    similar = reduce(pc.or_, [pc.starts_with(values, pattern=start) for start in METADATA_STARTS])
    if not pc.any(similar).as_py():
        return values
    return pa.array([_hidden(value, value) for value in values.to_pylist()], pa.binary())


def _hidden(value: bytes | None, unreadable: bytes | None) -> bytes | None:
    """The ``value`` of a metadata record without its secrets; ``unreadable`` if it may contain some."""
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
