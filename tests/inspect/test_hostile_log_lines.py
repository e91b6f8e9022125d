"""Lines of logs that somebody wrote to stop a report: long ones, numbers out of range, work that grows faster than
the line."""

from __future__ import annotations

import inspect
import re
import string
from collections import deque
from collections.abc import Iterator
from datetime import UTC
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
import zstandard

from kwire.request_log import layouts, parse_line, parsing
from kwire.request_log import line as lines
from kwire.request_log import text as texts
from kwire_inspect.rows import Projection
from kwire_inspect.schemas import EXCHANGES
from kwire_inspect.text_logs import Split, fast_path, hosts, refusal_batches, refusals, request_batches, requests
from kwire_inspect.text_logs.lines import LONGEST, MAX_PROBLEMS, Lines
from tests.attack.limits import limited
from tests.support.effort import peak

sre: Any = import_module("re._parser")
ops: Any = import_module("re._constants")

MODULES = (layouts, lines, parsing, texts, fast_path, hosts, refusals, requests)
LINE = 200_000
SECONDS = 2.0
"""For one line: a linear pattern takes milliseconds, a quadratic one minutes."""
WORKER = 200 << 20


def compiled(value: Any) -> list[re.Pattern[Any]]:
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple):
        return [pattern for inner in value for pattern in compiled(inner)]
    return [value] if isinstance(value, re.Pattern) else []


def uses(module: ModuleType) -> Iterator[tuple[str, re.Pattern[Any], str]]:
    """The patterns of a module, each with a method that the module calls on it or its group."""
    source = inspect.getsource(module)
    for name, value in vars(module).items():
        loop = re.search(rf"for (?:\w+, )?(\w+) in {name}(?:\.items\(\))?(?:[:)]| if)", source)
        alias = loop[1] if loop else name
        for method in sorted(set(re.findall(rf"\b{alias}\.(search|finditer|findall|match|fullmatch)\(", source))):
            yield from ((name, pattern, method) for pattern in compiled(value))


USES = [(f"{module.__name__}.{name}", *use) for module in MODULES for name, *use in uses(module)]


def test_all_patterns_are_found() -> None:
    found = {pattern for _, pattern, _ in USES}
    assert found == {one for module in MODULES for value in vars(module).values() for one in compiled(value)}


def samples(tree: Any, times: int) -> list[str]:
    """The parts of a text that a parsed pattern matches, but for assertions; what may repeat is there ``times``."""
    parts: list[str] = []
    before = None
    for op, value in tree:
        if op is ops.LITERAL and before is op:
            parts[-1] += chr(value)
        elif op is ops.LITERAL:
            parts.append(chr(value))
        elif op in (ops.NOT_LITERAL, ops.ANY):
            parts.append("x")
        elif op is ops.IN:
            parts.append(next(character for character in "x1 -" + string.printable if is_in(character, value)))
        elif op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            least, most, inner = value
            parts += samples(inner, times) * max(least, min(most, times))
        elif op is ops.SUBPATTERN:
            parts += samples(value[3], times)
        elif op is ops.BRANCH:
            parts += samples(value[1][0], times)
        before = op
    return parts


def is_in(character: str, members: Any) -> bool:
    shorthands = {ops.CATEGORY_DIGIT: r"\d", ops.CATEGORY_WORD: r"\w", ops.CATEGORY_SPACE: r"\s"}
    negated = members[0][0] is ops.NEGATE
    for op, value in members[negated:]:
        if (
            (op is ops.LITERAL and ord(character) == value)
            or (op is ops.RANGE and value[0] <= ord(character) <= value[1])
            or (op is ops.CATEGORY and value in shorthands and re.match(shorthands[value], character))
            or (op is ops.CATEGORY and value is ops.CATEGORY_NOT_SPACE and not character.isspace())
        ):
            return not negated
    return bool(negated)


def hostile(pattern: str | bytes) -> Iterator[str]:
    """Lines on which a pattern might do more than linear work: all beginnings of what it matches, repeated, or
    followed by many of what may repeat there."""
    for times in (0, 1, 2):
        parts = samples(sre.parse(pattern), times)
        for end in range(len(parts) + 1):
            begin = "".join(parts[:end])
            yield (begin or "x") * (LINE // max(len(begin), 1))
            for pad in ("x", "1", " ", " x", ".x", "(x", ",", begin[-1:], begin[-12:]):
                yield begin + pad * (LINE // max(len(pad), 1))


@pytest.mark.long
@pytest.mark.parametrize(("name", "pattern", "method"), USES)
def test_the_work_of_every_pattern_grows_with_the_line(name: str, pattern: re.Pattern[Any], method: str) -> None:
    for text in set(hostile(pattern.pattern)):
        subject: Any = text.encode() if isinstance(pattern.pattern, bytes) else text
        with limited(1 << 30, SECONDS):
            found = getattr(pattern, method)(subject)
            if method == "finditer":
                deque(found, 0)


@pytest.mark.parametrize("end", [" ", " (x", "(", ")", " (x)", ":1"])
def test_the_work_on_the_end_of_a_text_grows_with_it(end: str) -> None:
    header = "RequestHeader(apiKey=FETCH, apiVersion=1, clientId=me, correlationId=1) -- {},response:{}"
    times = "totalTime:1.0,requestQueueTime:1.0,sendTime:1.0,principal:User:me"
    with limited(WORKER, SECONDS):
        found = parse_line(f"Completed request:{header} from connection x;{times}{end * (LINE // len(end))}")
    assert found is not None
    assert (found.principal or "").startswith("User:me")


def request_line(key: object = 3, version: object = 12, number: object = 1, rest: str = "") -> str:
    header = f'"requestApiKey":{key},"requestApiVersion":{version},"correlationId":{number},"clientId":"me"'
    body = '"request":{},"response":{},"connection":"10.0.0.9:9092-10.0.0.1:5-0","totalTimeMs":1.5'
    return f'Completed request:{{"isForwarded":false,"requestHeader":{{{header}}},{body}{rest}}}'


def request_rows(folder: Path, *lines: str, longest: int = LONGEST) -> list[dict[str, Any]]:
    path = folder / "kafka-request.log"
    path.write_text("".join(f"{line}\n" for line in lines))
    columns = pa.schema([field for field in EXCHANGES if field.name not in ("request", "response", "reason")])
    batches = request_batches(Split(str(path)), Projection("logged_exchanges", columns), UTC, longest=longest)
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize(
    "line",
    [
        request_line(key=40000),
        request_line(version=40000),
        request_line(version=-40000),
        request_line(version="9" * 4000),
        request_line(number=1 << 31),
        request_line(rest=',"requestQueueTimeMs":1' + "0" * 400),
        request_line(rest=',"requestQueueTimeMs":-1e300'),
        request_line(rest=',"response":' + '{"a":' * 20_000 + "1" + "}" * 20_000),
        "Completed request:RequestHeader(apiKey=FETCH, apiVersion=40000, clientId=me, correlationId=1) -- {}"
        ",response:{} from connection 10.0.0.9:9092-10.0.0.1:5-0;totalTime:1.0,sendTime:1.0",
    ],
    ids=lambda line: line[:200],
)
def test_a_number_out_of_range_makes_one_bad_row(tmp_path: Path, line: str) -> None:
    good = f"[2026-11-21 16:33:41,379] DEBUG {request_line()}"
    before, bad, after = request_rows(tmp_path, good, f"[2026-11-21 16:33:41,379] DEBUG {line}", good)
    assert (before["version"], after["version"]) == (12, 12)
    assert bad["problem"]


@pytest.mark.parametrize(
    "time",
    [
        "[0001-01-01 00:00:00,000 +14:00]",
        "[9999-12-31 23:59:59,999 -12:00]",
        "[0001-01-01 00:00:00,000]",
        "[9999-12-31 23:59:59,999]",
        "[2026-13-21 16:33:41,379]",
        "9999999999.5",
        '{"instant":{"epochSecond":9999999999,"nanoOfSecond":"x"},"message":"%s"}',
        '{"instant":{"epochSecond":1700000000,"nanoOfSecond":[]},"message":"%s"}',
        '{"instant":{"epochSecond":-1,"nanoOfSecond":1},"message":"%s"}',
    ],
)
def test_a_time_out_of_range_is_none(tmp_path: Path, time: str) -> None:
    line = request_line()
    text = time.replace("%s", line.replace('"', '\\"')) if "%s" in time else f"{time} DEBUG {line}"
    (row,) = request_rows(tmp_path, text)
    assert (row["version"], row["problem"]) == (12, None)
    assert row["time"] is None or row["time"].year == 2023


def test_a_line_with_many_beginnings_is_read_twice_at_most(tmp_path: Path) -> None:
    with limited(WORKER, 5 * SECONDS):
        rows = request_rows(tmp_path, "Completed request:{" * 100_000 + request_line())
    assert [row["version"] for row in rows] == [None, 12]
    assert rows[0]["problem"]


def test_codes_at_any_depth_are_found_in_one_pass() -> None:
    deep = '{"responses":[' * 400 + ",".join(['{"errorCode":3}'] * 100_000) + "]}" * 400
    line = parse_line(request_line(rest=f',"response":{deep}'))
    assert line is not None
    with limited(WORKER, SECONDS):
        assert line.error_codes == [3]


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_that_is_too_long_is_a_row_that_names_the_option(tmp_path: Path, packed: bool) -> None:
    """30 MB of one line: neither the line nor what it would decode to is ever in memory."""
    path = tmp_path / "kafka-request.log"
    long = request_line(rest=',"more":[' + "[]," * 10_000_000 + "[]]")
    data = f"{long}\n{request_line()}\n".encode()
    path.write_bytes(zstandard.compress(data) if packed else data)
    projection = Projection("logged_exchanges")
    list(request_batches(Split(str(path), 0, 1), projection, UTC, longest=10))  # what is imported on first use
    batches: list[pa.RecordBatch] = []
    assert peak(lambda: batches.extend(request_batches(Split(str(path)), projection, UTC))) < 24 << 20
    good, bad = pa.Table.from_batches(batches).to_pylist()
    assert good["version"] == 12
    assert bad["position"] == 0
    assert "maxLine" in bad["problem"]


def test_of_many_long_lines_some_are_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwire_inspect.text_logs.lines.CHUNK", 16)
    path = tmp_path / "server.log"
    path.write_bytes((b"x" * 20 + b"\n") * (MAX_PROBLEMS + 500))
    with Lines(str(path), longest=10) as lines:
        assert not [*lines]
    assert len(lines.problems) == MAX_PROBLEMS


@pytest.mark.long
def test_the_longest_lines_that_are_read_stay_within_the_budget_of_a_worker(tmp_path: Path) -> None:
    """Whatever they are full of, and as strings that differ in each line."""
    list(request_rows(tmp_path, request_line()))
    fillings = ("[],", "{},", "1,", '"\U0001f600",', '{"a":[[]]},')
    for filling in fillings:
        with limited(WORKER, 30):
            request_rows(
                tmp_path, request_line(rest=f',"more":[{filling * (LONGEST // len(filling.encode()) - 99)}1]')
            )
    names = [str(number) * (LONGEST // 8) for number in range(100, 150)]
    with limited(WORKER, 60):
        for name in names:
            connection, principal = f',"connection":"{name}"', f',"principal":"User:{name}"'
            request_rows(tmp_path, request_line(rest=connection + principal))


def test_a_refusal_among_hostile_lines_is_found(tmp_path: Path) -> None:
    entry = (
        "[2026-11-21 18:22:25,415] ERROR Closing socket for 10.0.0.9:9092-10.0.0.1:5-1-0 because of error\n"
        "x.UnsupportedVersionException: Received request for api with key 0 (Produce) and unsupported version 2\n"
    )
    listener = "Error getting request for apiKey: FETCH, apiVersion: 1, connectionId: x, listenerName: ListenerName("
    path = tmp_path / "server.log"
    path.write_text(f"Closing socket for x because of error {listener * 20_000}\n{entry}")
    with limited(WORKER, SECONDS):
        rows = [
            row
            for batch in refusal_batches(Split(str(path)), Projection("refusals"), UTC)
            for row in batch.to_pylist()
        ]
    assert rows[-1]["version"] == 2
