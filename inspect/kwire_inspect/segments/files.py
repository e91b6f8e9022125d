"""Selects a broker's files and divides them among readers.

Converts paths to ``Split`` objects, which are ranges of bytes in files. A range contains the batches that begin in
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kwire.logs import Checkpoint, LogSegment
from kwire.logs.segment import FILE_NAME, log_file
from kwire_inspect.storage import place, size_of, written

STATES = ("delete", "future", "stray")
"""States of partition folders: being deleted, being moved to another disk, and no longer belonging to the broker."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Selects the files to read in folders.

    ``topics`` contains patterns with ``*`` and ``?``. Patterns with a leading ``!`` exclude topics. ``states``
    contains the ``STATES`` to include. ``checkpoints`` selects all snapshots if it is ``true``, and no snapshots if
    it is ``false``. ``auto`` selects the newest snapshot if the beginning of the metadata log has been deleted.
    """

    topics: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    checkpoints: str = "auto"

    def wants(self, file: LogSegment) -> bool:
        """Return whether a file's topic and the state of its partition folder are selected."""
        return (not file.state or file.state in self.states) and self._topic(file.topic or "")

    def _topic(self, topic: str) -> bool:
        included = [pattern for pattern in self.topics if not pattern.startswith("!")]
        excluded = [pattern[1:] for pattern in self.topics if pattern.startswith("!")]
        wanted = not included or any(fnmatchcase(topic, pattern) for pattern in included)
        return wanted and not any(fnmatchcase(topic, pattern) for pattern in excluded)


@dataclass(frozen=True, slots=True)
class Split:
    """The batches of a file that begin at or after byte ``start``, but before byte ``end``.

    ``size`` is the size of the file in bytes when it was split, or -1 if it could not be opened. ``stamp`` identifies
    the version of an object in a store.
    """

    path: str
    start: int
    end: int
    size: int
    stamp: str = ""


def segment_files(
    files: Iterable[str], named: Sequence[str] = (), selection: Selection | None = None
) -> list[LogSegment]:
    """Return the segments and snapshots among ``files``, sorted by topic, partition and offset.

    Files in ``named`` are always included. All other files must have a name in the format that brokers use, and match
    ``selection``.
    """
    selection = selection or Selection()
    chosen, candidates = [], []
    for path in files:
        file = log_file(path)
        if path in named:
            chosen.append(file)
        elif FILE_NAME.fullmatch(file.path.name) and selection.wants(file):
            candidates.append(file)
    chosen += _with_snapshots(candidates, selection.checkpoints)
    return sorted(chosen, key=lambda file: (file.topic or "", file.partition or 0, file.state, str(file.path)))


def splits(files: Iterable[LogSegment], size: int = 64 << 20) -> list[tuple[Split, ...]]:
    """Divide files into ranges of at most ``size`` bytes. Return the ranges in groups of about ``size`` bytes, one
    group per task.
    """
    groups: list[list[Split]] = []
    room = 0
    for file in files:
        path, whole = name_of(file), _size(file)
        stamp = place(path).listed_stamp()
        for start in range(0, max(whole, 1), size):
            end = min(start + size, whole)
            if not groups or room < end - start:
                groups.append([])
                room = size
            groups[-1].append(Split(path, start, end, whole, stamp))
            room -= end - start
    return [tuple(group) for group in groups]


def _with_snapshots(files: list[LogSegment], which: str) -> Iterator[LogSegment]:
    """Yield all segments and the selected snapshots."""
    snapshots = [file for file in files if isinstance(file, Checkpoint)]
    segments = [file for file in files if not isinstance(file, Checkpoint)]
    yield from segments
    if which == "true":
        yield from snapshots
    elif which == "auto":
        numbered = [file for file in snapshots if file.end_offset is not None]
        complete = {file.path.parent for file in segments if file.base_offset == 0}
        newest = {file.path.parent: file for file in sorted(numbered, key=lambda file: file.path.name)}
        yield from (file for folder, file in newest.items() if folder not in complete)


def _size(file: LogSegment) -> int:
    try:
        return size_of(name_of(file))
    except OSError:
        return -1


def name_of(file: LogSegment) -> str:
    """Return the name that refers to a segment as an input."""
    return written(file.path)
