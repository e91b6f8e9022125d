"""The errors of each API, beside what brokers were recorded to answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire.json_form import to_json
from kwire_guide.api_errors import read_api_errors
from kwire_guide.inputs import Inputs
from kwire_guide.site import emit_site
from kwire_kafka import PROTOCOL
from kwirec.diagnostics.examples import clock, field, request, response
from tests.guide.conftest import ROOT, inputs

FRAMES = ROOT / "tests" / "data" / "real_frames" / "frames.jsonl"
ANY = {"UNSUPPORTED_VERSION", "UNKNOWN_SERVER_ERROR"}
"""Answers of any API: to versions that a broker accepts but cannot serve, and after a failure in the broker."""


def codes(value: object) -> Iterator[int]:
    """Every error code in the JSON form of a message."""
    for key, inner in (
        value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    ):
        if str(key).lower().endswith("errorcode") and isinstance(inner, int):
            yield inner
        yield from codes(inner)


def recorded(names: dict[int, str]) -> Iterator[tuple[str, int, str]]:
    """Every API, version and error with which a real broker answered."""
    for line in FRAMES.read_text("utf-8").splitlines():
        frame = json.loads(line)
        if frame["response"] is not None and frame["version"] < 99:
            answer = bytes.fromhex(frame["response"])
            message = PROTOCOL.decode_response(answer, api_key=frame["api_key"], version=frame["version"]).message
            assert message is not None
            for code in set(codes(to_json(message, frame["version"]))) - {0}:
                yield type(message).__name__.removesuffix("Response"), frame["version"], names[code]


@pytest.mark.slow
def test_each_api_of_kafka_lists_the_errors_that_brokers_were_seen_to_answer(union: Inputs) -> None:
    listed = {
        (api, one.name): (lambda version, one=one: one.versions is None or version in one.versions)
        for api, errors in union.api_errors.items()
        for one in errors
    }
    names = {one.code.value: one.name.value for one in union.errors}
    seen = set(recorded(names))
    assert len(seen) > 100
    missing = [
        (api, version, name)
        for api, version, name in sorted(seen)
        if name not in ANY and not listed.get((api, name), lambda version: False)(version)
    ]
    assert missing == []


@pytest.mark.slow
def test_the_errors_of_kafka_belong_to_its_apis_and_their_versions(union: Inputs) -> None:
    valid = {
        one.name.removesuffix("Request"): one.valid for one in union.schema.messages if one.name.endswith("Request")
    }
    assert set(union.api_errors) == set(valid)
    wrong = [
        (api, one.name, str(one.versions))
        for api, errors in union.api_errors.items()
        for one in errors
        if one.versions is not None and one.versions.low not in valid[api]
    ]
    assert wrong == []


def test_errors_are_shown_on_their_api_and_link_back(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "ClockRequest.json").write_text(request(field("Zone"), apiKey=7))
    (tmp_path / "ClockResponse.json").write_text(response(field("Minute"), apiKey=7))
    for kind, versions in (("key", {"validVersions": "0", "flexibleVersions": "none"}), ("value", {})):
        text = clock(field("A"), type=f"coordinator-{kind}", name=f"Clock{kind.capitalize()}", apiKey=7, **versions)
        (tmp_path / f"Clock{kind}.json").write_text(text)
    late = {"code": 7, "name": "TOO_LATE", "retriable": True, "aliases": ["LATE", "LateException"], "about": "Wait."}
    early = {"code": 3, "name": "TOO_EARLY", "retriable": False, "about": "Go."}
    (tmp_path / "errors.json").write_text(json.dumps([late, early]))
    listed = [
        {"error": "TOO_LATE", "versions": "1+", "when": "After `noon` <b>."},
        {"error": "TOO_EARLY", "when": "Before."},
    ]
    (tmp_path / "api_errors.json").write_text(json.dumps({"Clock": listed}))
    pages = {one.path: one.text for one in emit_site(inputs(tmp_path))}
    (section,) = re.findall(r'<h2 id="errors">.*?</section>', pages["api/clock.html"], re.DOTALL)
    assert section == snapshot(name="section")
    assert 'id="errors"' not in pages["coordinator/clock.html"]  # which has the name, but no errors
    rows = re.findall(r'<td class="doc">.*?</td>', pages["errors.html"])
    assert rows == snapshot(name="errors")
    assert '"7 error code 7 LATE LateException"' in pages["assets/search.js"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"Clock": [{"error": "LATE", "when": ""}]}', "there is no error 'LATE'"),
        ('{"Clock": [{"when": ""}]}', "missing 1 required"),
        ('{"Clock": [{"error": "LATE", "when": "", "how": ""}]}', "unexpected keyword"),
        ('{"Clock": 7}', "not iterable"),
        ("[]", "has no attribute"),
        ("{", "Expecting property name"),
    ],
)
def test_a_file_of_errors_that_is_wrong_is_named(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "api_errors.json").write_text(text)
    with pytest.raises(ValueError, match=problem) as caught:
        read_api_errors([tmp_path], ())
    assert str(caught.value).startswith(f"{(tmp_path / 'api_errors.json').as_posix()}: ")
