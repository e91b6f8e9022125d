"""``.snapshot`` files: the producer state of a partition, saved so that a restart need not read the log."""

from __future__ import annotations

from pathlib import Path

from crc32c import crc32c

from kwire.errors import DecodeError
from kwire.policy import STRICT
from kwire.primitives import read_int16

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.protocol import MessageRegistry


def read_producer_snapshot(protocol: MessageRegistry, path: str | Path, *, verify: bool = True) -> Message:
    """The ProducerSnapshot in a file; ``DecodeError`` if it is another version, broken, or its CRC-32C is wrong."""
    data = Path(path).read_bytes()
    version, start = read_int16(data, 0)
    cls = protocol["ProducerSnapshot"]
    snapshot = cls.decode(data, version, STRICT, start=start)
    stored, actual = int.from_bytes(data[start : start + 4]), crc32c(data[start + 4 :])
    if verify and stored != actual:
        raise DecodeError(
            f"the stored checksum is {stored:#010x}, the computed one {actual:#010x}",
            message_name=cls.__name__,
            version=version,
            path="crc",
            offset=start,
            data=data,
        )
    return snapshot
