"""Every mistake in a folder of templates is one finding, with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from kwirec import Report
from kwirec.diagnostics.render_text import render_text
from kwirec.emitters import formatters
from kwirec.emitters.environment import Artifact
from kwirec.emitters.formatters import FormatError, run_formatter
from kwirec.outputs import Limits
from kwirec.outputs.folder import read_templates
from tests.outputs.conftest import Run

TEMPLATES = {
    "an open block": "{% for x in y %}",
    "an unknown filter": "{{ schema | shout }}",
    "an unknown name": "text\n{{ scheme }}",
    "an unknown name twice": "{{ schema.messages }}, {{ scheme.scheme }}, {{ scheme }}",
    "an unknown attribute": "{% for m in schema.messages %}\n{{ m.root.feilds }}\n{% endfor %}",
    "an attribute of nothing": "{{ schema.message('Nobody').name }}",
    "an unknown parameter": "{{ parameters.package }}",
    "an unknown template": '{% include "other.jinja" %}',
    "a template outside": '{% include "../../secret.jinja" %}',
    "an absolute template": '{% import "/etc/passwd" as it %}',
    "a wrong type": "{{ 1 + schema.messages }}",
    "a method without a call": "{{ schema.message }}",
    "no literal": "{{ schema.messages | go_literal }}",
    "a refusal": '{{ fail("set a package") }}',
    "a private attribute": "{{ schema.__class__.__mro__ }}",
    "a private attribute by filter": '{{ schema | attr("__class__") }}',
    "a private attribute by format": '{{ "{0.__class__}".format(schema) }}',
    "globals of a function": "{{ fail.__globals__ }}",
    "globals of a macro": "{% macro a() %}{% endmacro %}{{ a._func.__globals__ }}",
    "a change of a list": "{% set a = [] %}{{ a.append(1) }}",
    "randomness": "{{ [1, 2] | random }}",
    "a macro without an end": "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
}

OUTPUTS = {
    "no TOML": "[[output]\n",
    "an unknown key": "outputs = 1\n",
    "an unknown key of an output": '[[output]]\ntemplate = "a.jinja"\neech = "message"\n',
    "a wrong type": '[[output]]\ntemplate = "a.jinja"\n[[output]]\ntemplate = 1\n',
    "no template": '[[output]]\npath = "a"\n',
    "an unknown template": '[[output]]\ntemplate = "b.jinja"\n',
    "an unknown unit": '[[output]]\ntemplate = "a.jinja"\neach = "mesage"  # what\n',
    "a wrong parameter": '[parameters]\na = []\n[[output]]\ntemplate = "a.jinja"\n',
    "a table": '[output]\ntemplate = "a.jinja"\n',
    "an unknown name in a path": '[[output]]\ntemplate = "a.jinja"\npath = "{{ message }}.txt"\n',
    "one path for all": '[[output]]\ntemplate = "a.jinja"\neach = "message"\npath = "a.txt"\n',
    "one path for two": '[[output]]\ntemplate = "a.jinja"\n\n[[output]]\ntemplate = "a.jinja"\npath = "A"\n',
    "a file as a folder": '[[output]]\ntemplate = "a.jinja"\n\n[[output]]\ntemplate = "a.jinja"\npath = "a/b"\n',
}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("case", TEMPLATES)
def test_templates(run: Run, snapshot: SnapshotAssertion, case: str) -> None:
    found = run({"a.txt.jinja": TEMPLATES[case]})
    assert (len(found.found), found.files) == (1, {})
    assert found.text == snapshot


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("case", OUTPUTS)
def test_outputs(run: Run, snapshot: SnapshotAssertion, case: str) -> None:
    found = run({"emit.toml": OUTPUTS[case], "a.jinja": ""})
    assert found.files == {}
    assert set(found.found) <= {"K901", "K903", "K908"}
    assert found.text == snapshot


@pytest.mark.usefixtures("here")
def test_names_of_a_unit_are_suggested(run: Run) -> None:
    output = '[[output]]\ntemplate = "a.jinja"\neach = "message"\npath = "{{ message }}.txt"\n'
    found = run({"emit.toml": output, "a.jinja": "{{ mesage.name }}"})
    assert found.found == ["K903"]
    assert "did you mean `message`?" in found.text


@pytest.mark.slow
def test_a_file_with_a_wrong_path_is_not_written(run: Run, tmp_path: Path) -> None:
    found = run({"emit.toml": '[[output]]\ntemplate = "a.jinja"\npath = "../a"\n', "a.jinja": "x"})
    assert (found.found, found.files) == (["K907"], {})
    assert "it leads out of its folder" in found.text
    assert sorted(one.name for one in tmp_path.iterdir()) == ["templates"]


ENDLESS = {
    "loops": "text\n{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "numbers": "{{ 99999999 ** 99999999 }}",
}


@pytest.mark.slow
@pytest.mark.parametrize("case", ENDLESS)
def test_an_endless_template_ends(run: Run, snapshot: SnapshotAssertion, case: str) -> None:
    found = run({"a.txt.jinja": ENDLESS[case]}, limits=Limits(seconds=0.5))
    assert (found.found, found.files) == (["K906"], {})
    assert found.text == snapshot


HUGE = {
    "text": "{% for a in range(99999) %}xxxxxxxxxxxxxxxxxxxx{% endfor %}",
    "one string": "{{ 'x' * 9999999 }}",
    "memory": "{{ 'x' * 99999999999 }}",
}


@pytest.mark.slow
@pytest.mark.parametrize("case", HUGE)
def test_a_huge_output_ends(run: Run, snapshot: SnapshotAssertion, case: str) -> None:
    found = run({"a.txt.jinja": HUGE[case]}, limits=Limits(size=1 << 20, memory=1 << 30))
    assert (found.found, found.files) == (["K906"], {})
    assert found.text == snapshot


@pytest.mark.usefixtures("here")
def test_too_many_files(run: Run) -> None:
    toml = '[[output]]\ntemplate = "a.jinja"\neach = "message"\npath = "{{ message }}"\n'
    shown: list[tuple[object, ...]] = []
    found = run({"emit.toml": toml, "a.jinja": ""}, limits=Limits(files=2), phase=lambda *each: shown.append(each))
    assert (found.found, found.files) == (["K906"], {})
    assert "error[K906]: the templates produce more than 2 files\n" in found.text
    assert shown == [("emit", 1, 1), ("emit", 2, 2), ("emit", 3, 3)]


@pytest.mark.slow
def test_links_are_refused(run: Run, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """A link to a file could bring its text into the output, and so could a link to a folder."""
    run({"a.txt.jinja": ""})
    (tmp_path / "secret.jinja").write_text("secret")
    (tmp_path / "templates/b.txt.jinja").symlink_to(tmp_path / "secret.jinja")
    (tmp_path / "templates/more").symlink_to(tmp_path)
    report = Report()
    assert read_templates(tmp_path / "templates", report) is None
    assert render_text(report.diagnostics).replace(tmp_path.as_posix(), "") == snapshot


@pytest.mark.slow
def test_invalid_python_is_a_finding(run: Run, snapshot: SnapshotAssertion) -> None:
    found = run({"a.py.jinja": "x = ["})
    assert (found.found, found.files) == (["K909"], {})
    assert found.text == snapshot


@pytest.mark.parametrize(
    ("command", "made"),
    {
        "cat; printf 'b\\r\\nc\\r'": "a\nb\nc\r",
        "echo ' no  Go'; echo ' no  Go\n at all ' >&2; exit 3": "no Go at all",
        "exit 3": "it ends with code 3",
        "printf '\\377'": "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
    }.items(),
)
def test_what_a_command_makes_of_a_file(command: str, made: str) -> None:
    artifact = Artifact(path="a.go", text="a\n")
    if made.startswith("a"):
        assert run_formatter(["sh", "-c", command], artifact) == made
    else:
        with pytest.raises(FormatError) as caught:
            run_formatter(["sh", "-c", command], artifact)
        assert (caught.value.path, caught.value.reason) == ("a.go", f"`sh -c {command}`: {made}")
    with pytest.raises(FormatError, match=r"^\('a\.go', \"`\./nowhere`: \[Errno 2\] No such file or directory"):
        run_formatter(["./nowhere"], artifact)


def test_a_command_that_does_not_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formatters, "MAX_SECONDS", 0.1)
    with pytest.raises(FormatError, match=r"`sleep 60`: .* timed out after 0\.1 seconds"):
        run_formatter(["sleep", "60"], Artifact(path="a.go", text="a\n"))


@pytest.mark.slow
def test_a_command_that_fails_is_a_finding(run: Run) -> None:
    found = run({"a.go.jinja": "x"}, formatters={".go": ["python3", "-c", "raise SystemExit('no Go')"]})
    assert found.found == ["K909"]
    assert "no Go" in found.text
