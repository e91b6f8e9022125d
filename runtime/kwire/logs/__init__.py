"""Reading a broker's files: log segments, metadata snapshots, data directories and records of internal topics.

``decode_record`` decodes one record of an internal topic from any source. ``LogSegment`` and ``scan`` read files.
``internal_records`` reads files and decodes their records, and ``committed_offsets`` returns the committed offsets of
groups. ``embedded`` decodes the subscriptions and assignments in group messages.
"""

from kwire.logs.directory import LoggedRecord, internal_records, read_producer_snapshot, scan
from kwire.logs.embedded import Embedded, decode_assignment, decode_subscription, decode_user_data, embedded
from kwire.logs.internal import TOPICS, InternalRecord, decode_record
from kwire.logs.offsets import CommittedOffset, committed_offsets
from kwire.logs.segment import Checkpoint, LogSegment, SegmentReader

__all__ = [
    "TOPICS",
    "Checkpoint",
    "CommittedOffset",
    "Embedded",
    "InternalRecord",
    "LogSegment",
    "LoggedRecord",
    "SegmentReader",
    "committed_offsets",
    "decode_assignment",
    "decode_record",
    "decode_subscription",
    "decode_user_data",
    "embedded",
    "internal_records",
    "read_producer_snapshot",
    "scan",
]
