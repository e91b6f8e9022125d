"""``kafka_capture`` reads packet captures as a table of frames, or of requests with their responses.

::

    spark.read.format("kafka_capture").option("rows", "exchanges").load("captures/*.pcap.gz")

=================  ===================================================================================================
``path``           Files in pcap or pcapng format, plain or compressed, and folders or patterns. All files are read as
                   one capture, so a connection may begin in one file and continue in another.
``rows``           ``frames`` (default) for ``schemas.FRAMES`` or ``exchanges`` for ``schemas.EXCHANGES``
``ports``          Server ports, such as ``9092,19092-19095``. Connections to other ports are not read. By default,
                   if the beginning of a connection was not captured, its contents determine which side is the client.
                   If the contents are ambiguous, a row with a ``problem`` reports the number of bytes.
``start``, ``end`` Times. Packets before ``start``, and packets at or after ``end``, are ignored.
``mode``           ``permissive`` (default) turns a broken part of a file into a row with a ``problem``. ``failfast``
                   raises an error. Bytes missing from a connection become rows in both modes.
``partitions``     Number of tasks that share the work. The default is one per 32 MB, but at most the number of CPUs.
``maxDecoded``     Maximum size of frame bodies to decode (default: 2m). Larger bodies are decoded only if they
                   consist almost entirely of a few large values, such as records. Otherwise ``reason`` says that
                   they are too large, and there are no error codes.
``maxHeld``        Maximum number of bytes that the connections of a task hold while they wait for the rest of a frame
                   or for responses (default: 32m). Beyond this limit, the bytes of the connections that hold most are
                   dropped, and rows report the loss.
``bodies``         ``all`` (default) decodes the bodies that the columns need. If decoding fails, ``outcome`` is
                   ``undecodable``. For exchanges without bytes, ``codes`` decodes only the bodies that identify
                   clients, and finds error codes without decoding the responses.
``keyLog``         File with TLS secrets (``SSLKEYLOGFILE``), with the same path on all workers. Connections are
                   decrypted if their secrets are in this file, or precede their packets in a pcapng file.
``protocol``       Generated package that defines the messages (default: kwire_kafka), installed on all workers
``pushdown``       ``true`` lets the query's filters reduce the work, as described below (default: false)
=================  ===================================================================================================

Every task reads all packets but decodes only its own connections, which are selected by a hash. Connections may
therefore span files and hours, and tasks exchange no data.

A schema such as ``.schema("api string, version smallint")`` limits the columns to compute. If the schema omits all
columns about the outcome of requests, no bodies are decoded.

With ``pushdown``, filters on connection and server, and on the client of frames, skip connections. Filters on api
avoid decoding the frames of other APIs. Rows that the filters exclude never leave the worker. Filters on time only
drop rows, because earlier packets may identify the client. Use ``pushdown`` only for a DataFrame that a single query
reads. Spark 4.3 keeps pushed filters with the DataFrame, so another query on the same DataFrame would get only the
rows that pass the first query's filters.
"""

from __future__ import annotations

from kwire_inspect.readers.capture import CaptureReader
from kwire_spark.sources.base import Source


class KafkaCapture(Source):
    """Data source ``kafka_capture``."""

    reads = CaptureReader
    kind = "captures"
