"""Record batches of Produce, Fetch and log segments, to read and to build.

>>> data = encode_batch([Record(b"key", b"value")])
>>> for batch in read_batches(data):
...     if not batch.control:
...         for record in batch:
...             print(record.offset, record.timestamp, record.key, record.value)
0 -1 b'key' b'value'

A batch is its header until its records are requested, which decompresses and decodes them. See ``BatchReader``
for incomplete and corrupt batches. ``encode_batch``, ``BatchBuilder`` and ``encode_message_set`` write.
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
