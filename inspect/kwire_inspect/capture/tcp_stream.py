"""One direction of a TCP connection: its position, and packets that arrived early [RFC 9293, section 3.4]."""

from __future__ import annotations

from dataclasses import dataclass, field

from kwire.connection.events import Direction
from kwire.native import close_classes, mypyc_attr
from kwire_inspect.capture.packets import ACK, FIN, Packet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

MASK: Final = 0xFFFFFFFF
HALF: Final = 1 << 31
FAR: Final = 1 << 30
"""A window has at most 2**30 bytes [RFC 7323]: a packet farther away belongs to another connection."""


def unwrapped(number: int, near: int) -> int:
    """The byte count nearest to ``near`` that a sequence number can represent."""
    return near + ((number - near + HALF) & MASK) - HALF


@mypyc_attr(serializable=True)
@dataclass(slots=True, eq=False)
class TcpStream:
    """Counts are sequence numbers that do not wrap; None until they are known.

    ======  ==================================================================================
    isn     initial sequence number, if a SYN was seen
    first   count of the first byte that could have been delivered
    next    count of the byte to be delivered next
    told    first acknowledgement of the other side; a sequence number
    acked   end of the bytes that the other side has received; a sequence number while next is unknown
    ended   whether a FIN was delivered
    held    heap of waiting packets, as (count, order of arrival, packet)
    ======  ==================================================================================
    """

    direction: Direction
    isn: int | None = None
    first: int | None = None
    next: int | None = None
    told: int | None = None
    acked: int | None = None
    ended: bool = False
    held: list[tuple[int, int, Packet]] = field(default_factory=list)

    def begin_at(self, seq: int, size: int, *, handshake: bool) -> None:
        """Note the first packet of this direction: ``size`` bytes from ``seq`` on.

        Bytes before it that the other side has are missing if the handshake was seen, else before the capture. A
        single byte that the other side already has is a keep-alive probe [RFC 9293, 3.8.4].
        """
        start = seq
        if self.told is not None:
            told = unwrapped(self.told, seq)
            if (handshake and told < seq) or (size <= 1 and told == seq + size):
                start = told
        self.first = self.next = start
        if self.acked is not None:
            self.acked = unwrapped(self.acked & MASK, start)

    def acknowledge(self, ack: int) -> None:
        """Note an acknowledgement of the other side; one that is out of range is ignored."""
        if self.acked is None:
            self.told = ack
            self.acked = ack if self.next is None else unwrapped(ack, self.next)
            return
        known = self.acked if self.next is None else max(self.acked, self.next)
        if known < (count := unwrapped(ack, known)) < known + FAR:
            self.acked = count

    def missed_by(self, packet: Packet) -> int:
        """Number of undelivered bytes of this direction that a packet of the other acknowledges."""
        if self.next is None or not packet.flags & ACK:
            return 0
        size = (packet.ack - self.next) & MASK
        return size if size < FAR else 0

    @property
    def ready(self) -> bool:
        """Whether the earliest waiting packet continues the delivered data."""
        return bool(self.held) and self.next is not None and self.held[0][0] <= self.next

    @property
    def hole(self) -> int:
        """How many bytes are missing here that the other side has received."""
        if self.next is None or self.acked is None or self.ready:
            return 0
        end = min(self.acked, self.held[0][0]) if self.held else self.acked
        return max(end - self.next, 0)

    def missing_at_end(self, *, closing: bool) -> int:
        """Number of missing bytes at the end that the other side has received.

        One of them is a FIN if the connection was ``closing``, or if there is only one.
        """
        if self.acked is None or self.told is None or self.ended:
            return 0
        size = self.acked - (self.told if self.next is None else self.next)
        return max(size - 1 if closing or size == 1 else size, 0)


def length(packet: Packet) -> int:
    """The sequence numbers that a packet takes, one of them for a FIN."""
    return len(packet.data) + packet.missing + (packet.flags & FIN)


close_classes()
