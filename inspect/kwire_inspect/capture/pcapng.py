"""Reads pcapng files. A pcapng file consists of sections, each with its own interfaces [draft-ietf-opsawg-pcapng]."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from kwire.native import close_classes
from kwire_inspect.capture.packets import Link, link_of
from kwire_inspect.capture.pcap import BELIEVED, LATEST, MAX_PACKET, Mark, Report, Taker, resumed
from kwire_inspect.reasons import DROPPED
from kwire_inspect.storage import Window

SECTION, INTERFACE, OLD_PACKET, SIMPLE_PACKET, STATISTICS, PACKET, SECRETS = 0x0A0D0D0A, 1, 2, 3, 5, 6, 10
KEY_LOG = 0x544C534B
"""Secrets type of TLS key logs."""
MAGIC = struct.pack("<I", SECTION)
"""Block type of a section header, which is the same in both byte orders. The third field shows the byte order."""
ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
TSRESOL, TSOFFSET = 9, 14
IFDROP, OSDROP = 5, 7
"""Options for the number of packets dropped by the interface, and by the operating system, during the capture."""
MAX_DROPPED = 1 << 40
"""Maximum plausible number of dropped packets. Larger values, such as all ones, mean that the number is unknown."""
MAX_INTERFACES = 1 << 16
"""Maximum number of interfaces in a section. Real captures have far fewer interfaces, and more could exhaust memory.
"""
MIN_PACKET = 28
"""Minimum number of bytes that can contain a packet. Only the last block of a file may be shorter."""


@dataclass(frozen=True, slots=True)
class _Interface:
    link: Link | None
    snaplen: int
    unit: float
    offset: int


def pcapng_records(window: Window, report: Report, taker: Taker) -> Iterator[None]:
    """Pass the packets of the file that begins in ``window`` to ``taker``. Skip unknown blocks.

    Yield after the packets of each window, and before each key log. Simple packets, which have no time, and packets
    with an impossible time get the time of the previous packet.
    """
    order, at, size, time = "<", 0, 0, 0.0
    unpack = struct.Struct("<IIIIIII").unpack_from
    interfaces: list[_Interface] = []
    dropped: dict[int, int] = {}
    while True:
        buffer, base, end = window.buffer, window.base, len(window.buffer)
        while at + MIN_PACKET <= end:
            kind, size, number, high, low, captured, length = unpack(buffer, at)
            if kind == SECTION:
                if (byte_order := ORDERS.get(buffer[at + 8 : at + 12])) is None:
                    size = 0
                    break
                order = byte_order
                unpack = struct.Struct(order + "IIIIIII").unpack_from
                size, interfaces, dropped = unpack(buffer, at)[1], [], {}
            stop = at + size
            if stop > end or size < 12 or size & 3:
                break
            if kind == PACKET and size >= 32:
                if number < len(interfaces) and captured <= size - 32:
                    interface = interfaces[number]
                    seen = (high << 32 | low) / interface.unit + interface.offset
                    time = seen if 0 <= seen < LATEST else _instead(seen, time, base + at, report)
                    if interface.link is not None:
                        taker.take(buffer, at + 28, at + 28 + captured, length, base + at, interface.link, time)
                else:
                    report.add(base + at, _wrong(number, interfaces, captured, size - 32), "packet")
            elif kind == INTERFACE and len(interfaces) < MAX_INTERFACES:
                interfaces.append(_interface(buffer, at, stop, order, base, report))
            elif kind == STATISTICS and len(dropped) < MAX_INTERFACES:
                total = _dropped(buffer[at + 20 : stop - 4], order)
                if total > dropped.get(number, 0):
                    report.count(base + at, DROPPED, 0, total - dropped.get(number, 0))
                    dropped[number] = total
            elif kind == SECRETS and report.secrets is not None and number == KEY_LOG:
                yield
                report.secrets(buffer[at + 16 : min(at + 16 + high, stop - 4)])
            elif kind in (SIMPLE_PACKET, OLD_PACKET):
                record = _other(buffer, at, kind, size, order, interfaces, time)
                if record is None:
                    report.add(base + at, f"a packet block of type {kind} is inconsistent with its section")
                else:
                    seen, begin, captured, length, link = record
                    time = seen if 0 <= seen < LATEST else _instead(seen, time, base + at, report)
                    taker.take(buffer, begin, begin + captured, length, base + at, link, time)
            at = stop
        yield
        sane = at + MIN_PACKET > end or (size >= 12 and not size & 3 and size <= BELIEVED)
        if sane and window.advance(at):
            at = 0
            continue
        if at == end or (sane and _is_whole(buffer, at, order)):
            return
        at = resumed(window, at, size, report, _mark(order))
        if at < 0:
            return


def _instead(seen: float, before: float, place: int, report: Report) -> float:
    """Report a rejected packet time, and return the time of the previous packet instead."""
    report.add(
        place, f"impossible packet times, such as {seen:g} seconds since 1970: the previous time is used", "time"
    )
    return before


def _is_whole(buffer: bytes, at: int, order: str) -> bool:
    """Return whether the rest of the buffer is a complete block that is too small to contain a packet."""
    size = len(buffer) - at
    return size >= 12 and struct.unpack_from(order + "I", buffer, at + 4)[0] == size


def _interface(buffer: bytes, at: int, stop: int, order: str, base: int, report: Report) -> _Interface:
    if stop - at < 20:
        report.add(base + at, f"an interface description of only {stop - at} bytes")
        return _Interface(None, 0, 1e6, 0)
    number, _, snaplen = struct.unpack_from(order + "HHI", buffer, at + 8)
    unit, offset = 1e6, 0
    for code, value in options(buffer[at + 16 : stop - 4], order):
        if code == TSRESOL and value:
            unit = float((2 if value[0] & 128 else 10) ** (value[0] & 127))
        elif code == TSOFFSET and len(value) == 8:
            (offset,) = struct.unpack(order + "q", value)
    return _Interface(link_of(number), snaplen, unit, offset)


def _dropped(data: bytes, order: str) -> int:
    """Return the number of dropped packets from the options of a statistics block."""
    values = [value for code, value in options(data, order) if code in (IFDROP, OSDROP) and len(value) == 8]
    counts = [int(struct.unpack(order + "Q", value)[0]) for value in values]
    return sum(count for count in counts if count <= MAX_DROPPED)


def options(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Yield the codes and values of options, or of name resolution records. Ignore a truncated option or record."""
    at = 0
    while at + 4 <= len(data):
        code, size = struct.unpack_from(order + "HH", data, at)
        if code == 0 or at + 4 + size > len(data):
            return
        yield code, data[at + 4 : at + 4 + size]
        at += 4 + size + (-size & 3)


def _other(
    buffer: bytes, at: int, kind: int, size: int, order: str, interfaces: list[_Interface], time: float
) -> tuple[float, int, int, int, Link] | None:
    """Return the packet in a simple or an obsolete packet block, or ``None`` if no packet can be read.

    The result is the packet's time, position, captured size, size on the wire, and link type.
    """
    if not interfaces:
        return None
    if kind == SIMPLE_PACKET:
        (length,) = struct.unpack_from(order + "I", buffer, at + 8)
        interface, begin, captured = interfaces[0], at + 12, min(length, interfaces[0].snaplen or length)
    else:
        if size < 32:
            return None
        number, _, high, low, captured, length = struct.unpack_from(order + "HHIIII", buffer, at + 8)
        if number >= len(interfaces):
            return None
        interface, begin = interfaces[number], at + 28
        time = (high << 32 | low) / interface.unit + interface.offset
    if interface.link is None or begin + captured > at + size - 4:
        return None
    return time, begin, captured, length, interface.link


def _wrong(number: int, interfaces: list[_Interface], captured: int, room: int) -> str:
    if number >= len(interfaces):
        return f"a packet refers to interface {number}, but the section describes only {len(interfaces)}"
    return f"a packet of {captured} bytes in a block that can hold {room}"


def _mark(order: str) -> Mark:
    """Return a mark that recognizes packet blocks by their size, which is both the second and the last field."""

    def plausible(buffer: bytes, at: int) -> bool:
        size = int.from_bytes(buffer[at + 4 : at + 8], "little" if order == "<" else "big")
        last = buffer[at + size - 4 : at + size]
        return 32 <= size <= MAX_PACKET + 4096 and not size & 3 and last == buffer[at + 4 : at + 8]

    pattern = re.compile(re.escape(struct.pack(order + "I", PACKET)))
    return Mark("block", pattern, 0, 4, plausible, MAX_PACKET + 8192)


close_classes()
