"""Compressed data and tars, as programs make them that kwire does not use itself."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable

import cramjam
import zstandard

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "LZ4": lambda data: bytes(cramjam.lz4.compress(data)),
}
"""By the names that messages use."""


def tar(*members: tuple[str, bytes]) -> bytes:
    """A tar of members with these names and contents, whatever the names are."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as packed:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            packed.addfile(member, io.BytesIO(data))
    return made.getvalue()
