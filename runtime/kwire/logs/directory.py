"""A broker's data directory: its segments, the records of internal topics, and the saved state of producers."""

from __future__ import annotations

from pathlib import Path

from crc32c import crc32c

from kwire.errors import DecodeError
from kwire.logs.internal import InternalRecord, decode_record
from kwire.logs.segment import FILE_NAME, Checkpoint, LogSegment, log_file
from kwire.policy import STRICT, Policy
from kwire.primitives import read_int16

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.message import Message
    from kwire.protocol import MessageRegistry
    from kwire.records import Batch


class LoggedRecord:
    """A record of an internal topic, with its offset and timestamp, and its producer from the header of the batch.

    ``timestamp`` is in milliseconds since the epoch; ``producer_id`` and ``producer_epoch`` are -1 for records that
    no transactional or idempotent producer wrote. Offsets committed in a transaction count from its commit marker on,
    which is a control record of the same producer.
    """

    __slots__ = ("leader_epoch", "offset", "producer_epoch", "producer_id", "record", "timestamp", "transactional")

    def __init__(self, batch: Batch, offset: int, timestamp: int, record: InternalRecord) -> None:
        self.offset = offset
        self.timestamp = timestamp
        self.leader_epoch = batch.leader_epoch
        self.producer_id = batch.producer_id
        self.producer_epoch = batch.producer_epoch
        self.transactional = batch.transactional
        self.record = record

    def __repr__(self) -> str:
        return f"<{self.offset} {self.record!r}>"


def scan(data_dir: str | Path) -> Iterator[LogSegment | Checkpoint]:
    """Yield all segments and checkpoints of a broker's data directory (one of its ``log.dirs``): by topic and
    partition, and within a partition by offset. ``data_dir`` may also be the folder of a partition.

    Files that are being written, swapped or deleted (``.log.deleted``, ``.checkpoint.part``, …) are left out.
    Partitions that are being deleted or moved are not: see ``LogSegment.state``.
    """
    root = Path(data_dir)
    files = [log_file(path) for path in (*root.iterdir(), *root.glob("*/*")) if FILE_NAME.fullmatch(path.name)]
    yield from sorted(files, key=lambda file: (file.topic or "", file.partition or 0, file.state, file.path.name))


def internal_records(
    protocol: MessageRegistry,
    path: str | Path,
    *,
    topic: str | None = None,
    verify: bool = True,
    errors: list[DecodeError] | None = None,
    limit: int | None = None,
    policy: Policy = STRICT,
) -> Iterator[LoggedRecord]:
    """Yield all records of an internal topic's partition from its folder, or from a ``.log`` or ``.checkpoint`` file.

    The folder's name gives the topic unless ``topic`` is given. In a folder only segments are read, because
    checkpoints repeat their contents. A corrupt batch raises ``DecodeError``. With a list of ``errors`` it is
    skipped, and the error added to the list. The contents of a record never raise, as ``InternalRecord`` explains.
    ``limit`` and ``policy`` are as in ``kwire.records.read_batches`` and ``decode_record``.
    """
    for segment in _segments(Path(path)):
        name = topic or segment.topic
        if name is None:
            raise ValueError(f"{segment.path} is not in the folder of a partition: pass its topic")
        reader = segment.batches(verify=verify, skip=errors is not None, limit=limit, policy=policy)
        if errors is not None:
            reader.errors = errors
        for batch, records in reader.with_records():
            for record in records:
                row = decode_record(protocol, name, record.key, record.value, policy, control=batch.control)
                yield LoggedRecord(batch, record.offset, record.timestamp, row)


def read_producer_snapshot(protocol: MessageRegistry, path: str | Path, *, verify: bool = True) -> Message:
    """Return the ProducerSnapshot in a file. Raise ``DecodeError`` if it is another version, broken, or its CRC-32C
    is wrong.

    Brokers save such a ``.snapshot`` of a partition so that a restart need not read the log.
    """
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


def _segments(path: Path) -> list[LogSegment]:
    if path.is_dir():
        return [file for file in scan(path) if not isinstance(file, Checkpoint)]
    return [log_file(path)]
