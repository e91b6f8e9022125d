"""Reading a broker's data directory: segments, records of internal topics and producer snapshots."""

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
    """A record of an internal topic, with its offset and timestamp and the producer named in its batch header.

    ``timestamp`` is in milliseconds since the epoch. ``producer_id`` and ``producer_epoch`` are -1 unless a
    transactional or idempotent producer wrote the record. Offsets committed in a transaction take effect at the
    commit marker of the transaction, which is a control record of the same producer.
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
    """Yield all segments and checkpoints in a broker's data directory, ordered by topic, partition and offset.

    ``data_dir`` is one of the broker's ``log.dirs`` or the folder of a partition.

    Files that are being written, swapped or deleted (``.log.deleted``, ``.checkpoint.part``, …) are omitted.
    Partitions that are being deleted or moved are included (see ``LogSegment.state``).
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
    """Yield all records in a partition of an internal topic, read from its folder or a ``.log`` or ``.checkpoint``
    file.

    ``topic`` defaults to the topic in the name of the folder. In a folder, only segments are read, because
    checkpoints repeat their contents. A corrupt batch raises ``DecodeError``. If ``errors`` is a list, corrupt
    batches are skipped and their errors are added to the list instead. Invalid record contents do not raise an error
    (see ``InternalRecord``). ``limit`` and ``policy`` work as in ``kwire.records.read_batches`` and
    ``decode_record``.
    """
    for segment in _segments(Path(path)):
        name = topic or segment.topic
        if name is None:
            raise ValueError(f"{segment.path} is not in the folder of a partition: pass the topic")
        reader = segment.batches(verify=verify, skip=errors is not None, limit=limit, policy=policy)
        if errors is not None:
            reader.errors = errors
        for batch, records in reader.with_records():
            for record in records:
                row = decode_record(protocol, name, record.key, record.value, policy, control=batch.control)
                yield LoggedRecord(batch, record.offset, record.timestamp, row)


def read_producer_snapshot(protocol: MessageRegistry, path: str | Path, *, verify: bool = True) -> Message:
    """Return the ProducerSnapshot message in a file. Raise ``DecodeError`` if the message is invalid or its version
    is unknown.

    Brokers save ``.snapshot`` files for each partition, so that they do not have to read the whole log after a
    restart. ``verify`` says whether to verify the CRC-32C of the file.
    """
    data = Path(path).read_bytes()
    version, start = read_int16(data, 0)
    cls = protocol["ProducerSnapshot"]
    snapshot = cls.decode(data, version, STRICT, start=start)
    stored, actual = int.from_bytes(data[start : start + 4]), crc32c(data[start + 4 :])
    if verify and stored != actual:
        raise DecodeError(
            f"the stored checksum is {stored:#010x}, but the computed checksum is {actual:#010x}",
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
