"""Stores the definitions of each Kafka release for the tests, without descriptions and comments.

``tests/data/kafka_releases.zip`` contains a bundle ``RELEASE.jsonl`` for each distinct set of definitions, named
after the first release that has these definitions. ``same.json`` maps each other release to this first release.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.reading import read_sources
from kwirec.frontend.json_parser import JsonArray, JsonObject, JsonScalar, JsonValue, parse_values
from kwirec.merge.history import release_key
from tools.maven import Jars

ARCHIVE = Path(__file__).resolve().parents[1] / "tests" / "data" / "kafka_releases.zip"
SAME = "same.json"
EPOCH = (1980, 1, 1, 0, 0, 0)
PROSE = frozenset({"about"})


def facts_of(jars: Jars) -> str:
    """Return all definitions of a release as JSON, one per line, sorted by module."""
    lines: list[str] = []
    report = Report()
    for module, jar in sorted(jars.modules.items()):
        for source in read_sources([jar], report, required=False):
            [value] = parse_values(source, report)
            file = source.name.rpartition("/")[2]
            lines.append(_line({"module": module, "file": file, "schema": _plain(value)}))
    if report.has_errors():
        raise ValueError(f"the definitions of {jars.release} have findings: {report.diagnostics[0].message}")
    return "".join(lines)


def _plain(value: JsonValue) -> object:
    match value:
        case JsonObject(members):
            return {member.key: _plain(member.value) for member in members if member.key not in PROSE}
        case JsonArray(items):
            return [_plain(item) for item in items]
        case JsonScalar(plain):
            return plain
    raise ValueError(f"a value at {value.span} is missing")


def _line(value: object) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


def stored(archive: Path = ARCHIVE) -> dict[str, str]:
    """Return the bundle of each release, oldest release first."""
    with zipfile.ZipFile(archive) as file:
        found = {Path(name).stem: file.read(name).decode() for name in file.namelist() if name != SAME}
        found |= {release: found[first] for release, first in json.loads(file.read(SAME)).items()}
    return {release: found[release] for release in sorted(found, key=release_key)}


def store(bundles: dict[str, str], archive: Path = ARCHIVE) -> None:
    """Write the bundles of all releases. The archive depends only on the bundles."""
    first: dict[str, str] = {}
    same: dict[str, str] = {}
    for release in sorted(bundles, key=release_key):
        if (earlier := first.setdefault(bundles[release], release)) != release:
            same[release] = earlier
    members = {f"{release}.jsonl": text for text, release in first.items()}
    with zipfile.ZipFile(archive, "w") as file:
        for name, text in {**members, SAME: json.dumps(same, indent=1) + "\n"}.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(entry, text, compresslevel=9)
