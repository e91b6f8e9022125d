"""The site as a whole: links, anchors, sizes, and protocols without releases."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from posixpath import normpath

import pytest
from click.testing import CliRunner

from kwire.command import main as kwire_main
from kwire_guide.inputs import Inputs
from kwire_guide.kips import ADDRESS
from kwire_guide.nav import Link, Links
from kwire_guide.pages import Kind, OtherPage
from kwire_guide.site import emit_site
from kwirec.command import main
from kwirec.diagnostics.examples import clock, field
from kwirec.merge.history import ApiFacts, History
from tests.guide.conftest import CLOCKWORK, inputs, search_data


class Anchors(HTMLParser):
    """The ids and links of a page, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.inline = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        assert not any(name.startswith("on") or name == "style" for name in found), found
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in ("script", "img", "link"):
            self.loaded += [found[name] for name in ("src", "href") if name in found]
            self.inline += tag == "script" and "src" not in found and found.get("type") != "application/json"


def check(site: Mapping[str, str]) -> None:
    """Every link leads to a page and an anchor that are there, and nothing is loaded but the files of the site."""
    pages = {path: Anchors(text) for path, text in site.items() if path.endswith(".html")}
    assert not [path for path, text in site.items() if path.startswith("assets/") and "sourceMappingURL" in text]
    for path, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), (path, [one for one in page.ids if page.ids.count(one) > 1][:3])
        assert not page.inline, path
        for link in page.links:
            if link.startswith(("https://", "http://") if path.startswith("project/") else ADDRESS.partition("{")[0]):
                continue
            target, _, anchor = link.partition("#")
            target = normpath(str(PurePosixPath(path).parent / target)) if target else path
            assert target in pages, (path, link)
            known = pages[target].ids
            plain = re.sub(r"-v\d+(-vs-\d+)?", "", anchor)
            assert not anchor or anchor in known or plain in known, (path, link)
        for file in page.loaded:
            if file.startswith("data:image/"):
                continue
            assert normpath(str(PurePosixPath(path).parent / file)) in site, (path, file)


@pytest.mark.slow
def test_every_link_of_the_protocol_resolves(site: Mapping[str, str]) -> None:
    check(site)


@pytest.mark.slow
def test_entries_of_the_search_lead_to_anchors(site: Mapping[str, str]) -> None:
    ids = {path: set(Anchors(text).ids) for path, text in site.items() if path.endswith(".html")}
    entries = search_data(site["assets/search.js"])["entries"]
    assert len(entries) > 2500
    for place, *_ in entries:
        path, _, anchor = place.partition("#")
        assert not anchor or anchor in ids[path], place


@pytest.mark.slow
def test_pages_and_site_stay_within_their_budgets(site: Mapping[str, str], union: Inputs) -> None:
    sizes = {path: len(text.encode()) for path, text in site.items()}
    assert max(size for path, size in sizes.items() if path.endswith(".html")) <= 200_000
    assert sum(sizes.values()) <= 10_000_000
    assert {artifact.path: artifact.text for artifact in emit_site(union)} == site


@pytest.mark.slow
def test_a_page_without_script_has_every_grammar_and_the_newest_example(
    site: Mapping[str, str], union: Inputs
) -> None:
    page = site["api/fetch.html"]
    assert page.count("FetchRequest (Version") == len(set(union.layouts.by_message["FetchRequest"].values()))
    assert "COMPACT_NULLABLE_RECORDS" in page
    assert 'id="request.topics.partitions.fetch_offset"' in page
    assert "00 01 00 12" in page


@pytest.mark.slow
@pytest.mark.parametrize("api", ["produce", "fetch"])
def test_the_page_of_an_api_says_which_version_clients_and_brokers_agree_on(
    site: Mapping[str, str], api: str
) -> None:
    """Also that of Produce, whose API key is 0."""
    assert 'id="negotiation"' in site[f"api/{api}.html"]


def test_the_page_of_a_record_has_no_table_of_the_api_with_its_number() -> None:
    accepted = {"1.0.0": "0", "2.0.0": "0-1"}.items()
    history = History(
        releases={name: dict.fromkeys((7, 27, 900), ApiFacts("A", versions)) for name, versions in accepted}
    )
    site = {artifact.path: artifact.text for artifact in emit_site(replace(inputs(CLOCKWORK), history=history))}
    assert [path for path, text in site.items() if 'id="negotiation"' in text] == ["api/clock.html"]


@pytest.mark.slow
def test_what_is_printed_is_black_on_white(site: Mapping[str, str]) -> None:
    style = site["assets/page.css"]
    paper = style.partition("@media print {")[2]
    assert ":root, :root[data-theme] { color-scheme: light; }" in paper
    assert style.count("color-scheme: dark") == 1  # which the rule for paper overrides, and every color follows


def test_vendored_search_is_the_one_that_notice_names() -> None:
    folder = Path(__file__).parents[2] / "templates" / "guide" / "vendor"
    digest = hashlib.sha256((folder / "minisearch.js").read_bytes()).hexdigest()
    assert digest == "03c27931eb603af1d3358579e9885eafdb6a2f5fa9929557b3e77d7e99d06d03"
    assert "MiniSearch 7.2.0" in (folder.parents[2] / "NOTICE").read_text("utf-8")
    assert "Permission is hereby granted" in (folder / "minisearch.LICENSE.txt").read_text("utf-8")


@pytest.mark.slow
def test_errors_say_which_release_was_the_first_to_have_them(site: Mapping[str, str], union: Inputs) -> None:
    row = site["errors.html"].partition('id="0"')[2].partition("</tr>")[0]
    assert '<a href="releases/0.8.0.html">0.8.0</a>' in row
    names = list(union.history.names)
    assert all(error.since and error.since.value in names for error in union.errors)
    since = [names.index(error.since.value) for error in union.errors if error.since and error.code.value != 13]
    assert since == sorted(since)  # codes are given in turn


def test_a_protocol_of_its_own_has_no_pages_of_releases_and_errors() -> None:
    told: list[tuple[int, int]] = []
    site = {
        one.path: one.text for one in emit_site(inputs(CLOCKWORK), lambda done, total: told.append((done, total)))
    }
    check(site)
    pages = sum(path.endswith(".html") for path in site)
    assert told == [(done, pages) for done in range(1, pages + 1)]
    assert "errors.html" not in site
    assert not [path for path in site if path.startswith("releases/")]
    assert "ClockRequest" in site["api/clock.html"]


@pytest.mark.parametrize("package", ["clockwork_wire", ""])
def test_commands_read_the_bytes_of_a_protocol_of_its_own(package: str) -> None:
    site = {artifact.path: artifact.text for artifact in emit_site(inputs(CLOCKWORK, package))}
    for path in ("api/clock.html", "coordinator/winding.html"):
        page = site[path]
        shown = re.findall(r'<div class="hex".*?</div></div>', page)
        texts = re.findall(r'<script type="application/json" class="data">(.*?)</script>', page)
        for text, newest in zip(texts, shown, strict=True):
            printed = "".join(re.findall("<code>(.*?)</code>", newest)).replace(" ", "")
            for example in json.loads(text)["examples"]:
                command = example["command"].split()
                assert command[:4] == ["kwire", "decode", "--protocol", package or "PACKAGE"]
                if package:
                    decoded = kwire_main([*command[1:], example.get("hex", printed)])
                    assert decoded == 0, command


def test_releases_that_change_no_api_have_no_page_of_their_own() -> None:
    api = {900: ApiFacts("Clock", "0-1")}
    history = History(releases={"1.0.0": {}, "1.1.0": {}, "2.0.0": api, "2.1.0": api, "3.0.0": {}})
    site = {artifact.path: artifact.text for artifact in emit_site(replace(inputs(CLOCKWORK), history=history))}
    check(site)
    pages = {PurePosixPath(path).stem for path in site if path.startswith("releases/")}
    assert pages == {"index", "1.0.0", "2.0.0", "3.0.0"}
    row = site["index.html"].partition('<tr id="The_Messages_Clock"')[2].partition("</tr>")[0]
    assert '<td data-head="since">2.0.0</td>' in row  # the first release that has the API
    assert "after this one: 1.1.0" in site["releases/1.0.0.html"]
    assert '<a href="1.0.0.html">1.1.0</a>' in site["releases/2.0.0.html"]
    assert '<a href="2.0.0.html">2.1.0</a>' in site["releases/3.0.0.html"]


@pytest.mark.slow
def test_a_published_site_names_its_addresses_and_its_release(tmp_path: Path) -> None:
    given = ["guide", str(CLOCKWORK), "--out", str(tmp_path), "--quiet", "--release", "1.2"]
    assert CliRunner().invoke(main, given).exit_code == 0
    here = (tmp_path / "api" / "clock.html").read_text("utf-8")
    assert '<span class="span">Release 1.2</span>' in here
    assert "canonical" not in here
    assert CliRunner().invoke(main, [*given, "--url", "https://a.example/guide"]).exit_code == 0
    page = (tmp_path / "api" / "clock.html").read_text("utf-8")
    assert '<a class="span" href="https://a.example/guide/versions.html">Release 1.2</a>' in page
    assert '<link rel="canonical" href="https://a.example/guide/api/clock.html">' in page
    found = dict(re.findall(r'<meta (?:property|name)="([^"]*)" content="([^"]*)">', page))
    assert found["og:url"] == "https://a.example/guide/api/clock.html"
    about = "fields, bytes of an example, grammar, releases. Asks for the time in some zones, and may set it."
    assert found["description"] == f"ClockRequest and ClockResponse versions 0 to 4, byte by byte: {about}"
    assert found["og:description"] == found["description"]
    missing = (tmp_path / "404.html").read_text("utf-8")
    assert '<link rel="stylesheet" href="https://a.example/guide/assets/page.css">' in missing


@pytest.mark.slow
def test_the_command_writes_checks_and_refuses(tmp_path: Path) -> None:
    out = tmp_path / "site"

    def run(*more: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, ["guide", str(CLOCKWORK), "--out", str(out), *more])
        return done.exit_code, re.sub(r"; [\d.]+ s\n", "\n", done.output)

    read, made = "reading definitions: 11\nchecking: 10\nemitting: 10\n", "10 messages, 26 versions; 18 files, "
    assert run() == (0, f"{read}{made}18 written, 0 removed\nopen {out.as_posix()}/index.html\n")
    assert "clockwork protocol" in (out / "index.html").read_text("utf-8")
    assert run("--check", "--quiet") == (0, f"{made}0 differ, 0 obsolete\n")
    (out / "types.html").write_text("changed", "utf-8")
    assert run("--check", "--quiet") == (1, f"{made}1 differ, 0 obsolete\n")
    (out / "mine.txt").write_text("mine", "utf-8")
    refused, text = run("--quiet")
    assert refused == 2
    assert "mine.txt" in text


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--package", "a b", "'a b' is not a valid package name"),
        ("--url", "ftp://x", "--url ftp://x: it must begin with https:// or http://"),
    ],
)
def test_options_that_are_wrong_are_named(tmp_path: Path, option: str, value: str, told: str) -> None:
    done = CliRunner().invoke(main, ["guide", str(CLOCKWORK), "--out", str(tmp_path / "site"), option, value])
    assert (done.exit_code, done.output.splitlines()[-1]) == (2, f"Error: {told}")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("guide/index.md", "no title", ": begin with a title, such as `# Title`"),
        (
            "guide/1-x.md",
            "# T\n\n```sequence\na\n```",
            ": name at least two peers, such as `client, broker`, not `a`",
        ),
        ("guide/search.txt", "# a\n\nb = c\nb =\n", ", line 4: write `words = other words`"),
        ("guide/search.txt", "b", ", line 1: write `words = other words`"),
        ("guide/search.txt", "= c", ", line 1: write `words = other words`"),
        *(
            (
                "examples.jsonl",
                json.dumps({"source": "me", "message": "M", "version": 1, "hex": "00", key: value}),
                ", line 1: expected strings in `source` and `message`, and a number in `version`",
            )
            for key, value in (("source", 1), ("message", None), ("version", True))
        ),
    ],
)
def test_files_beside_definitions_that_are_wrong_are_named(tmp_path: Path, name: str, text: str, told: str) -> None:
    (tmp_path / "guide").mkdir()
    (tmp_path / "Clock.json").write_text(clock(field("A")))
    (tmp_path / name).write_text(text)
    done = CliRunner().invoke(main, ["guide", str(tmp_path), "--out", str(tmp_path / "site"), "--quiet"])
    assert (done.exit_code, done.output.splitlines()[-1]) == (2, f"Error: {(tmp_path / name).as_posix()}{told}")


@pytest.mark.parametrize("name", ["api_errors.json", "kips.json", "release_kips.json", "examples.jsonl"])
def test_files_that_are_too_deep_are_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "Clock.json").write_text(clock(field("A")))
    (tmp_path / name).write_text("[" * 100_000)
    done = CliRunner().invoke(main, ["guide", str(tmp_path), "--out", str(tmp_path / "site"), "--quiet"])
    assert done.exit_code == 2
    assert re.search(rf"{name}(, line 1)?: maximum recursion", done.output)


def test_records_of_topics_are_listed_by_folder_and_number(tmp_path: Path) -> None:
    for folder, key, name in (("b", 0, "Tick"), ("a", 2, "Wind"), ("a", 10, "Chime")):
        (tmp_path / folder).mkdir(exist_ok=True)
        kinds = {"Key": {"validVersions": "0", "flexibleVersions": "none"}, "Value": {}}
        for kind, versions in kinds.items():
            text = clock(field("A"), type=f"coordinator-{kind.lower()}", name=f"{name}{kind}", apiKey=key, **versions)
            (tmp_path / folder / f"{name}{kind}.json").write_text(text)
    [index] = [one.text for one in emit_site(inputs(tmp_path)) if one.path == "index.html"]
    assert re.findall(r'<li><a href="coordinator/(\w+)\.html">', index) == ["wind", "chime", "tick"]


def test_apis_are_listed_by_key_from_0_with_the_flexible_versions_that_they_have(tmp_path: Path) -> None:
    for key, name in ((1, "Alarm"), (0, "Wind")):
        for kind in ("Request", "Response"):
            versions = {"validVersions": "4-9", "flexibleVersions": "2+"}
            text = clock(type=kind.lower(), name=name + kind, apiKey=key, **versions)
            (tmp_path / f"{name}{kind}.json").write_text(text)
    [index] = [one.text for one in emit_site(inputs(tmp_path)) if one.path == "index.html"]
    found = re.findall(r'<td data-head="(\w+)">(4[^<]*)</td>', index)
    assert found == [("versions", "4-9"), ("flexible", "4+")] * 2
    assert re.findall(r'<a href="api/(\w+)\.html">', index) == ["wind", "alarm"]


def test_filters_offer_what_there_is_in_order(tmp_path: Path) -> None:
    names = ("Wind", "Alarm", "Tick", "Chime")
    for key, name in enumerate(names):
        (folder := tmp_path / name.lower()).mkdir()
        for kind in ("Request", "Response"):
            listeners = {"listeners": [f"for_{name.lower()}"]} if kind == "Request" else {}
            text = clock(type=kind.lower(), name=name + kind, apiKey=key, **listeners)
            (folder / f"{name}{kind}.json").write_text(text)
    apis = {0: ApiFacts("Wind", "0-2"), 1: ApiFacts("Alarm", "0-2", deprecated="0-2")}
    apis |= {2: ApiFacts("Tick", "0-2", unstable="0-2"), 3: ApiFacts("Chime", "0-2")}
    releases = {"1.0.0": apis, "2.0.0": {key: api for key, api in apis.items() if key < 3}}
    given = replace(inputs(tmp_path), history=History(releases=releases))
    [index] = [one.text for one in emit_site(given) if one.path == "index.html"]
    words = [name.lower() for name in sorted(names)]
    statuses = ["deprecated", "removed", "stable", "unstable"]
    assert re.findall("<option>(.*?)</option>", index) == [*(f"for_{word}" for word in words), *words, *statuses]


@pytest.mark.parametrize(
    ("count", "at", "listed"),
    [
        (24, 12, [*range(24)]),
        (25, 0, [0, *range(1, 7)]),
        (25, 3, [0, *range(1, 10)]),
        (25, 7, [0, *range(1, 14)]),
        (25, 8, [0, *range(2, 15)]),
        (25, 24, [0, *range(18, 25)]),
    ],
)
def test_a_long_group_lists_its_first_page_and_those_near(count: int, at: int, listed: list[int]) -> None:
    links = [Link(f"{number}.html", str(number)) for number in range(count)]
    page = OtherPage(path=f"{at}.html", title="", kind=Kind.DOCUMENT, template="")
    assert [int(link.title) for link in Links("", Kind.DOCUMENT, links).near(page)] == listed
