"""The definitions of all Kafka releases, each content parsed and resolved once in a process."""

from __future__ import annotations

from functools import cache

from hypothesis import settings

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source
from kwirec.frontend import parse
from kwirec.ir import Schema, resolve
from tools import facts
from tools.facts import ARCHIVE

__all__ = ["ARCHIVE", "distinct", "lines", "schema", "texts"]


@cache
def texts() -> dict[str, str]:
    """Release → its definitions, one a line; oldest release first."""
    return facts.stored()


@cache
def distinct() -> list[str]:
    """The first release with each content: most patch releases have that of their predecessor."""
    first: dict[str, str] = {}
    for release, text in texts().items():
        first.setdefault(text, release)
    return list(first.values())


def lines() -> list[str]:
    """The newest content of each line, such as 3.9; in ``make test-deep`` every content."""
    if settings.get_current_profile_name() == "deep":
        return distinct()
    return [*{release.rsplit(".", 1)[0]: release for release in distinct()}.values()]


@cache
def schema(release: str) -> Schema:
    """The schema of a release, which must be without findings."""
    first = next(one for one in distinct() if texts()[one] == texts()[release])
    if first != release:
        return schema(first)
    report = Report()
    found = resolve([parse(Source(f"{release}.jsonl", texts()[release]), report)], report)
    assert report.diagnostics == []
    return found
