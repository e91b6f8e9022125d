"""The checked-in part of what Java said: for every message and version, and for every kind of batch, a few vectors.

``tests/data/conformance/RELEASE.zip`` holds ``messages.jsonl``, ``batches.jsonl`` and ``broken.jsonl``. The
same vectors give the same file, byte for byte.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from kwirec.merge.history import release_key
from tests.conformance.leniency import BrokenVector
from tests.conformance.messages import Vector
from tests.conformance.records import BatchVector

FOLDER = Path(__file__).resolve().parents[1] / "data" / "conformance"
RELEASES = tuple(sorted((path.stem for path in FOLDER.glob("*.zip")), key=release_key))
"""The releases that there are vectors of, the newest last."""
RANDOMS = 3
"""How many random instances of each message and version, and batches of each kind, are kept."""
BROKEN = 2
"""How many broken instances of each message and version are kept."""
EPOCH = (1980, 1, 1, 0, 0, 0)


def write(
    release: str, messages: Iterable[Vector], batches: Iterable[BatchVector], broken: Iterable[BrokenVector]
) -> Path:
    """Write the vectors of a release."""
    lines = {
        "messages.jsonl": [_line(vector) for vector in messages],
        "batches.jsonl": [_line(vector) for vector in batches],
        "broken.jsonl": [_line(vector) for vector in broken],
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{release}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in lines.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, "".join(content), compresslevel=9)
    return path


def keep_only(releases: Iterable[str]) -> None:
    """Remove the vectors of other releases."""
    for path in FOLDER.glob("*.zip"):
        if path.stem not in releases:
            path.unlink()


def messages(release: str) -> Iterator[Vector]:
    """The messages that Java made."""
    for fields in _lines(release, "messages.jsonl"):
        yield Vector(**fields)


def batches(release: str) -> Iterator[BatchVector]:
    """The batches that Java built."""
    for fields in _lines(release, "batches.jsonl"):
        yield BatchVector(**fields)


def broken(release: str) -> Iterator[BrokenVector]:
    """Broken messages, with what Java made of them."""
    for fields in _lines(release, "broken.jsonl"):
        yield BrokenVector(**fields)


def _line(vector: Vector | BatchVector | BrokenVector) -> str:
    fields = {name: value.hex() if isinstance(value, bytes) else value for name, value in vars(vector).items()}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"


def _lines(release: str, name: str) -> Iterator[dict[str, Any]]:
    with zipfile.ZipFile(FOLDER / f"{release}.zip") as archive:
        for line in archive.read(name).splitlines():
            fields = json.loads(line)
            for bytes_ in ("data", "written"):
                if fields.get(bytes_) is not None:
                    fields[bytes_] = bytes.fromhex(fields[bytes_])
            yield fields
