"""``kafka_log`` reads a broker's log segments and metadata snapshots as a table of records, ``schemas.RECORDS``.

::

    spark.read.format("kafka_log").load("/var/lib/kafka/data").where("topic = '__consumer_offsets'")

===================  =================================================================================================
``path``             Data directories, partition folders, files and patterns
``mode``             ``permissive`` (default) turns broken input into a row with a ``problem``. ``failfast`` raises an
                     error.
``record``           Kind of record to read, such as ``OffsetCommit``, with ``key`` and ``value`` as structs
``topics``           Comma-separated patterns, such as ``orders*,!*-changelog`` (default: all topics)
``start``, ``end``   Times. Only records at or after ``start`` and before ``end`` are read. Records without a time are
                     omitted.
``startOffset``,     Offsets. Only records at or after ``startOffset`` and before ``endOffset`` are read.
``endOffset``
``control``          Whether to include control records, such as commit markers (default: true)
``checkpoints``      ``auto`` (default) reads the newest snapshot if the beginning of the metadata log was deleted.
                     ``true`` reads all snapshots, which repeat records of the log. ``false`` reads none. A file named
                     in ``path`` is always read.
``states``           States of partition folders to include as well: ``delete``, ``future``, ``stray``
``secrets``          ``hide`` (default) removes salted passwords and sensitive configurations from records.
``splitSize``        Number of bytes of a file to read per task (default: 64m, less for small inputs)
``limit``            Maximum decompressed size of a batch in bytes (default: 100m)
``maxRecord``        Maximum total size of a record's key, value and headers (default: 2m). For larger records, these
                     columns are null, and ``problem`` gives the reason.
``maxDecoded``       Maximum size of values to decode with ``record`` (default: 2m). Larger values are decoded only if
                     they consist almost entirely of a few large fields. Otherwise ``value`` is null, and ``reason``
                     says that it is too large.
``protocol``         Generated package that defines the records for ``record``, installed on all workers
``pushdown``         ``true`` lets the query's filters skip files and batches, as described below (default: false)
===================  =================================================================================================

A schema such as ``.schema("topic string, offset bigint")`` limits the columns to compute. If no column is from the
records themselves, the records are not even decompressed.

With ``pushdown``, filters on topic and partition skip files, and filters on offset and time skip batches. Use
``pushdown`` only for a DataFrame that one query reads once. Spark 4.3 keeps pushed filters with the DataFrame.
Another query on the same DataFrame, or another part of the same query, would silently receive only the rows that pass
the first filters. All other options are safe for any number of queries.

In both modes, an incomplete batch at the end of a partition's newest segment becomes a row with a ``problem``, not an
error, because it is normal while a broker is writing or after a broker was killed. Anywhere else, an incomplete batch
is treated as damage.
"""

from __future__ import annotations

from kwire_inspect.readers.log import LogReader
from kwire_spark.sources.base import Source


class KafkaLog(Source):
    """Data source ``kafka_log``."""

    reads = LogReader
    kind = "logs"
