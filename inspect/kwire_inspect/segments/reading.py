"""Converts splits of segments to Arrow batches with selected columns of ``schemas.RECORDS``.

Broken input becomes a row with a ``problem``, or raises ``BrokenInputError`` if ``failfast`` is true.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa

from kwire.logs import LogSegment
from kwire.logs.extents import extents
from kwire.logs.indexes import near_offset, near_position
from kwire.logs.window import Window
from kwire.records import Batch
from kwire_inspect.options import BrokenInputError
from kwire_inspect.rows import corrupt_batch
from kwire_inspect.segments.bounds import Bounds
from kwire_inspect.segments.files import Split
from kwire_inspect.segments.rows import MAX_RECORD, Broken, Made, Rows
from kwire_inspect.storage import opened, place

MAX_INDEX = 16 << 20
"""Maximum number of bytes to read from an index. Kafka's default index size is 10 MiB. Entries beyond the limit are
ignored.
"""


def record_batches(
    group: Iterable[Split],
    schema: pa.Schema,
    *,
    bounds: Bounds | None = None,
    failfast: bool = False,
    control: bool = True,
    hide: bool = True,
    limit: int | None = None,
    most: int = MAX_RECORD,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of splits within ``bounds``, with the columns of ``schema``. No other columns are computed.

    A record batch of up to 65536 records is yielded as a whole, or not at all if a record cannot be read. A larger
    record batch is yielded up to the first record that cannot be read. ``control=False`` excludes control records.
    ``hide`` removes secrets from records. ``limit`` is the maximum decompressed size of a batch in bytes. ``most`` is
    the maximum total size, in bytes, of a record's key, value and headers. If a record is larger, all three are null,
    and ``problem`` contains the reason.

    With ``failfast``, damage raises :class:`~kwire_inspect.options.BrokenInputError`. An incomplete batch at the end
    of a partition's newest segment never raises an error, because it is normal while a broker is writing and after a
    broker was killed.
    """
    bounds = bounds or Bounds()
    for split in group:
        rows = Rows(split.path, schema, bounds, hide, limit, most, failfast)
        for item in _read(split, bounds, rows, control):
            if not isinstance(item, Broken):
                yield item
                continue
            if failfast and not item.unfinished:
                raise BrokenInputError(item.source, item.position, item.reason)
            yield corrupt_batch(schema, item.source, item.position, item.reason)


def _read(split: Split, bounds: Bounds, rows: Rows, control: bool) -> Iterator[Made]:
    """Yield the rows of a split in order, and ``Broken`` objects for broken input between them."""
    if split.size < 0:
        yield Broken(split.path, None, "cannot be opened")
        return
    try:
        with opened(split.path, expected=split.stamp) as file:
            yield from _within(Window(file, split.size), split, bounds, rows, control)
    except OSError as problem:
        yield from rows.flushed()
        yield Broken(split.path, None, f"cannot be read: {problem.strerror or problem}")


def _within(window: Window, split: Split, bounds: Bounds, rows: Rows, control: bool) -> Iterator[Made]:
    segment = LogSegment(split.path)
    read = partial(_beside, split.path)
    first = max(
        near_position(window, segment, split.start, read), near_offset(window, segment, bounds.first_offset, read)
    )
    skip = None if bounds == Bounds() else lambda header, position: bounds.skip(Batch(header, position))
    for position, size, reason, unfinished in extents(window, first, split.start, skip):
        if position >= split.end:
            break
        if reason is not None:
            yield from rows.flushed()
            reason = f"{reason} ({size} bytes are skipped)"
            yield Broken(split.path, position, reason, unfinished and _is_newest(split.path))
            continue
        at = position - window.start
        batch = Batch(memoryview(window.data), position, at=at, source=window.data, limit=rows.limit)
        if control or not batch.control:
            if not rows.take(batch, window.data, at):
                yield from rows.add(batch)
            if rows.ready:
                yield from rows.finished()
    yield from rows.flushed()


def _is_newest(path: str) -> bool:
    """Return whether a segment is the newest in its folder, so that the broker may still be appending to it."""
    name = Path(path).name
    return name.endswith(".log") and all(other <= name for other in place(path).siblings() if other.endswith(".log"))


def _beside(path: str, suffix: str) -> bytes:
    """Return up to ``MAX_INDEX`` bytes of the file with the same name and another ``suffix``."""
    with opened(path.removesuffix(".log") + suffix) as file:
        return file.read(MAX_INDEX)
