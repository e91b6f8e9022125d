"""The workflow on GitHub: it calls what there is, and says what a pull request does in one comment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
WORKFLOW = (WORKFLOWS / "ci.yml").read_text()
REPORT = "## Protocol changes\n\n**Breaking**: 1 error.\n\n### Metadata (api key 3)\n"
NOTHING = "## Protocol changes\n\n**Not breaking**: no findings.\n"


def script(step: str, workflow: str = WORKFLOW) -> str:
    """The shell script of a step."""
    found = re.search(rf"- name: {step}\n(?:.*\n)*?( +)run: (?:\|\n((?:\1  .*\n|\n)+)|(.+\n))", workflow)
    assert found is not None
    return textwrap.dedent(found[2] or found[3])


@pytest.mark.parametrize("name", ["ci", "nightly", "release", "releases"])
def test_every_target_that_it_makes_exists(name: str) -> None:
    workflow = (WORKFLOWS / f"{name}.yml").read_text()
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z-]*):.* ## ", makefile, re.MULTILINE))
    called = set(re.findall(r"\bmake (?:--silent )?([a-z-]+)", workflow))
    for values in re.findall(r"target: \[(.*)\]", workflow):
        called.update(values.split(", "))
    assert called
    assert called <= targets
    for variable in re.findall(r"make [^\n]*?\b([A-Z]+)=", workflow):
        assert f"$({variable})" in makefile


def test_it_sets_up_the_environment_of_the_makefile() -> None:
    assert "make .venv/.ready" in WORKFLOW
    assert re.search(r"^VENV := \.venv$", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    ("code", "printed", "failed", "told"),
    [
        (0, "no release is missing", False, ""),
        (1, "4.4.1\n4.5.0", False, "releases=4.4.1 4.5.0\n"),
        (1, "4.4.1\n$(id)", True, ""),
        (2, "", True, ""),
    ],
)
def test_only_releases_are_taken_in(
    code: int, printed: str, failed: bool, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = tmp_path / "bin" / "make"
    make.parent.mkdir()
    make.write_text(
        f"#!/bin/sh\ncat <<'END'\n{printed}\nEND\nexit {code}\n" if printed else f"#!/bin/sh\nexit {code}\n"
    )
    make.chmod(0o755)
    monkeypatch.setenv("PATH", f"{make.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    look = script("Look for releases", (WORKFLOWS / "releases.yml").read_text())
    command = ["bash", "-e", "-o", "pipefail", "-c", look]  # as GitHub runs it
    assert bool(subprocess.run(command, cwd=tmp_path, check=False).returncode) is failed
    assert ((tmp_path / "output").read_text() if (tmp_path / "output").exists() else "") == told


GRANTED = {
    "ci": [["contents: read"], ["pull-requests: write"]],
    "nightly": [["contents: read"]],
    "release": [
        *(["contents: read"], ["contents: read", "pages: read"], ["id-token: write"], ["contents: write"]),
        ["id-token: write", "pages: write"],
    ],
    "releases": [["contents: read"], ["contents: write", "pull-requests: write"]],
}
"""What a workflow may do, then those of its jobs that may do something else."""


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.stem)
def test_no_workflow_may_write_but_what_it_is_for(path: Path) -> None:
    workflow = path.read_text()
    granted = re.findall(r"^( *)permissions:\n((?:\1  .+\n)+)", workflow, re.MULTILINE)
    assert [re.findall(r"[\w-]+: \w+", block) for _, block in granted] == GRANTED[path.stem]
    assert workflow.count("permissions:") == len(granted)
    assert workflow.count("persist-credentials: false") == workflow.count("actions/checkout@")


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.stem)
def test_no_job_that_may_write_runs_code_of_a_pull_request_or_a_jar(path: Path) -> None:
    """Such code could replace a program that a later step runs with the token."""
    jobs = re.split(r"^  (?=\w[\w-]*:\n)", path.read_text().partition("\njobs:\n")[2], flags=re.MULTILINE)
    writing = [job for job in jobs if re.search(r"^      (?:contents|pull-requests): write$", job, re.MULTILINE)]
    assert len(writing) == {"ci": 1, "release": 1, "releases": 1}.get(path.stem, 0)
    for job in writing:
        code = "\n".join(line for line in job.splitlines() if not line.lstrip().startswith("#"))
        assert not re.search(r"\bmake\b|\bpip\b|\.ci/|\.venv|pytest|python3? (?!-c)|\./", code)
        used = set(re.findall(r"uses: ([\w/-]+)@", job))
        assert used <= {"actions/checkout", "actions/download-artifact"}


def test_a_pull_request_takes_nothing_that_runs_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The patch was made where jars of others ran: a workflow or a Makefile in it goes no further."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gh").write_text('#!/bin/sh\ncase "$*" in *create*) cat build/body.md > told;; esac\n')
    (tmp_path / "bin" / "gh").chmod(0o755)
    for name, value in {
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "RELEASES": "4.4.1 4.5.0",
    }.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "clone").mkdir()
    monkeypatch.chdir(tmp_path / "clone")

    def git(*arguments: str) -> str:
        who = ("-c", "user.name=x", "-c", "user.email=x")
        return subprocess.run(["git", *who, *arguments], check=True, capture_output=True, text=True).stdout

    subprocess.run(["git", "init", "-q", "--bare", "../origin"], check=True)
    git("init", "-q", "-b", "main")
    git("remote", "add", "origin", "../origin")
    taken = ["README.md", "docs/a.md", "generated/a/b.py", "message_defs/kafka/a.json", "tests/data/jars"]
    hostile = [
        ".github/workflows/ci.yml",
        "Makefile",
        "tools/maven.py",
        "tests/conftest.py",
        "docs.py",
        "a/README.md",
    ]
    for file in map(Path, [*taken, *hostile]):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("before\n")
    git("add", ".")
    git("commit", "-q", "-m", "before")
    for file in map(Path, [*taken, *hostile]):
        file.write_text("after\n")
    patch = git("diff", "--binary")
    git("checkout", "-q", ".")
    Path("build").mkdir()
    Path("build/update.patch").write_text(patch)
    Path("build/update.md").write_text("what is left to do")
    step = script("Open a pull request", (WORKFLOWS / "releases.yml").read_text())
    subprocess.run(["bash", "-e", "-o", "pipefail", "-c", step], check=True, capture_output=True)
    assert git("diff", "--name-only", "main", "origin/releases/4.4.1-4.5.0").split() == taken
    body = Path("told").read_text()
    assert "GitHub runs no checks on this pull request by itself" in body
    assert body.endswith("what is left to do")


def test_no_script_contains_what_somebody_else_may_name() -> None:
    """Names of branches and titles reach scripts as variables, where a shell does not run them."""
    for step in ("Test", "Check", "Set up", "Report", "Comment", "Refuse breaking changes"):
        assert "${{" not in script(step)


@pytest.fixture(autouse=True)
def nothing_of_the_make_that_runs_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("BASE", "FORMAT", "LEVEL", "MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ``gh`` that notes what it is asked for, and answers with the file ``earlier``."""
    gh = tmp_path / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text('#!/bin/sh\necho "$@" >> asked\ncase "$*" in *--paginate*) cat earlier;; esac\n')
    gh.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{gh.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COMMENTS", "repos/us/it/issues")
    monkeypatch.setenv("NUMBER", "12")
    Path("build").mkdir()
    return tmp_path / "asked"


@pytest.mark.parametrize(
    ("report", "earlier", "wrote"),
    [
        (REPORT, "", "--method POST repos/us/it/issues/12/comments"),
        (REPORT, "77\n78\n", "--method PATCH repos/us/it/issues/comments/77"),
        (NOTHING, "77\n", "--method PATCH repos/us/it/issues/comments/77"),
        (NOTHING, "", None),
    ],
)
def test_there_is_one_comment_which_follows_the_branch(
    asked: Path, report: str, earlier: str, wrote: str | None
) -> None:
    Path("build/diff.md").write_text(report)
    Path("earlier").write_text(earlier)
    subprocess.run(["bash", "-e", "-c", script("Comment")], check=True)
    listed, *written = asked.read_text().splitlines()
    assert "repos/us/it/issues/12/comments" in listed
    assert written == ([f"api --silent {wrote} -F body=@build/comment.md"] if wrote else [])
    assert Path("build/comment.md").read_text() == f"<!-- kwirec diff -->\n{report}"


def test_a_comment_is_never_longer_than_github_takes(asked: Path) -> None:
    Path("build/diff.md").write_text(REPORT + "🔴" * 70_000)
    Path("earlier").write_text("")
    subprocess.run(["bash", "-e", "-c", script("Comment")], check=True)
    assert 60_000 < len(Path("build/comment.md").read_text()) <= 65_536


@pytest.mark.parametrize(("made", "status"), [("echo '## Changes'; exit 2", 0), ("exit 2", 1)])
def test_a_report_of_breaking_changes_is_no_failure_but_no_report_is(
    asked: Path, monkeypatch: pytest.MonkeyPatch, made: str, status: int
) -> None:
    make = asked.parent / "bin" / "make"
    make.write_text(f"#!/bin/sh\n{made}\n")
    make.chmod(0o755)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    done = subprocess.run(["bash", "-e", "-c", script("Report")], check=False)
    assert done.returncode == status
    assert Path("summary.md").exists() == (status == 0)


@pytest.mark.parametrize("base", ["v1.2", "$(touch pwned)", "'; touch pwned; '"])
def test_make_diff_compares_with_where_the_branch_left_its_base(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BASE", base)
    kwirec = Path(".venv/bin/kwirec")
    kwirec.parent.mkdir(parents=True)
    kwirec.write_text('#!/bin/sh\necho "$@"\n')
    kwirec.chmod(0o755)
    command = ["make", "-s", "-f", str(ROOT / "Makefile"), "-o", ".venv/.ready", "diff", "LEVEL=policy"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == f"diff git:{base}... message_defs/kafka --format text --level policy\n"
    assert not Path("pwned").exists()


@pytest.mark.parametrize(
    ("programs", "user", "found", "asked"),
    [
        ({"google-chrome": ""}, 0, "google-chrome", ""),
        ({"apt-get": 'if [ "$1" = install ]; then ln -s bash {bin}/chromium; fi'}, 0, "chromium", "install"),
        ({"apt-get": "exit 100"}, 0, "", "update"),
        ({"apt-get": ""}, 0, "", "install"),
        ({"apt-get": "ln -s bash {bin}/chromium"}, 1000, "", ""),
        ({}, 0, "", ""),
    ],
    ids=["there", "installed", "no network", "installed in vain", "not allowed", "no apt-get"],
)
def test_a_browser_is_installed_where_there_is_none(
    programs: dict[str, str], user: int, found: str, asked: str, tmp_path: Path
) -> None:
    """``asked`` is the last that apt-get was called for. Where there is no browser, the checks go on and say so."""
    bin, log = tmp_path / "bin", tmp_path / "log"
    bin.mkdir()
    log.touch()
    for name in ("bash", "sh", "ln"):
        (bin / name).symlink_to(shutil.which(name) or "")
    for name, text in {"id": f"echo {user}", "timeout": 'shift; exec "$@"', **programs}.items():
        (bin / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {log}\n{text.format(bin=bin)}\n')
        (bin / name).chmod(0o755)
    done = subprocess.run([ROOT / ".ci" / "browser"], env={"PATH": str(bin)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).name == found
    assert ("the tests of pages in a browser are skipped" in done.stderr) == (not found)
    assert (re.findall("^apt-get ([a-z]+)", log.read_text(), re.MULTILINE) or [""])[-1] == asked
