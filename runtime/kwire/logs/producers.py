"""``.snapshot`` files: the producer state of a partition, saved so that a restart need not read the log."""

from __future__ import annotations

from pathlib import Path

from kwire.errors import DecodeError
from kwire.policy import STRICT
from kwire.primitives import read_int16

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.protocol import MessageRegistry

_COVERED = 6
"""Where the checksummed bytes begin: after the int16 version and the checksum itself."""


def read_producer_snapshot(protocol: MessageRegistry, path: str | Path, *, verify: bool = True) -> Message:
    """The ProducerSnapshot in a file; ``DecodeError`` if it is another version, broken, or its CRC-32C is wrong."""
    data = Path(path).read_bytes()
    version, start = read_int16(data, 0)
    cls = protocol["ProducerSnapshot"]
    snapshot = cls.decode(data, version, STRICT, start=start)
    if verify:
        from crc32c import crc32c

        stored, actual = int.from_bytes(data[start:_COVERED]), crc32c(data[_COVERED:])
        if stored != actual:
            raise DecodeError(
                f"the stored checksum is {stored:#010x}, the computed one {actual:#010x}",
                message_name=cls.__name__,
                version=version,
                path="crc",
                offset=start,
                data=data,
            )
    return snapshot
