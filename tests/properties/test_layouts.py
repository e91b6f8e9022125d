"""Layouts are the truth about the wire: what the emitted codecs write agrees with them."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from kwire.message import Message
from kwire_kafka import PROTOCOL
from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import load
from kwirec.ir import Schema
from kwirec.lowering import Layouts, lower
from kwirec.lowering.headers import header_versions
from tests.properties.values import Extreme, make

KAFKA = Path(__file__).parents[2] / "message_defs" / "kafka"


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load([KAFKA], Report()).schema


@pytest.fixture(scope="module")
def layouts(schema: Schema) -> Layouts:
    return lower(schema)


@pytest.mark.slow
def test_versions_with_equal_layouts_write_equal_bytes(layouts: Layouts) -> None:
    compared = 0
    for name, versions in layouts.by_message.items():
        cls = PROTOCOL[name]
        for one, other in combinations(versions, 2):
            if versions[one].fingerprint == versions[other].fingerprint:
                message: Message = make(cls, one, Extreme("max"))
                assert message.encode(one) == message.encode(other), f"{name} {one} and {other}"
                compared += 1
    assert compared > 300


@pytest.mark.parametrize(
    ("message", "first", "last"),
    [
        ("ProduceRequest", 3, 8),
        ("ProduceRequest", 9, 12),
        ("ProduceResponse", 5, 7),
        ("ProduceResponse", 10, 12),
        ("FetchRequest", 13, 14),
        ("FetchRequest", 15, 16),
        ("ListOffsetsRequest", 6, 9),
        ("ListOffsetsResponse", 6, 11),
    ],
)
def test_trap_47_new_meanings_of_the_same_bytes(layouts: Layouts, message: str, first: int, last: int) -> None:
    """Versions that changed nothing but what the bytes mean are one layout, so a comparison can say so."""
    versions = layouts.by_message[message]
    same = {versions[version].fingerprint for version in range(first, last + 1)}
    assert len(same) == 1
    assert not same & {versions[other].fingerprint for other in (first - 1, last + 1) if other in versions}


def test_every_message_and_version_of_the_definitions_has_a_codec(layouts: Layouts) -> None:
    for name, versions in layouts.by_message.items():
        assert list(PROTOCOL[name].VALID_VERSIONS) == list(versions)
        flexible = [version for version, layout in versions.items() if layout.is_flexible]
        assert list(PROTOCOL[name].FLEXIBLE_VERSIONS) == flexible


def test_header_versions_are_those_of_the_definitions(schema: Schema) -> None:
    for message in schema.messages:
        cls = PROTOCOL[message.name]
        expected = header_versions(message)
        for version in message.valid:
            if expected:
                assert cls.header_version(version) == expected[version]
            else:
                with pytest.raises(LookupError):
                    cls.header_version(version)
