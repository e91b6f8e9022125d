"""Tables for outputs: each filter on each kind of value, borders of paths, parameters, mistakes in ``emit.toml``."""

from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwirec import Report, load
from kwirec.diagnostics.examples import clock
from kwirec.diagnostics.render_text import render_text
from kwirec.diagnostics.source import Source, Span
from kwirec.emitters.environment import Artifact
from kwirec.merge.history import History
from kwirec.outputs import folder
from kwirec.outputs.filters import FILTERS
from kwirec.outputs.folder import Output, built_in, read_templates
from kwirec.outputs.paths import check_paths
from kwirec.outputs.process import Rendered
from kwirec.view import view_of
from kwirec.view.model import Versions
from tests.outputs.conftest import CLOCKWORK, Run, write

LONG = "One two-three  four\nfive " + "x" * 24 + r" C:\users\ end\\"
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -5, -(1 << 63), 1 - (1 << 63), 2.5, "", 'a "b" \\ é😀\x00\n', b'\x00a"\\\x7e\x7f', []),
    *("~\x7f\uffff\U00010000", "\ud7ff\ud800\udfff\ue000"),
    *((1, ["a", b"b"]), {"a": None, 1: (True,)}, Versions((0, 1, 3)), {"a"}),
)
NAMES = ("TopicId", "ISR", "v3AndBelow", "")
TEXTS = (LONG, "{a--b---c}", "*/ /* */", "<!-- -->", "")
WIDTHS: dict[str, list[dict[str, Any]]] = {
    "wrap": [{"width": width} for width in (-1, 1, 12, 24, 25)],
    "comment": [{"width": 12}, {"width": 2}, {"prefix": "# "}, {"prefix": "--", "width": 25}],
    "block_comment": [{"width": 12}, {"start": "<!--", "end": "-->"}, {"start": "{", "end": "}"}],
    "docstring": [{"indent": 0}, {"indent": 90}],
}


def tried(name: str, value: Any, **options: Any) -> str:
    """One line about what a filter makes of a value."""
    try:
        shown = repr(FILTERS[name](value, **options))
    except (TypeError, ValueError) as problem:
        shown = f"{type(problem).__name__}: {problem}"
    given = "".join(f", {option}={of!r}" for option, of in options.items())
    return f"{name}({value!r}{given}): {shown}"


def test_each_filter(snapshot: SnapshotAssertion) -> None:
    view = view_of(load([CLOCKWORK], Report()).schema, (), History())
    things = (view.enums[0], view.messages[0], view.messages[0].root.fields[0].type)
    lines = [tried(name, value) for name in FILTERS if "literal" in name for value in (*VALUES, *things)]
    lines += [tried(name, view.enums[0]) for name in FILTERS]
    names = ("snake", "screaming", "kebab", "pascal", "camel", "model_attribute")
    lines += [tried(name, text) for name in names for text in NAMES]
    others = [name for name in FILTERS if "literal" not in name and name not in names]
    lines += [tried(name, text) for name in others for text in TEXTS]
    lines += [
        tried(name, text, **one)
        for name in WIDTHS
        for one in WIDTHS[name]
        for text in TEXTS[: 4 if "end" in one else 1]
    ]
    assert "\n".join(lines) == snapshot


PATHS = (
    *("a", "a/b.c", "A_.@+=-9", "/a", "a/", "a/./b", "a/..", ".", ".a", "a/.b", "a b", "ä", "a\n", "a.", "a./b"),
    *("x" * 120, "x" * 121, "/".join(["x" * 100] * 2) + "/" + "x" * 38, "/".join(["x" * 100] * 2) + "/" + "x" * 39),
    *("/".join("x" * 16), "/".join("x" * 17)),
    *("con", "CON.txt", "a/prn", "aux.", "nul.tar.gz", "com0", "com9.x", "com10", "lpt1", "lpt", "console", "nulls"),
    *("conin$", "__pycache__", "a/__pycache__/b", "__pycache__s", "a.so", "a.pyd", "a.so/b", "a.sox"),
    *("manifest.json", "MANIFEST.json", "a/manifest.json", "manifest.jsons", ""),
)


def findings(*paths: tuple[str, int]) -> list[str]:
    """What is found wrong with paths, each of the output of a number."""
    report, source = Report(), Source("emit.toml", "".join(f'path = "{number}"\n' for number in range(3)))
    spans = [Span(source, 11 * number, 11 * number + 10) for number in range(3)]
    outputs = [Output(template="", path="", each="", template_span=span, path_span=span) for span in spans]
    files = [Rendered(artifact=Artifact(path=path, text=""), output=outputs[number]) for path, number in paths]
    check_paths(files, report)
    return [
        " | ".join([f"{one.code} {one.message}", one.primary.text, str(one.primary.span), *one.helps])
        + "".join(f" | {label.text} {label.span}" for label in one.others)
        for one in report.diagnostics
    ]


def test_each_path(snapshot: SnapshotAssertion) -> None:
    shown = [
        f"{path[:24]!r}[{len(path)}]: {(findings((path, 0)) or ['.'])[0].split(' | ')[-2:][0]}" for path in PATHS
    ]
    for second in ("a/b", "A/b", "a", "A", "a/b/c", "a/B/c/d", "a/bc", "c"):
        for of in (0, 1):
            shown += [f"a/b, {second} of {of}: {found}" for found in findings(("a/b", 0), (second, of)) or ["."]]
    shown += findings(("a", 0), ("/", 1), ("b", 2), ("B", 1), ("b/c", 0), ("a/..", 2))
    assert "\n".join(shown) == snapshot


SMALL = {"Clock.json": clock()}
PARAMETERS = '[parameters]\ntext = "a"\nnumber = 1\nshare = 0.5\nflag = false\n'
GIVEN: tuple[dict[str, object], ...] = (
    {}, {"text": "1"}, {"text": ""}, {"number": "-7"}, {"share": "2"}, {"share": "1e3"}, {"flag": "true"},
    {"flag": "false", "number": "0"}, {"number": 8, "flag": True, "share": 1, "text": 5},
    {"number": "x"}, {"number": "1.5"}, {"share": "x"}, {"flag": "yes"}, {"flag": "True"}, {"flag": "1"},
    {"txet": "b"}, {"other": "b", "number": ""},
)  # fmt: skip


def test_each_parameter(run: Run, tmp_path: Path, snapshot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts become what the default is. Nothing is rendered where one is wrong."""
    made: list[str] = []

    def render_all(templates: object, parameters: dict[str, object], *rest: object) -> list[Rendered]:
        made.append(repr(parameters))
        return []

    monkeypatch.setattr("kwirec.outputs.emitting.render_all", render_all)
    for given in GIVEN:
        made.append(f"{given}:")
        made.append(run({"emit.toml": PARAMETERS, "a.jinja": ""}, definitions=SMALL, parameters=given).text)
    made.append(run({"a.jinja": ""}, definitions=SMALL, parameters={"text": "b"}).text)
    assert "\n".join(filter(None, made)).replace(tmp_path.as_posix(), "HERE") == snapshot


HEAD = '[[output]]\ntemplate = "a.jinja"\n'
TOMLS: dict[str, str] = {
    "right": f'description = "A."\n{PARAMETERS}{HEAD}[[output]]\ntemplate = "b/c.jinja"\neach = "enum"\npath = "p"\n',
    "in one line": 'output = [{ template = "a.jinja", each = "api" }, { template = "b/c.jinja", path = "x" }]\n',
    "in one line, wrong": 'output = [{ template = "a.jinja" }, { template = "b.jinja" }, { tempalte = "a" }]\n',
    "all wrong": 'description = 1\nparameters = 2\noutput = [{}, 1]\nothers = 3\n"out put" = 4\n',
    "no list": "output = 1\n",
    "wrong parameters": '[parameters]\n"a-b" = 1\nwhen = 1979-05-27\nright = 1.5\n  list = [1]\nclass = true\n',
    "wrong keys": f"{HEAD}\n [[ output ]] # two\n  'template' = 'a.jinja'\n  pth = 'x'\n  zzzzz = 1 # what\n"
    "path = 1 # no\n",
    "two outputs": f'{HEAD}each = "enum"\n[[output]]\neach = "enmu" # each\ntemplate = "a.jinja"\n{HEAD}each = 5\n',
    "no template": f'{HEAD}[[output]]\npath = "a"\n[[output]]\nx = 1',
    "unknown templates": '[[output]]\ntemplate = "a.jnja"\npath = "x"\n[[output]]\ntemplate = "zzzzzzzzz"',
    "unknown units": f'{HEAD}each = "zzzzzzzzz"\n{HEAD}each = "layuot"\n[parameters]\neach = "a"\n',
    "no TOML": f"{HEAD}path = x y\n",
    "no TOML at the end": f'{HEAD}path = "x',
    "no TOML in the first line": "= 1",
    "no TOML at a line end": "a = \nb = 1\n",
    "twice": f"{PARAMETERS}text = 2\n",
}


@pytest.mark.parametrize("case", TOMLS)
def test_each_mistake(case: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    write(tmp_path, {"emit.toml": TOMLS[case], "a.jinja": "", "b/c.jinja": "", "_d.jinja": ""})
    found = read_templates(tmp_path, report := Report())
    shown = [] if found is None else [f"{found.parameters}", *found.sources]
    for one in () if found is None else found.outputs:
        places = f"{one.template_span} {one.template_span.text!r}, {one.path_span} {one.path_span.text!r}"
        shown.append(f"{one.template}, {one.path}, {one.each}: {places}")
    text = "\n".join([*shown, render_text(report.diagnostics)])
    assert text.replace(f"{tmp_path.as_posix()}/", "").replace(tmp_path.as_posix(), "HERE") == snapshot


def test_which_files_are_templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names with braces are themselves. Hidden files and folders are not read, and a byte order mark is no text."""
    texts = {
        "b/{{a}}.jinja": "12",
        "a.txt.jinja": "345",
        "b/_d.jinja": "6",
        "c.txt": "",
        ".x.jinja": "",
        ".y/z.jinja": "",
    }
    write(tmp_path, texts)
    (tmp_path / "a.txt.jinja").write_bytes(BOM_UTF8 + b"345")
    for size, outputs in ((6, ["a.txt.jinja: a.txt", "b/{{a}}.jinja: {% raw %}b/{{a}}{% endraw %}"]), (5, None)):
        monkeypatch.setattr(folder, "MAX_TEXT", size)
        found = read_templates(tmp_path, report := Report())
        assert (found and [f"{one.template}: {one.path}" for one in found.outputs]) == outputs
        assert (found and {name: source.text for name, source in found.sources.items()}) == (
            outputs and {"a.txt.jinja": "345", "b/_d.jinja": "6", "b/{{a}}.jinja": "12"}
        )
        assert [one.code.number for one in report.diagnostics] == ([] if outputs else ["K910"])
    (tmp_path / "b/_d.jinja").write_bytes(b"\xff")
    assert read_templates(tmp_path, report := Report()) is None
    assert [one.message for one in report.diagnostics] == [f"cannot read `{tmp_path.as_posix()}/b/_d.jinja`"]
    monkeypatch.undo()
    write(tmp_path, {"_a.jinja": "", "emit.toml": "output = []"})
    assert read_templates(tmp_path, report := Report()) is None
    assert [one.code.number for one in report.diagnostics] == ["K009"]
    assert {*built_in()} == {"pydantic", "wireshark"}
