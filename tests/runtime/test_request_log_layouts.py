"""What surrounds a message: times, and JSON that it is a string in."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.request_log import MARK, RequestLogError, located, micros, parse_line

MESSAGE = (
    'Completed request:{"requestHeader":{"requestApiKey":3,"requestApiVersion":1,"clientId":"\\"ä\\\\"},'
    '"response":{}}'
)
TIME = datetime(2026, 11, 21, 16, 33, 41, 379_000, UTC)
AT = int(TIME.timestamp()) * 1_000_000 + 379_000
SECOND = AT - 379_000
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("[2026-11-21 16:33:41,379] DEBUG", AT),
        ("2026-11-21 16:33:41.379 TRACE [thread] kafka.request.logger -", AT),
        ("2026-11-21T16:33:41.379123456Z INFO", AT + 123),
        ("2026-11-21T17:33:41,379+0100 INFO", AT),
        ("2026-11-21T17:33:41,379 +01:00 INFO", AT),
        ("2026-11-21T11:33:41.379-05:00", AT),
        ("2026/11/21 16:33:41 DEBUG", SECOND),
        ("21 Nov 2026 16:33:41,379 DEBUG", AT),
        ("21/Nov/2026:16:33:41 +0000", SECOND),
        ("1795278821379 DEBUG", AT),
        ("1795278821 DEBUG", SECOND),
        ("1795278821.379 DEBUG", AT),
        ("2026-11-21T16:33:41.500000000Z stdout F [2026-11-21 17:33:41,379] DEBUG", AT + 121_000),
        ("[2026-11-21 17:33:40,111] 2026-11-21T16:33:41.379Z INFO", AT),
        ("[2026-11-21 17:33:40,111] 21/Nov/2026:16:33:41 +0000", SECOND),
        ("[2026-11-21 16:33:41,379] INFO since 2026-11-21 17:33:40,111:", AT),
        ("2026-11-22T16:32:41.379+23:59", AT),
        ("2026-11-21T16:33:41.379+24:00", AT),  # no zone is a day away
        ("2026-11-21T16:33:41.379-99:99", AT),
        ("[2026-13-21 16:33:41,379] [2026-11-21 16:33:41,379]", AT),
        ("DEBUG", None),
        ("16:33:41,379 DEBUG", None),
        ("Nov 21 16:33:41 host kafka[1234567890]: DEBUG", None),
        ("", None),
    ],
)
def test_times_in_front_of_a_message(prefix: str, expected: int | None) -> None:
    assert micros(prefix, UTC) == expected


def test_a_time_without_a_zone_is_in_that_of_the_broker() -> None:
    assert micros("[2026-11-21 17:33:41,379] DEBUG", BERLIN) == AT
    assert micros("[2026-07-21 17:33:41,379] DEBUG", BERLIN) == micros("2026-07-21T15:33:41.379Z", BERLIN)


@given(st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)), st.integers(-14 * 60, 14 * 60))
def test_any_time_is_read_as_it_was_written(time: datetime, minutes: int) -> None:
    zone = timezone(timedelta(minutes=minutes))
    time = time.replace(microsecond=time.microsecond // 1000 * 1000, tzinfo=zone)
    expected = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert micros(f"[{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03}] INFO", zone) == expected
    assert micros(time.isoformat(timespec="milliseconds"), UTC) == expected


def test_months_have_english_names() -> None:
    names = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
    for number, name in enumerate(names.split(), 1):
        for text in (name, name.upper()):
            assert micros(f"05/{text}/2026:16:33:41 +0000", UTC) == micros(f"2026-{number:02}-05T16:33:41Z", UTC)


@pytest.mark.parametrize(
    "name", ["@timestamp", "timestamp", "timeMillis", "time", "ts", "date", "asctime", "__REALTIME_TIMESTAMP"]
)
@pytest.mark.parametrize("level", ["level", "severity", "loglevel"])
def test_names_of_times_and_levels_in_json(name: str, level: str) -> None:
    line = parse_line(json.dumps({level: "TRACE", name: "1795278821379", "message": MESSAGE, "other": "text"}))
    assert line
    assert (line.time(UTC), line.prefix) == (AT, "1795278821379 TRACE")


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ({"@timestamp": "2026-11-21T16:33:41.379Z", "level": "DEBUG", "message": MESSAGE}, AT),
        ({"timestamp": 1795278821379, "severity": "DEBUG", "msg": MESSAGE}, AT),
        ({"ts": 1795278821.379, "message": MESSAGE}, AT),
        ({"instant": {"epochSecond": 1795278821, "nanoOfSecond": 379_000_000}, "message": MESSAGE}, AT),
        ({"instant": {"epochSecond": 1795278821, "nanoOfSecond": 5_000_000}, "message": MESSAGE}, SECOND + 5_000),
        ({"instant": {"epochSecond": 1795278821, "nanoOfSecond": 0}, "message": MESSAGE}, SECOND),
        ({"instant": {"epochSecond": 1795278821}, "message": MESSAGE}, SECOND),
        ({"instant": {"epochSecond": "1795278821"}, "message": MESSAGE}, None),
        ({"instant": 1795278821, "message": MESSAGE}, None),
        ({"log": f"[2026-11-21 16:33:41,379] DEBUG {MESSAGE}\n", "stream": "stdout"}, AT),
        ({"log": f"DEBUG {MESSAGE}\n", "stream": "stdout", "time": "2026-11-21T16:33:41.379Z"}, AT),
        ({"log": {"log": {"message": MESSAGE}}, "time": "2026-11-21T16:33:41.379Z"}, AT),
        ({"__REALTIME_TIMESTAMP": "1795278821379000", "MESSAGE": MESSAGE}, AT),
        ({"level": "DEBUG", "message": MESSAGE}, None),
    ],
)
@pytest.mark.parametrize("before", ["", "2026-11-21T16:33:41.379Z stdout F ", "kafka-1  | {} "])
def test_a_message_in_a_string_of_json(layout: dict[str, object], expected: int | None, before: str) -> None:
    for escaped in (True, False):
        line = parse_line(before + json.dumps(layout, ensure_ascii=escaped) + "\n")
        assert line is not None
        assert (line.header.api_key, line.header.client_id, line.response) == (3, '"ä\\', {})
        assert line.time(UTC) == (AT if "T16" in before else expected)


@pytest.mark.parametrize(
    ("depth", "before"),
    [
        (0, "1795278821 INFO DEBUG"),
        (3, "1795278821 INFO DEBUG"),
        (4, '{"before": ["x"], "log": DEBUG'),  # the time is too far outside
        (5, '{"before": ["x"], "log": {"before": ["x"], "log": DEBUG'),
        (6, None),
    ],
)
def test_collectors_nest_messages_a_few_levels_deep(depth: int, before: str | None) -> None:
    inner: dict[str, object] = {"other": {"a": 1}, "message": f"DEBUG {MESSAGE}"}
    for _ in range(depth):
        inner = {"before": ["x"], "log": inner}
    text = f"host {json.dumps(inner | {'time': 1795278821, 'level': 'INFO'})}\n"
    whole = located(text, MARK)
    assert whole is not None
    if before is not None:
        assert whole == (f"host {before}", f"DEBUG {MESSAGE}", len("DEBUG "))
    else:
        assert whole == (text[: text.index(MARK)].strip(), text, text.index(MARK))


@pytest.mark.parametrize(("braces", "found"), [(0, True), (2, True), (3, False)])
def test_a_few_braces_may_stand_in_front_of_the_json(braces: int, found: bool) -> None:
    text = "{a} " * braces + json.dumps({"message": MESSAGE})
    whole = located(text, MARK)
    assert whole is not None
    assert whole == (("{a} " * braces).strip(), MESSAGE, 0) if found else whole[1] == text
    assert located("nothing of this kind {}", MARK) is None
    assert located(f" at once {MARK}", MARK) == ("at once", f" at once {MARK}", 9)


@pytest.mark.parametrize(
    ("prefix", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59Z", None),
        ("2242-03-16T12:56:31Z", (1 << 33) - 1),
        ("2242-03-16T12:57:00Z", None),
        ("8589934591", (1 << 33) - 1),
        ("8589934592", None),
        ("[1795278821] x", 1795278821),
        ("x1795278821", None),
        ("1795278821-1", None),
        ("179527882", None),
    ],
)
def test_times_that_cannot_be_represented_everywhere_are_left_out(prefix: str, seconds: int | None) -> None:
    assert micros(prefix, UTC) == (None if seconds is None else seconds * 1_000_000)


def test_a_cut_line_of_json_is_an_error() -> None:
    whole = json.dumps({"level": "DEBUG", "message": MESSAGE})
    for end in range(whole.index("request:") + 8, len(whole) - 1):
        with pytest.raises(RequestLogError):
            parse_line(whole[:end])


@pytest.mark.timeout(10)
def test_braces_in_front_take_no_time() -> None:
    """A context of the logger, say. A megabyte of them takes a fraction of a second."""
    assert parse_line("{a=1, b={}} DEBUG " + MESSAGE) is not None
    assert parse_line("{" * 1_000_000 + MESSAGE) is not None
