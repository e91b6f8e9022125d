"""The enums of the union are those of Kafka's own classes, as two releases gave them: ``tests/data/enums.json``.

``make conformance`` asks the classes themselves.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import load
from tools import enums

RECORDED: dict[str, dict[str, dict[str, int]]] = json.loads(
    (Path(__file__).parents[1] / "data" / "enums.json").read_text()
)
JAVA = RECORDED["4.4.0"]


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    return {name: dict(values) for name, values in enums.numbers_in(load([enums.UNION], Report()).schema).items()}


@pytest.mark.parametrize("release", RECORDED)
def test_the_union_has_the_names_and_numbers_of_java(ours: dict[str, Any], release: str) -> None:
    assert list(enums.differences(ours, RECORDED[release], newest=release == "4.4.0")) == []
    assert len(RECORDED[release]) > 25


def test_every_enum_has_a_class_or_is_known_to_have_none(ours: dict[str, Any]) -> None:
    assert set(ours) - set(enums.SOURCES) == {"Acks", "ConsumerMemberType", "TopologyNodeType"}
    assert set(enums.SOURCES) == {*JAVA, *enums.REMOVED}


def test_what_differs_is_named(ours: dict[str, Any]) -> None:
    theirs = JAVA | {"ElectionType": {"PREFERRED": 0, "UNCLEAN": 2, "FORCED": 3}}
    ours = ours | {"IsolationLevel": ours["IsolationLevel"] | {"READ_ABORTED": 2}}
    assert list(enums.differences(ours, theirs, newest=True)) == [
        "ElectionType.UNCLEAN is 2 in Java, 1 here",
        "ElectionType.FORCED is 3 in Java, missing here",
        "IsolationLevel.READ_ABORTED is not in Java",
    ]
