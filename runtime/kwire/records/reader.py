"""Reading batches from the bytes of a records field or a log segment."""

from __future__ import annotations

from librt.strings import read_i32_be

from kwire.errors import DecodeError, to_keep
from kwire.policy import STRICT, Policy
from kwire.records.batch import Batch
from kwire.records.errors import MAX_KEPT, NAMES, CorruptRecordError, RecordsError, UnknownMagicError
from kwire.records.layout import MAGIC, MIN_SIZE, OVERHEAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import NoReturn

    from kwire.records.loops import Record


class BatchReader:
    """An iterator over batches. The reader does not keep batches, so memory use does not grow with the input.

    An invalid batch raises a ``RecordsError``. The next call continues after that batch if its size is valid. With
    ``skip``, invalid batches are skipped and their errors collected in ``errors``. ``position`` is the current
    position in the input. After the last batch, ``position`` is the end of the input, or the start of an incomplete
    last batch of ``truncated`` bytes. Only a batch with an invalid size ends the iteration before the end of the
    input.
    """

    __slots__ = (
        "_length",
        "_limit",
        "_policy",
        "_skip",
        "_source",
        "_start",
        "_stopped",
        "_verify",
        "_view",
        "errors",
        "position",
        "truncated",
    )

    def __init__(
        self,
        view: memoryview,
        source: bytes | None,
        *,
        position: int,
        verify: bool,
        skip: bool,
        limit: int | None,
        policy: Policy,
    ) -> None:
        self._view = view
        self._source = source
        self._length = len(view)
        self._start = position
        self._verify = verify
        self._skip = skip
        self._limit = limit
        self._policy = policy
        self._stopped = False
        self.position = position
        self.truncated = 0
        self.errors: list[DecodeError] = []

    def __iter__(self) -> BatchReader:
        return self

    def __next__(self) -> Batch:
        while not self._stopped:
            try:
                batch = self._next()
            except RecordsError as problem:
                if not self._skip:
                    raise
                self._note(problem)
            else:
                if batch is not None:
                    return batch
        raise StopIteration

    def with_records(self) -> Iterator[tuple[Batch, list[Record]]]:
        """Return an iterator over the batches, each with a list of all its records.

        A batch with an invalid record raises a ``DecodeError`` or, with ``skip``, is skipped.
        """
        return with_records(self, self._note if self._skip else None)

    def _note(self, error: DecodeError) -> None:
        self.errors.append(to_keep(error))

    def _next(self) -> Batch | None:
        """Return the batch at the current position, or ``None`` at the end."""
        at = self.position - self._start
        left = self._length - at
        if left < OVERHEAD:
            self._end(left)
            return None
        size = OVERHEAD + self._size(at)
        if size < OVERHEAD + MIN_SIZE[0]:
            self._stopped = True
            reason = f"the batch size is {size - OVERHEAD}: expected at least {MIN_SIZE[0]}"
            raise self._bad(CorruptRecordError, 8, reason, MAX_KEPT)
        if left <= MAGIC:
            self._end(left)
            return None
        magic = self._byte(at + MAGIC)
        if magic > 2 or size < OVERHEAD + MIN_SIZE[magic]:
            self._refuse(magic, size, left)
        if size > left:
            self._end(left)
            return None
        batch = Batch(
            self._view,
            self.position,
            at=at,
            source=self._source,
            verify=self._verify,
            limit=self._limit,
            policy=self._policy,
        )
        self.position += size
        if self._verify:
            batch.verify()
        return batch

    def _size(self, at: int) -> int:
        """Return the value of the size field of the batch at ``at``."""
        source = self._source
        if source is not None:
            return read_i32_be(source, at + 8)
        return int.from_bytes(self._view[at + 8 : at + OVERHEAD], "big", signed=True)

    def _byte(self, at: int) -> int:
        source = self._source
        return self._view[at] if source is None else source[at]

    def _refuse(self, magic: int, size: int, left: int) -> NoReturn:
        """Raise an error for an unknown magic or a size that is too small for the magic. The next call continues
        after the batch."""
        if magic > 2:
            size_kept = size if size <= left else MAX_KEPT
            error = self._bad(UnknownMagicError, 16, f"unknown magic {magic}", size_kept)
        else:
            reason = f"the batch size is {size - OVERHEAD}: expected at least {MIN_SIZE[magic]}"
            error = self._bad(CorruptRecordError, 8, reason, size, magic)
        if size > left:
            self._stopped = True
        else:
            self.position += size
        raise error

    def _end(self, left: int) -> None:
        self.truncated = left
        self._stopped = True

    def _bad(
        self, kind: type[RecordsError], place: int, reason: str, kept: int, magic: int | None = None
    ) -> RecordsError:
        at = self.position - self._start
        return kind(
            reason,
            message_name=NAMES[2 if magic is None else magic],
            version=magic,
            path="magic" if place == 16 else "size",
            offset=self.position + place,
            data=bytes(self._view[at : at + kept]),
            position=self.position,
        )


def read_batches(
    data: bytes | bytearray | memoryview | None,
    *,
    position: int = 0,
    verify: bool = True,
    skip: bool = False,
    limit: int | None = None,
    policy: Policy = STRICT,
) -> BatchReader:
    """Return an iterator over the batches of ``data``, the contents of a records field or a log segment.

    If ``data`` is ``None``, there are no batches. An incomplete batch at the end is normal in a Fetch response and
    ends the iteration without an error. The reader's ``truncated`` attribute is the number of bytes of that batch
    that are present [KAFKA-WIRE 44]. The iteration raises ``ChecksumError`` (unless ``verify=False``),
    ``UnknownMagicError`` and ``CorruptRecordError``. Decoding records also raises ``RecordsLimitError`` and
    ``kwire.compression.CompressionError``.

    With ``skip``, invalid batches are skipped and their errors collected in the reader's ``errors``. Invalid records
    are only found when they are decoded. ``BatchReader.with_records`` also skips batches with invalid records.
    Iterating over such a batch raises an error.

    ``position`` is the start of ``data`` in a larger input. This value is added to the positions of batches and the
    offsets of errors. ``limit`` is the maximum size of a decompressed batch in bytes (default
    ``kwire.compression.DEFAULT_LIMIT``).

    Only the ``trailing`` setting of ``policy`` applies. With "ignore", bytes that Kafka does not read are ignored.
    """
    view = memoryview(b"" if data is None else data)
    if view.format != "B" or view.ndim != 1:
        view = view.cast("B")
    source = data if type(data) is bytes else None
    return BatchReader(view, source, position=position, verify=verify, skip=skip, limit=limit, policy=policy)


def with_records(
    batches: Iterable[Batch], skipped: Callable[[DecodeError], None] | None
) -> Iterator[tuple[Batch, list[Record]]]:
    """Yield each batch with a list of all its records. Errors are passed to ``skipped`` or, if it is ``None``,
    raised."""
    for batch in batches:
        try:
            records = batch.records()
        except DecodeError as problem:
            if skipped is None:
                raise
            skipped(problem)
        else:
            yield batch, records
