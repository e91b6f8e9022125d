"""What the tests of this folder share: the facts of twenty Kafka releases, and merges of small definitions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kwirec.diagnostics.diagnostic import Report
from kwirec.merge import MergeOutcome, merge
from tests.support import kafka_releases

Definition = dict[str, Any]


def bundle(folder: Path, release: str, only: Iterable[str] | None = None) -> Path:
    """A Kafka release as a bundle in ``folder``, with all messages or those of ``only``."""
    lines = kafka_releases.texts()[release].splitlines()
    if only is not None:
        names = set(only)
        lines = [line for line in lines if json.loads(line)["schema"]["name"] in names]
    path = folder / f"{release}.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


class Union:
    """A union in a folder, and what merging into it said."""

    def __init__(self, root: Path) -> None:
        self.root = root / "union"
        self.sources = root / "sources"
        self.sources.mkdir()

    def merge(self, release: str, *definitions: Definition | Path) -> MergeOutcome:
        """Merge definitions as a release; they must be without findings."""
        if all(isinstance(one, Path) for one in definitions):
            paths = [one for one in definitions if isinstance(one, Path)]
        else:
            paths = [self.bundle(release, definitions)]
        report = Report()
        outcome = merge(self.root, release, paths, report)
        assert report.diagnostics == []
        return outcome

    def bundle(self, release: str, definitions: Iterable[Definition | Path]) -> Path:
        """A file with these definitions."""
        path = self.sources / f"{release}.jsonl"
        path.write_text("\n".join(map(json.dumps, definitions)) + "\n")
        return path

    def files(self) -> dict[str, str]:
        """Every file of the union and its text."""
        return {
            path.relative_to(self.root).as_posix(): path.read_text() for path in sorted(self.root.rglob("*.json"))
        }

    def definition(self, name: str) -> str:
        [path] = self.root.rglob(f"{name}.json")
        return path.read_text()

    def edit(self, name: str, old: str, new: str) -> None:
        [path] = self.root.rglob(f"{name}.json")
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))
