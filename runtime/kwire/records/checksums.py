"""CRC-32C, the checksum of batches of magic 2."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_found: Callable[[bytes | bytearray | memoryview, int], int] | None = None


def crc32c(data: bytes | bytearray | memoryview, value: int = 0) -> int:
    """Return the CRC-32C of ``data``. ``value`` is the CRC-32C of the bytes before ``data``.

    The library is imported on the first call, because importing it takes longer than importing all of
    ``kwire.records``.
    """
    global _found
    if _found is None:
        from crc32c import crc32c as found

        _found = found
    return _found(data, value)
