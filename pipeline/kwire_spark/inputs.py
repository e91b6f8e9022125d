"""What is this file? Captures, log segments, request logs and server logs, told by what they hold.

Takes files, folders and patterns, as an operator collects them; gives :class:`Inputs`: the paths by the source that
reads them, and what was passed over, with the reason. No Spark: a few hundred kilobytes of each file are looked at.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from kwire_spark.options import Options

CAPTURE, LOG, REQUEST_LOG, SERVER_LOG, PART = "capture", "log", "request_log", "server_log", "part"
UNREADABLE = "unreadable"

PROBE_BYTES = 1 << 18
"""Bytes of a file that are looked at, after decompression."""
PCAP = (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x34\xcd\xb2\xa1")
PCAPNG = b"\n\r\r\n"
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"

_SEGMENT = re.compile(r"\d{20}(\.log|-\d{10}\.checkpoint)|bootstrap\.checkpoint")
_BESIDE_SEGMENTS = re.compile(
    r"\d{20}(-\d+)?\.(index|timeindex|txnindex|snapshot)|partition\.metadata|quorum-state|meta\.properties"
    r"|(leader-epoch|recovery-point-offset|replication-offset|log-start-offset|cleaner-offset)-checkpoint"
)
_LOGGED = re.compile(
    rb"^\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^\n]{0,40}\b(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b[^\n]*kafka", re.M
)
_REFUSED = re.compile(rb"with unsupported version|Exception while processing request from|InvalidRequestException")


@dataclass(frozen=True, slots=True)
class Inputs:
    """Paths by the source that reads them. ``logs`` has folders where folders were given, since the folder decides
    which of its files count. ``skipped`` are path and reason; what merely belongs to a data directory is not told.
    ``unreadable`` are those of them that nobody could look into, and that may have been anything.
    ``size`` is the bytes of the files, as they are on disk."""

    captures: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    request_logs: tuple[str, ...] = ()
    server_logs: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    unreadable: frozenset[str] = frozenset()
    size: int = field(default=0, compare=False)

    def __bool__(self) -> bool:
        return bool(self.captures or self.logs or self.request_logs or self.server_logs)

    def __str__(self) -> str:
        named = {"capture": self.captures, "data directory or segment": self.logs}
        named |= {"request log": self.request_logs, "server log": self.server_logs}
        told = [f"{len(paths)} {name}{'s' if len(paths) > 1 else ''}" for name, paths in named.items() if paths]
        return ", ".join(told).replace("directory or segments", "directories or segments") or "nothing to read"


def find(paths: Iterable[str | Path]) -> Inputs:
    """The input files below ``paths``; :class:`~kwire_spark.options.OptionError` for a path that is not there."""
    found: dict[str, dict[str, None]] = {kind: {} for kind in (CAPTURE, LOG, REQUEST_LOG, SERVER_LOG, PART)}
    skipped: dict[str, str] = {}
    unreadable: set[str] = set()
    size = 0
    for given in map(str, paths):
        for file in Options({"path": given}).files():
            kind, reason = sniff(file)
            if kind is None or kind == UNREADABLE:
                skipped[file] = reason
                unreadable |= {file} if kind else set()
            else:
                size += Path(file).stat().st_size
                found[kind][given if kind == LOG and Path(given).is_dir() else file] = None
    return Inputs(
        tuple(found[CAPTURE]),
        tuple(found[LOG]),
        tuple(found[REQUEST_LOG]),
        tuple(found[SERVER_LOG]),
        (*skipped.items(),),
        frozenset(unreadable),
        size,
    )


def sniff(path: str) -> tuple[str | None, str]:
    """The kind of a file, or ``None`` or :data:`UNREADABLE` and the reason why it is none."""
    name = Path(path).name
    if _SEGMENT.fullmatch(name):
        return LOG, ""
    if _BESIDE_SEGMENTS.fullmatch(name):
        return PART, ""
    try:
        if not Path(path).is_file():  # a pipe would never end
            return UNREADABLE, "the folder cannot be listed" if Path(path).is_dir() else "it is not a file"
        head = _head(path)
    except (OSError, zlib.error) as error:
        return UNREADABLE, getattr(error, "strerror", None) or str(error)
    if not head:
        return None, "it is empty"
    if head.startswith((*PCAP, PCAPNG)):
        return CAPTURE, ""
    return _text(name.lower(), head)


def _text(name: str, head: bytes) -> tuple[str | None, str]:
    if b"\0" in head[:4096]:
        return None, "neither a capture nor a segment nor a text"
    if b"Completed request:" in head:
        return REQUEST_LOG, ""
    if _REFUSED.search(head):
        return SERVER_LOG, ""
    if "request" in name and _LOGGED.search(head):
        return REQUEST_LOG, ""
    if "server" in name or _LOGGED.search(head):
        return (SERVER_LOG, "") if _LOGGED.search(head) else (None, "no line looks like one of a broker's log")
    return None, "no line looks like one of a broker's log"


def _head(path: str) -> bytes:
    with Path(path).open("rb") as file:
        head = file.read(PROBE_BYTES)
    if head.startswith(GZIP):
        return zlib.decompressobj(wbits=31).decompress(head, PROBE_BYTES)
    if head.startswith(ZSTD):
        return _unzstd(path)
    return head


def _unzstd(path: str) -> bytes:
    import zstandard

    try:
        with Path(path).open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as plain:
            return plain.read(PROBE_BYTES)
    except zstandard.ZstdError as error:
        raise OSError(str(error)) from None
