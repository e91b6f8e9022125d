"""Hostile compressed files and archives for ``tests.attack.worker_memory``: bombs, cut ones, archives in archives."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from struct import pack

import zstandard

from tests.attack.worker import LISTED
from tests.support.packing import COMPRESS, tar

MB, BLOCK = 1_000_000, 1 << 18
PCAP = pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
LINE = b"[2026-01-02 12:00:00,000] INFO Completed request:{} (kafka.request.logger)\n"
CAPTURE, LOG = "kafka_capture", "kafka_request_log"

Packed = tuple[str, str, Callable[[], bytes], str]
"""Name, source, content, and the member that is read."""


def empty_packets(size: int) -> bytes:
    """A capture of so many bytes, all of them headers of packets without any."""
    return PCAP + bytes(size)


def blocks(size: int) -> Iterator[bytes]:
    """Blocks of 256 kB of which all but 2 kB are zeros: what is read is at most 200 times the size of a file."""
    noise = Random(1)
    for _ in range(size // BLOCK):
        yield noise.randbytes(2048).replace(b"\n", b" ") + bytes(BLOCK - 2048)


def large_packets(size: int) -> bytes:
    """A capture of packets of 256 kB."""
    head = pack("<IIII", 1, 0, BLOCK, BLOCK)
    return PCAP + b"".join(head + block for block in blocks(size))


def wide_window(size: int) -> bytes:
    """Such a capture, of which zstd keeps the last 128 MiB while it reads."""
    how = zstandard.ZstdCompressionParameters.from_level(3, window_log=27)
    return zstandard.ZstdCompressor(compression_params=how).compress(large_packets(size))


def no_lines(size: int) -> bytes:
    """A log of which one line takes all but the first 80 bytes."""
    return LINE + b"".join(blocks(size))


def zipped(*members: tuple[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members:
            packed.writestr(name, data)
    return made.getvalue()


def nested(pack: Callable[..., bytes], depth: int) -> bytes:
    """A capture in an archive in an archive, and so on."""
    inner = pack(("a.pcap", empty_packets(10 * MB)))
    for _ in range(depth):
        inner = pack(("in", inner))
    return inner


def claims(size: int) -> bytes:
    """A tar whose first member has a name of so many bytes, as its header says."""
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, size
    return header.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20)


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def one_in(pack: Callable[..., bytes], size: int) -> bytes:
    return pack(("a.pcap", large_packets(size)))


def many_in(pack: Callable[..., bytes], count: int) -> bytes:
    return pack(*((str(number), b"") for number in range(count)))


def then(step: Callable[[bytes], bytes], make: Callable[..., bytes], *given: object) -> Callable[[], bytes]:
    return lambda: step(make(*given))


def files() -> Iterator[Packed]:
    """All of them; each is made within seconds."""
    for name, squeezed in COMPRESS.items():
        yield f"{name}: 16 MB of empty packets", CAPTURE, then(squeezed, empty_packets, 16 * MB), ""
        yield f"{name}: 200 MB of large packets", CAPTURE, then(squeezed, large_packets, 200 * MB), ""
        yield f"{name}: a line of 200 MB", LOG, then(squeezed, no_lines, 200 * MB), ""
        yield f"{name}: cut in half", CAPTURE, then(half, then(squeezed, large_packets, 50 * MB)), ""
        yield f"{name}: a tar with 100 MB", CAPTURE, then(squeezed, one_in, tar, 100 * MB), "a.pcap"
        yield f"{name}: a tar of 70,000 members", LISTED, then(squeezed, many_in, tar, 70_000), ""
    yield "zip: 200 MB of large packets", CAPTURE, partial(one_in, zipped, 200 * MB), "a.pcap"
    yield "zip: a line of 200 MB", LOG, lambda: zipped(("a.log", no_lines(200 * MB))), "a.log"
    yield "zip: 140,000 members", LISTED, partial(many_in, zipped, 140_000), ""
    yield "tar: cut in half", CAPTURE, then(half, one_in, tar, 30 * MB), "a.pcap"
    yield "tar: a name of 2 GB", LISTED, partial(claims, 2_000_000_000), ""
    for name, packs in (("tar", tar), ("zip", zipped)):
        yield f"{name}: nine deep, listed", LISTED, partial(nested, packs, 9), ""
        yield f"{name}: nine deep, read", CAPTURE, partial(nested, packs, 9), "in"
