"""``kafka_capture`` reads packet captures as a table of frames, or of requests with their responses.

::

    spark.read.format("kafka_capture").option("rows", "exchanges").load("captures/*.pcap.gz")

=================  ===================================================================================================
``path``           files in pcap or pcapng format, plain or compressed; folders, patterns. All are read as one
                   capture: a connection may begin in one file and continue in another.
``rows``           ``frames`` (default): ``columns.FRAMES``; ``exchanges``: ``columns.EXCHANGES``
``ports``          server ports, such as ``9092,19092-19095``: only connections to these are read. By default, if the
                   beginning of a connection was not captured, its bytes show which side is the client; if they do
                   not, a row with a ``problem`` has their number.
``start``, ``end`` times: packets before ``start``, and from ``end`` on, are ignored
``mode``           ``permissive`` (default): a broken part of a file becomes a row with a ``problem``; ``failfast``:
                   it is an error. Bytes missing from a connection are never an error, but reported in rows.
``partitions``     number of tasks that share the work: by default one for each 32 MB, up to the number of processors
``maxDecoded``     bodies of frames above this size (default: 2m) are only decoded if a few large values, such as
                   records, make up nearly all of it; otherwise ``reason`` says so, and there are no error codes
``maxHeld``        limit of the bytes that all connections of a task keep while they wait for the rest of frames or
                   for responses (default: 32m). Beyond it the largest are dropped, and rows report it.
``bodies``         ``all`` (default): those that the columns need are decoded; ``outcome`` is ``undecodable`` where
                   that fails. ``codes``: of exchanges without bytes, only those that identify clients are decoded,
                   and error codes are looked up in the bytes of responses, without decoding them
``keyLog``         a file with the secrets of TLS connections (``SSLKEYLOGFILE``), under the same path on all workers:
                   those are decrypted, as are those whose secrets are in a pcapng file before their packets
``protocol``       the generated package that defines the messages (default: kwire_kafka), installed on all workers
``pushdown``       ``true`` lets filters of the query reduce the work: see below (default: false)
=================  ===================================================================================================

Every task reads all packets but decodes only its own connections, which are selected by a hash. Connections may
therefore span files and hours, and tasks exchange no data.

A schema such as ``.schema("api string, version smallint")`` limits the columns to compute. Without the columns on the
outcome of requests, bodies are not even decoded.

With ``pushdown``, filters on connection and server, and on the client of frames, skip connections. Filters on api
avoid decoding other frames. Rows that do not pass never leave the worker. Filters on time only drop rows, because
earlier packets may identify the client. Use ``pushdown`` only for a DataFrame that a single query reads. Spark 4.3
keeps pushed filters with the DataFrame, so another query on it would get the rows of the first query's filters.
"""

from __future__ import annotations

from kwire_inspect.readers.capture import CaptureReader
from kwire_spark.sources.base import Source


class KafkaCapture(Source):
    """Data source ``kafka_capture``."""

    reads = CaptureReader
    kind = "captures"
