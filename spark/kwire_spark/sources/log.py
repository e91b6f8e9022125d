"""``kafka_log`` reads a broker's log segments and metadata snapshots as a table of records, ``columns.RECORDS``.

::

    spark.read.format("kafka_log").load("/var/lib/kafka/data").where("topic = '__consumer_offsets'")

===================  =================================================================================================
``path``             data directories, folders of partitions, files, patterns
``mode``             ``permissive`` (default): broken input becomes a row with a ``problem``; ``failfast``: it is an
                     error
``record``           a kind of record, such as ``OffsetCommit``: only these, with ``key`` and ``value`` as structs
``topics``           comma-separated patterns, such as ``orders*,!*-changelog`` (default: all topics)
``start``, ``end``   times: records from ``start`` on and before ``end``; those without a time are left out
``startOffset``,     offsets: from ``startOffset`` on and before ``endOffset``
``endOffset``
``control``          whether control records, such as commit markers, are rows (default: true)
``checkpoints``      ``auto`` (default): the newest snapshot, if the metadata log does not reach back to its start;
                     ``true``: all snapshots, which repeat records of the log; ``false``: none. A file named in
                     ``path`` is always read.
``states``           folders that are left out by default: ``delete``, ``future``, ``stray``
``secrets``          ``hide`` (default) removes salted passwords and sensitive configurations from metadata records
``splitSize``        bytes of a file that one task reads (default: 64m, less for small inputs)
``limit``            largest decompressed size of a batch in bytes (default: 100m)
``maxRecord``        a record whose key, value and headers have more bytes (default: 2m) has none of them, but a
                     reason in ``problem``
``maxDecoded``       with ``record``, values above this size (default: 2m) are only decoded if a few large fields make
                     up nearly all of it; otherwise ``value`` is null and ``reason`` says so
``protocol``         the generated package that defines records for ``record``, installed on all workers
``pushdown``         ``true`` lets filters of the query skip files and batches: see below (default: false)
===================  =================================================================================================

A schema such as ``.schema("topic string, offset bigint")`` limits the columns to compute. If none of them is from the
record itself, records are not even decompressed.

With ``pushdown``, filters on topic and partition skip files, and filters on offset and time skip batches. Use it only
for a DataFrame that one query reads once. Spark 4.3 keeps pushed filters with the DataFrame. Another query on it, or
another part of the same query, would silently receive only the rows that pass the first filters. The options above
are always safe.

In both modes, an incomplete batch at the end of a partition's newest segment is a row with a ``problem``, not an
error. It is normal while a broker is writing, or after it was killed. Elsewhere an incomplete batch is damage.
"""

from __future__ import annotations

from kwire_inspect.readers.log import LogReader
from kwire_spark.sources.base import Source


class KafkaLog(Source):
    """Data source ``kafka_log``."""

    reads = LogReader
    kind = "logs"
