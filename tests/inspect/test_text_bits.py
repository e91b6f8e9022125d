"""Logs and dumps of metrics without any one of their bytes, and cut off at every byte: all that becomes of rows."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC
from itertools import groupby
from typing import Any

import pyarrow as pa
import pytest
from syrupy.assertion import SnapshotAssertion

from kwire_inspect.rows import Projection
from kwire_inspect.schemas import COUNTED
from kwire_inspect.storage import places
from kwire_inspect.text_logs import Split, metrics_batches, refusal_batches, request_batches
from kwire_kafka import PROTOCOL
from tests.support.small_cluster import BEAT, BEATEN, line, metrics, request_log, server_log

Rows = list[dict[str, Any]]
BEAN = "kafka.network:type=RequestMetrics,name=DeprecatedRequestsPerSec,request={},version={},clientSoftwareName=app"
FIRST, SECOND = BEAN.format("Fetch", 2), BEAN.format("Produce", 1) + ",clientSoftwareVersion=1.0"
SERIES = {"__name__": "kafka_deprecated_requests_total", "request": "Fetch", "clientSoftwareName": "app"}
_VALUES = re.compile(r"=(?!None)('[^']*'|[^,;]*)|line \d+")
_JSON = re.compile(r"invalid JSON: .*")
"""What is wrong is told in words of Python's."""
TEXTS = {
    "a line of a request log": line(BEAT, 4, BEATEN, 3),
    "a line of a request log of old": next(one for one in request_log().splitlines() if "TRACE" in one) + "\n",
    "entries of a server log": "".join(server_log().splitlines(keepends=True)[3:7]),
    "metrics for Prometheus": "".join(metrics().splitlines(keepends=True)[1:4]),
    "metrics of JmxTool": f'"time","{FIRST}:Count","{SECOND}:Count","{SECOND}:OneMinuteRate"\n1,7,5,2\n2,9,6,3\n',
    "metrics of JmxTool line by line": f'"time",1\n{FIRST}:Count,7\n{SECOND}:Count,5\n{SECOND}:MeanRate,2\n',
    "metrics of Jolokia": json.dumps(
        {"request": {"mbean": "kafka.network:*"}, "value": {FIRST: {"Count": 7, "MeanRate": 2}, SECOND: {"Count": 5}}}
    ),
    "metrics of Prometheus' API": json.dumps(
        {
            "data": [
                {"metric": SERIES | {"version": "2"}, "value": [1.5, "7"]},
                {"metric": SERIES | {"version": "3"}, "values": [[1.5, "4"], [2.5, "5"]]},
            ]
        }
    ),
}
"""Each with two of what may be several times in it."""


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, bytes], Rows]:
    """Reads the rows of a text that is in memory."""

    def rows(name: str, text: bytes) -> Rows:
        monkeypatch.setattr(places, "opened", lambda *_, **__: io.BufferedReader(io.BytesIO(text)))
        if name.startswith("metrics"):
            batches: Iterable[pa.RecordBatch] = metrics_batches("a", COUNTED, PROTOCOL)
        elif "request" in name:
            batches = request_batches(Split("a"), Projection("logged_exchanges"), UTC)
        else:
            batches = refusal_batches(Split("a"), Projection("refusals"), UTC)
        return [row for batch in batches for row in batch.to_pylist()]

    return rows


def told(rows: Rows, whole: Rows) -> str:
    """How rows differ from those of the whole text: problems, and columns with other values."""
    parts = []
    good = [row for row in rows if not row["problem"]]
    for number, row in enumerate(whole):
        if number >= len(good):
            parts.append(f"row {number} is missing")
            continue
        other = [
            f"{name}={good[number][name]!r}" for name in row if good[number][name] != row[name] and name != "position"
        ]
        parts += [f"row {number}: {', '.join(other)}"] if other else []
    parts += [f"{len(good) - len(whole)} rows more"] if len(good) > len(whole) else []
    problems = [(row["position"], _JSON.sub("invalid JSON", row["problem"])) for row in rows if row["problem"]]
    text = "; ".join([*parts, *(f"{position}: {reason}" for position, reason in problems)])
    return text.replace("tzinfo=<UTC>", "tzinfo=zoneinfo.ZoneInfo(key='UTC')")  # as pyarrow names it that has pytz


def runs(outcomes: Iterator[tuple[str, str]]) -> Iterator[str]:
    """One line for neighbours whose outcome is the same but for values: that of the first."""
    for _, group in groupby(outcomes, key=lambda one: _VALUES.sub("", one[1])):
        (first, what), *others = group
        yield f"{''.join([first, *(text for text, _ in others)])!r}: {what}"


def told_of_each(read: Callable[[str, bytes], Rows], name: str, damaged: Callable[[bytes, int], bytes]) -> str:
    """Return what is told if a text is damaged at each of its bytes, without those that change nothing."""
    text = TEXTS[name].encode()
    whole = read(name, text)
    outcomes = ((chr(text[at]), told(read(name, damaged(text, at)), whole)) for at in range(len(text)))
    return "\n".join(line for line in runs(outcomes) if not line.endswith(": "))


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_without_one_of_its_bytes(
    read: Callable[[str, bytes], Rows], name: str, snapshot: SnapshotAssertion
) -> None:
    """What is listed is told, or has another value, if one of these characters is missing."""
    whole = read(name, TEXTS[name].encode())
    assert whole
    assert not any(row["problem"] for row in whole)
    assert told_of_each(read, name, lambda text, at: text[:at] + text[at + 1 :]) == snapshot


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_cut_off_at_every_byte(
    read: Callable[[str, bytes], Rows], name: str, snapshot: SnapshotAssertion
) -> None:
    """What is listed is told if the text ends before one of these characters."""
    assert told_of_each(read, name, lambda text, at: text[:at]) == snapshot
