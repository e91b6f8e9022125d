"""Findings as text: which lines are shown, and that carets stand under what they mean.

The snapshots are the whole output; those cases that the eye judges badly also assert what must line up.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from kwirec.diagnostics import codes
from kwirec.diagnostics.columns import show
from kwirec.diagnostics.diagnostic import Report, Severity, Waiver, finding
from kwirec.diagnostics.render import render
from kwirec.diagnostics.render_text import folded, render_text, summary
from kwirec.diagnostics.source import Source, Span

FIELDS = """\
{ "type": "data", "name": "Clock", "validVersions": "0",
  "fields": [
    { "name": "Millis", "type": "int64", "tag": 0 },
    { "name": "Zone", "type": "string", "tag": 1 },
    { "name": "Drift", "type": "int32", "tag": 2 },
    { "name": "Leap", "type": "bool", "tag": 3 },
    { "name": "Source", "type": "string", "tag": 0 }
  ]
}
"""


def caret_columns(text: str, sign: str = "^") -> list[int]:
    """Columns of the first line of carets, behind the gutter."""
    line = next(line for line in text.splitlines() if sign in line.partition("|")[2])
    return [column for column, character in enumerate(line) if character == sign]


def test_one_label(finder: Any, snapshot: Any) -> None:
    found = finder(FIELDS).finding('"type": ⟨"bool"⟩', "no such type", helps=["did you mean `int8`?"])
    assert render_text([found]) == snapshot


def test_every_finding_is_recorded_once_also_two_of_one_code_at_one_place(finder: Any) -> None:
    report, span = Report(), finder(FIELDS).span('"Zone"')
    for message in ("too long", "too short", "too long"):
        report.add(codes.BAD_ESCAPE, message, span)
    assert [one.message for one in report.diagnostics] == ["too long", "too short"]


def test_without_words_only_carets(finder: Any, snapshot: Any) -> None:
    assert render_text([finder(FIELDS).finding('"Zone"')]) == snapshot


def test_lines_between_labels_are_elided_when_there_is_more_than_one(finder: Any, snapshot: Any) -> None:
    found = finder(FIELDS).finding(
        '"Source", "type": "string", "tag": ⟨0⟩',
        "taken already",
        ('"int64", "tag": ⟨0⟩', "first used here"),
        helps=["the next free tag is 4"],
    )
    assert render_text([found]) == snapshot


def test_a_single_line_between_labels_is_shown(finder: Any, snapshot: Any) -> None:
    text = render_text([finder(FIELDS).finding('"Drift"', "this", ('"Millis"', "and that"))])
    assert "..." not in text
    assert '4 |     { "name": "Zone"' in text
    assert text == snapshot


def test_neighbouring_lines(finder: Any, snapshot: Any) -> None:
    assert render_text([finder(FIELDS).finding('"Zone"', "this", ('"Millis"', "and that"))]) == snapshot


def test_three_labels_on_one_line_hang_below_it(finder: Any, snapshot: Any) -> None:
    found = finder(FIELDS).finding(
        '"Zone", ⟨"type"⟩', "second", ('"Zone"', "first"), ('"string", ⟨"tag": 1⟩', "third")
    )
    assert render_text([found]) == snapshot


def test_overlapping_labels_keep_their_words_apart(finder: Any, snapshot: Any) -> None:
    found = finder(FIELDS).finding(
        '"name": "Zone"', "the whole", ('"name": ⟨"Zone"⟩', "its end"), ('⟨"name"⟩: "Zone"', "its start")
    )
    assert render_text([found]) == snapshot


def test_two_labels_on_the_same_characters(finder: Any, snapshot: Any) -> None:
    assert render_text([finder(FIELDS).finding('"Zone"', "once", ('"Zone"', "twice"))]) == snapshot


def test_labels_in_other_files_get_their_own_block(finder: Any, snapshot: Any) -> None:
    other = finder("\n" * 120 + '{ "name": "Clock" }\n', name="defs/more/Watch.json")
    found = finder(FIELDS).finding(
        '"Clock"', "defined again here", elsewhere=[(other.span('"Clock"'), "first defined here")], notes=["a fact"]
    )
    assert render_text([found]) == snapshot


def test_notes_and_helps_may_have_several_lines(finder: Any, snapshot: Any) -> None:
    found = finder(FIELDS).finding('"Zone"', notes=["one\ntwo", "three"], helps=["do this:\n\n  that"])
    assert render_text([found]) == snapshot


def test_label_over_several_lines(finder: Any, snapshot: Any) -> None:
    found = finder(FIELDS).finding('"fields": ⟨[' + FIELDS.partition("[")[2].partition("]")[0] + "]⟩", "this list")
    assert render_text([found]) == snapshot


def test_label_that_begins_its_line_and_one_within_it(finder: Any, snapshot: Any) -> None:
    found = finder(FIELDS).finding(
        FIELDS.rstrip(), "all of it", ('"fields": ⟨[' + FIELDS.partition("[")[2].partition("]")[0] + "]⟩", "the list")
    )
    assert render_text([found]) == snapshot


def test_label_over_two_lines_with_another_inside(finder: Any, snapshot: Any) -> None:
    found = finder(FIELDS).finding('"tag": 1 },\n    { "name": "Drift"', "both", ('"Drift"', "this one"))
    assert render_text([found]) == snapshot


def test_tabs_and_wide_characters_line_up(finder: Any, snapshot: Any) -> None:
    text = render_text([finder('{\t"時計": "e\u0301te\u0301",\t"x" }').finding('"x"', "here", ('"時計"', "時計"))])
    assert text == snapshot
    shown = text.splitlines()[3]
    # Wide characters take two columns each, the two combining accents none.
    assert caret_columns(text)[0] == shown.index('"x"') + 2 - 2
    assert caret_columns(text, "-")[0] == shown.index('"時')
    assert len(caret_columns(text, "-")) == 6


def test_end_of_file_and_empty_lines(finder: Any, snapshot: Any) -> None:
    source = finder("{\n\n").source
    at_end, in_gap = Span(source, 3, 3), Span(source, 2, 3)
    found = finder("{\n\n").finding("{", "opened", elsewhere=[(at_end, "end"), (in_gap, "gap")])
    assert render_text([found]) == snapshot


def test_carriage_returns_are_not_part_of_a_line(finder: Any) -> None:
    plain = render_text([finder(FIELDS).finding('"Zone"', "here")])
    assert render_text([finder(FIELDS.replace("\n", "\r\n")).finding('"Zone"', "here")]) == plain


def test_long_lines_are_cropped_around_their_carets(finder: Any, snapshot: Any) -> None:
    line = '{"first":"' + "a" * 4000 + '","second":"' + "b" * 4000 + '"}'
    text = render_text([finder("\n" + line, name="r.jsonl").finding('"second"', "second", ('"first"', "first"))])
    assert max(map(len, text.splitlines())) < 150
    assert text == snapshot


@pytest.mark.parametrize("at", [0, 50, 119, 120, 121, 500, 9_990])
def test_carets_stay_below_their_word_wherever_a_line_is_cropped(finder: Any, at: int) -> None:
    text = render_text([finder("." * at + "NEEDLE" + "." * (10_000 - at)).finding("NEEDLE")])
    shown = text.splitlines()[3]
    assert caret_columns(text) == list(range(shown.index("NEEDLE"), shown.index("NEEDLE") + 6))
    assert len(shown) < 150


def test_a_long_line_without_carets_is_cropped_at_its_end(finder: Any) -> None:
    found = finder("first\n" + "x" * 5000 + "\nthird").finding("third", "", ("first", ""))
    assert f"2 | {'x' * 120}…" in render_text([found]).splitlines()


def test_label_longer_than_a_cropped_line(finder: Any, snapshot: Any) -> None:
    long = '"' + "x" * 3000 + '"'
    assert render_text([finder('{"about":' + long + "}").finding(long, "too long")]) == snapshot


def test_file_that_could_not_be_read_shows_no_lines(snapshot: Any) -> None:
    report = Report()
    nowhere = Span(Source("defs/missing.json", ""), 0, 0)
    report.add(codes.UNREADABLE, "cannot read `defs/missing.json`", nowhere, label="no such file")
    assert render_text(report.diagnostics) == snapshot


def test_control_characters_reach_no_terminal(finder: Any) -> None:
    text = render_text(
        [finder('{ "\x1b[2J": "\u202e" }\n').finding('"\x1b[2J"', "\x07", message="a\nb \ud800", helps=["\x1b"])]
    )
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "a␊b" in text
    text.encode("utf-8")


def test_colours_change_nothing_but_colour(finder: Any, snapshot: Any) -> None:
    found = [
        finder(FIELDS).finding('"Zone"', "this", ('"Millis"', "and that"), notes=["fact"]),
        finder(FIELDS).finding('"Leap"', "this", severity=Severity.WARNING),
    ]
    coloured = render(found, "text", color=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render_text(found)
    assert "\x1b[1;31merror[K999]\x1b[0m" in coloured
    assert "\x1b[1;33m^^^^^^\x1b[0m" not in render_text(found)
    assert coloured == snapshot


def test_findings_are_separated_by_an_empty_line(finder: Any) -> None:
    one = finder(FIELDS).finding('"Zone"')
    assert render_text([one, one]) == render_text([one]) + "\n" + render_text([one])
    assert render_text([]) == ""


def test_summary_counts_by_severity(finder: Any) -> None:
    def found(*severities: Severity) -> list[Any]:
        return [finder(FIELDS).finding('"Zone"', severity=one) for one in severities]

    assert summary(found(Severity.WARNING, Severity.ERROR, Severity.ERROR)) == "2 errors, 1 warning"
    assert summary(found(Severity.NOTE)) == "1 note"
    assert summary([]) == "no findings"


def test_source_positions() -> None:
    source = Source("a.json", "ab\n\ncd")
    assert [source.line_and_column(offset) for offset in (0, 2, 3, 4, 6)] == [(1, 1), (1, 3), (2, 1), (3, 1), (3, 3)]
    assert [source.line_text(line) for line in (1, 2, 3)] == ["ab", "", "cd"]


@pytest.mark.parametrize(
    "name", ["Clock.json", "a/b/Clock.json", "a\\Clock.json", "x-1.0.jar!Clock.json", "x.zip!a/Clock.json"]
)
def test_stem_is_the_file_name_without_folders_archive_and_suffix(name: str) -> None:
    assert Source(name, "").stem == "Clock"


@pytest.mark.parametrize(
    ("characters", "printed", "columns"),
    [
        ("ab", "ab", [0, 1, 2]),
        ("a\tb", "a   b", [0, 1, 4, 5]),
        ("abcd\tb", "abcd    b", [0, 1, 2, 3, 4, 8, 9]),
        ("時x", "時x", [0, 2, 3]),
        ("\uff21x", "\uff21x", [0, 2, 3]),
        ("\uff71x", "\uff71x", [0, 1, 2]),
        ("e\u0301x", "e\u0301x", [0, 1, 1, 2]),
        ("a\u20ddx", "a\u20ddx", [0, 1, 1, 2]),
        ("a\u0e31x", "a\u0e31x", [0, 1, 1, 2]),
        ("a\u00a0\u3000x", "a  x", [0, 1, 2, 3, 4]),
        ("\x00\x1b\x1f", "␀␛␟", [0, 1, 2, 3]),
        ("\x7f\u2028\ud800", "\ufffd\ufffd\ufffd", [0, 1, 2, 3]),
    ],
)
def test_columns_of_characters(characters: str, printed: str, columns: list[int]) -> None:
    line = show(characters, ())
    assert line.text == printed
    assert [line.column(index) for index in range(len(characters) + 1)] == columns


@pytest.mark.parametrize(
    ("length", "marks", "shown"),
    [
        (120, [(0, 1)], [(0, 120)]),
        (121, [], [(0, 120)]),
        (121, [(0, 1)], [(0, 60)]),
        (400, [(200, 201)], [(141, 260)]),
        (400, [(100, 101), (300, 301)], [(71, 130), (271, 330)]),
        (400, [(100, 101), (158, 159)], [(71, 188)]),
        (400, [(100, 101), (160, 161)], [(71, 190)]),
        (400, [(100, 101), (161, 162)], [(71, 130), (132, 191)]),
        (400, [(100, 160), (110, 111)], [(86, 174)]),
        (400, [(100, 160)], [(70, 190)]),
        (400, [(100, 161)], [(78, 183)]),
        (400, [(100, 300)], [(78, 137), (263, 322)]),
        (900, [(at, at + 1) for at in range(100, 800, 100)], [(at - 10, at + 11) for at in range(100, 800, 100)]),
    ],
)
def test_windows_of_long_lines(length: int, marks: list[tuple[int, int]], shown: list[tuple[int, int]]) -> None:
    line = "".join(chr(0x4E00 + number) for number in range(length))
    found = show(line, marks).text
    parts = [(ord(part[0]) - 0x4E00, ord(part[-1]) - 0x4E00 + 1) for part in found.split("…") if part]
    assert parts == shown
    assert found.startswith("…") is (shown[0][0] > 0)
    assert found.endswith("…") is (shown[-1][1] < length)


def test_characters_that_are_cropped_stand_at_the_mark_of_the_crop() -> None:
    line = show("x" * 400, [(100, 101), (300, 301)])
    assert line.text == f"…{'x' * 59}…{'x' * 59}…"
    columns = [0] * 71 + [*range(1, 60)] + [60] * 141 + [*range(61, 120)] + [120] * 70 + [121]
    assert [line.column(index) for index in range(401)] == columns


def test_two_labels_that_begin_on_one_line_are_nested(finder: Any) -> None:
    text = "one two\nthree\nfour\n"
    found = render_text([finder(text).finding("one two\nthree", "inner", ("⟨two\nthree\nfour⟩", "outer"))])
    assert found.splitlines()[3:] == [
        "1 |   / one two",
        "  |  _______-",
        "2 | | | three",
        "  | | |_____^ inner",
        "3 | |   four",
        "  | |______- outer",
    ]


def test_line_numbers_of_a_label_line_up_where_they_become_longer(finder: Any) -> None:
    found = finder("\n" * 8 + "one\ntwo\n").finding("one\ntwo", "both")
    assert render_text([found]).splitlines()[3:] == [
        " 9 | / one",
        "10 | | two",
        "   | |___^ both",
    ]


def test_advice_follows_a_block_without_lines_at_once(finder: Any) -> None:
    nowhere = Span(Source("defs/missing.json", ""), 0, 0)
    found = finder(FIELDS).finding('"Zone"', elsewhere=[(nowhere, "it is not there")], helps=["look"])
    lines = render_text([found]).splitlines()
    at = next(number for number, line in enumerate(lines) if "missing.json" in line)
    assert [line.strip() for line in lines[at + 1 :]] == ["= note: it is not there", "= help: look"]


def test_carets_end_where_the_line_ends(finder: Any) -> None:
    for words, carets in (("two\n", "    ^^^"), ("tw⟨o\n⟩", "      ^")):
        found = finder("one two\nthree\n").finding(words)
        assert render_text([found]).splitlines()[3:] == ["1 | one two", f"  | {carets}"]


def test_a_label_over_lines_ends_before_the_break_of_a_line_that_is_shorter_than_where_it_begins(finder: Any) -> None:
    found = finder("one two\nab\nthree\n").finding("one ⟨two\nab\n⟩", "both")
    assert render_text([found]).splitlines()[3:] == [
        "1 |   one two",
        "  |  _____^",
        "2 | | ab",
        "  | |__^ both",
    ]


def test_a_place_without_text_and_words_adds_no_note() -> None:
    report = Report()
    report.add(codes.UNREADABLE, "cannot read `x.json`", Span(Source("x.json", ""), 0, 0))
    assert render_text(report.diagnostics).splitlines()[1:] == [" --> x.json"]


def test_a_span_to_one_within_it_keeps_its_end() -> None:
    source = Source("a.json", "abcdef")
    assert Span(source, 0, 5).to(Span(source, 1, 3)).text == "abcde"
    assert Span(source, 0, 2).to(Span(source, 1, 3)).text == "abc"
    assert [Span(source, 1, 4).within(1, 2).text, Span(source, 1, 4).within(2, 9).text] == ["c", "cd"[1:]]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (0, ()),
        (1, ("the same 1 more time in line 2; `--format short` lists each",)),
        (10, ("the same 10 more times in lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11; `--format short` lists each",)),
        (11, ("the same 11 more times in lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …; `--format short` lists each",)),
    ],
)
def test_lines_of_what_a_file_has_often_are_listed_up_to_ten(more: int, told: tuple[str, ...]) -> None:
    report, sources = Report(), [Source(name, "a\n" * 12) for name in ("One.krm", "Two.krm")]
    for source, count in zip(sources, (more + 1, 1), strict=True):
        for line in range(count):
            report.add(codes.SPACING, "two spaces", Span(source, 2 * line, 2 * line + 1))
    assert [one.notes for one in folded(report.diagnostics)] == [told, ()]


def test_what_differs_in_notes_or_advice_is_shown_by_itself_and_lines_are_named_once() -> None:
    source, report = Source("x.krm", "a b c d"), Report()
    others = [{"notes": ["a fact"]}, {"helps": ["do this"]}, {"label": "here"}]
    for start, details in enumerate([{}, {}, {}, *others]):
        report.add(codes.SPACING, "two spaces", Span(source, start, start + 1), **details)  # type: ignore[arg-type]
    assert [(one.notes, one.helps) for one in folded(report.diagnostics)] == [
        (("the same 2 more times in line 1; `--format short` lists each",), ()),
        (("a fact",), ()),
        ((), ("do this",)),
        ((), ()),
    ]


def test_advice_that_says_nothing_is_left_out() -> None:
    span = Span(Source("x.json", "text"), 0, 1)
    assert finding("a mistake", span, helps=["", "do this", ""]).helps == ("do this",)


def test_only_relaxable_findings_have_other_severities_or_are_waived() -> None:
    span = Span(Source("x.krm", "text"), 0, 1)
    off = dict.fromkeys(("K020", "K021"), Severity.OFF)
    waivers = tuple(Waiver(code=code, message="*", reason="fine") for code in off)
    for report in (Report(severities=off), Report(waivers=waivers)):
        report.add(codes.BAD_INDENTATION, "an error", span)
        report.add(codes.SPACING, "a warning", span)
        assert [one.message for one in report.diagnostics] == ["an error"]


@pytest.mark.parametrize(("field", "found", "covers"), [("a", "a", True), ("a", None, False), ("*", None, True)])
def test_a_waiver_for_a_field_covers_no_finding_about_the_whole(field: str, found: str | None, covers: bool) -> None:
    waiver = Waiver(code="K021", message="Clock", field=field, reason="fine")
    assert waiver.covers("K021", ["Clock"], [found]) is covers
    assert not waiver.covers("K021", ["Watch"], [found])


def test_every_error_is_shown_by_itself() -> None:
    source, report = Source("x.krm", "a\na\n"), Report()
    for start in (0, 2):
        report.add(codes.BAD_INDENTATION, "a tab", Span(source, start, start + 1))
    assert [one.notes for one in folded(report.diagnostics)] == [(), ()]


def test_findings_of_one_place_are_in_the_order_of_their_codes() -> None:
    span, report = Span(Source("x.krm", "text"), 0, 1), Report()
    report.add(codes.SPACING, "a warning", span)
    report.add(codes.BAD_INDENTATION, "mistake", span)
    assert [one.code.number for one in report.diagnostics] == ["K020", "K021"]


SMALL = '{ "a": 1,\n  "b": [ 2,\n\t"宽" ] }\n'
PLACES = {
    "a": '"a"', "b": '"b"', "colon": ": 1", "pair": '"a": 1', "brace": "{ ", "list": '[ 2,\n\t"宽" ]', "wide": '"宽"',
    "most": '"a": 1,\n  "b": [ 2,\n\t"宽"', "close": "]", "end": "",
}  # fmt: skip
"""Places in ``SMALL``: next to each other, within each other, over several lines, and the end of the text."""


def small_span(place: str) -> Span:
    text = PLACES[place]
    start = SMALL.index(text) if text else len(SMALL)
    return Span(SMALL_SOURCE, start, start + len(text))


SMALL_SOURCE = Source("a.json", SMALL)


def snippet(*places: str, words: tuple[str, ...] = ("one", "two", "three")) -> str:
    labels = [(small_span(place), word) for place, word in zip(places, words, strict=False)]
    report = Report()
    report.add(codes.BAD_ESCAPE, "wrong", labels[0][0], labels[0][1], others=labels[1:])
    return "\n".join(render_text(report.diagnostics).splitlines()[3:])


@pytest.mark.parametrize("first", PLACES)
def test_two_labels_at_any_two_places(first: str, snapshot: Any) -> None:
    assert "\n\n".join(f"{first}, {second}\n{snippet(first, second)}" for second in PLACES) == snapshot


def test_three_labels_and_labels_without_words(snapshot: Any) -> None:
    threes = [
        *(("a", "colon", "brace"), ("brace", "a", "colon"), ("pair", "a", "colon"), ("a", "a", "a")),
        *(("list", "most", "wide"), ("wide", "close", "list"), ("most", "b", "list"), ("end", "close", "brace")),
    ]
    words = [("one", "two", "three"), ("one", "", "three"), ("", "two", ""), ("", "", "three")]
    shown = (f"{three} {said}\n{snippet(*three, words=said)}" for three in threes for said in words)
    assert "\n\n".join(shown) == snapshot


def test_colours_of_labels(snapshot: Any) -> None:
    report = Report()
    for severity, places in (("K020", ("a", "colon", "brace")), ("K021", ("pair", "a")), ("K022", ("list", "most"))):
        code = next(one for one in vars(codes).values() if getattr(one, "number", "") == severity)
        spans = [small_span(place) for place in places]
        others = [(span, "other") for span in spans[1:]]
        report.add(code, "wrong", spans[0], "here", others=others, notes=["a\nb"], helps=["c"])
    text = render_text(report.diagnostics, color=True)
    assert re.sub(r"\x1b\[([\d;]+)m", lambda match: "⟩" if match[1] == "0" else f"⟨{match[1]}:", text) == snapshot
