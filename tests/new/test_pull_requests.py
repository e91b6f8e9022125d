"""Checks in repositories of others: the workflow of ``kwirec new --ci``, the Action, and hooks of pre-commit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kwirec.command import main
from tests.support.github import Job, read_yaml
from tests.support.page_blocks import blocks

ROOT = Path(__file__).resolve().parents[2]
COLOR = '{ "name": "Color", "type": "string", "versions": "1+", "about": "What to paint it in." },'


def kwirec(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def git(*arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x", *arguments], check=True, capture_output=True)


def commit(text: str) -> None:
    git("add", ".")
    git("commit", "--quiet", "--message", text)


def change(*pairs: tuple[str, str]) -> None:
    """Replace texts in all definitions."""
    for path in Path("proto/defs").iterdir():
        text = path.read_text()
        for old, new in pairs:
            text = text.replace(old, new)
        path.write_text(text)


def add_color(versions: str) -> None:
    note = '    { "name": "Note"'
    change((note, f"    {COLOR.replace('1+', versions)}\n{note}"))


def generate() -> None:
    assert kwirec("generate", "proto/defs", "--package", "acme", "--out", "proto/src").exit_code == 0


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A branch of a clone, whose ``main`` has the protocol in ``proto`` and went on after the branch left it."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "origin").mkdir()
    monkeypatch.chdir(tmp_path / "origin")
    git("init", "--quiet", "--initial-branch", "main")
    assert kwirec("new", "acme", "proto", "--ci", "github").exit_code == 0
    generate()
    commit("First version")
    git("branch", "other")
    change(('"0-1"', '"0-2"'))
    commit("Later")
    git("clone", "--quiet", "--branch", "other", ".", str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    return tmp_path / "clone"


def workflow(clone: Path) -> Job:
    job = read_yaml(clone / ".github/workflows/acme.yml")["jobs"]["protocol"]
    known = {"github.base_ref": "main"}
    made = Job(
        job["steps"], clone, known, {}, skipped=["Install"], folder=job["defaults"]["run"]["working-directory"]
    )
    made.environment = {name: made.filled(value) for name, value in job["env"].items()}
    return made


@pytest.mark.long
def test_the_workflow_refuses_what_breaks_and_accepts_a_new_version(clone: Path) -> None:
    add_color("1+")
    breaking = workflow(clone)
    assert breaking.run() == "Refuse breaking changes"
    assert "::error file=proto/defs/OrderRequest.json,line=13,col=15" in breaking.output
    assert "### Order (api key 1)" in breaking.summary

    change(('"Color", "type": "string", "versions": "1+"', '"Color", "type": "string", "versions": "2+"'))
    change(('"0-1"', '"0-2"'))
    stale = workflow(clone)
    assert stale.run() == "Compare the generated code"
    assert "proto/src/acme" not in stale.output  # named as seen from the folder of the protocol
    assert "src/acme/api/order.py is out of date: run `kwirec generate`" in stale.output

    generate()
    assert workflow(clone).run() == ""

    change(('"type": "string"', '"type": "strng"'))
    mistaken = workflow(clone)
    assert mistaken.run() == "Check the definitions"
    assert "::error file=proto/defs/OrderRequest.json,line=10,col=35,endColumn=40,title=K101" in mistaken.output


def test_a_workflow_is_added_to_a_protocol_and_never_replaced(clone: Path) -> None:
    path = Path(".github/workflows/acme.yml")
    text = path.read_text()
    path.unlink()
    assert kwirec("new", "acme", "proto", "--ci", "github").exit_code == 0
    git("diff", "--exit-code")
    path.write_text(f"{text}# mine\n")
    refused = kwirec("new", "acme", "proto", "--ci", "github")
    assert (refused.exit_code, path.read_text()) == (2, f"{text}# mine\n")
    assert "acme.yml exists with other content: remove it" in refused.output
    Path("pro to/defs").mkdir(parents=True)
    assert "cannot be used in a workflow" in kwirec("new", "other", "pro to", "--ci", "github").output
    assert kwirec("new", "other", "--templates", "--ci", "github").exit_code == 2


def action(clone: Path, command: str, **inputs: str) -> Job:
    """A step with the Action, in a pull request of the same repository. ``gh`` notes what it is asked for."""
    made = read_yaml(ROOT / "action.yml")
    given = {name: str(one.get("default", "")) for name, one in made["inputs"].items()}
    given |= {
        "command": command,
        "working-directory": "proto",
        "base": "main",
        "package": "acme",
        "token": "t",
        **inputs,
    }
    known = {f"inputs.{name}": value for name, value in given.items()}
    known |= {"github.repository": "us/it", "github.event.number": "12"}
    known |= {"github.event.pull_request.head.repo.full_name": given.get("head", "us/it")}
    bin = clone / ".git" / "github" / "kwire" / "bin"
    bin.mkdir(parents=True, exist_ok=True)
    (bin / "gh").write_text('#!/bin/sh\necho "$@" >> asked\ncase "$*" in *--paginate*) cat earlier;; esac\n')
    (bin / "gh").chmod(0o755)
    (bin.parents[1] / "earlier").touch()
    for name in ("python", "kwirec"):
        if not (bin / name).exists():
            (bin / name).symlink_to(Path(sys.executable).with_name(name))
    path = {"PATH": f"{bin}{os.pathsep}{os.environ['PATH']}"}
    return Job(made["runs"]["steps"], clone, known, path, skipped=["Install"])


@pytest.mark.slow
@pytest.mark.long
def test_the_action_checks_compares_and_comments(clone: Path) -> None:
    runner = clone / ".git" / "github"
    assert action(clone, "check", paths="defs/OrderRequest.json\ndefs/OrderResponse.json\n").run() == ""
    assert action(clone, "generate").run() == ""

    Path("proto/sys.py").write_text("raise SystemExit('the code of a pull request ran')")
    add_color("1+")
    breaking = action(clone, "diff")
    assert breaking.run() == "Run"
    assert "::error file=proto/defs/OrderRequest.json,line=13,col=15" in breaking.output
    listed, written = (runner / "asked").read_text().splitlines()
    assert "--paginate repos/us/it/issues/12/comments" in listed
    assert written == "api --silent --method POST repos/us/it/issues/12/comments -F body=@comment.md"
    comment = (runner / "comment.md").read_text()
    assert comment == f"<!-- kwirec diff proto -->\n{breaking.summary}"
    assert "`OrderRequest.Color` was added to version 1" in comment.replace("**", "")

    assert action(clone, "generate").run() == "Run"
    (runner / "earlier").write_text("77\n")
    assert action(clone, "diff", level="policy").run() == "Run"
    assert (
        (runner / "asked")
        .read_text()
        .splitlines()[-1]
        .startswith("api --silent --method PATCH repos/us/it/issues/com")
    )
    (runner / "asked").unlink()
    assert action(clone, "diff", head="them/it").run() == action(clone, "diff", comment="false").run() == "Run"
    assert not (runner / "asked").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["command", "paths", "base", "level", "package", "out"])
def test_no_input_of_the_action_is_run(clone: Path, name: str) -> None:
    hostile = "$(touch pwned); `touch pwned`; --config=/dev/null'\"; touch pwned; "
    command = "diff" if name in ("base", "level") else "generate" if name in ("package", "out") else "check"
    made = action(clone, **{"command": command, name: hostile})
    assert made.run() == "Run"
    assert not list(clone.rglob("pwned"))


def test_the_action_is_described_with_all_inputs_and_installs_from_its_checkout() -> None:
    made = read_yaml(ROOT / "action.yml")
    page = (ROOT / "docs/check-definitions.md").read_text()
    assert [name for name in made["inputs"] if f"`{name}`" not in page and name != "token"] == []
    (install,) = (step for step in made["runs"]["steps"] if step.get("name") == "Install")
    assert '"$KWIRE[compiler]"' in install["run"]
    assert install["env"]["KWIRE"] == "${{ github.action_path }}"
    (shown,) = (block.text for block in blocks(page) if "pull-requests: write" in block.text)
    given = [name for line in shown.splitlines() if (name := line.strip().partition(":")[0]) in made["inputs"]]
    assert given == ["command", "paths", "command", "command", "package", "out"]


@pytest.mark.slow
@pytest.mark.long
def test_hooks_find_what_is_wrong_and_format(clone: Path) -> None:
    """pre-commit runs ``entry`` with ``args`` in the top folder. With changed files, a hook has failed."""
    hooks = {hook["id"]: hook for hook in read_yaml(ROOT / ".pre-commit-hooks.yaml")}

    def run(hook: str, *arguments: str) -> int:
        command = [*hooks[hook]["entry"].split(), *(arguments or hooks[hook]["args"])]
        return subprocess.run(command, cwd="proto", capture_output=True, check=False).returncode

    package = ("defs", "--package", "acme", "--out", "src")
    assert {hook["language"] for hook in hooks.values()} == {"python"}
    assert [run("kwirec-check"), run("kwirec-fmt"), run("kwirec-generate", *package)] == [0, 0, 0]
    git("diff", "--exit-code")
    change(('"int32", "versions"', '"int32",   "versions"'))
    assert run("kwirec-fmt") == 0
    git("diff", "--exit-code")
    change(('"int32"', '"int64"'))
    assert [run("kwirec-check"), run("kwirec-generate", *package)] == [0, 1]
    change(('"int64"', '"int65"'))
    assert run("kwirec-check") == 1
