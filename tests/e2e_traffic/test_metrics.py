"""What a broker's metrics say, against its request log and a capture of the same requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e_traffic.metrics import record
from tests.inspect import test_metrics as stored


def test_fresh_dumps_say_what_the_stored_ones_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(tmp_path / "metrics")
    monkeypatch.setattr(stored, "SAMPLE", tmp_path / "metrics")
    for name in stored.DUMPS:
        stored.test_a_real_dump_says_what_the_request_log_calls_deprecated(name)
    stored.test_beside_a_capture_nobody_counts_twice(tmp_path)
