"""Files of record batches: the segments of a partition's log, and the snapshots of the cluster metadata.

Files are read through a window of one mebibyte, or of one batch where that is larger: memory stays constant, and a
broker may go on writing, or delete the file, meanwhile. (A mapped file that shrinks kills the process.)
"""

from __future__ import annotations

import os
import re
from itertools import dropwhile
from pathlib import Path
from struct import Struct

from kwire.errors import DecodeError
from kwire.frames import MAX_FRAME
from kwire.logs.indexes import offset_of, position_of
from kwire.policy import STRICT, Policy
from kwire.records import read_batches
from kwire.records.errors import MAX_KEPT, CorruptRecordError
from kwire.records.layout import MIN_SIZE, OVERHEAD
from kwire.records.reader import with_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from kwire.records import Batch, Record

WINDOW = 1 << 20
MAX_BATCH = MAX_FRAME
"""The most that a batch may take. Brokers refuse what does not fit into a request."""

_FOLDER = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)(?:\.[0-9a-f]{32}-(?P<state>delete|future|stray))?")
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_SIZE = Struct(">i")


class LogSegment:
    """A ``.log`` file, which is opened when its batches are requested.

    ``topic`` and ``partition`` are those of its folder, ``None`` if that is no partition's; ``state`` is ``delete``,
    ``future`` or ``stray`` for a partition that is being removed, moved to another disk, or belongs to another broker
    by now, else empty. (Topics of such folders may be cut short.) ``base_offset`` is what the name says: no record
    is below it; ``None`` if the name is no number.
    """

    __slots__ = ("base_offset", "partition", "path", "state", "topic")

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        found = _FOLDER.fullmatch(self.path.absolute().parent.name)
        self.topic: str | None = found["topic"] if found else None
        self.partition: int | None = int(found["partition"]) if found else None
        self.state: str = (found and found["state"]) or ""
        self.base_offset: int | None = int(self.path.stem) if re.fullmatch(r"\d{20}", self.path.stem) else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    @property
    def size(self) -> int:
        """The current size of the file in bytes."""
        return self.path.stat().st_size

    def batches(
        self,
        *,
        start_offset: int | None = None,
        start_time: int | None = None,
        verify: bool = True,
        skip: bool = False,
        limit: int | None = None,
        policy: Policy = STRICT,
    ) -> SegmentReader:
        """The batches of the segment in order, from the first that holds ``start_offset`` or a later offset, or from
        the first with a timestamp of at least ``start_time`` (milliseconds since the epoch).

        The indexes beside the file say where to begin, if they are there and agree with it. ``verify`` compares
        checksums. A corrupt batch is a ``DecodeError``; with ``skip`` it is left out and noted instead. ``limit`` and
        ``policy`` are those of ``kwire.records.read_batches``.
        """
        position = 0
        if start_offset is not None:
            position = self._find_offset(start_offset)
        if start_time is not None:
            position = max(position, self._find_time(start_time))

        def early(batch: Batch) -> bool:
            return (start_offset is not None and batch.last_offset < start_offset) or (
                start_time is not None and batch.max_timestamp < start_time
            )

        return SegmentReader(self.path, position, early, verify=verify, skip=skip, limit=limit, policy=policy)

    def _find_offset(self, offset: int) -> int:
        """The position that the index has for an offset; 0 unless a batch is there that can hold it."""
        if self.base_offset is None:
            return 0
        relative, position = position_of(self.path, offset - self.base_offset)
        indexed = self.base_offset + relative
        batch = self._peek(position, lambda _: False)
        return position if batch and self.base_offset <= batch.base_offset <= indexed else 0

    def _find_time(self, time: int) -> int:
        """The position of the batch that the time index has for a time; 0 unless that batch has the indexed time."""
        if self.base_offset is None:
            return 0
        timestamp, relative = offset_of(self.path, time)
        offset = self.base_offset + relative
        batch = self._peek(self._find_offset(offset), lambda batch: batch.last_offset < offset)
        return batch.position if batch and batch.base_offset <= offset and batch.max_timestamp == timestamp else 0

    def _peek(self, position: int, early: Callable[[Batch], bool]) -> Batch | None:
        try:
            batch = next(SegmentReader(self.path, position, early, verify=True, skip=False), None)
            # For the base offset of a compressed message set its messages are read, which may fail as well.
            return batch if batch and batch.base_offset >= 0 else None
        except DecodeError:
            return None


class Checkpoint(LogSegment):
    """A ``.checkpoint`` file: the records that make up the cluster metadata up to ``end_offset``, exclusive.

    ``epoch`` is that of the last record in it. Both are ``None`` for ``bootstrap.checkpoint``, with which a data
    directory was formatted. The offsets of its records count from 0 and mean nothing.
    """

    __slots__ = ("end_offset", "epoch")

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        if self.topic is None:
            self.topic, self.partition = "__cluster_metadata", 0
        found = _SNAPSHOT.fullmatch(self.path.name)
        self.end_offset: int | None = int(found[1]) if found else None
        self.epoch: int | None = int(found[2]) if found else None


class SegmentReader:
    """An iterator over the batches of a file, up to its size when the iteration starts. It ends with the first
    error that it raises.

    ``Batch.position`` counts from the start of the file. Afterwards ``truncated`` is the number of bytes of a last
    batch that is not complete, as an active segment may have, ``padding`` the number of zeros at the end, which a
    segment with ``log.preallocate`` has, and ``errors`` what was skipped.
    """

    __slots__ = ("_batches", "_limit", "_policy", "_skip", "_verify", "errors", "padding", "truncated")

    def __init__(
        self,
        path: Path,
        position: int,
        early: Callable[[Batch], bool],
        *,
        verify: bool,
        skip: bool,
        limit: int | None = None,
        policy: Policy = STRICT,
    ) -> None:
        self._verify = verify
        self._skip = skip
        self._limit = limit
        self._policy = policy
        self._batches = self._read(path, position, early)
        self.truncated = 0
        self.padding = 0
        self.errors: list[DecodeError] = []

    def __iter__(self) -> Iterator[Batch]:
        return self._batches

    def __next__(self) -> Batch:
        return next(self._batches)

    def with_records(self) -> Iterator[tuple[Batch, list[Record]]]:
        """The batches with all their records: as ``BatchReader.with_records``."""
        return with_records(self, self._skip, self.errors)

    def _read(self, path: Path, position: int, early: Callable[[Batch], bool]) -> Iterator[Batch]:
        with path.open("rb") as file:
            yield from dropwhile(early, self._windows(file, position, file.seek(0, os.SEEK_END)))

    def _windows(self, file: BinaryIO, position: int, size: int) -> Iterator[Batch]:
        window = WINDOW
        while position < size:
            file.seek(position)
            data = file.read(min(window, size - position))
            whole, needed = _complete(data)
            if whole:
                part = memoryview(data)[:whole]
                reader = read_batches(
                    part,
                    position=position,
                    verify=self._verify,
                    skip=self._skip,
                    limit=self._limit,
                    policy=self._policy,
                )
                reader.errors = self.errors
                yield from reader
                position += whole
                window = WINDOW
            elif window < needed <= min(MAX_BATCH, size - position):
                window = needed
            else:
                self._end(file, data, needed, size - position)
                return

    def _end(self, file: BinaryIO, data: bytes, needed: int, left: int) -> None:
        """Say what is behind the last batch: zeros, part of another batch, or damage."""
        position = file.tell() - len(data)
        if len(data) < OVERHEAD or len(data) < needed <= MAX_BATCH:
            self.truncated = left
        elif not any(data) and not any(any(chunk) for chunk in iter(lambda: file.read(WINDOW), b"")):
            self.padding = left
        else:
            most = MAX_BATCH - OVERHEAD
            reason = f"a batch of size {needed - OVERHEAD}: the minimum is {MIN_SIZE[0]}, the maximum is {most}"
            error = CorruptRecordError(
                reason, position=position, offset=position + 8, data=data[:MAX_KEPT], path="size"
            )
            if not self._skip:
                raise error
            self.errors.append(error)


def _complete(data: bytes) -> tuple[int, int]:
    """How many bytes at the start of ``data`` are complete batches, and how many the next batch says that it has (0
    if its size is not there)."""
    position, end = 0, len(data) - OVERHEAD
    while position <= end:
        size: int = _SIZE.unpack_from(data, position + 8)[0]
        if size < MIN_SIZE[0] or position + OVERHEAD + size > len(data):
            return position, OVERHEAD + size
        position += OVERHEAD + size
    return position, 0
