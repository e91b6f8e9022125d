"""Parses many records of batches of magic 2 at a time, into numpy arrays of field positions.

A loop in ``kwire.columns`` goes from record to record (``record_starts``); all fields of all records are then read at
once (``Fields``). Anything unusual is marked ``bad`` and left to ``Batch.records``, which handles every case.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kwire.records.loops import MAX_OBJECTS, Headers, read_headers

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def header_bytes(headers: Headers) -> int:
    """The bytes of keys and values."""
    return sum([len(key) + len(value or b"") for key, value in headers])


class Fields:
    """Fields of records that begin at ``starts`` in ``data``.

    ``times`` and ``offsets`` are relative to those of the batch. ``keys`` and ``values`` are where they start and
    end, and which of them are null.
    """

    def __init__(self, data: bytes, starts: Numbers) -> None:
        self.data = data
        self._bytes = np.frombuffer(data, np.uint8)
        self.bad: Flags = np.zeros(len(starts), bool)
        size, pos = self._varint(starts, 28)
        end = pos + (size >> 1)
        time, pos = self._varint(pos + 1, 49)  # after the attributes byte, none of whose bits are used
        self.times: Numbers = (time >> 1) ^ -(time & 1)
        offset, pos = self._varint(pos, 28)
        self.offsets: Numbers = offset >> 1
        self.bad |= ((size | offset) & 1).astype(bool)
        self.keys = self._bytes_at(pos)
        self.values = self._bytes_at(self.keys[1])
        self.headers = self._headers(self.values[1], end)

    def sizes(self) -> Numbers:
        """The bytes of key, value and headers of each record."""
        sizes = self.keys[1] - self.keys[0] + self.values[1] - self.values[0]
        for number, headers in self.headers:
            sizes[number] += header_bytes(headers)
        return sizes

    def _varint(self, pos: Numbers, last: int) -> tuple[Numbers, Numbers]:
        """Varints, still zigzag-encoded, and their ends; ``last`` is the shift of the last byte allowed."""
        byte = self._bytes.take(pos, mode="clip")
        value = (byte & 127).astype(np.int64)
        pos = pos + 1
        more, shift = np.flatnonzero(byte > 127), 7
        while len(more):
            if shift > last:
                self.bad[more] = True
                break
            byte = self._bytes.take(pos[more], mode="clip")
            value[more] |= (byte & 127).astype(np.int64) << shift
            pos[more] += 1
            more, shift = more[byte > 127], shift + 7
        return value, pos

    def _bytes_at(self, pos: Numbers) -> tuple[Numbers, Numbers, Flags]:
        length, pos = self._varint(pos, 28)
        null: Flags = length == 1
        self.bad |= (length & 1).astype(bool) & ~null
        return pos, pos + (length >> 1), null

    def _headers(self, pos: Numbers, end: Numbers) -> list[tuple[int, Headers]]:
        """The headers of records that have any, with the number of the record."""
        some = self._bytes.take(pos, mode="clip") != 0
        self.bad |= ~some & (pos + 1 != end)
        parsed: list[tuple[int, Headers]] = []
        room = MAX_OBJECTS
        for number in np.flatnonzero(some & ~self.bad).tolist():
            try:
                headers, after = read_headers(self.data, int(pos[number]), room)
            except (IndexError, ValueError):
                after = -1
            if after == end[number]:
                parsed.append((number, headers))
                room -= len(headers)
            else:
                self.bad[number] = True
        return parsed
