"""Converting messages to Arrow columns for tables, Parquet and other columnar tools.

A generated package provides the columns of all its messages::

    from kwire_kafka.arrow import ARROW

    columns = ARROW["OffsetCommitRequest"]
    columns.schema                                  # pyarrow.Schema: all fields of all versions, with descriptions
    batch = columns.batch(messages, versions)       # decoded messages → pyarrow.RecordBatch
    columns.messages(batch, versions)               # pyarrow.RecordBatch → messages
    columns.decode(frames, versions).batch          # the same batch, directly from bytes
    columns.select("topics.name").decode(frames, versions)      # decodes only this column

A schema is the union of the message's versions. A column is null if the field does not exist in the message's
version, because no value was sent. Structs and arrays are nested as in the message. Every struct with a flexible
version has a column ``unknown_tags`` for tagged fields that are not in the class. A uuid is a string in Kafka's
format. Fields of type uint16 and uint32 become the next wider signed type. ``read_records`` returns the records of
batches as columns. This package requires the extra ``arrow``. The rest of kwire does not import ``kwire.arrow``.
"""

from __future__ import annotations

try:
    from kwire.arrow.columns import Arrow, Columns, Decoded
    from kwire.arrow.records import RECORDS, RecordBuilder, RecordReader, read_records, write_records
except ModuleNotFoundError as error:
    if error.name != "pyarrow":
        raise
    raise ModuleNotFoundError("Arrow columns need pyarrow: pip install 'kwire[arrow]'", name="pyarrow") from None

__all__ = ["RECORDS", "Arrow", "Columns", "Decoded", "RecordBuilder", "RecordReader", "read_records", "write_records"]
