"""Detects the types of input files: captures, log segments, request logs, server logs, metrics and tables.

``find`` searches files, folders and patterns. The result is an :class:`Inputs` object, which lists the paths of each
type, and the skipped files with reasons. The search does not need Spark, and reads at most 256 KB of each file. If a
folder contains no captures, logs or metrics, ``find`` looks for tables of an earlier run.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kwire_inspect.capture.pcap import MAGICS as PCAP
from kwire_inspect.capture.pcapng import MAGIC as PCAPNG
from kwire_inspect.options import OptionError, Options
from kwire_inspect.storage import (
    BETWEEN,
    STDIN,
    DamagedStreamError,
    MemberPlace,
    Window,
    is_archive,
    map_inputs,
    place,
    size_of,
)

if TYPE_CHECKING:
    from kwire_inspect.stored import StoredTable

KINDS = CAPTURE, LOG, REQUEST_LOG, SERVER_LOG, METRICS = "captures", "logs", "request_logs", "server_logs", "metrics"
"""Types of inputs. The field of :class:`Inputs` with the name of a type contains the paths of that type."""
PART = "part"
"""Type of a file in a data directory that contains no records, such as an index, or that Kafka is about to delete."""
DELETED = ".deleted"
"""Suffix that Kafka appends to a segment and its companion files a minute before it deletes them."""
ARCHIVE = "archive"
UNREADABLE = "unreadable"

MAX_NAMED = 5
"""Maximum number of inputs per type to name in messages."""
PROBE_BYTES = 1 << 18
"""Maximum number of decompressed bytes to examine when detecting a file's type."""

_BESIDE_SEGMENTS = re.compile(
    r"\d{20}(-\d+)?\.(index|timeindex|txnindex|snapshot)|partition\.metadata|quorum-state|meta\.properties"
    r"|(leader-epoch|recovery-point-offset|replication-offset|log-start-offset|cleaner-offset)-checkpoint"
)
_LOG_LINE = re.compile(
    rb"^\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^\n]{0,40}\b(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b[^\n]*kafka", re.M
)
_PROMETHEUS = re.compile(
    rb"^(?:# (?:HELP|TYPE) (?:kafka|jmx)_\w+ |(?:kafka|jmx)_\w+(?:\{[^\n]*\})? +[-+]?(?:\d|\.\d|NaN|Inf))", re.M
)
"""Pattern of any broker metric in Prometheus format. The metrics that kwire reads may appear much later in the
file."""
_BEANS = re.compile(
    rb'\s*(?:"?time"?[,=\t](?:[^\n]*?[,"]|.*?\n"?)kafka\.network:|[\[{].*?"(?:mbean|__name__)"\s*:\s*"kafka[._]network)',
    re.S,
)
"""Pattern of JmxTool output, and of JSON from Jolokia and the Prometheus API. The pattern does not match kwire's
reports, which may quote metric names."""
_REFUSED = re.compile(rb"with unsupported version|Exception while processing request from|InvalidRequestException")


@dataclass(frozen=True, slots=True)
class Inputs:
    """Paths by type. For a folder of segments, ``logs`` contains the folder itself, because the folder determines
    which of its files are read.

    ``skipped`` lists skipped paths with the reasons, except the :data:`PART` files of data directories.
    ``unreadable`` contains the skipped paths that could not be opened. ``size`` is the total size on disk in bytes.
    ``tables`` never occur together with other inputs. The origins of tables describe the inputs of the earlier run.
    """

    captures: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    request_logs: tuple[str, ...] = ()
    server_logs: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    unreadable: frozenset[str] = frozenset()
    size: int = field(default=0, compare=False)
    tables: tuple[StoredTable, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tables or any(getattr(self, kind) for kind in KINDS))

    @property
    def has_standard_input(self) -> bool:
        return any(STDIN in getattr(self, kind) for kind in KINDS)

    def __str__(self) -> str:
        if self.tables:
            return "; ".join(dict.fromkeys(table.origin.inputs or f"the table {table.path}" for table in self.tables))
        kinds = [
            (self.captures, "capture", "captures"),
            (self.logs, "data directory or segment", "data directories or segments"),
            (self.request_logs, "request log", "request logs"),
            (self.server_logs, "server log", "server logs"),
            (self.metrics, "metrics dump", "metrics dumps"),
        ]
        counts = [
            f"{len(paths)} {one if len(paths) == 1 else many} ({_names(paths)})"
            for paths, one, many in kinds
            if paths
        ]
        return ", ".join(counts) or "no inputs"


def _names(paths: Sequence[str]) -> str:
    """Return the base names of the first few files and folders, and the number of remaining names."""
    names = ["standard input" if path == STDIN else path.rstrip("/\\") or path for path in paths[:MAX_NAMED]]
    more = f" and {len(paths) - MAX_NAMED:,} more" if len(paths) > MAX_NAMED else ""
    return ", ".join(re.split(r"[/\\]", name)[-1] or name for name in names) + more


def find(paths: Iterable[str | Path]) -> Inputs:
    """Return the inputs found in ``paths``, which are files, folders or patterns.

    Raises :class:`~kwire_inspect.options.OptionError` if a path does not exist.
    """
    found = _Found()
    tables: list[StoredTable] = []
    for path in map(str, paths):
        files = Options({"path": path}).files()
        kinds = dict(zip(files, map_inputs(sniff, files), strict=True))
        if not any(kind in (*KINDS, ARCHIVE) for kind, _ in kinds.values()) and (stored := _stored(path)):
            tables += stored
            continue
        for file, told in kinds.items():
            found.add(path, file, *told)
    if tables and any(found.by_kind.values()):
        raise OptionError(f"{tables[0].path} is a table: specify either tables, or captures and logs")
    return Inputs(
        **{kind: tuple(found.by_kind[kind]) for kind in KINDS},
        skipped=(*found.skipped.items(),),
        unreadable=frozenset(found.unreadable),
        size=found.size,
        tables=(*tables,),
    )


class _Found:
    """Results of a search: the paths of each type, and the skipped paths with reasons."""

    def __init__(self) -> None:
        self.by_kind: defaultdict[str, dict[str, None]] = defaultdict(dict)  # dicts that serve as ordered sets
        self.skipped: dict[str, str] = {}
        self.unreadable: set[str] = set()
        self.size = 0
        self._folders: dict[str, bool] = {}

    def add(self, path: str, file: str, kind: str | None, reason: str) -> None:
        """Add a file that was found under the input ``path``."""
        if kind == ARCHIVE:
            self._add_members(file)
            return
        if kind == UNREADABLE:
            self.unreadable.add(file)
        if reason or kind is None:
            self.skipped[file] = reason
        else:
            self.size += _size(file)
            self.by_kind[kind][path if kind == LOG and self._is_folder(path) else file] = None

    def _is_folder(self, path: str) -> bool:
        if path not in self._folders:
            self._folders[path] = place(path).is_folder()
        return self._folders[path]

    def _add_members(self, file: str) -> None:
        """Add the members of an archive."""
        folder = f"{file}{BETWEEN}"
        members = place(folder)
        assert isinstance(members, MemberPlace)
        try:
            names, skipped = [*members.files()], members.skipped()
        except OSError as error:
            names, skipped = [], {file: error.strerror or str(error)}
        for member in names:
            kind, reason = sniff(member)
            if kind == ARCHIVE:
                kind, reason = None, "an archive inside an archive: unpack the outer archive"
            self.add(folder, member, kind, reason)
        self.skipped |= skipped
        self.unreadable |= skipped.keys()


def _size(file: str) -> int:
    try:
        return size_of(file)
    except OSError:
        return 0  # the file was deleted: its reader will report the error


def _stored(path: str) -> list[StoredTable]:
    from kwire_inspect.stored import stored_tables

    return stored_tables(*Options({"path": path}).paths())


def sniff(path: str) -> tuple[str | None, str]:
    """Return the type of a file, which may also be :data:`PART` or :data:`ARCHIVE`, and an empty reason.

    If the file is skipped, return ``None`` or :data:`UNREADABLE`, and the reason.
    """
    name = Path(path).name
    try:
        place(path).check()
        if _is_log(name):
            return LOG, ""
        kept = name.removesuffix(DELETED)
        if _BESIDE_SEGMENTS.fullmatch(kept) or _is_log(kept):
            return PART, ""
        head = _head(path)
    except (OSError, DamagedStreamError) as error:
        return UNREADABLE, getattr(error, "strerror", None) or str(error)
    if not head:
        return None, "empty file"
    if head.startswith((*PCAP, PCAPNG)):
        return CAPTURE, ""
    if is_archive(head):
        return ARCHIVE, ""
    if head.startswith(b"PAR1"):
        return None, "a Parquet file: to read a table that kwire wrote, specify its folder"
    if b"\0" in head[:4096]:
        return None, "unknown binary format: expected pcap, pcapng or a segment with Kafka's file name"
    if b"Completed request:" in head:
        return REQUEST_LOG, ""
    if _REFUSED.search(head):
        return SERVER_LOG, ""
    if _LOG_LINE.search(head):
        return (REQUEST_LOG if "request" in name.lower() else SERVER_LOG), ""
    if _PROMETHEUS.search(head) or _BEANS.match(head):
        return METRICS, ""
    return None, "no line looks like a broker log entry"


def _is_log(name: str) -> bool:
    """Return whether a file with this name contains records of a partition."""
    if not name.endswith((".log", ".checkpoint")):
        return False
    from kwire.logs.segment import FILE_NAME  # slow to import, and not used for other inputs

    return FILE_NAME.fullmatch(name) is not None


def _head(path: str) -> bytes:
    window = Window(path, peek=True)
    try:
        while len(window.buffer) < PROBE_BYTES and window.advance(0):
            pass
    except DamagedStreamError:
        if not window.buffer:
            raise
    finally:
        window.close()
    return window.buffer
