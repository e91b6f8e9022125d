"""CRC-32C, the checksum of batches of magic 2."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_found: Callable[[bytes | bytearray | memoryview, int], int] | None = None


def crc32c(data: bytes | bytearray | memoryview, value: int = 0) -> int:
    """Return the CRC-32C of ``data``, preceded by bytes with the CRC-32C ``value``.

    The library is imported on the first call, because its import is slower than all of ``kwire.records``.
    """
    global _found
    if _found is None:
        from crc32c import crc32c as found

        _found = found
    return _found(data, value)
