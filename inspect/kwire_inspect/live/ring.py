"""Divides pcap data from a pipe into files. The sizes of the files and of their folder are limited. The stream that
reads the files removes them.
"""

from __future__ import annotations

import os
import struct
import time
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from kwire_inspect.capture.pcap import BELIEVED, HEADER, MAGICS, MODIFIED
from kwire_inspect.capture.pcapng import IFDROP, INTERFACE, SECTION, STATISTICS

FILE_SECONDS, FILE_BYTES = 1.0, 8 << 20
"""Maximum duration of a file in seconds, and maximum size in bytes."""


class NoCaptureError(Exception):
    """The data from the pipe is not pcap."""


class Ring:
    """A folder for at most ``most`` bytes of capture files. While a file is being written, its name starts with a
    dot.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self.folder = folder
        self._most = most
        self._numbers = count(1)

    @property
    def has_room(self) -> bool:
        """Whether the folder has room for another file."""
        used = 0
        for entry in os.scandir(self.folder):
            with suppress(FileNotFoundError):  # the reader has just removed the file
                used += entry.stat().st_size
        return used + FILE_BYTES <= self._most

    def name(self, interface: str) -> str:
        """Return a new file name. File names sort by time."""
        return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{next(self._numbers):06}-{quote(interface, safe='')}"


class Cutter:
    """Writes the files of one interface. If the folder is full, packets are dropped and counted."""

    def __init__(self, ring: Ring, interface: str) -> None:
        self.begun = False
        self._ring, self._interface = ring, interface
        self._head = self._rest = b""
        self._sizes = struct.Struct("")
        self._packet = 16  # size of a packet header in bytes
        self._file: BinaryIO | None = None
        self._name = ""
        self._due = 0.0  # time at which to finish the file, or to check for room again
        self._tells = 0.0  # earliest time of the next report of dropped packets
        self._written = 0
        self._by_kernel = self._here = self._told = 0  # numbers of dropped packets

    @property
    def dropped(self) -> int:
        """Number of packets known to have been dropped."""
        return self._by_kernel + self._here

    def dropped_by_kernel(self, packets: int) -> None:
        """Record the total number of packets that the kernel has dropped."""
        self._by_kernel = max(packets, self._by_kernel)

    def add(self, data: bytes) -> None:
        """Add data from the pipe. Raise ``NoCaptureError`` if the data is not pcap."""
        buffer = self._rest + data
        if not self.begun:
            if len(buffer) < HEADER:
                self._rest = buffer
                return
            buffer = self._begin(buffer)
        at, packets, end = 0, 0, len(buffer)
        while at + self._packet <= end:
            (size,) = self._sizes.unpack_from(buffer, at)
            if size > BELIEVED:
                raise NoCaptureError(f"a packet of {size} bytes: the program's output is damaged")
            if at + self._packet + size > end:
                break
            at += self._packet + size
            packets += 1
        self._rest = buffer[at:]
        if packets:
            self._write(buffer[:at], packets)

    def rotate(self) -> None:
        """Finish the file if it is old or large enough, so that it can be read."""
        now = time.monotonic()
        if now >= self._due or self._written >= FILE_BYTES:
            self._finish()
        if now >= self._tells:
            self._tell()
            self._tells = now + FILE_SECONDS

    def close(self) -> None:
        """Finish the last file, and discard an incomplete packet at the end of the data."""
        self._finish()
        self._tell()

    def _begin(self, buffer: bytes) -> bytes:
        if buffer[:4] not in MAGICS:
            raise NoCaptureError(f"the program does not write pcap: its output begins with {buffer[:4].hex(' ')}")
        order, magic = MAGICS[buffer[:4]]
        self._packet = 24 if magic == MODIFIED else 16
        self._sizes = struct.Struct(f"{order}8xI")
        self._head, self.begun = buffer[:HEADER], True
        return buffer[HEADER:]

    def _write(self, data: bytes, packets: int) -> None:
        if self._file is None and time.monotonic() >= self._due:
            self._open()
        if self._file is None:
            self._here += packets
            return
        self._file.write(data)
        self._written += len(data)

    def _open(self) -> None:
        self._due = time.monotonic() + FILE_SECONDS
        if self._ring.has_room:
            self._name = f"{self._ring.name(self._interface)}.pcap"
            self._file = (self._ring.folder / f".{self._name}").open("wb")
            self._file.write(self._head)
            self._written = HEADER

    def _finish(self) -> None:
        file, self._file, self._written = self._file, None, 0
        if file is not None:
            self._due = 0.0
            file.close()
            self._publish(self._name)

    def _tell(self) -> None:
        """Write the number of packets dropped since the last report to a pcapng file. The file is read like all other
        files of the folder.
        """
        if (dropped := self.dropped - self._told) <= 0:
            return
        name = f"{self._ring.name(self._interface)}-dropped.pcapng"
        (self._ring.folder / f".{name}").write_bytes(statistics(self._interface, dropped))
        self._told += dropped
        self._publish(name)

    def _publish(self, name: str) -> None:
        (self._ring.folder / f".{name}").rename(self._ring.folder / name)


def statistics(interface: str, dropped: int) -> bytes:
    """Return a pcapng file that contains no packets, only the number of dropped packets."""
    section = _block(SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    described = _block(INTERFACE, struct.pack("<HHI", 1, 0, 0) + _option(2, interface.encode(errors="replace")))
    micros = time.time_ns() // 1000
    told = struct.pack("<III", 0, micros >> 32, micros & 0xFFFFFFFF) + _option(IFDROP, struct.pack("<Q", dropped))
    return section + described + _block(STATISTICS, told)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4) + bytes(4)


def _block(kind: int, body: bytes) -> bytes:
    size = len(body) + 12
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size)
