"""Every numbered fact of the wire format has a test that names its number."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
FACTS = TESTS.parent / "docs" / "kafka-wire.md"


def test_every_trap_has_a_test() -> None:
    """Tests that need brokers do not count: ``make test`` is to show it."""
    numbers = [int(number) for number in re.findall(r"^(\d+)\. ", FACTS.read_text(encoding="utf-8"), re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    tested = set()
    for path in TESTS.rglob("test_*.py"):
        if "e2e" not in path.parts:
            tested |= {int(number) for number in re.findall(r"^def test_trap_(\d+)_", path.read_text(), re.MULTILINE)}
    assert sorted(set(numbers) ^ tested) == []
