"""Whole runs of ``kwirec emit``: what is written, replaced, removed and selected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from syrupy.assertion import SnapshotAssertion

from kwirec import OutputNotGeneratedError
from kwirec.command import main
from kwirec.outputs import Limits
from kwirec.view import SelectionError
from tests.outputs.conftest import CLOCKWORK, Run, write

pytestmark = pytest.mark.usefixtures("here")

TABLE = """\
| key | API | versions |
|---|---|---|
{% for api in schema.apis if api.request %}
| {{ api.key }} | {{ api.name | markdown }} | {{ api.request.valid }} |
{% endfor %}
"""

UNITS = ("schema", "api", "message", "struct", "enum", "version", "layout")
EACH = """\
[parameters]
title = "a"

""" + "\n".join(
    f'[[output]]\ntemplate = "{each}.txt.jinja"\neach = "{each}"\npath = "{each}/{{{{ {path} }}}}.txt"\n'
    for each, path in {
        "schema": "parameters.title",
        "api": "api",
        "message": "message | kebab",
        "struct": "message ~ '.' ~ struct",
        "enum": "enum",
        "version": "message ~ '-' ~ version",
        "layout": "message ~ '-' ~ layout",
    }.items()
)


def test_a_folder_without_emit_toml_makes_a_file_of_each_template(run: Run) -> None:
    found = run({"apis.md.jinja": TABLE, "_ignored.jinja": "{{ nothing }}", "README.md": "not a template"})
    assert found.files == {"apis.md": "| key | API | versions |\n|---|---|---|\n| 900 | Clock | 0-4 |\n"}


def test_a_template_runs_once_for_each_thing(run: Run, snapshot: SnapshotAssertion) -> None:
    files = {"emit.toml": EACH, **{f"{each}.txt.jinja": f"{{{{ {each} }}}}\n" for each in UNITS}}
    assert run(files, parameters={"title": "b"}).files == snapshot


def test_a_struct_has_a_field_by_its_name_or_none(run: Run) -> None:
    root = "schema.message('WindingKey').root"
    assert run({"a.jinja": f"{{{{ {root}.field('Clock') }}}} {{{{ {root}.field('clock') }}}}"}).files == {
        "a": "Clock None"
    }


def test_a_path_that_is_empty_makes_no_file(run: Run) -> None:
    path = "{% if message.kind == 'header' %}{{ message }}{% endif %}"
    toml = f'[[output]]\ntemplate = "a.jinja"\neach = "message"\npath = "{path}"'
    assert run({"emit.toml": toml, "a.jinja": ""}).files == {"ClockHeader": ""}


def test_a_selection_hides_other_messages_and_versions(run: Run) -> None:
    template = "{% for m in schema.messages %}{{ m }}: {{ m.valid }} {{ m.root.fields | join(',') }}\n{% endfor %}"
    whole = run({"a.txt.jinja": template}, only="Clock*").files["a.txt"]
    some = run({"a.txt.jinja": template}, only="ClockRequest:0, ClockResponse:newest").files["a.txt"]
    assert whole != some
    assert [line.split()[:2] for line in some.splitlines()] == [["ClockRequest:", "0"], ["ClockResponse:", "4"]]


def test_the_newest_version_is_the_last_stable_one(run: Run) -> None:
    """Version 4 of ClockRequest is unstable. It is the newest where no other is selected."""
    files = {"a.txt.jinja": "{{ schema.message('ClockRequest').valid }}: {{ schema.message('ClockRequest').newest }}"}
    shown = [run(files, only=only).files["a.txt"] for only in ("", "*:newest", "*:1+", "*:0-2", "*:4")]
    assert shown == ["0-4: 3", "3: 3", "1-4: 3", "0-2: 2", "4: 4"]


def test_without_outputs_in_emit_toml_each_template_becomes_a_file(run: Run) -> None:
    files = {"emit.toml": '[parameters]\nname = "a"\n', "a.txt.jinja": "{{ parameters.name }}", "_b.jinja": ""}
    assert run(files).files == {"a.txt": "a"}


@pytest.mark.parametrize(
    ("only", "what"),
    {
        "ClockRequst": "`ClockRequst` selects no message. did you mean `ClockRequest`?",
        "ClockRequest:9": "`ClockRequest:9` selects no version: ClockRequest has 0-4",
        "Clock*:x": "`x` of `Clock*:x`: expected `N`, `N-M`, `N+` or `none`, or `newest`",
    }.items(),
)
def test_a_selection_of_nothing_is_an_error(run: Run, only: str, what: str) -> None:
    with pytest.raises(SelectionError) as problem:
        run({"a.txt.jinja": ""}, only=only)
    assert str(problem.value) == what


def test_later_runs_replace_and_remove_their_own_files(run: Run) -> None:
    run({"a.txt.jinja": "1", "b/c.py.jinja": "x=1"})
    again = run({"a.txt.jinja": "2", "d.txt.jinja": "3"})
    assert again.files == {"a.txt": "2", "d.txt": "3"}
    assert again.emitted is not None
    assert again.emitted.outcome.removed == ["b/c.py"]


def test_check_writes_nothing(run: Run) -> None:
    run({"a.txt.jinja": "1"})
    found = run({"a.txt.jinja": "2"}, check=True)
    assert found.files == {"a.txt": "1"}
    assert found.emitted is not None
    assert found.emitted.outcome.written == ["a.txt", "manifest.json"]


def test_two_runs_make_the_same_bytes(run: Run, tmp_path: Path) -> None:
    files = {"emit.toml": EACH, **{f"{each}.txt.jinja": f"{{{{ {each} | pprint }}}}\n" for each in UNITS}}
    first, second = run(files), run(files, out=tmp_path / "other")
    assert first.text == ""
    assert first.files == second.files
    assert (tmp_path / "out/manifest.json").read_bytes() == (tmp_path / "other/manifest.json").read_bytes()


def test_files_of_others_are_left_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_text("mine")
    with pytest.raises(OutputNotGeneratedError, match=r"mine\.txt"):
        run({"a.txt.jinja": "1"})
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_a_link_in_the_folder_leads_to_no_file_outside(run: Run, tmp_path: Path) -> None:
    """A folder of an earlier run, replaced by a link."""
    toml = '[[output]]\ntemplate = "a.jinja"\npath = "sub/a.txt"\n'
    run({"emit.toml": toml, "a.jinja": "1"})
    (tmp_path / "out/sub").rename(tmp_path / "mine")
    (tmp_path / "out/sub").symlink_to(tmp_path / "mine")
    with pytest.raises(OutputNotGeneratedError, match="sub"):
        run({"emit.toml": toml, "a.jinja": "2"})
    assert (tmp_path / "mine/a.txt").read_text() == "1"


@pytest.mark.long
def test_a_generated_package_is_not_replaced_by_outputs(run: Run, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["generate", str(CLOCKWORK), "--package", "clock", "--out", str(tmp_path)])
    assert result.exit_code == 0
    with pytest.raises(OutputNotGeneratedError, match="holds files of `kwirec generate`"):
        run({"a.txt.jinja": "1"}, out=tmp_path / "clock")


def test_outputs_are_not_replaced_by_a_generated_package(run: Run, tmp_path: Path) -> None:
    run({"a.txt.jinja": "1"}, out=tmp_path / "clock")
    result = CliRunner().invoke(main, ["generate", str(CLOCKWORK), "--package", "clock", "--out", str(tmp_path)])
    assert (result.exit_code, "holds files of `kwirec emit`: choose another folder" in result.stderr) == (2, True)
    assert sorted(path.name for path in (tmp_path / "clock").iterdir()) == ["a.txt", "manifest.json"]


@pytest.mark.slow
def test_python_is_formatted_by_black_and_others_by_a_command(run: Run) -> None:
    upper = ["python3", "-c", "import sys; print(sys.stdin.read().upper(), end='')"]
    files = {"a.py.jinja": "x=1", "b.go.jinja": "y=1", "c.txt.jinja": "z=1"}
    assert run(files, formatters={".go": upper}).files == {"a.py": "x = 1\n", "b.go": "Y=1", "c.txt": "z=1"}
    assert run(files, formatters={".py": upper}).files == {"a.py": "X=1", "b.go": "y=1", "c.txt": "z=1"}
    assert run(files).files == {"a.py": "x = 1\n", "b.go": "y=1", "c.txt": "z=1"}


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(
        Path("mine"),
        {
            "emit.toml": '[parameters]\nwho = "you"\n[[output]]\ntemplate = "a.txt.jinja"',
            "a.txt.jinja": "{{ parameters.who }}",
        },
    )
    arguments = ["emit", "mine", str(CLOCKWORK), "--out", "out", "-q", "--set", "who=me"]
    first = CliRunner().invoke(main, arguments)
    assert (first.exit_code, Path("out/a.txt").read_text()) == (0, "me")
    assert "files, 2 written, 0 removed" in first.stderr
    stale = CliRunner().invoke(main, [*arguments[:-1], "who=others", "--check"])
    assert (stale.exit_code, Path("out/a.txt").read_text()) == (1, "me")
    assert "out/a.txt is out of date: run `kwirec emit`" in stale.stderr
    unknown = CliRunner().invoke(main, ["emit", "wireshrk", str(CLOCKWORK), "--out", "out", "-q"])
    assert unknown.exit_code == 2
    assert (
        "error[K001]: `wireshrk` is neither a folder nor the name of templates that come with kwirec\n"
        " --> wireshrk\n  = help: did you mean `wireshark`?\n" in unknown.stderr
    )


def test_options_of_the_command_are_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def emit(loaded: object, paths: object, templates: str, **options: Any) -> None:
        given.update(options, paths=paths, templates=templates)
        raise SelectionError("that is enough")

    monkeypatch.setattr("kwirec.outputs.emit", emit)
    more = ["--set", "a=1=2", "--set", "b=3", "--format-with", ".go=gofmt -s", "--format-with", ".rs=rustfmt"]
    command = [
        "emit",
        "mine",
        str(CLOCKWORK),
        "--out",
        "out",
        "--only",
        "Clock*:1",
        "--only",
        "Gear,Stratum",
        "--timeout",
        "2.5",
        *more,
    ]
    result = CliRunner().invoke(main, [*command, "--check"])
    assert (result.exit_code, "--only: that is enough" in result.stderr) == (2, True)
    assert {name: value for name, value in given.items() if name not in ("report", "phase")} == {
        "paths": (CLOCKWORK,),
        "templates": "mine",
        "out": Path("out"),
        "only": "Clock*:1,Gear,Stratum",
        "parameters": {"a": "1=2", "b": "3"},
        "formatters": {".go": ["gofmt", "-s"], ".rs": ["rustfmt"]},
        "check": True,
        "limits": Limits(seconds=2.5),
    }
