"""The definitions of twenty Kafka releases, each parsed and resolved once in a process."""

from __future__ import annotations

import zipfile
from functools import cache
from pathlib import Path

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source
from kwirec.frontend import parse
from kwirec.ir import Schema, resolve
from kwirec.merge.history import release_key

ARCHIVE = Path(__file__).parent / "data" / "kafka_releases.zip"


@cache
def texts() -> dict[str, str]:
    """Release → its definitions, one a line; oldest release first."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        found = {Path(name).stem: archive.read(name).decode() for name in archive.namelist()}
    return {release: found[release] for release in sorted(found, key=release_key)}


@cache
def schema(release: str) -> Schema:
    """The schema of a release, which must be without findings."""
    report = Report()
    found = resolve([parse(Source(f"{release}.jsonl", texts()[release]), report)], report)
    assert report.diagnostics == []
    return found
