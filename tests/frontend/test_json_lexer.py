"""Tokens: their kinds, their values and above all their places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source
from kwirec.frontend.json_lexer import Kind, Token, leading_comment, tokenize


def tokens(text: str) -> list[Token]:
    return list(tokenize(Source("x.json", text), Report(), []))


def findings(text: str) -> list[tuple[str, str]]:
    report = Report()
    list(tokenize(Source("x.json", text), report, []))
    return [(found.code.number, found.primary.span.text) for found in report.diagnostics]


def test_tokens_know_their_line_and_column() -> None:
    text = '{ "a": [1, true] // one\n  /* two\n */ ,\n\t-0x1F }'
    assert [(token.text, str(token.span).removeprefix("x.json:")) for token in tokens(text)] == [
        ("{", "1:1"),
        ('"a"', "1:3"),
        (":", "1:6"),
        ("[", "1:8"),
        ("1", "1:9"),
        (",", "1:10"),
        ("true", "1:12"),
        ("]", "1:16"),
        (",", "3:5"),
        ("-0x1F", "4:2"),
        ("}", "4:8"),
        ("", "4:9"),
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-7", -7),
        ("0x7fffffff", 0x7FFFFFFF),
        ("-0X10", -16),
        ("1.5", 1.5),
        ("-1e3", -1000.0),
        ("2E-2", 0.02),
        ("2E+2", 200.0),
        ("9" * 100, 10**100 - 1),
        ("0x" + "f" * 99, 16**99 - 1),
        ("1e-" + "9" * 9, 0.0),
    ],
)
def test_numbers(text: str, value: float) -> None:
    [number, _] = tokens(text)
    assert (number.kind, number.value, type(number.value)) == (Kind.NUMBER, value, type(value))


@pytest.mark.parametrize(
    "text",
    [
        *("007", "1.", "0..2", "1e", "0x", "5a", "--1", "+1", "٣", "NaN"),
        *("9" * 101, "9" * 5000, "0x" + "f" * 100, "1e-" + "9" * 10),
    ],
)
def test_what_is_no_number_is_one_word(text: str) -> None:
    assert [(token.kind, token.text) for token in tokens(text)] == [(Kind.WORD, text), (Kind.END, "")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\" \\ \/ \b\f\n\r\t"', '" \\ / \b\f\n\r\t'),
        (r'"\u00e9\uD83D\uDE00"', "é😀"),
        (r'"\ud7ff\ue000\uffff"', "\ud7ff\ue000\uffff"),
        (r'"\ud800\udc00\udbff\udfff"', "\U00010000\U0010ffff"),
        ('"// no comment /* either */"', "// no comment /* either */"),
        ('"a\tb"', "a\tb"),
    ],
)
def test_strings(text: str, value: str) -> None:
    [string, _] = tokens(text)
    assert (string.kind, string.value) == (Kind.STRING, value)
    assert findings(text) == []


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (r'"ab\qc"', ("K004", r"\q")),
        (r'"\u12"', ("K004", r"\u")),
        *((rf'"x\{half}y"', ("K004", rf"\{half}")) for half in ("ud800", "udbff", "udc00", "udfff")),
        ('"open, 1\n2', ("K003", '"open, 1')),
        ('"open\r\n2', ("K003", '"open')),
        ('"open\\\n"', ("K003", '"open\\')),
        ("1 /* open", ("K003", "/*")),
    ],
)
def test_what_is_wrong_is_pointed_at(text: str, finding: tuple[str, str]) -> None:
    assert findings(text)[0] == finding


def test_text_goes_on_behind_an_open_string() -> None:
    assert [token.text for token in tokens('"open\n, 2')] == ['"open', ",", "2", ""]


@given(st.text(alphabet=st.sampled_from("{}[]:,\"\\/*\n\r\t -0159xeE.+u truefalsnd'é漢\u2028")))
def test_every_character_is_in_one_token_or_may_be_skipped(text: str) -> None:
    """Tokens come in order, carry the text of their place, and leave out only white space and comments."""
    position = 0
    for token in tokens(text):
        assert token.span.start >= position
        skipped = text[position : token.span.start]
        assert token.text == token.span.text or (token.kind, token.text) == (Kind.END, "/*")
        assert leading_comment(skipped) == skipped.strip(" \t\r\n") or "/*" in skipped
        position = token.span.end
    assert position == len(text)


@pytest.mark.parametrize(
    ("text", "comment"),
    [
        ("// a\n//b\n{ // c\n}", "// a\n//b"),
        ("/* a\n b */ \n\n{}", "/* a\n b */"),
        ("{}", ""),
        ("", ""),
        ("/* open {", ""),
    ],
)
def test_leading_comment(text: str, comment: str) -> None:
    assert leading_comment(text) == comment
