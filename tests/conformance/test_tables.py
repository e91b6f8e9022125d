"""What the tables of a release's classes are compared with: with classes that say what a test wants."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.conformance import tables
from tests.conformance.jvm import Jvm
from tests.conformance.tally import Tally

NUMBERS = {
    ("clients", "ApiKeys"): {74: "LIST_CLIENT_METRICS_RESOURCES", 0: "PRODUCE"},
    ("group-coordinator", "CoordinatorRecordType"): {1: "OFFSET_COMMIT"},
    ("share-coordinator", "CoordinatorRecordType"): {},
    ("transaction-coordinator", "CoordinatorRecordType"): {},
    ("metadata", "MetadataRecordType"): {2: "TOPIC_RECORD"},
    ("storage", "MetadataRecordType"): {},
}


class Classes:
    """The classes of a release: ``changed`` in one of their tables."""

    def __init__(self, release: str, changed: dict[tuple[str, str], dict[int, str]]) -> None:
        self.release = release
        self.tables = NUMBERS | changed

    def headers(self) -> list[Any]:
        return []

    def errors(self) -> list[Any]:
        return []

    def numbers(self, module: str, name: str) -> dict[int, str]:
        return self.tables[module, name]


@pytest.mark.parametrize(
    ("release", "changed", "differences"),
    [
        ("9.1.0", {}, []),
        ("9.1.0", {("clients", "ApiKeys"): {999: "NEW"}}, ["API keys, 999: nothing is NEW in Java"]),
        (
            "9.1.0",
            {("group-coordinator", "CoordinatorRecordType"): {1: "GROUP_METADATA"}},
            ["record types of the log group, 1: OffsetCommitKey is GroupMetadataKey in Java"],
        ),
        ("4.0.2", {("group-coordinator", "CoordinatorRecordType"): {1: "GROUP_METADATA"}}, []),
    ],
)
def test_a_number_that_stands_for_something_else_is_a_difference(
    release: str,
    changed: dict[tuple[str, str], dict[int, str]],
    differences: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "_enums", lambda *_: None)  # they ask Java themselves
    tally = Tally()
    tables.check(cast(Jvm, Classes(release, changed)), tally)
    assert tally.differences == differences
