"""JSON of records: the reader accepts what Python's own does, within bounds, and secrets are hidden."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import DecodeError
from kwire.logs.json_text import MAX_DEPTH, JsonText, read_json, redacted_json

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)
PIECES = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", '"', '"a"', "1", "-", "0", ".5", "e9", "true", "null", " ", "\\", "é"]
)


def nothing(name: str) -> Any:
    raise ValueError(name)


def accepted(data: bytes) -> bool:
    try:
        list(read_json(data))
    except DecodeError:
        return False
    return True


@pytest.mark.slow
@given(VALUES, st.sampled_from([None, 2]), st.booleans())
def test_every_value_is_read_where_it_is(value: object, indent: int | None, ascii_only: bool) -> None:
    data = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "replace")
    nodes = list(read_json(data))
    scalars = [json.loads(data[node.content : node.end]) for node in nodes if node.kind not in ("object", "array")]
    assert scalars == list(flat(json.loads(data)))
    assert not any(node.secret for node in nodes)
    assert JsonText(data).value == json.loads(data)


def flat(value: Any) -> Any:
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from flat(each)
    else:
        yield value


@given(st.lists(PIECES, max_size=12).map("".join))
def test_what_python_refuses_is_an_error_and_nothing_else_is(text: str) -> None:
    try:
        json.loads(text, parse_constant=nothing)
    except ValueError:
        assert not accepted(text.encode())
    else:
        assert accepted(text.encode())


@given(st.binary())
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    accepted(data)


@pytest.mark.parametrize(
    ("data", "offset", "reason"),
    [
        (b"", 0, "not JSON, which ends here: expected a value"),
        (b"\xff", 0, "not UTF-8"),
        (b"[1,]", 3, "not JSON: expected a value"),
        (b'{"a" 1}', 5, "not JSON: expected a colon"),
        (b"{a:1}", 1, "not JSON: expected a name in quotes"),
        (b"[1 2]", 3, "not JSON: expected a comma or ]"),
        (b'{"a":1', 6, "not JSON, which ends here: expected a comma or }"),
        (b"1 2", 2, "not JSON: text after the JSON value"),
        (b"NaN", 0, "not JSON: expected a value"),
        (b'"\n"', 0, "not JSON: expected a value"),
        (b"1" * 1001, 0, "not JSON: a number of more than 1000 digits"),
        (b"[" * 65 + b"]" * 65, 64, "not JSON: nested more than 64 levels deep"),
        (b"[" * 1_000_000, 64, "not JSON: nested more than 64 levels deep"),
    ],
)
def test_an_error_says_what_is_wrong_and_where(data: bytes, offset: int, reason: str) -> None:
    with pytest.raises(DecodeError) as error:
        list(read_json(data))
    assert (error.value.offset, error.value.reason) == (offset, reason)


def test_nesting_is_read_up_to_the_limit() -> None:
    assert accepted(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)


def test_numbers_and_names_have_limits() -> None:
    assert accepted(b"1" * 1000)
    assert not accepted(b"1" * 1001)
    for size in (300, 301):
        _, node = read_json(b'{"' + b"n" * size + b'": 1}')
        assert node.name == "n" * 300


def of_words(depth: int, name: str) -> bool:
    return name.startswith("pass")


@pytest.mark.parametrize(
    ("data", "clean"),
    [
        (b'{"a": 1, "password" : "x" }', b'{"a": 1, "password" : "[hidden]" }'),
        (b'{"pass":{"a":1,"b":[true,null,""]}}', b'{"pass":{"a":"[hidden]","b":["[hidden]",null,""]}}'),
        (b'{"pass\\u0077ord":"x","a":[{"pass":2}]}', b'{"pass\\u0077ord":"[hidden]","a":[{"pass":"[hidden]"}]}'),
        (b'{"pass":"first","pass":"second"}', b'{"pass":"[hidden]","pass":"[hidden]"}'),
        (b'["x"]', b'["[hidden]"]'),
        (b'"x"', b'"[hidden]"'),
        (b'{"a":[1,{"b":"x"}]}', b'{"a":[1,{"b":"x"}]}'),
    ],
)
def test_secrets_are_hidden_and_all_else_stays(data: bytes, clean: bytes) -> None:
    """What has no name may be anything."""
    assert redacted_json(data, of_words) == clean
    assert repr(JsonText(data, of_words)) == clean.decode()
    assert redacted_json(data, None) == data
    assert redacted_json(data[1:], None) == data[1:]  # which is no JSON


@pytest.mark.slow
@given(VALUES)
def test_nothing_is_left_of_what_is_all_secret(value: object) -> None:
    clean = json.loads(redacted_json(json.dumps(value).encode(), lambda depth, name: True))
    assert set(flat(clean)) <= {"[hidden]", None, ""}
    assert shape(clean) == shape(value)


def shape(value: Any) -> Any:
    if isinstance(value, list):
        return [shape(each) for each in value]
    return {name: shape(each) for name, each in value.items()} if isinstance(value, dict) else None
