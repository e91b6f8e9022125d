"""Converting row numbers and rows of fixed-size values to columns."""

from __future__ import annotations

from librt.strings import BytesWriter, read_i16_be, read_i32_be, read_i64_le, write_i16_le, write_i32_le, write_i64_le

from kwire.native import i32, i64


def unmarked(rows: bytes, count: i64) -> bytes:
    """Return one byte for each of ``count`` rows. The byte is 0 if ``rows`` (int64) contains the number of its row,
    and otherwise 1."""
    out = BytesWriter()
    out.write(b"\1" * count)
    for index in range(0, i64(len(rows)), 8):
        out[read_i64_le(rows, index)] = 0
    return out.getvalue()


def ends(rows: bytes, count: i64) -> bytes:
    """Return list offsets (int32): the start of each row's elements for ``count`` rows, and the end of the last row's
    elements.

    ``rows`` (int64) holds the row number of each element in ascending order.
    """
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


def signed(rows: BytesWriter, offset: i64, stride: i64, size: i64) -> bytes:
    """Return the big-endian numbers at ``offset`` of each row as little-endian numbers.

    Rows are ``stride`` bytes long, and numbers are 1, 2, 4 or 8 bytes long. Raise ``ValueError`` if numbers extend
    beyond their rows.
    """
    return turned(rows, offset, stride, size)


def turned(rows: BytesWriter, offset: i64, stride: i64, size: i64) -> bytes:
    """Return the same numbers as ``signed``, which calls this function. Native builds replace this function with
    their own operation."""
    data = rows.getvalue()
    if size not in (1, 2, 4, 8) or offset < 0 or offset + size > stride or len(data) % stride:
        raise ValueError("the numbers extend beyond the rows")
    out = bytearray(len(data) // stride * size)
    for index in range(size):
        out[index::size] = data[offset + size - 1 - index :: stride]
    return bytes(out)


def unsigned(rows: BytesWriter, offset: i64, stride: i64, size: i64) -> bytes:
    """Return unsigned numbers of 2 or 4 bytes as ``signed`` does, but as signed numbers of twice the size."""
    data = rows.getvalue()
    out = BytesWriter()
    for index in range(offset, i64(len(data)), stride):
        if size == 2:
            write_i32_le(out, i32(i64(read_i16_be(data, index)) & 0xFFFF))
        else:
            write_i64_le(out, i64(read_i32_be(data, index)) & 0xFFFFFFFF)
    return out.getvalue()


def uuids(rows: BytesWriter, offset: i64, stride: i64) -> bytes:
    """Return the 16 bytes at ``offset`` of each row, each followed by two zero bytes."""
    data = rows.getvalue()
    out = BytesWriter()
    for index in range(offset, i64(len(data)), stride):
        out.write(data[index : index + 16])
        write_i16_le(out, 0)
    return out.getvalue()
