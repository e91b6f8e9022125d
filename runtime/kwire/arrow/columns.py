"""The schema of a message, and conversions between messages and columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
from pyarrow import compute

from kwire import is_native
from kwire.arrow.read import structs_from
from kwire.arrow.schema import message_type, selected
from kwire.arrow.wire import Reader
from kwire.arrow.write import Write, absent, struct_writer
from kwire.columns.program import UnsuitableError
from kwire.errors import DecodeError, to_keep
from kwire.frames import MAX_FRAME
from kwire.lookup import PerMessage
from kwire.message import Message, decode_within, too_many_values
from kwire.policy import STRICT, Policy
from kwire.schema import valid_version

Data = bytes | bytearray | memoryview

Versions = int | Sequence[int]
"""One version for all messages, or a version for each message."""

COMPILED = is_native()

AT_ONCE = 1 << 20
"""Approximate total size, in bytes, of unusual frames that are decoded into objects at once."""

K = TypeVar("K")


class Decoded(NamedTuple):
    """The result of ``Columns.decode``."""

    array: pa.StructArray
    """One struct for each frame. Invalid frames are null."""
    errors: dict[int, DecodeError]
    """The errors of invalid frames, by frame number."""

    @property
    def rows(self) -> list[int]:
        """The frame number of each row of ``batch``, which contains only valid frames."""
        return [number for number in range(len(self.array)) if number not in self.errors]

    @property
    def batch(self) -> pa.RecordBatch:
        """The messages of the valid frames, one per row."""
        array = self.array.take(pa.array(self.rows, pa.int64())) if self.errors else self.array
        return pa.RecordBatch.from_struct_array(array)


class Columns:
    """The columns of a message for all its versions."""

    __slots__ = ("_readers", "_whole", "_writers", "message", "type")

    message: type[Message]
    """The codec class."""

    type: pa.StructType
    """All columns as one struct, for use as a single column of a table."""

    def __init__(self, message: type[Message], type: pa.StructType | None = None) -> None:
        self.message = message
        self.type = message_type(message) if type is None else type
        self._whole = type is None
        self._writers: dict[int, Write] = {}
        self._readers: dict[int, Reader | None] = {}

    def select(self, *paths: str) -> Columns:
        """Return a ``Columns`` object with only the columns at these paths, such as ``topics`` or
        ``topics.partitions.leader_id``, and all columns nested in them.

        The ``decode`` method of this object skips all other columns. Raise ``UnknownColumnError`` for a column that
        the message does not have.
        """
        return Columns(self.message, selected(self.type, paths, self.message.__name__))

    @property
    def schema(self) -> pa.Schema:
        """The schema of all columns."""
        return pa.schema(list(self.type))

    def batch(self, messages: Sequence[Message], versions: Versions) -> pa.RecordBatch:
        """Return a batch with one row per message.

        The columns are the same as in ``array``. Rows cannot be null, so ``None`` raises ``ValueError``.
        """
        array = self.array(messages, versions)
        if array.null_count:
            raise ValueError("a message is None: use array(), which writes null for it")
        return pa.RecordBatch.from_struct_array(array)

    def array(self, messages: Sequence[Message | None], versions: Versions) -> pa.StructArray:
        """Return the messages as an array of structs. ``None`` becomes null.

        Fields that a version lacks are null. Raise ``UnknownVersionError`` for a version that the message does not
        have, ``TypeError`` for an instance of another class, and ``ValueError`` or ``OverflowError`` for values that
        cannot be sent. A column can hold up to 2 GB.
        """
        for message in messages:
            if message is not None and type(message) is not self.message:
                raise TypeError(f"these are columns of {self.message.__name__}, not of {type(message).__name__}")
        each = zip(messages, _each(versions, len(messages)), strict=True)
        groups = _places(None if message is None else version for message, version in each)
        parts = [self._written(version, [messages[place] for place in places]) for version, places in groups.items()]
        if len(parts) == 1:
            return parts[0]
        order = pa.array(list(chain.from_iterable(groups.values())), pa.int64())
        return pa.concat_arrays([absent(self.type, 0), *parts]).take(compute.sort_indices(order))

    def decode(
        self,
        frames: Sequence[Data],
        versions: Versions,
        *,
        start: int | Sequence[int] = 0,
        policy: Policy = STRICT,
        max_decoded: int = MAX_FRAME,
    ) -> Decoded:
        """Return the columns of encoded message bodies, and the errors of invalid frames.

        The columns are the same as ``array`` returns for the decoded messages, but are read without creating message
        objects. ``start`` is the offset of the body in all frames or in each frame. An invalid frame becomes null,
        and its ``DecodeError`` is part of the result. Columns that were not selected are not checked. Unusual frames,
        such as those that only a tolerant ``policy`` accepts, are decoded one by one. ``max_decoded`` is explained in
        ``kwire.connection.ConnectionDecoder``. Frames of 2 GiB or more raise ``ValueError``.
        """
        each = list(_each(versions, len(frames)))
        data = [bytes(frame) for frame in frames]
        starts = [start] * len(data) if isinstance(start, int) else start
        found = _Found(self.type, len(data))
        slow = []
        for version, places in _places(each).items():
            reader = self._reader(version)
            suited = [place for place in places if reader and 0 <= starts[place] <= len(data[place]) <= max_decoded]
            slow += sorted({*places} - {*suited})
            if reader and suited:
                array, failed, doubtful = reader.read(
                    [data[place] for place in suited], [starts[place] for place in suited]
                )
                good = [place for number, place in enumerate(suited) if number not in failed]
                slow += [suited[number] for number in failed] + [good[row] for row in doubtful]
                found.add(array, good)
        self._decode_slowly(found, sorted(slow), data, each, starts, policy, max_decoded)
        return found.decoded()

    def _decode_slowly(
        self,
        found: _Found,
        slow: Sequence[int],
        data: Sequence[bytes],
        versions: Sequence[int],
        starts: Sequence[int],
        policy: Policy,
        max_decoded: int,
    ) -> None:
        """Decode unusual and invalid frames into objects, a mebibyte or one larger frame at a time."""
        read: dict[int, Message] = {}
        size = 0
        for place in slow:
            frame, version = data[place], versions[place]
            try:
                message = decode_within(max_decoded, self.message, frame, version, policy, starts[place])
                if message is None:
                    name, reason = self.message.__name__, too_many_values(frame)
                    raise DecodeError(reason, message_name=name, version=version, data=frame)
                read[place] = message
                size += len(frame)
            except DecodeError as problem:
                found.errors[place] = to_keep(problem)
            if read and (place == slow[-1] or size >= AT_ONCE):
                found.add(self.array([*read.values()], [versions[one] for one in read]), [*read])
                read.clear()
                size = 0

    def _reader(self, version: int) -> Reader | None:
        """Return the reader for a version, or ``None`` if frames of this version are to be decoded into objects.

        Objects are used if ``kwire.columns`` cannot read the version, or if objects are faster, as in an interpreted
        run with all columns.
        """
        if self._whole and not COMPILED:
            return None
        if version not in self._readers:
            reader = None
            if version in self.message.VALID_VERSIONS:
                with suppress(UnsuitableError):
                    reader = Reader(self.message, version, self.type)
            self._readers[version] = reader
        return self._readers[version]

    def messages(self, rows: pa.StructArray | pa.RecordBatch, versions: Versions) -> list[Message | None]:
        """Return the messages in columns that ``array`` or ``batch`` returned. Null becomes ``None``."""
        array = rows.to_struct_array() if isinstance(rows, pa.RecordBatch) else rows
        by_row: dict[int, Message] = {}
        there = zip(array.is_valid().to_pylist(), _each(versions, len(array)), strict=True)
        for version, places in _places(version if valid else None for valid, version in there).items():
            if version is not None:
                found = structs_from(self.message, array.take(pa.array(places, pa.int64())), version)
                by_row.update(zip(places, found, strict=True))
        return [by_row.get(place) for place in range(len(array))]

    def _written(self, version: int | None, messages: list[Any]) -> pa.StructArray:
        if version is None:
            return absent(self.type, len(messages))
        if version not in self._writers:
            self._writers[version] = struct_writer(self.type, self.message, valid_version(self.message, version))
        return self._writers[version](messages)


class _Found:
    """Arrays of messages, in any order, and the row of each frame. If a frame is added twice, the later row is
    used."""

    def __init__(self, kind: pa.StructType, count: int) -> None:
        self.kind = kind
        self.parts: list[pa.StructArray] = []
        self.rows: list[int | None] = [None] * count
        self.length = 0
        self.errors: dict[int, DecodeError] = {}

    def add(self, array: pa.StructArray, places: Sequence[int]) -> None:
        """Add an array with the messages of the frames whose numbers are ``places``."""
        for row, place in enumerate(places, self.length):
            self.rows[place] = row
        self.parts.append(array)
        self.length += len(array)

    def decoded(self) -> Decoded:
        for place in self.errors:
            self.rows[place] = None
        if len(self.parts) == 1 and not self.errors and self.rows == [*range(self.length)]:
            return Decoded(self.parts[0], {})
        every = pa.concat_arrays([absent(self.kind, 1), *self.parts])
        rows = pa.array([0 if row is None else row + 1 for row in self.rows], pa.int64())
        return Decoded(every.take(rows), dict(sorted(self.errors.items())))


def _each(versions: Versions, count: int) -> Sequence[int]:
    if isinstance(versions, int):
        return [versions] * count
    if len(versions) != count:
        raise ValueError(f"expected a version for each message, got {len(versions)} versions for {count} messages")
    return versions


def _places(keys: Iterable[K]) -> dict[K, list[int]]:
    """Return a mapping from each key to the indexes at which it occurs."""
    places: dict[K, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return places


class Arrow(PerMessage[Columns]):
    """The columns of every message in a generated package, by current or former name, created on first use."""

    def _load(self, name: str, module: str) -> Columns:
        return Columns(self._registry[name])
