"""Small definitions with what is special in those of AutoMQ, LinkedIn, Redpanda and tansu."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.strangers.suite import Step, steps, table

STRANGERS = Path(__file__).parents[1] / "data" / "strangers"


def shown(found: list[Step], out: Path) -> str:
    return table(found).replace(str(out), "OUT").replace(str(STRANGERS), "STRANGERS")


@pytest.mark.slow
def test_every_command_takes_them_as_they_are(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    found = list(steps(STRANGERS, tmp_path))
    assert [step.name for step in found if step.failed] == []
    assert shown(found, tmp_path) == snapshot


def test_half_a_protocol_is_compared_converted_and_formatted_but_not_generated(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    """A request without a response has an api key that a connection cannot serve."""
    half = tmp_path / "half"
    half.mkdir()
    shutil.copy(STRANGERS / "redpanda" / "vault_beat_request.json", half)
    assert shown(list(steps(half, tmp_path)), tmp_path) == snapshot
