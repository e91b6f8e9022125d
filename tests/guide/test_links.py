"""Addresses of the guide, from outside it: pages exist, and hostile addresses are refused or escaped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kwire import guide
from kwire.protocol import registry
from kwire.schema import walk
from kwire_guide.inputs import Inputs
from kwire_guide.site import emit_site
from kwire_rules.guide import guide_base
from kwire_rules.markdown import link
from kwirec import catalogue
from kwirec.command import main
from kwirec.diagnostics.diagnostic import Diagnostic, Report, Severity, finding
from kwirec.diagnostics.examples import clock, field
from kwirec.driver import load
from kwirec.guide import field_place, linked, part_of, place_of
from kwirec.ir.schema import Message
from kwirec.ir.sites import sites_of
from tests.guide.conftest import CLOCKWORK, UNION, inputs, loaded
from tests.support.effort import examples

MARKDOWN = MarkdownIt()


def test_every_message_has_its_page_and_part() -> None:
    given = inputs(CLOCKWORK)
    pages = {artifact.path: artifact.text for artifact in emit_site(given)}
    assert given.schema.messages
    for message in (one for one in given.schema.messages if one.valid):
        page, _, anchor = place_of(message, message.valid.high).partition("#")
        assert f'data-part="{part_of(message)}" data-name="{message.name}"' in pages[page]
        assert anchor == f"{part_of(message)}-v{message.valid.high}"


def test_reports_of_the_pipeline_link_to_the_same_places() -> None:
    here = guide.Guide("", registry("clockwork_wire"))
    requests = [one for one in inputs(CLOCKWORK).schema.messages if one.name.endswith("Request") and one.valid]
    assert requests
    for message in requests:
        newest = message.valid.high
        assert here.api(message.name.removesuffix("Request"), [newest - 1, newest]) == place_of(message, newest)
        assert here.api(message.name.removesuffix("Request"), [newest, newest + 1]) == place_of(message, newest)
        assert here.api(message.name.removesuffix("Request"), [newest + 1]).endswith(".html#request")
    assert here.api("Unknown", [1]) == ""


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "package"), [(CLOCKWORK, "clockwork_wire"), (UNION, "kwire_kafka")])
def test_the_runtime_knows_the_places_of_all_messages(folder: Path, package: str) -> None:
    protocol = registry(package)
    here = guide.Guide("", protocol)
    for message in (one for one in loaded(folder).schema.messages if one.valid):
        cls = protocol[message.name]
        assert here.message(cls, message.valid.high) == place_of(message, message.valid.high)
        assert here.message(cls, message.valid.high + 1, "a[3].b") == f"{place_of(message)}.a.b"


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("https://example.org/guide/", "https://example.org/guide/"),
        ("http://localhost:8000", "http://localhost:8000/"),
        ("file:///srv/guide", "file:///srv/guide/"),
        ("../site", "../site/"),
        (".", "./"),
    ],
)
def test_addresses(url: str, base: str) -> None:
    assert guide_base(url) == base


@pytest.mark.parametrize(
    "url",
    [
        "",
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,x",
        "//elsewhere.example",
        "///elsewhere.example",
        "\\\\elsewhere.example",
        "https:site",
        "https://",
        "site?x",
        "site#x",
        "a b",
        "a\n",
        "a>b",
        "http://[",
    ],
)
def test_what_is_no_address_of_a_folder(url: str) -> None:
    with pytest.raises(ValueError, match=r"address|IPv6"):
        guide_base(url)


@pytest.mark.parametrize("url", ["http://user:s3cret@host/guide", "https://s3cret@host"])
def test_a_password_of_an_address_gets_into_no_page(url: str) -> None:
    with pytest.raises(ValueError, match="user or password") as refused:
        guide_base(url)
    assert "s3cret" not in str(refused.value)


@examples(0.3)
@given(st.text(max_size=30))
def test_a_link_is_one_link_with_its_address(url: str) -> None:
    [paragraph] = [one for one in MARKDOWN.parse(link("guide", f"/{url}")) if one.type == "inline"]
    assert [one.type for one in paragraph.children or ()] == ["link_open", "text", "link_close"]


def test_a_link_has_no_entities() -> None:
    assert 'href="/a&amp;copy;b"' in MARKDOWN.render(link("guide", "/a&copy;b"))


@pytest.mark.parametrize("command", [["diff", "{0}", "{0}"], ["check", "{0}"], ["generate", "{0}", "--package", "a"]])
def test_commands_refuse_other_addresses(tmp_path_factory: pytest.TempPathFactory, command: list[str]) -> None:
    side = tmp_path_factory.mktemp("side") / "Clock.json"
    side.write_text(clock(field("A")))
    arguments = [word.format(side) for word in command]
    assert CliRunner().invoke(main, [*arguments, "--guide-url", "javascript:x"]).exit_code == 2


@pytest.mark.parametrize("form", ["text", "json", "github", "junit"])
def test_findings_of_check_link_to_their_field(tmp_path_factory: pytest.TempPathFactory, form: str) -> None:
    side = tmp_path_factory.mktemp("side") / "Clock.json"
    side.write_text(clock(field("TimeZone", nullableVersions="9+")))
    found = CliRunner().invoke(main, ["check", str(side), "--format", form, "--guide-url", "../site"])
    assert found.exit_code == 1
    address = f"../site/{place_of(loaded_message(side), field='time_zone')}"
    assert address in found.output
    assert "../site" not in CliRunner().invoke(main, ["check", str(side), "--format", form]).output


def loaded_message(file: Path) -> Message:
    return load([file], Report()).schema.messages[0]


def test_findings_about_enums_and_about_nothing(union: Inputs) -> None:
    code = catalogue.CODES[0]
    span = union.schema.messages[0].decl.span
    subjects = (
        ("IsolationLevel", "READ_COMMITTED"),
        ("IsolationLevel", "NONE"),
        ("Nothing", "Nowhere"),
        (None, None),
    )
    given = (finding("m", span, message_name=name, field_path=path) for name, path in subjects)
    found = linked((Diagnostic.of(one, code, Severity.ERROR) for one in given), union.schema, "site/")
    assert [one.guide for one in found] == [
        "site/enums.html#IsolationLevel.READ_COMMITTED",
        "site/enums.html#IsolationLevel",
        "",
        "",
    ]


def test_a_finding_about_a_message_without_versions_leads_nowhere() -> None:
    """The guide has no page for a key that is only reserved."""
    schema = inputs(CLOCKWORK).schema
    gone, there = (next(one for one in schema.messages if bool(one.valid) is live) for live in (False, True))
    about = (finding("m", one.decl.span, message_name=one.name) for one in (gone, there))
    found = linked((Diagnostic.of(one, catalogue.CODES[0], Severity.ERROR) for one in about), schema, "site/")
    assert [one.guide for one in found] == ["", f"site/{place_of(there)}"]


@pytest.mark.slow
def test_every_field_has_the_anchor_that_findings_lead_to(union: Inputs, site: Mapping[str, str]) -> None:
    for of_message in sites_of(union.schema):
        for one in (one for one in of_message.fields if one.live):
            page, _, anchor = place_of(
                of_message.message, field=field_place(of_message.message, one.path or "")
            ).partition("#")
            assert f'<tr id="{anchor}"' in site[page], (of_message.message.name, one.path)


@pytest.mark.slow
def test_every_field_of_the_runtime_has_its_anchor(site: Mapping[str, str]) -> None:
    protocol = registry("kwire_kafka")
    here = guide.Guide("", protocol)
    for name in protocol:
        cls = protocol[name]
        for path in {path for version in cls.VALID_VERSIONS for path, _, _ in walk(cls, version)}:
            page, _, anchor = here.message(cls, None, path).partition("#")
            assert f'<tr id="{anchor}"' in site[page], (name, path)
