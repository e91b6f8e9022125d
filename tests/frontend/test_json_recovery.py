"""Mistakes: each is reported once, where it is, and does not hide the next one."""

from __future__ import annotations

from typing import Any

import pytest

HEAD = '"type": "data", "name": "Clock", "validVersions": "0", "flexibleVersions": "0+"'

MANY = """\
// A file with a mistake on nearly every line.
{
  "type": "data", "type": "request",
  "name": "Clock"
  "validVersions": "0..2",
  "flexibleVersions": true,
  "flexibleVersoins": "0+",
  "apiKey": "eighteen",
  'about': "single quotes",
  "latestVersionUnstable": yes,
  "listeners": [ "broker", 7, ],
  "fields": [
    { "name": "Millis", "type": "int64[]", "versions": "0+" },
    { "name": "Zone", "type" "string", "versions": "0+" },
    { "name": "Bad\\qEscape", "type": "int8", "versions": "0+" },
    { name: "Drift", "type": "int32", "versions": "0+", "tag": 1.5 },
    { "type": "int32", "versions": "<4" },
    { "name": "Tick", "type": "[]Tick", "versions": "0+", "fields": [
      { "name": "A", "type": "int8", "default": [], "versions": "0+",
      { "name": "B", "type": "int8", "versions": "0+" }
    },
    "Leap",
    { "name": "Open, "type": "int8", "versions": "0+" },
    { "name": "Last", "type": "int8", "versions": "0+" }
  ]
}
"""


def test_file_with_many_mistakes(parsed: Any, snapshot: Any) -> None:
    document, findings = parsed(MANY)
    assert findings == snapshot
    assert [message.name.value for message in document.messages] == ["Clock"]


@pytest.mark.parametrize(
    "text",
    {
        "missing comma": f'{{ {HEAD} "fields": [] }}',
        "missing colon": f'{{ {HEAD}, "fields" [] }}',
        "missing value": f'{{ {HEAD}, "fields": [], "about": }}',
        "missing colon and value": f'{{ {HEAD}, "fields": [], "about" }}',
        "key without a value before another": f'{{ {HEAD}, "about" "fields": [] }}',
        "comma too many": f'{{ {HEAD}, "fields": [], }}',
        "two commas": f'{{ {HEAD},, "fields": [] }}',
        "comma in an empty list": f'{{ {HEAD}, "fields": [,] }}',
        "bare word as key": f"{{ {HEAD}, fields: [] }}",
        "bare word as value": f'{{ {HEAD}, "about": time, "fields": [] }}',
        "stray word": f'{{ {HEAD}, stray, "fields": [] }}',
        "python literal": f'{{ {HEAD}, "latestVersionUnstable": True, "fields": [] }}',
        "never closed": f'{{ {HEAD}, "fields": [ {{ "name": "A", "type": "int8", "versions": "0+"',
        "list never closed": f'{{ {HEAD}, "fields": [',
        "list ends behind a comma": f'{{ {HEAD}, "fields": [], "listeners": [ "broker",',
        "ends behind a colon": f'{{ {HEAD}, "fields":',
        "open comment": f'{{ {HEAD}, "fields": [] /* }}',
        "open comment before a value": f'{{ {HEAD}, "fields": /* [] }}',
        "misspelt attribute": f'{{ {HEAD}, "feilds": [] }}',
        "brace missing in the middle": f'{{ {HEAD}, "fields": [ {{ "name": "A", "type": "int8", "versions": "0" ] }}',
        "only a bracket": "]",
        "only an open comment": "/* Clock",
        "a map": f'{{ {HEAD}, "fields": [ {{ "name": "A", "type": "Map<string, int8>", "versions": "0" }} ] }}',
        "a list": "[]",
        "a string": '"Clock"',
        "nested without end": '{ "fields": [ ' * 50_000,
    }.items(),
    ids=lambda case: case[0],
)
def test_one_mistake_is_one_finding(parsed: Any, text: tuple[str, str], snapshot: Any) -> None:
    _, findings = parsed(text[1])
    assert findings.count("error[") == 1
    assert findings == snapshot


def test_bundle_goes_on_behind_every_mistake(parsed: Any, snapshot: Any) -> None:
    good = f'{{ {HEAD}, "fields": [] }}\n'
    document, findings = parsed(f"}} ]\n{good}, :\n{good}{good}", name="a.jsonl")
    assert len(document.messages) == 3
    assert findings == snapshot


def test_missing_attributes_of_every_node(parsed: Any, snapshot: Any) -> None:
    findings = [
        parsed(text)[1]
        for text in (
            '{ "about": "nothing else" }',
            f'{{ {HEAD}, "fields": [ {{ "about": "nothing else" }} ] }}',
            f'{{ {HEAD}, "fields": [], "commonStructs": [ {{ "about": "nothing else" }} ] }}',
            '{ "type": "data", "name": "Clock", "validVersions": "0" }',
        )
    ]
    assert findings == snapshot


@pytest.mark.parametrize(
    "attribute",
    [
        '"type": 7',
        '"name": ["Clock"]',
        '"validVersions": false',
        '"flexibleVersions": {}',
        '"flexibleVersions": "99999"',
        '"fields": "none"',
        '"fields": [ 7 ]',
        '"commonStructs": [ null ]',
        '"apiKey": true',
        '"apiKey": 1.0',
        '"about": null',
        '"latestVersionUnstable": 1',
        '"listeners": [ [] ]',
    ],
)
def test_wrong_kind_of_value(parsed: Any, attribute: str, snapshot: Any) -> None:
    name = attribute.split('"')[1]
    others = {
        "type": '"data"', "name": '"Clock"', "validVersions": '"0"', "flexibleVersions": '"0+"', "fields": "[]",
    }  # fmt: skip
    rest = ", ".join(f'"{key}": {value}' for key, value in others.items() if key != name)
    findings = parsed(f"{{ {attribute}, {rest} }}")[1]
    assert findings.count("error[") == 1
    assert findings == snapshot


def test_an_empty_file_is_reported_even_after_mistakes_in_others() -> None:
    from kwirec.diagnostics.diagnostic import Report
    from kwirec.diagnostics.source import Source
    from kwirec.frontend import parse

    report = Report()
    for name, text in (("A.json", "{ ,"), ("B.json", "")):
        parse(Source(name, text), report)
    assert "K007" in [found.code.number for found in report.diagnostics]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'{{ {HEAD}, "about":: "A time.", "fields": [] }}', ["expected a value, found `:`"]),
        (f'{{ {HEAD}, "fields": [] ["A"] }}', ["expected `,` or `}`, found `[`"]),
        (
            f'{{ {HEAD}, "fields": [], "about": yes, "about": no }}',
            ["`yes` is not a JSON value", "attribute `about` is written twice", "`no` is not a JSON value"],
        ),
        (f'{{ {HEAD} : "fields": [] }}', ["expected `,` or `}`, found `:`"]),
    ],
)
def test_what_is_said_of_one_mistake(parsed: Any, text: str, told: list[str]) -> None:
    _, findings = parsed(text)
    assert [line.split("]: ")[1] for line in findings.splitlines() if "error[" in line] == told
