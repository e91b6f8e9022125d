"""Filters on hostile texts: what is written is read back as it was, and no comment ends early."""

from __future__ import annotations

import ast
import base64
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwirec.outputs.filters import FILTERS
from tests.outputs.conftest import Run
from tests.support.effort import examples

HOSTILE = ['"', "'", "\\", "\n", "\r", "\u2028", "\x00", "\x1b[2J", "\u202e", "*/", "/*", "-->", "--!>", "--", "]]"]
HOSTILE += [
    "--[[",
    "</script>",
    "<!--",
    "\\u000a",
    "\\u002a/",
    "`",
    "|",
    "{{ 1 }}",
    "{% raw %}",
    "#{",
    "${x}",
    "é",
    "😀",
]
TEXTS = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=3), max_size=6).map("".join)
BACKSLASH, QUOTE = "\\092", "\\034"
NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1) | st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.none() | st.booleans() | NUMBERS | TEXTS | st.binary(max_size=20)


def go_value(text: str) -> object:
    """A literal of Go as its specification reads it."""
    if match := re.fullmatch(r'\[\]byte\("(.*)"\)', text):
        body = re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), match[1])
        assert '"' not in match[1].replace('\\"', "")
        return body.encode("latin-1")
    if text.startswith('"'):
        body = text[1:-1]
        assert re.fullmatch(r'(?:[ !#-\[\]-~]|\\["\\]|\\u[0-9a-f]{4}|\\U[0-9a-f]{8})*', body)
        return re.sub(r"\\(?:u(.{4})|U(.{8})|(.))", lambda m: m[3] or chr(int(m[1] or m[2], 16)), body)
    return {"nil": None, "true": True, "false": False}.get(
        text, ast.literal_eval(text) if text[-1].isdigit() else text
    )


def lua_value(text: str) -> object:
    """A literal of Lua as its manual reads it: texts are bytes."""
    if text.startswith('"'):
        assert re.fullmatch(r"(?:[ !#-\[\]-~]|\\[0-9]{3})*", text[1:-1])
        return b"".join(
            bytes([int(m[1])]) if m[1] else m[0].encode() for m in re.finditer(r"\\(\d{3})|.", text[1:-1])
        )
    if text.startswith("("):
        return int(text[1:].partition(" ")[0]) - 1
    return {"nil": None, "true": True, "false": False}.get(
        text, ast.literal_eval(text) if text[-1].isdigit() else text
    )


@examples(1)
@given(value=PLAIN)
def test_literals_are_read_back(value: Any) -> None:
    well_formed = value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
    assert ast.literal_eval(FILTERS["python_literal"](value)) == value
    written = FILTERS["json_literal"](value)
    assert json.loads(written) == (base64.b64encode(value).decode() if isinstance(value, bytes) else value)
    assert written.isascii()
    assert not re.search("</|<!|[\x00-\x1f]", written)
    if not isinstance(value, str) or well_formed == value:
        assert go_value(FILTERS["go_literal"](value)) == value
    expected = well_formed.encode() if isinstance(value, str) else value
    assert lua_value(FILTERS["lua_literal"](value)) == expected


@examples(1)
@given(text=TEXTS)
def test_comments_end_where_they_should(text: str) -> None:
    """Lines of comments all begin with the prefix, and blocks have no end but their own."""
    for prefix in ("// ", "# ", "-- ", "--- "):
        for line in FILTERS["comment"](text, prefix).splitlines():
            assert line.startswith(prefix.rstrip())
            assert line.isprintable()
            assert not line.endswith("\\")
            assert "\\u" not in line
    for start, end in (("/*", "*/"), ("/**", "*/"), ("<!--", "-->"), ("--[[", "]]"), ("{-", "-}"), ("(*", "*)")):
        block = FILTERS["block_comment"](text, start, end)
        assert block.startswith(f"{start} ")
        assert block.find(end, len(start)) == len(block) - len(end)
        assert start not in block[len(start) :]
        assert "\\u" not in block
    assert "--" not in FILTERS["block_comment"](text, "<!--", "-->")[4:-3]
    assert ast.get_docstring(ast.parse(FILTERS["docstring"](text))) is not None
    assert "\n" not in FILTERS["clean"](text)


@pytest.mark.parametrize(
    ("name", "cases"),
    {
        "snake": ("topic_id", "isr", "invalid_request", "v3_and_below", "topic_sha256sum"),
        "screaming": ("TOPIC_ID", "ISR", "INVALID_REQUEST", "V3_AND_BELOW", "TOPIC_SHA256SUM"),
        "kebab": ("topic-id", "isr", "invalid-request", "v3-and-below", "topic-sha256sum"),
        "camel": ("topicId", "isr", "invalidRequest", "v3AndBelow", "topicSha256sum"),
        "pascal": ("TopicId", "Isr", "InvalidRequest", "V3AndBelow", "TopicSha256sum"),
    }.items(),
)
def test_cases_of_names(name: str, cases: tuple[str, ...]) -> None:
    names = ("TopicId", "ISR", "INVALID_REQUEST", "V3AndBelow", "TopicSha256sum")
    assert tuple(map(FILTERS[name], names)) == cases


@pytest.mark.slow
def test_texts_of_definitions_stay_texts(run: Run) -> None:
    """A description that looks like a template is not one, and none ends its place."""
    about = '"*/ --> ]] \\" {{ schema }} {% include "a" %} \\\\'
    definition = {"type": "data", "name": "Clock", "about": about, "validVersions": "0", "flexibleVersions": "0+"}
    field = {"name": "Zone", "type": "string", "versions": "0+", "about": about}
    texts = {"Clock.json": json.dumps({**definition, "fields": [field]})}
    template = "\n".join(
        f"{{{{ schema.messages[0].description | {name} }}}}"
        for name in (
            "json_literal",
            "python_literal",
            "go_literal",
            "lua_literal",
            "comment",
            "block_comment",
            "markdown",
        )
    )
    assert run({"a.txt.jinja": template}, definitions=texts).files["a.txt"].splitlines() == [
        json.dumps(about),
        repr(about),
        json.dumps(about),
        f'"{about.replace(chr(92), BACKSLASH).replace(chr(34), QUOTE)}"',
        f"// {about}".rstrip("\\").rstrip(),
        f"/* {about.replace('*/', '* /')} */",
        '"&#42;/ --&#62; &#93;&#93; &#92;" &#123;&#123; schema &#125;&#125; &#123;% include "a" %&#125; &#92;&#92;',
    ]
