"""The columns of one message: its schema, messages to columns, and columns to messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, TypeVar

import pyarrow as pa
from pyarrow import compute

from kwire.arrow.read import structs_from
from kwire.arrow.schema import message_type
from kwire.arrow.write import Write, absent, struct_writer
from kwire.lookup import PerMessage
from kwire.message import Message
from kwire.schema import valid_version

Versions = int | Sequence[int]
"""The version of all messages, or the version of each."""

K = TypeVar("K")


class Columns:
    """The columns of a message, for all its versions."""

    __slots__ = ("_writers", "message", "type")

    message: type[Message]
    """The codec class."""

    type: pa.StructType
    """All columns as one struct, for use as a single column of a table."""

    def __init__(self, message: type[Message]) -> None:
        self.message = message
        self.type = message_type(message)
        self._writers: dict[int, Write] = {}

    @property
    def schema(self) -> pa.Schema:
        """All columns as a schema."""
        return pa.schema(list(self.type))

    def batch(self, messages: Sequence[Message], versions: Versions) -> pa.RecordBatch:
        """A row for each message, like :meth:`array`, but ``None`` is a ``ValueError``: a row cannot be null."""
        array = self.array(messages, versions)
        if array.null_count:
            raise ValueError("a message is None: array() has a null for it")
        return pa.RecordBatch.from_struct_array(array)

    def array(self, messages: Sequence[Message | None], versions: Versions) -> pa.StructArray:
        """The messages as one array of structs, with null for ``None`` in any version.

        Fields that a version lacks are null. ``UnknownVersionError`` for a version that the message does not have,
        ``TypeError`` for another message, ``ValueError`` and ``OverflowError`` for values that cannot be sent.
        A column holds up to 2 GB.
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

    def messages(self, rows: pa.StructArray | pa.RecordBatch, versions: Versions) -> list[Message | None]:
        """The messages from which :meth:`array` or :meth:`batch` made columns, ``None`` for null."""
        array = rows.to_struct_array() if isinstance(rows, pa.RecordBatch) else rows
        made: dict[int, Message] = {}
        there = zip(array.is_valid().to_pylist(), _each(versions, len(array)), strict=True)
        for version, places in _places(version if valid else None for valid, version in there).items():
            if version is not None:
                found = structs_from(self.message, array.take(pa.array(places, pa.int64())), version)
                made.update(zip(places, found, strict=True))
        return [made.get(place) for place in range(len(array))]

    def _written(self, version: int | None, messages: list[Any]) -> pa.StructArray:
        if version is None:
            return absent(self.type, len(messages))
        if version not in self._writers:
            self._writers[version] = struct_writer(self.type, self.message, valid_version(self.message, version))
        return self._writers[version](messages)


def _each(versions: Versions, count: int) -> Sequence[int]:
    if isinstance(versions, int):
        return [versions] * count
    if len(versions) != count:
        raise ValueError(f"{len(versions)} versions for {count} messages")
    return versions


def _places(keys: Iterable[K]) -> dict[K, list[int]]:
    """The indexes of each key."""
    places: dict[K, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return places


class Arrow(PerMessage[Columns]):
    """The columns of all messages of a generated package, by name or former name, each made on first use."""

    def _load(self, name: str, module: str) -> Columns:
        return Columns(self._registry[name])
