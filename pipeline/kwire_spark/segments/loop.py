"""The records of a batch of magic 2 into columns: the loop of ``kwire.records.loops`` without an object per record.

This is where the time goes. Varints of one to three bytes are read in place, and whatever is not as usual raises
(``IndexError``, ``ValueError``): the caller then reads the batch by ``Batch.records``, which knows everything.
"""

from __future__ import annotations

from kwire.records.loops import Headers, read_headers, read_long_varint


class Columns:
    """What differs from record to record: offsets and timestamps as differences to those of the batch, keys, values,
    and the headers of those few that have any, with the number of the record."""

    __slots__ = ("headers", "keys", "offsets", "times", "values")

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.times: list[int] = []
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.headers: list[tuple[int, Headers]] = []

    def cut(self, count: int) -> None:
        """Forget all records but the first ``count``."""
        for column in (self.offsets, self.times, self.keys, self.values):
            del column[count:]
        while self.headers and self.headers[-1][0] >= count:
            self.headers.pop()


def read_columns(data: bytes, count: int, into: Columns) -> None:
    """Append ``count`` records, which are all of ``data``, a decompressed batch."""
    offsets, times = into.offsets.append, into.times.append
    keys, values = into.keys.append, into.values.append
    pos = 0
    for _ in range(count):
        size = data[pos]
        pos += 1
        if size > 127:
            byte = data[pos]
            pos += 1
            if byte < 128:
                size = size & 127 | byte << 7
            else:
                size, pos = read_long_varint(data, pos - 2, 28)
        end_of_record = pos + (size >> 1)

        # One byte of attributes, of which none is used.
        time = data[pos + 1]
        pos += 2
        if time > 127:
            byte = data[pos]
            pos += 1
            if byte < 128:
                time = time & 127 | byte << 7
            else:
                time, pos = read_long_varint(data, pos - 2, 49)
        times(-(time + 1 >> 1) if time & 1 else time >> 1)

        offset = data[pos]
        pos += 1
        if offset > 127:
            byte = data[pos]
            pos += 1
            if byte < 128:
                offset = offset & 127 | byte << 7
            else:
                offset, pos = read_long_varint(data, pos - 2, 28)
        if size & 1 or offset & 1 or offset > 0xFFFFFFFF:
            raise ValueError("not as usual")
        offsets(offset >> 1)

        length = data[pos]
        pos += 1
        if length == 1:
            keys(None)
        else:
            if length > 127:
                byte = data[pos]
                pos += 1
                if byte < 128:
                    length = length & 127 | byte << 7
                else:
                    length, pos = read_long_varint(data, pos - 2, 28)
            if length & 1:
                raise ValueError("not as usual")
            end = pos + (length >> 1)
            keys(data[pos:end])
            pos = end

        length = data[pos]
        pos += 1
        if length == 1:
            values(None)
        else:
            if length > 127:
                byte = data[pos]
                pos += 1
                if byte < 128:
                    length = length & 127 | byte << 7
                else:
                    length, pos = read_long_varint(data, pos - 2, 28)
            if length & 1:
                raise ValueError("not as usual")
            end = pos + (length >> 1)
            values(data[pos:end])
            pos = end

        if data[pos]:
            headers, pos = read_headers(data, pos)
            into.headers.append((len(into.offsets) - 1, headers))
        else:
            pos += 1
        if pos != end_of_record:
            raise ValueError("not as usual")
    if pos != len(data):
        raise ValueError("not as usual")
