"""The targets of an attack: everything that reads files of strangers, with seeds, and a check of one input.

A check reads a file and returns a word for the result. No input may raise: there are only diagnostics and rows. So a
check lets every exception through.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import cache
from pathlib import Path, PurePosixPath
from random import Random
from typing import Any

import pyarrow as pa
import zstandard

from kwire.logs import scan
from kwire_inspect.capture import read_pieces
from kwire_inspect.connections import frame_batches
from kwire_inspect.connections.batches import TABLES, Table
from kwire_inspect.rows import Projection
from kwire_inspect.schemas import RECORDS
from kwire_inspect.segments import Split as SegmentSplit
from kwire_inspect.segments import record_batches
from kwire_inspect.text_logs import Split, refusal_batches, request_batches
from kwirec.convert import krammar_files
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.reading import read_sources
from kwirec.diagnostics.render import FORMATS, render
from kwirec.diagnostics.source import Source
from kwirec.emitters.codecs import emit_module
from kwirec.emitters.modules import group_modules
from kwirec.frontend import parse
from kwirec.ir import resolve
from kwirec.lowering import lower
from kwirec.validation import validate
from tests.attack.hostile import mutate_json, mutate_lines, without_comments
from tests.fuzz.mutation import mutate
from tests.support.capture_files import ip_packet, packets, recorded, recordings, write_pcap, write_pcapng
from tests.support.wrapping import WRAPPINGS, fragments, write_frames

DATA = Path(__file__).parents[1] / "data"
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
UNION = Path(__file__).parents[2] / "message_defs" / "kafka"


@dataclass(frozen=True)
class Target:
    """One kind of file. ``check`` gets the path of an input, ``mutate`` a seed, another one and the dice.

    ``expected`` are the outcomes that a run of some thousand inputs reaches, ``memory`` and ``seconds`` the limits of
    one input, and ``share`` how many of a thousand inputs are of this kind.
    """

    name: str
    seeds: Callable[[Path], Sequence[bytes]]
    mutate: Callable[[bytes, bytes, Random], bytes]
    check: Callable[[Path], str]
    expected: frozenset[str]
    share: int
    suffix: str = ""
    memory: int = 192 << 20
    seconds: float = 5


def check_definitions(path: Path) -> str:
    """From text to compiled Python, or to diagnostics in every format."""
    report = Report()
    sources = [Source(path.as_posix(), path.read_bytes().decode("utf-8", "replace"))]
    return _compiled(sources, report)


def check_archive(path: Path) -> str:
    report = Report()
    sources = read_sources([path], report)
    return _compiled(sources[:8], report)


def _compiled(sources: Sequence[Source], report: Report) -> str:
    schema = resolve([parse(source, report) for source in sources], report)
    if not report.has_errors():
        validate(schema, report)
    for format in FORMATS:
        render(report.diagnostics, format)
    if report.has_errors():
        return "refused"
    layouts = lower(schema)
    for group in group_modules(schema):
        emitted = emit_module(group, layouts.halves)
        compile(emitted.text, str(emitted.path), "exec")
    return "compiled"


def check_capture(path: Path) -> str:
    found = Counted()
    tables: tuple[Table, ...] = ("frames", "exchanges")
    for table in tables:
        found.add(frame_batches(read_pieces([str(path)]), TABLES[table], table=table))
    return found.outcome()


def check_segment(path: Path) -> str:
    size = path.stat().st_size
    found = Counted()
    found.add(record_batches((SegmentSplit(str(path), 0, size, size),), RECORDS))
    return found.outcome()


def check_lines(path: Path) -> str:
    """A log is read as a request log and as a server log, whichever it is."""
    found = Counted()
    found.add(request_batches(Split(str(path)), Projection("logged_exchanges"), UTC))
    found.add(refusal_batches(Split(str(path)), Projection("refusals"), UTC))
    return found.outcome()


class Counted:
    """Rows that could be read, and rows that say why not."""

    def __init__(self) -> None:
        self.rows = self.corrupt = 0

    def add(self, batches: Any) -> None:
        for batch in batches:
            assert isinstance(batch, pa.RecordBatch)
            batch.validate(full=True)
            corrupt = batch.num_rows - batch.column("problem").null_count
            self.corrupt += corrupt
            self.rows += batch.num_rows - corrupt

    def outcome(self) -> str:
        names = {(True, True): "rows and errors", (True, False): "rows", (False, True): "errors"}
        return names.get((self.rows > 0, self.corrupt > 0), "nothing")


def definition_seeds(folder: Path) -> Sequence[bytes]:
    """Bundles of one message, or of a request with its response, one definition a line."""
    texts = [path.read_text("utf-8") for root in (DATA / "clockwork", UNION) for path in sorted(root.rglob("*.json"))]
    by_api: dict[object, list[str]] = {}
    for number, text in enumerate(texts):
        document = without_comments(text)
        if isinstance(document, dict) and "validVersions" in document:
            by_api.setdefault(document.get("apiKey", f"none {number}"), []).append(json.dumps(document))
    return [data for lines in by_api.values() if len(data := "\n".join(lines).encode()) < 4000]


def krammar_seeds(folder: Path) -> Sequence[bytes]:
    """Files in the indentation notation: a request with its response, or something else."""
    report = Report()
    documents = [parse(source, report) for source in read_sources([DATA / "clockwork", UNION], report)]
    definitions = [(PurePosixPath(), one) for document in documents for one in document.definitions]
    texts = [text.encode() for text in krammar_files(definitions, report).values()]
    return [(DATA / "krammar" / "Clock.krm").read_bytes(), *(text for text in texts if len(text) < 3000)]


def archive_seeds(folder: Path) -> Sequence[bytes]:
    return [archived(text.split(b"\n"), method) for text in definition_seeds(folder)[::8] for method in METHODS]


def archived(texts: Sequence[bytes], method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for index, text in enumerate(texts):
            archive.writestr(f"common/message/Message{index}.json", text)
    return buffer.getvalue()


def mutate_archive(data: bytes, other: bytes, random: Random) -> bytes:
    """A broken archive, or a whole one of broken definitions."""
    if random.random() < 0.6:
        return mutate(data, other, random)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        texts = b"\n".join(archive.read(name) for name in archive.namelist())
    return archived(mutate_json(texts, texts, random).split(b"\n"), random.choice(METHODS))


def capture_seeds(folder: Path) -> Sequence[bytes]:
    found = []
    for name in recordings():
        for number, conversation in enumerate(recorded(name)[:3]):
            whole = list(packets(conversation))[:14]
            path = (write_pcap, write_pcapng)[number % 2](folder / "seed", whole)
            found.append(path.read_bytes())
    whole = packets(recorded(recordings()[0])[0])[:8]
    for wrap in WRAPPINGS.values():
        frames = ((one.time, wrap(part)) for one in whole for part in fragments(ip_packet(one), 160))
        found.append(write_frames(folder / "seed", frames).read_bytes())
    found += [gzip.compress(data, mtime=0) for data in found[::5]]
    found += [zstandard.compress(data) for data in found[::5]]
    return [data for data in found if len(data) < 20_000]


def segment_seeds(folder: Path) -> Sequence[bytes]:
    found = []
    for release in ("3.9.1", "4.1.1", "4.1.1-groups", "4.1.1-running"):
        for file in scan(DATA / "logs" / release):
            data = file.path.read_bytes()
            for start in _batch_starts(data)[:40:5]:
                found.append(data[start : start + 1500])
    return found


def _batch_starts(data: bytes) -> list[int]:
    starts, at = [], 0
    while at + 12 <= len(data):
        starts.append(at)
        at += 12 + max(0, struct.unpack_from(">i", data, at + 8)[0])
    return starts


def line_seeds(folder: Path) -> Sequence[bytes]:
    found = []
    for path in sorted([*(DATA / "request_logs").glob("*.gz"), *(DATA / "server_logs").glob("*.gz")]):
        lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
        found += [b"".join(lines[at : at + 4]) for at in range(0, len(lines), max(4, len(lines) // 12))]
    lines = [json.dumps({"log": text.decode("utf-8", "replace"), "stream": "stdout"}).encode() for text in found[:20]]
    return [text[:8000] for text in found + lines]


@cache
def targets() -> tuple[Target, ...]:
    """All of them; the shares add up to a thousand."""
    return (
        Target(
            "definitions",
            definition_seeds,
            mutate_json,
            check_definitions,
            frozenset({"refused", "compiled"}),
            150,
            ".jsonl",
        ),
        Target(
            "krammar",
            krammar_seeds,
            mutate,
            check_definitions,
            frozenset({"refused", "compiled"}),
            100,
            ".krm",
        ),
        Target(
            "archives", archive_seeds, mutate_archive, check_archive, frozenset({"refused", "compiled"}), 100, ".zip"
        ),
        Target(
            "captures", capture_seeds, mutate, check_capture, frozenset({"rows", "rows and errors", "errors"}), 200
        ),
        Target(
            "segments", segment_seeds, mutate, check_segment, frozenset({"rows", "rows and errors", "errors"}), 200
        ),
        Target("lines", line_seeds, mutate_lines, check_lines, frozenset({"rows", "rows and errors", "errors"}), 250),
    )
