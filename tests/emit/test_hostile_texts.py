"""Texts of strangers stay texts: every string of a definition and of the files next to it, replaced by code.

The places are found by walking the files. A place is *free* if any words are accepted there, such as a description;
all others accept names, numbers and versions only.
"""

from __future__ import annotations

import ast
import copy
import importlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from markdown_it import MarkdownIt

from kwire.command import main as kwire
from kwire.schema import description
from kwire_guide.examples import BadExampleError
from kwire_guide.inputs import read_inputs
from kwire_guide.site import emit_site
from kwirec.command import main
from kwirec.diagnostics.columns import printable
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.render import FORMATS, render
from kwirec.driver import Loaded, load
from kwirec.emitters.codecs import emit_module
from kwirec.emitters.compat import emit_compatibility, history_of
from kwirec.emitters.environment import Artifact
from kwirec.emitters.models import emit_models
from kwirec.emitters.modules import group_modules
from kwirec.emitters.package import emit_package
from kwirec.json_text import json_line
from kwirec.lowering import lower
from kwirec.merge import merge
from kwirec.merge.history import HistoryError
from tests.attack.hostile import TEXTS
from tests.support.effort import one_in

Project = dict[str, Any]
Place = tuple[str, ...]
"""The name of a file, and the keys and indexes that lead to a string in it."""

HARMLESS = re.compile(r"[A-Za-z0-9.+\-\[\] ]*")
"""What places that are not free accept at most."""

WORDS = "Some words, as they come."

SHARE = 25
"""One text in so many is tried at each place."""

ZONE = {
    "name": "Zone",
    "type": "string",
    "versions": "0+",
    "about": "The zone.",
    "aliases": ["Region"],
    "default": "UTC",
}
CLOCK = {
    "apiKey": 900,
    "validVersions": "0-2",
    "deprecatedVersions": "0",
    "flexibleVersions": "1+",
    "about": "A clock.",
}
EXAMPLE = "0003555443" "000147" "00000000"
"""A ClockRequest of version 0: the project defines no header."""
PROJECT: Project = {
    "ClockRequest.json": CLOCK
    | {
        "type": "request",
        "listeners": ["broker"],
        "name": "ClockRequest",
        "aliases": ["WatchRequest"],
        "fields": [
            ZONE | {"nullableVersions": "1+"},
            {"name": "Group", "type": "string", "versions": "0+", "entityType": "groupId", "about": "The group."},
            {
                "name": "Note",
                "type": "string",
                "versions": "1+",
                "taggedVersions": "1+",
                "tag": 0,
                "default": "none yet",
                "since": "2.0.0",
                "about": "A note.",
            },
            {
                "name": "Hands",
                "type": "[]Hand",
                "versions": "0+",
                "about": "The hands.",
                "structAbout": "A hand.",
                "fields": [ZONE, {"name": "At", "type": "Time", "versions": "0+", "about": "Where it is."}],
            },
        ],
        "commonStructs": [
            {
                "name": "Time",
                "versions": "0+",
                "about": "A time.",
                "fields": [{"name": "Millis", "type": "int64", "versions": "0+", "default": "5", "about": "Since."}],
            }
        ],
    },
    "ClockResponse.json": CLOCK | {"type": "response", "name": "ClockResponse", "fields": [ZONE]},
    "tick/TickRecord.json": {
        "type": "metadata",
        "apiKey": 0,
        "name": "TickRecord",
        "validVersions": "0",
        "flexibleVersions": "0+",
        "about": "A tick.",
        "fields": [ZONE, {"name": "Kind", "type": "int8", "versions": "0", "enum": "Kind", "about": "The kind."}],
    },
    "Kind.json": {
        "type": "enum",
        "name": "Kind",
        "valueType": "int8",
        "about": "A kind.",
        "values": [{"name": "FIRST", "value": 1, "about": "The first."}],
    },
    "errors.json": [
        {"code": 0, "name": "NONE", "retriable": False, "about": "Fine."},
        {"code": 1, "name": "TOO_LATE", "retriable": True, "about": "Late."},
    ],
    "releases.json": {
        release: {
            "source": "the definitions",
            "apis": {
                "900": {
                    "name": "Clock",
                    "accepts": "0-2",
                    "advertises": "0-2",
                    "deprecated": "0",
                    "unstable": "2",
                    "listeners": ["broker"],
                }
            },
        }
        for release in ("1.0.0", "2.0.0")
    },
    "layouts.json": {
        "releases": ["1.0.0", "2.0.0"],
        "messages": {"ClockRequest": {"0": {"0011223344556677": "1.0.0..2.0.0"}}},
    },
    "examples.jsonl": {"source": "Clockworks 1.0", "message": "ClockRequest", "version": 0, "hex": EXAMPLE},
    "exceptions.json": [{"message": "ClockRequest", "version": 0, "releases": "1.0.0", "reason": "They differ."}],
}


def places(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Every string below ``value``."""
    if isinstance(value, str):
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, *path, key)


def replaced(project: Project, texts: Mapping[tuple[Any, ...], str]) -> Project:
    project = copy.deepcopy(project)
    for (*path, last), text in texts.items():
        holder: Any = project
        for key in path:
            holder = holder[key]
        holder[last] = text
    return project


def written(project: Project, folder: Path) -> Path:
    for name, value in project.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(value))
    return folder


def emitted(folder: Path, package: str = "p") -> list[Artifact] | None:
    """All files of the package; ``None`` if the definitions are refused, with findings that print as text."""
    report = Report()
    loaded = load([folder], report)
    for form in FORMATS:
        assert_visible(render(report.diagnostics, form))
    if report.has_errors():
        return None
    with suppress(HistoryError, BadExampleError):
        return artifacts(loaded, folder, package)
    return None


def artifacts(loaded: Loaded, folder: Path, package: str) -> list[Artifact]:
    layouts, groups = lower(loaded.schema), group_modules(loaded.schema)
    return [
        *(emit_module(group, layouts.halves) for group in groups),
        *emit_package(groups, name=package, errors=loaded.errors),
        *emit_compatibility(layouts, groups, history_of([folder]), package=package),
        *(emit_models(group, package=package) for group in groups),
        *site(loaded, folder, package),
    ]


def site(loaded: Loaded, folder: Path, package: str) -> list[Artifact]:
    """The protocol guide, without the files that all guides share."""
    inputs = read_inputs(loaded, [folder], title="Clocks", package=package)
    return [
        Artifact(path=f"site/{one.path}", text=one.text)
        for one in emit_site(inputs)
        if one.path.endswith(".html") or one.path == "assets/search.js"
    ]


@lru_cache(maxsize=1000)
def shape(artifact: Artifact) -> object:
    """What a file is besides its texts: no text may change it."""
    assert_visible(artifact.text)
    if artifact.path.endswith(".py"):
        tree = ast.parse(artifact.text)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                node.value = ""
        return ast.dump(tree)
    if artifact.path.endswith(".html"):
        page = Tags()
        page.feed(artifact.text)
        return page.tags
    if artifact.path.endswith(".js"):
        return [*places(json.loads(artifact.text.partition(" = ")[2].rstrip(";\n")))]
    return (
        markdown(artifact.text)[0] if artifact.path.endswith(".md") else [*places(json.loads(artifact.text or "0"))]
    )


class Tags(HTMLParser):
    """The elements of a page with their attributes; the data of its script is JSON."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, ...]] = []
        self.json = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "code" or attrs:  # words between backticks are code
            self.tags.append((tag, *(name for name, _ in attrs)))
        self.json = ("type", "application/json") in attrs

    def handle_data(self, data: str) -> None:
        if self.json:
            json.loads(data)
            self.json = False


def markdown(text: str) -> tuple[list[str], list[str]]:
    """The blocks of a page and its code. All that is not code must be free of anything that GitHub acts on."""
    blocks, code = [], []
    for token in MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text):
        blocks.append(token.type + (token.tag if token.type == "heading_open" else ""))
        inside = False
        for part in token.children or ():
            if part.type == "code_inline":
                code.append(part.content)
            elif part.type == "html_inline":
                assert part.content == ("</code>" if inside else "<code>")
                inside = not inside
                code += [""] if inside else []
            elif inside:
                assert part.type in ("text", "text_special"), part
                code[-1] += part.content
            else:
                assert part.type in (
                    "text",
                    "text_special",
                    "softbreak",
                    "em_open",
                    "em_close",
                    "strong_open",
                    "strong_close",
                    "link_open",
                    "link_close",
                ), part
                assert part.type != "link_open" or re.fullmatch(r"[\w./]+\.md", str(part.attrs["href"]))
                assert not re.search("[@#]|://", part.content), part
        assert not inside
    assert not {"html_block", "code_block", "fence"} & set(blocks)
    return blocks, code


def assert_visible(text: str) -> None:
    assert all(line.isprintable() for line in text.split("\n")), ascii(text)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each attack would write a file ``OWNED``."""
    folder = tmp_path / "a" / "b" / "c" / "d"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    yield
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith("OWNED")]
    assert not Path("/OWNED").exists()


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> list[Place]:
    """The places where any words are accepted."""
    folder = tmp_path_factory.mktemp("free")
    return [
        place for place in places(PROJECT) if emitted(written(replaced(PROJECT, {place: WORDS}), folder)) is not None
    ]


@pytest.mark.slow
def test_free_texts_are_few(free: list[Place]) -> None:
    names = {next(key for key in reversed(place) if isinstance(key, str)) for place in free}
    assert names == {"about", "structAbout", "default", "listeners", "enum", "source", "reason", "message"}
    assert len(free) > 20


@pytest.mark.slow
@pytest.mark.parametrize("file", PROJECT)
def test_each_text_is_refused_or_changes_no_code(file: str, free: list[Place]) -> None:
    """Some texts at each place, others at the next one; all at all places in ``make test-deep``."""
    folder = Path("defs")
    accepted = refused = 0
    for number, place in enumerate(places(PROJECT[file], file)):
        usual = {one.path: shape(one) for one in emitted(written(replaced(PROJECT, {place: WORDS}), folder)) or ()}
        for text in one_in(SHARE, TEXTS, number):
            found = emitted(written(replaced(PROJECT, {place: text}), folder))
            refused += found is None
            shapes = {one.path: shape(one) for one in found or ()}
            if found and place in free:
                accepted += 1
                assert shapes == usual or not text.strip(), (place, text)
            elif found:
                assert HARMLESS.fullmatch(text.strip()), (place, text)
    assert SHARE * refused > len(TEXTS) // 2
    assert SHARE * accepted > len(TEXTS) // 2 or file == "layouts.json"


def each(name: str, values: Sequence[Any]) -> pytest.MarkDecorator:
    """The test once per value, in ``make test-fast`` with one in five."""
    slow = pytest.mark.slow
    chosen = [pytest.param(value, marks=() if n % 5 == 0 else slow) for n, value in enumerate(values)]
    return pytest.mark.parametrize(name, chosen)


@each("text", TEXTS)
def test_keys_are_names_numbers_and_releases(text: str) -> None:
    for file, path in [
        ("releases.json", ()),
        ("releases.json", ("1.0.0",)),
        ("releases.json", ("1.0.0", "apis")),
        ("releases.json", ("1.0.0", "apis", "900")),
        ("layouts.json", ("messages", "ClockRequest")),
        ("layouts.json", ("messages", "ClockRequest", "0")),
        ("exceptions.json", (0,)),
        ("errors.json", (0,)),
    ]:
        project = copy.deepcopy(PROJECT)
        holder = project[file]
        for key in path:
            holder = holder[key]
        holder[text] = holder.pop(next(iter(holder)))
        for artifact in emitted(written(project, Path("defs"))) or ():
            shape(artifact)


def everywhere(text: str, free: list[Place]) -> Project:
    """The project with a text in all free places, and where it can be one, in the names of a folder and a file."""
    project = replaced(PROJECT, {place: text for place in free if place[0] != "exceptions.json"})
    if re.fullmatch(r"[^/\0\ud800-\udfff]{1,80}", text):
        project[f"{text}/{text}.json"] = project.pop("tick/TickRecord.json")
    return project


def imported(folder: Path, package: str) -> ModuleType:
    found = emitted(folder, package)
    assert found is not None
    for artifact in found:
        path = Path(package, artifact.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(artifact.text.encode())
    importlib.invalidate_caches()
    for path in sorted(Path(package).rglob("*.py")):
        importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
    return sys.modules[package]


ACCEPTED = [text for text in TEXTS if text.isprintable() or "\ud800" not in text]


@pytest.mark.slow
@each("number", range(len(ACCEPTED)))
def test_texts_come_out_of_a_package_as_they_went_in(
    number: int, free: list[Place], capsys: pytest.CaptureFixture[str]
) -> None:
    text, name = ACCEPTED[number], f"hostile_{number}"
    package = imported(written(everywhere(text, free), Path("defs")), name)
    request = package.ClockRequest
    in_a_line = " ".join(text.split())
    assert package.PROTOCOL["WatchRequest"] is request
    assert (request().zone, request().note) == (text, text)
    assert request.decode(request().encode(1), 1) == request()
    assert description(request) == description(request, "zone") == in_a_line
    errors = importlib.import_module(f"{name}.errors").ErrorCode
    assert [error.description for error in errors] == [text, text]
    assert {"1.0.0": text, "2.0.0": text} == importlib.import_module(f"{name}.releases").SOURCES
    (log,) = importlib.import_module(f"{name}.index").LOGS
    assert log in (text, "tick")
    schema = importlib.import_module(f"{name}.arrow").ARROW["ClockRequest"].schema
    assert schema.field("zone").metadata[b"comment"].decode() == in_a_line or not in_a_line
    model = importlib.import_module(f"{name}.models").MODELS["ClockRequest"].for_version(1)
    assert model.model_json_schema()["properties"][
        "Zone" if "Zone" in model.model_json_schema()["properties"] else "zone"
    ]
    for form in ("text", "json"):
        assert kwire(["describe", "ClockRequest", "--protocol", name, "--format", form]) == 0
        output = capsys.readouterr().out
        assert_visible(output)
    assert json.loads(output)["fields"][0]["default"] == text
    kwire(["decode", "--message", "ClockRequest", "--version", "1", "--protocol", name, request().encode(1).hex()])
    assert_visible(capsys.readouterr().out)


def kwirec(*arguments: str) -> Result:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert_visible(result.stdout)
    assert_visible(result.stderr)
    return result


@pytest.mark.slow
@each("text", ACCEPTED)
def test_texts_are_printed_as_texts(text: str, free: list[Place]) -> None:
    written(PROJECT, Path("old"))
    written(everywhere(text, free), Path("new"))
    for stage in ("syntax", "schema", "layout"):
        kwirec("dump", "new", "--stage", stage)
    kwirec("explain", text)
    for form in FORMATS:
        kwirec("check", "new", "--format", form)
    for form in ("text", "json", "github", "junit", "markdown"):
        output = kwirec("diff", "old", "new", "--level", "policy", "--format", form).stdout
        if form == "json":
            assert all(json.loads(line)["rule"] for line in output.splitlines())
        if form == "junit":
            ElementTree.fromstring(output)
    blocks, code = markdown(output)
    assert blocks.count("heading_openh2") == 1
    assert blocks.count("heading_openh3") <= 3
    if text:
        assert printable(text) in code


@pytest.mark.parametrize("text", TEXTS)
def test_a_message_of_any_name_is_merged_below_the_union_or_not_at_all(text: str, tmp_path: Path) -> None:
    written(PROJECT, Path("union"))
    before = set(tmp_path.rglob("*"))
    tick = PROJECT["tick/TickRecord.json"] | {"name": text, "apiKey": 7}
    Path("new.jsonl").write_text(json.dumps(tick))
    outcome = merge(Path("union"), "3.0.0", [Path("new.jsonl")], Report())
    new = set(tmp_path.rglob("*")) - before
    assert all(path.name == f"{text}.json" or path.name in ("metadata", "new.jsonl") for path in new), new
    assert outcome.failed or HARMLESS.fullmatch(text)


def test_json_of_any_text_is_visible_and_the_same() -> None:
    for text in TEXTS:
        assert_visible(json_line({text: text}))
        assert json.loads(json_line({text: text})) == {text: text}


@pytest.mark.slow
def test_formatted_packages_are_the_same(free: list[Place], monkeypatch: pytest.MonkeyPatch) -> None:
    """What the command writes, which black has formatted, with a different text in each place."""
    texts = [text for text in ACCEPTED if text]
    assigned = {
        place: texts[number % len(texts)] for number, place in enumerate(free) if place[0] != "exceptions.json"
    }
    written(replaced(PROJECT, assigned), Path("defs"))
    plain = imported(Path("defs"), "plain_texts")
    assert (
        "in 28 files, 28 written" in kwirec("generate", "defs", "--package", "formatted_texts", "--out", ".").stderr
    )
    formatted = importlib.import_module("formatted_texts")
    for name in ("ClockRequest", "ClockResponse", "TickRecord"):
        assert repr(getattr(formatted, name)()) == repr(getattr(plain, name)())
    codes = [
        importlib.import_module(f"{name}.errors").DESCRIPTIONS.values() for name in ("plain_texts", "formatted_texts")
    ]
    assert [*codes[0]] == [*codes[1]]
