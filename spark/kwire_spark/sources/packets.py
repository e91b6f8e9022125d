"""``kafka_packets`` reads captured packets as rows, in a batch or as a stream while files arrive in a folder.

::

    spark.readStream.format("kafka_packets").load("/captures")

================  ====================================================================================================
``path``          Files in pcap or pcapng format, plain or compressed, and folders or patterns
``settled``       Seconds without growth after which a stream reads a file (default: 5). Each file is read only once.
                  ``tcpdump -G`` and ``dumpcap -b`` start files with new names. Let them write packets immediately
                  (``tcpdump -U``), or set a time longer than the pauses between writes. If a file grows after it was
                  read, a row with a ``problem`` gives the position of the first unread byte.
``filesAtOnce``   Maximum number of files in a batch of a stream (default: 32)
``consume``       Whether a stream deletes each file after processing it (default: false)
================  ====================================================================================================

Rows have the columns ``schemas.PACKETS`` with all bytes, including secrets, which ``streams.follow`` removes. The
query's checkpoint lists each file that was read until the file is deleted. Remove old files from the folder, unless a
ring buffer removes them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow

from kwire_inspect.capture import Broken
from kwire_inspect.capture.packet_files import file_packets, first_time
from kwire_inspect.options import OptionError, Options
from kwire_inspect.readers import Reader
from kwire_inspect.schemas import PACKETS
from kwire_inspect.storage import is_remote
from kwire_spark.packets import packet_batches
from kwire_spark.sources.base import Source, refuse_standard_input
from kwire_spark.types import selected

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class PacketReader(Reader):
    """Reader with one task per file."""

    @classmethod
    def columns(cls, options: Options) -> pa.Schema:
        return PACKETS

    def tasks(self) -> Sequence[str]:
        return self.options.files()

    def read(self, task: str) -> Iterator[pa.RecordBatch]:
        return packet_batches(file_packets(task), self.schema)


class PacketStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Stream of packets. A stream offset lists the files read so far, with their sizes."""

    def __init__(self, options: Options, schema: StructType) -> None:
        if remote := [path for path in options.paths() if is_remote(path)]:
            raise OptionError(f"{remote[0]}: a stream reads only local files. Copy captures to a local folder")
        self._options = options
        self._schema = selected(PACKETS, schema)
        self._settled = options.number("settled", 5)
        self._most = options.number("filesAtOnce", 32, 1)
        self._consumes = options.flag("consume", False)
        self._only: frozenset[str] | None = None

    def initialOffset(self) -> dict[str, int]:
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxFiles(self._most)

    def prepareForTriggerAvailableNow(self) -> None:
        self._only = frozenset(self._ready())

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """Return the files that will have been read after the next batch, without files that were deleted."""
        ready = self._ready()
        wanted = ready if self._only is None else ready.keys() & self._only
        new = [path for path in wanted if ready[path] != start.get(path)]
        if isinstance(limit, ReadMaxFiles):
            new = sorted(new, key=lambda path: (first_time(path), path))[: limit.max_files]
        if not new:
            return start
        kept = {path: size for path, size in start.items() if Path(path).exists()}
        return kept | {path: ready[path] for path in new}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Return the paths of new files and, for files that have grown, the position of the first unread byte. A file
        that has shrunk counts as a new file with the same name, because ring buffers reuse names."""
        return [
            InputPartition((path, start[path] if start.get(path, size) < size else None))
            for path, size in end.items()
            if size != start.get(path)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        path, taken = partition.value
        grown = "the file has grown since it was read: bytes from this position on were not read"
        return packet_batches(file_packets(path) if taken is None else [Broken(path, taken, grown)], self._schema)

    def commit(self, end: dict[str, int]) -> None:
        """Delete the files of a processed batch, which the checkpoint lists."""
        for path in end if self._consumes else ():
            with suppress(OSError):
                Path(path).unlink()

    def _ready(self) -> dict[str, int]:
        """Return the files that have stopped growing, with their sizes. The result is empty if no input file exists.
        Omit empty files, because their writers may still be buffering the first packets.
        """
        try:
            paths = self._options.files()
        except OptionError:
            return {}
        ready, now = {}, time.time()
        for path in paths:
            with suppress(OSError):  # the file was already deleted
                found = Path(path).stat()
                if found.st_size and now - found.st_mtime >= self._settled:
                    ready[path] = found.st_size
        return ready


class KafkaPackets(Source):
    """Data source ``kafka_packets``."""

    reads = PacketReader
    kind = "packets"

    def streamReader(self, schema: StructType) -> PacketStream:
        options = self.given()
        refuse_standard_input(options.paths())
        return PacketStream(options, schema)
