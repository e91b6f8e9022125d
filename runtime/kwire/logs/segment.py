"""Reading files of record batches: the segments of a partition's log and the snapshots of the cluster metadata.

Files are read through a window of four mebibytes, or of one batch if the batch is larger. Memory use is constant, and
a broker may write to the file or delete it during reading. (Files are not mapped into memory, because truncating a
mapped file would kill the process.)
"""

from __future__ import annotations

import os
import re
from itertools import dropwhile
from pathlib import Path

from kwire.errors import DecodeError, to_keep
from kwire.logs.extents import extents
from kwire.logs.indexes import near_offset, near_time
from kwire.logs.window import WINDOW, ShrunkFileError, Window
from kwire.policy import STRICT, Policy
from kwire.records import Batch, read_batches
from kwire.records.errors import MAX_KEPT, NAMES, CorruptRecordError, RecordsError
from kwire.records.layout import OVERHEAD
from kwire.records.reader import with_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire.records import Record

_FOLDER = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)(?:\.[0-9a-f]{32}-(?P<state>delete|future|stray))?")
FILE_NAME = re.compile(r"\d{20}\.log|(?:(\d{20})-(\d{10})|bootstrap)\.checkpoint")
"""Matches the names of record files in a partition's folder. The groups match the end offset and epoch of a
checkpoint."""
MAX_ERRORS = 10_000
"""Maximum number of errors that a reader keeps."""


class LogSegment:
    """A ``.log`` file, which is opened when its batches are requested.

    ``topic`` and ``partition`` come from the name of its folder, or are ``None`` if the file is not in the folder of
    a partition. ``state`` is ``delete`` if the partition is being removed, ``future`` if it is being moved to another
    disk, ``stray`` if it has moved to another broker, and otherwise empty. (The topic may be truncated unless
    ``state`` is empty.) ``base_offset`` is the number in the file name, which is a lower bound of all offsets, or
    ``None`` for other file names.
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
        """Return an iterator over the batches of the segment, optionally from an offset or a time onwards.

        The iterator starts at the first batch that contains ``start_offset`` or a later offset, or a timestamp of at
        least ``start_time`` (milliseconds since the epoch). Reading starts at the position given by the index files,
        if they exist and match the segment. ``verify`` says whether to verify checksums. A corrupt batch raises
        ``DecodeError``. With ``skip``, corrupt batches are skipped and their errors collected instead. ``limit`` and
        ``policy`` work as in ``kwire.records.read_batches``.
        """

        def starts_at(window: Window) -> int:
            position = 0
            if start_offset is not None:
                position = near_offset(window, self, start_offset)
            if start_time is not None:
                position = max(position, near_time(window, self, start_time))
            return position

        def early(batch: Batch) -> bool:
            return (start_offset is not None and batch.last_offset < start_offset) or (
                start_time is not None and batch.max_timestamp < start_time
            )

        return SegmentReader(self.path, starts_at, early, verify=verify, skip=skip, limit=limit, policy=policy)


class Checkpoint(LogSegment):
    """A ``.checkpoint`` file with the cluster metadata up to, but not including, ``end_offset``.

    ``epoch`` is the epoch of its last record. ``end_offset`` and ``epoch`` are ``None`` for ``bootstrap.checkpoint``,
    which is written when a data directory is formatted. Record offsets in a checkpoint count from 0 and have no
    meaning.
    """

    __slots__ = ("end_offset", "epoch")

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        if self.topic is None:
            self.topic, self.partition = "__cluster_metadata", 0
        name = FILE_NAME.fullmatch(self.path.name)
        self.end_offset: int | None = int(name[1]) if name and name[1] else None
        self.epoch: int | None = int(name[2]) if name and name[2] else None


def log_file(path: str | Path) -> LogSegment:
    """Return a ``Checkpoint`` or ``LogSegment``, depending on the suffix of the file name."""
    return (Checkpoint if str(path).endswith(".checkpoint") else LogSegment)(path)


class SegmentReader:
    """An iterator over the batches of a file, up to its size when the iteration starts.

    The iteration ends after the first error that it raises. ``Batch.position`` counts from the start of the file.
    After the iteration, ``truncated`` is the size in bytes of an incomplete last batch, which an active segment may
    have. ``padding`` is the number of zero bytes at the end due to ``log.preallocate``. ``skipped`` is the number of
    skipped byte ranges. ``errors`` holds the first ``MAX_ERRORS`` errors of these ranges. The errors keep at most
    ``kwire.logs.window.WINDOW`` bytes of data in total. After invalid bytes, reading continues with the next batch
    whose checksum is correct.
    """

    __slots__ = ("_batches", "_kept", "_skip", "errors", "padding", "skipped", "truncated")

    def __init__(
        self,
        path: Path,
        starts_at: Callable[[Window], int],
        early: Callable[[Batch], bool],
        *,
        verify: bool,
        skip: bool,
        limit: int | None = None,
        policy: Policy = STRICT,
    ) -> None:
        self._skip = skip
        self._batches = dropwhile(early, self._read(path, starts_at, verify, limit, policy))
        self.truncated = 0
        self.padding = 0
        self.skipped = self._kept = 0
        self.errors: list[DecodeError] = []

    def __iter__(self) -> Iterator[Batch]:
        return self._batches

    def __next__(self) -> Batch:
        return next(self._batches)

    def with_records(self) -> Iterator[tuple[Batch, list[Record]]]:
        """Yield each batch with all its records, as ``kwire.records.BatchReader.with_records`` does."""
        return with_records(self, self._note if self._skip else None)

    def _note(self, error: DecodeError) -> None:
        """Count a skipped byte range and keep its error. The number of errors is limited because a large file may be
        entirely invalid."""
        self.skipped += 1
        if self.skipped <= MAX_ERRORS:
            self._kept += len(error.data)
            if self._kept > WINDOW:
                error.data = error.data[:0]
            self.errors.append(to_keep(error))

    def _read(
        self, path: Path, starts_at: Callable[[Window], int], verify: bool, limit: int | None, policy: Policy
    ) -> Iterator[Batch]:
        with path.open("rb") as file:
            window = Window(file, file.seek(0, os.SEEK_END), verify=verify)
            end = starts_at(window)
            try:
                for position, size, reason, unfinished in extents(window, end):
                    end = position + size
                    if unfinished:
                        self.truncated = size
                    elif reason is None:
                        yield Batch(window.read(position, size), position, verify=verify, limit=limit, policy=policy)
                    elif self._skip:
                        self._note(_error(window, position, size, reason))
                    else:
                        raise _error(window, position, size, reason)
                if not self.truncated:
                    rest = window.size - end  # zeros, which may be part of the next batch's offset
                    self.truncated, self.padding = (rest, 0) if rest < OVERHEAD else (0, rest)
            except ShrunkFileError as error:
                self.truncated = error.size - end


def _error(window: Window, position: int, size: int, reason: str) -> RecordsError:
    """Return the error that ``read_batches`` raises for invalid bytes. If ``read_batches`` raises none, return an
    error about the size."""
    whole = window.size_at(position) or MAX_KEPT  # invalid bytes may fill the whole file
    try:
        next(read_batches(window.read(position, min(size, whole)), position=position), None)
    except RecordsError as error:
        return error
    data = bytes(window.read(position, min(size, MAX_KEPT)))
    return CorruptRecordError(
        reason, message_name=NAMES[2], path="size", offset=position + 8, data=data, position=position
    )
