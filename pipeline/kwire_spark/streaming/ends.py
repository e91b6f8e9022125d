"""What a stream keeps of two ends between batches: TCP's state, and that of the connection between them."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterator, Sequence
from io import BytesIO
from typing import Any, Self

from kwire_spark.capture import Piece, TcpConnection
from kwire_spark.capture.packets import Packet
from kwire_spark.capture.tcp import GRACE
from kwire_spark.frames.connection import ConnectionRows
from kwire_spark.frames.context import Row
from kwire_spark.frames.wanted import Wanted


class Ends:
    """The packets between two ends to rows; ``key`` and ``ports`` are those of ``TcpConnection``."""

    def __init__(self, key: bytes, ports: Collection[int], wanted: Wanted) -> None:
        self._tcp = TcpConnection(bytes(key), ports)
        self._open: ConnectionRows | None = None
        self._wanted = wanted
        self._time = 0.0

    @classmethod
    def restored(cls, stored: bytes, wanted: Wanted) -> Self:
        """What ``stored`` gave. ``wanted`` is that of the job, as it was then."""
        ends: Self = _Unpickler(stored, wanted).load()
        return ends

    def stored(self) -> bytes:
        """All of it as bytes, but for what is wanted, which is the same for all ends and not small."""
        file = BytesIO()
        _Pickler(file, self._wanted).dump(self)
        return file.getvalue()

    def add(self, packet: Packet) -> Iterator[Row]:
        """The rows that a packet completes."""
        self._time = max(self._time, packet.time)
        yield from self._rows(self._tcp.add(packet))

    def close(self) -> Iterator[Row]:
        """The rows of what is left."""
        yield from self._rows(self._tcp.close())

    def closes_ms(self, idle_ms: int) -> int:
        """When this is to be closed if nothing more comes, in milliseconds since the epoch."""
        reset = self._tcp.reset
        return int(self._time * 1000) + idle_ms if reset is None else int((reset + GRACE) * 1000)

    def _rows(self, pieces: Sequence[Piece]) -> Iterator[Row]:
        for piece in pieces:
            if self._open is None or self._open.connection is not piece.connection:
                self._open = ConnectionRows(piece.connection, self._wanted)
            yield from self._open.feed(piece)
            if piece.kind == "closed":
                self._open = None


class _Pickler(pickle.Pickler):
    def __init__(self, file: BytesIO, wanted: Wanted) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._wanted = wanted

    def persistent_id(self, given: Any) -> str | None:
        return "wanted" if given is self._wanted else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, stored: bytes, wanted: Wanted) -> None:
        super().__init__(BytesIO(stored))
        self._wanted = wanted

    def persistent_load(self, name: str) -> Wanted:
        return self._wanted
