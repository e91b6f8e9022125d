"""Reading and building the record batches of Produce requests, Fetch responses and log segments.

>>> data = encode_batch([Record(b"key", b"value")])
>>> for batch in read_batches(data):
...     if not batch.control:
...         for record in batch:
...             print(record.offset, record.timestamp, record.key, record.value)
0 -1 b'key' b'value'

Only the header of a batch is decoded at first. Its records are decompressed and decoded on request. See
``BatchReader`` for incomplete and corrupt batches. ``encode_batch``, ``BatchBuilder`` and ``encode_message_set``
build batches.
"""

from kwire.records.batch import Batch
from kwire.records.build import encode_batch, encode_message_set
from kwire.records.builder import BatchBuilder
from kwire.records.control import ControlRecord, decode_control, encode_control
from kwire.records.errors import ChecksumError, CorruptRecordError, RecordsError, RecordsLimitError, UnknownMagicError
from kwire.records.loops import Record
from kwire.records.reader import BatchReader, read_batches

__all__ = [
    "Batch",
    "BatchBuilder",
    "BatchReader",
    "ChecksumError",
    "ControlRecord",
    "CorruptRecordError",
    "Record",
    "RecordsError",
    "RecordsLimitError",
    "UnknownMagicError",
    "decode_control",
    "encode_batch",
    "encode_control",
    "encode_message_set",
    "read_batches",
]
