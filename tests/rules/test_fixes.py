"""``kwirec check --fix``: every fix of every rule, in both notations, with comments in all places."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, pairwise

import pytest
from syrupy.assertion import SnapshotAssertion

from kwirec import catalogue
from kwirec.diagnostics.diagnostic import Diagnostic, Report, meant
from kwirec.diagnostics.edits import apart, edited
from kwirec.diagnostics.examples import ANOTHER_FILE, clock, enum, field, files, krammar, request, response, value
from kwirec.diagnostics.source import Source
from kwirec.fixing import fix_sources
from kwirec.frontend.json_lexer import Kind, tokenize
from tests.rules.conftest import report_on, sources
from tests.rules.test_both_notations import facts

ZONE = clock(field("Zone"))
EXAMPLES = {
    f"{code.number} {kind}": text
    for code in catalogue.CODES
    if code.fixable
    for kind, text in {
        "offending": code.offending,
        "in krammar": code.krammar,
        "converted": catalogue.in_other_notation(code.offending),
    }.items()
    if text
}
EXAMPLES |= {
    "K005 comma before a bracket": ZONE.replace("}\n", "},\n", 1),
    "K005 comma before a brace": clock().replace("[] }", "[], }"),
    "K005 two commas": clock().replace(",", ",,", 1),
    "K005 comma at the start": clock().replace("{ ", "{ , ", 1),
    "K005 comma at the start of a list": ZONE.replace("[\n", "[ ,\n"),
    "K005 two commas in a list": clock(field("Zone"), field("Hour")).replace("},\n", "},,\n", 1),
    "K005 no comma before an object": clock(field("Zone"), field("Hour")).replace("},\n", "}\n", 1),
    "K005 no comma, but what follows is no name": clock().replace('"Clock",', '"Clock" "Watch",'),
    "K005 no colon": clock().replace('"name":', '"name"'),
    "K005 no colon, and no value": clock().replace('"name": "Clock"', '"name"'),
    "K005 two colons": clock().replace('"name":', '"name"::'),
    "K005 two colons, and no value": clock().replace('"name": "Clock"', '"name"::'),
    "K005 other quotes": clock().replace('"name": "Clock"', "'name': 'Clock'"),
    "K005 no quotes": clock().replace('"name": "Clock"', "name: Clock"),
    "K005 name without a value": clock().replace('"name": "Clock"', "name"),
    "K005 words of Python": clock(field("Zone", ignorable=True, default=None))
    .replace("true", "True")
    .replace("null", "None"),
    "K005 words of other languages": clock(listeners=[*"abcdef"])
    .replace('"a", "b", "c"', "nil, undefined, NaN")
    .replace('"d", "e", "f"', "Infinity, TRUE, nul"),
    "K005 commas in krammar": krammar("  Hour: int8 // v1+,, ignorable"),
    "K005 blank between commas in krammar": krammar("  Hour: int8 // v1+, , ignorable"),
    "K005 comma first in krammar": krammar("  Hour: int8 // , v1+"),
    "K005 comma last in krammar": krammar("  Hour: int8 // v1+,"),
    "K005 nothing after the slashes in krammar": krammar("  Hour: int8 //"),
    "K005 no colon in krammar": krammar(
        "  A int8(10)\n  B nullable-string // v1+\n  C enum-Phase(1)\n  D [int8]\n  E strings\n  F uuid\n  G bytes\n"
        "  H records\n  I =>"
    ),
    "K005 prose in krammar": krammar("  Hour when it strikes"),
    "K006 text": clock() + " } x",
    "K006 lines": clock() + "\n]\n}\n",
    "K008 last attribute": clock().replace('"fields": []', '"fields": [], "fields": []'),
    "K008 on lines of their own": clock().replace(", ", ",\n").replace('"fields"', '"name": "Clock",\n"fields"'),
    "K008 last line": clock().replace(", ", ",\n").replace("[]", '[],\n"name": "Clock"\n'),
    "K008 headers": files(
        request(headerVersions={"0": 1, "1+": 2}).replace('{ "0": 1', '{ "0": 1, "0": 1'), response()
    ),
    "K008 between words in krammar": krammar("  Hour: int8 // v1+, v1+, ignorable"),
    "K008 in a head": krammar().replace("key 900, ", "key 900, key 900, "),
    "K011 two slips for one name": clock(field("Zone", ignorabel=True, ignorble=True)),
    "K011 the name is there": clock(nmae="Clock"),
    "K011 with a value in krammar": krammar("  Hour: int8 // entty brokerId, map kye"),
    "K011 the word is there in krammar": krammar("  Hour: int8 // ignorable, ignorabel"),
    "K011 two slips for one word in krammar": krammar("  Hour: int8 // ignorabel, ignorble"),
    "K011 head in krammar": krammar().replace("max version", "max verson"),
    "K014 hyphen and letters": clock(field("Zone", versions="v1 - v2"), validVersions="0 -2"),
    "K014 no versions": clock(field("Zone", versions="v3 - v1"), validVersions="0 - 32768"),
    "K014 no versions in krammar": krammar("  Hour: int8 // 3-1"),
    "K014 in krammar": krammar("  Hour: int8 // 1-2", "  Millis: int64 // tagged 1+, tag 0"),
    "K014 two readings in krammar": krammar("  Hour: int8 // v1", "  Millis: int64 // v1..2"),
    "K015 array of JSON in krammar": krammar("  Hours: []int8"),
    "K015 name after an array": krammar("  Hours: [=>] Hour\n    // Its number.\n    Number: int8"),
    "K015 what is no type": clock(field("Ticks", "map<string>[]")),
    "K017 names": files(
        clock(),
        "// errors.json\n[\n"
        + ",\n".join(
            f'{{ "code": {number}, "name": "{name}", "retriable": false, "about": "An error." }}'
            for number, name in enumerate(
                ("not-found", "Not found", "été", "--", "2x", "busy_", "BUSY", "is 2 late!")
            )
        )
        + "\n]",
    ),
    "K021 everywhere": krammar("  Hour:  int8  //  v1+,  map  key").replace("ClockResponse =>", "ClockResponse  =>"),
    "K021 no space": krammar("  Hour: int8 //v1+").replace("ClockResponse =>", "ClockResponse=>"),
    "K101 a struct": clock(field("Start", "Tiem"), field("Stop", "Time", fields=[field("Millis", "int64")])),
    "K101 two readings": clock(field("Hour", "int6"), field("Minute", "int")),
    "K103 a boolean": clock(field("Leap", "bool", default="True")),
    "K103 a boolean in krammar": krammar("  Leap: bool(False)"),
    "K103 null": clock(field("Zones", "[]string", nullableVersions="0+", default="NULL")),
    "K105 a slip": files(clock(field("Phase", "int8", enum="Phsae")), enum(value("NEW", 0))),
    "K105 in krammar": f"{krammar('  Phase: enum-Phsae')}\n\n// Phases.\nPhase int8 (\n  // It is new.\n  0: NEW\n)",
    "K201 the name is there": clock(field("time-zone"), field("timeZone")),
    "K201 no letter, no ASCII": clock(
        field("2nd hour"), field("--"), field("time-zöne"), field("_a"), field("B", aliases=["b-c"])
    ),
    "K201 both would be the same": clock(field("time-zone"), field("time.zone")),
    "K306 later versions are not": clock(flexibleVersions="1"),
    "K308 none is valid": clock(deprecatedVersions="3+"),
    "K308 none is valid in krammar": krammar().replace("flexible v1+", "flexible v1+, deprecated v3+"),
    "K310 nullable before the first version": clock(
        field("Zone", versions="0+", nullableVersions="0-1"), validVersions="2-3"
    ),
    "K408 an array": clock(field("Zones", "[]string", flexibleVersions="none")),
    "K502 never null": clock(field("Hour", "int8", default=None)),
    "K605 later versions are not": clock(field("Zone", versions="1+", taggedVersions="1", tag=0)),
    "K712 of a response": files(request(), response(latestVersionUnstable=True)),
    "K717 a slip": files(request(sentTo="transacton"), response()),
    "K717 of a response": files(request(), response(sentTo="group")),
    "K717 of a response in krammar": krammar().replace("ClockResponse =>", "ClockResponse => admin"),
    "K717 first of two words in krammar": krammar().replace(
        "ClockResponse =>", "ClockResponse => admin, was WatchResponse"
    ),
    "K803 a slip": enum(value("NEW", 0), valueType="itn8"),
    "several on a line": ZONE.replace('"name"', '"nmae"').replace('"0+",', '"0 +",,').replace("string", "strng"),
    "lines of Windows": clock(field("Zone", zeroCopy=True)).replace(", ", ",\n").replace("\n", "\r\n"),
    "lines of Windows in krammar": krammar("  Hour: int8  ").replace("\n", "\r\n"),
}


def fixed(example: str) -> tuple[str, list[str]]:
    """The example after all fixes, and the codes that are left."""
    given = sources(example)
    found = fix_sources(
        [one for one in given if one.name != "errors.json"],
        [one for one in given if one.name == "errors.json"],
        Report(),
    )
    assert sorted(one.source.text for one in found.files) == sorted(one.text for one in given)
    assert not [one for one in found.report.diagnostics if one.fix]
    texts = {one.source.text: one.text for one in found.files}
    return ANOTHER_FILE.join(texts[one.text] for one in given), [str(one.code) for one in found.report.diagnostics]


def changed(before: str, after: str, left: list[str]) -> Iterator[str]:
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), n=0, lineterm="")
    yield from (line.replace("\r", "␍") for line in lines if not line.startswith(("---", "+++", "@@")))
    yield f"left: {' '.join(left) or 'nothing'}"


def test_all_fixes(snapshot: SnapshotAssertion) -> None:
    shown = (f"{name}\n" + "\n".join(changed(text, *fixed(text))) for name, text in EXAMPLES.items())
    assert "\n\n".join(shown) == snapshot


def test_codes_with_fixes_are_marked() -> None:
    texts = [
        text for code in catalogue.CODES for text in (code.offending, code.krammar) if text and code.number > "K002"
    ]
    with_fixes = {one.code.number for text in [*texts, *EXAMPLES.values()] for one in findings(text) if one.fix}
    assert with_fixes == {code.number for code in catalogue.CODES if code.fixable}


def test_offending_examples_become_the_corrected_ones() -> None:
    """Where they do not, the corrected example has another type or another name, or removes more."""
    others = {code.number for code in catalogue.CODES if code.fixable and fixed(code.offending)[0] != code.corrected}
    assert others == {
        "K011",
        "K014",
        "K103",
        "K105",
        "K308",
        "K310",
        "K407",
        "K408",
        "K502",
        "K710",
        "K712",
        "K717",
        "K803",
    }


def findings(example: str) -> list[Diagnostic]:
    return report_on(sources(example), Report()).diagnostics


def test_each_fix_alone_removes_its_finding_and_adds_none() -> None:
    """Once the notation is right, later passes report what they see for the first time."""
    tried = 0
    for name, example in EXAMPLES.items():
        given = sources(example)
        before = report_on(given, Report()).diagnostics
        for one in before:
            if one.fix:
                after = Counter(
                    map(facts, report_on([edited(file, [one.fix]) for file in given], Report()).diagnostics)
                )
                assert after[facts(one)] < Counter(map(facts, before))[facts(one)], name
                assert one.code.number < "K1" or after == Counter(
                    facts(other) for other in before if other is not one
                )
                tried += 1
    assert tried > 90


def tokens(text: str) -> list[str]:
    return [token.text for token in tokenize(Source("", text), Report(), [])]


def with_comments(text: str, form: str) -> str:
    """JSON with a numbered comment around each comma and bracket."""
    shown = [token.text for token in tokenize(Source("", text), Report(), []) if token.kind is not Kind.END]
    gaps = (
        form.format(n) if one in ",[{" or after in ",]}" else " "
        for n, (one, after) in enumerate(pairwise([*shown, ""]))
    )
    return "".join(chain.from_iterable(zip(shown, gaps, strict=True)))


STAYS = {"K006 offending", "K006 lines", "K008 last attribute", "K710 offending", "K713 offending"}
"""What has no certain fix with a comment in its middle."""


@pytest.mark.slow
def test_comments_and_all_other_tokens_of_json_stay() -> None:
    tried = 0
    for name, example in EXAMPLES.items():
        if ANOTHER_FILE in example or not example.lstrip().startswith("{"):
            continue
        for form in (" /* {} */ ", " // {}\n"):
            before = with_comments(example, form)
            after, _ = fixed(before)
            pattern = re.escape(form.strip()).replace(r"\{\}", "[0-9]+")
            assert re.findall(pattern, after) == re.findall(pattern, before), name
            assert tokens(after) == tokens(example if name in STAYS else fixed(example)[0]), name
            tried += 1
    assert tried > 90


def test_comments_and_all_other_lines_of_krammar_stay() -> None:
    tried = 0
    for name, example in EXAMPLES.items():
        if "=>" not in example:
            continue
        lines = example.split("\n")
        remarked = (line for number, line in enumerate(lines) for line in (*remark(number, line), line))
        after, _ = fixed("\n".join(remarked))
        kept = [line for line in after.split("\n") if "//# " not in line]
        assert "\n".join(kept) == fixed(example)[0], name
        assert re.findall("//# [0-9]+", after) == [f"//# {n}" for n, line in enumerate(lines) if [*remark(n, line)]]
        tried += 1
    assert tried > 40


def remark(number: int, line: str) -> Iterator[str]:
    """A comment before a line within a block, in its indentation."""
    if line.strip() and not line.startswith("// "):
        yield f"{' ' * (len(line) - len(line.lstrip()))}//# {number}" + line[len(line.rstrip("\r")) :]


def test_a_slip_has_one_reading() -> None:
    known = ["int8", "int16", "int64", "string", "name", "bool", "brokerId", "map key"]
    said: dict[str, str | None] = {
        "strng": "string",
        "sttring": "string",
        "strinh": "string",
        "stirng": "string",
        "BOOL": "bool",
        "brokerID": "brokerId",
        "itn8": "int8",
        "map kye": "map key",
    }
    said |= dict.fromkeys(["string", "int", "int6", "int9", "nm", "boolean", ""])
    assert {word: meant(word, known) for word in said} == said


def test_fixes_that_touch_wait_for_the_next_round() -> None:
    found = [one.fix for one in findings(EXAMPLES["several on a line"]) if one.fix]
    assert len(apart([*found, *found])) == len(apart(found)) == len(found)
    (repeated,) = (one.fix for one in findings(EXAMPLES["K008 last line"]))
    assert apart([repeated, repeated]) == [repeated]
