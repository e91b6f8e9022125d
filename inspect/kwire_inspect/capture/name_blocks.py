"""Reads host names from the name resolution blocks of pcapng files [draft-ietf-opsawg-pcapng, 4.5].

Programs write name resolution blocks before the first packet or after the last packet, so only the beginning and the
end of a file are searched. Compressed files and standard input are searched only at the beginning.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from ipaddress import ip_address

from kwire_inspect.capture.pcapng import MAGIC, OLD_PACKET, ORDERS, PACKET, SIMPLE_PACKET, options
from kwire_inspect.storage import DamagedStreamError, Window, is_compressed, map_inputs, opened, size_of

NAMES = 4
PACKETS = (OLD_PACKET, SIMPLE_PACKET, PACKET)
NEAR = 1 << 20
"""Number of bytes to search at each end of a file."""
MAX_NAMES, MAX_LENGTH = 100_000, 255
"""Maximum number of names, and maximum length of a name in characters. DNS names have at most 253 characters."""
SIZES = {1: 4, 2: 16}
"""Address sizes in bytes, by record type: IPv4 and IPv6."""


def address_names(paths: Sequence[str]) -> dict[str, str]:
    """Return the first name found for each address. Skip unreadable files, which the packet readers report."""
    return _first(pair for names in map_inputs(_of_file, paths) for pair in names.items())


def _of_file(path: str) -> dict[str, str]:
    return _first(pair for order, block in _blocks(path) for pair in _names(order, block))


def _first(names: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the first name of each address, for at most ``MAX_NAMES`` addresses. Stop at the first read error."""
    found: dict[str, str] = {}
    with suppress(OSError, DamagedStreamError):
        for address, name in names:
            if len(found) < MAX_NAMES:
                found.setdefault(address, name)
    return found


def _blocks(path: str) -> Iterator[tuple[str, bytes]]:
    """Yield the byte order and the contents of each name resolution block."""
    with closing(Window(path, peek=True)) as window:
        while len(window.buffer) < 12 and window.advance(0):
            pass
        order = ORDERS.get(window.buffer[8:12])
        if order is None or not window.buffer.startswith(MAGIC):
            return
        while len(window.buffer) < NEAR and window.advance(0):
            pass
        head = window.buffer[:NEAR]
    at = 0
    while (size := _size(head, at, order)) and (kind := _number(head, at, order)) not in PACKETS:
        if kind == NAMES:
            yield order, head[at : at + size]
        at += size
    if size_of(path) <= at or is_compressed(path):  # the size of standard input is 0
        return
    with opened(path) as file:
        file.seek(max(size_of(path) - NEAR, 0))
        tail = file.read(NEAR)
    end = len(tail)
    while end >= 12 and (size := _number(tail, end - 4, order)) and size == _size(tail, end - size, order):
        kind = _number(tail, end - size, order)
        if kind in PACKETS:
            return
        if kind == NAMES:
            yield order, tail[end - size : end]
        end -= size


def _number(data: bytes, at: int, order: str) -> int:
    number: int = struct.unpack_from(order + "I", data, at)[0]
    return number


def _size(data: bytes, at: int, order: str) -> int:
    """Return the size in bytes of the block at ``at``, or 0 if the block is incomplete or invalid."""
    if not 0 <= at <= len(data) - 12:
        return 0
    size = _number(data, at + 4, order)
    whole = size >= 12 and not size & 3 and at + size <= len(data) and _number(data, at + size - 4, order) == size
    return size if whole else 0


def _names(order: str, block: bytes) -> Iterator[tuple[str, str]]:
    for kind, value in options(block[8:-4], order):
        length = SIZES.get(kind, 0)
        name = value[length:].split(b"\0", 1)[0]
        if length and name:
            yield str(ip_address(value[:length])), name.decode("utf-8", "replace")[:MAX_LENGTH]
