"""Lists of row numbers as columns."""

from __future__ import annotations

from librt.strings import BytesWriter, read_i64_le, write_i32_le

from kwire.native import i32, i64


def unmarked(rows: bytes, count: i64) -> bytes:
    """A byte for each of ``count`` rows: 0 for those in ``rows`` (int64), else 1."""
    out = BytesWriter()
    out.write(b"\1" * count)
    for index in range(0, i64(len(rows)), 8):
        out[read_i64_le(rows, index)] = 0
    return out.getvalue()


def ends(rows: bytes, count: i64) -> bytes:
    """Offsets of lists (int32): where the elements of each of ``count`` rows start, and where the last end.
    ``rows`` (int64), ascending, has the row of each element."""
    out = BytesWriter()
    row: i64 = 0
    size: i64 = len(rows)
    for index in range(0, size, 8):
        owner: i64 = read_i64_le(rows, index)
        while row <= owner:
            write_i32_le(out, i32(index >> 3))
            row += 1
    while row <= count:
        write_i32_le(out, i32(size >> 3))
        row += 1
    return out.getvalue()
