"""Releases: notes come from the changelog, and entries of pull requests from fragments."""

from __future__ import annotations

import re
import shutil
import sys
import tarfile
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from kwire import __version__
from kwire_guide.assets import assets
from tools import release
from tools.release import VERSION_FILE, notes, prepare, site

ROOT = Path(__file__).parents[1]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("CHANGELOG.md", "pyproject.toml", str(VERSION_FILE), "changes/README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


def test_the_first_release_has_what_was_unreleased_and_later_ones_have_the_fragments(tree: Path) -> None:
    changelog = tree / "CHANGELOG.md"
    text = changelog.read_text()
    head = text.partition("## ")[0]
    changelog.write_text(head + "## Unreleased\n\n### Added\n\n- First.\n")
    prepare(tree, "9.0.0", date(2027, 1, 2))
    fragments = {"12.added": "New.", "13.fixed": "Mended.", "+words.changed": "Other."}
    for name, entry in fragments.items():
        (tree / "changes" / f"{name}.md").write_text(f"{entry}\n")
    prepare(tree, "9.1.0", date(2027, 2, 3))
    assert changelog.read_text() == (
        f"{head}## 9.1.0 (2027-02-03)\n\n"
        "### Added\n\n- New. (#12)\n\n### Changed\n\n- Other.\n\n### Fixed\n\n- Mended. (#13)\n\n\n"
        "## 9.0.0 (2027-01-02)\n\n### Added\n\n- First.\n"
    )
    assert notes(changelog.read_text(), "9.0.0") == "### Added\n\n- First.\n"
    assert notes(changelog.read_text(), "9.1.0").endswith("- Mended. (#13)\n")
    assert '\n__version__ = "9.1.0"\n' in (tree / VERSION_FILE).read_text()
    assert [path.name for path in (tree / "changes").iterdir()] == ["README.md"]


def test_a_release_without_notes_is_refused() -> None:
    for text in ("## 1.0.0\n\n- First.\n", "## 1.1.0 (2027-01-02)\n\n## 1.0.0\n\n- First.\n"):
        with pytest.raises(ValueError, match=r"no notes of 1\.1\.0"):
            notes(text, "1.1.0")


def test_fragments_are_named_as_towncrier_reads_them() -> None:
    names = {path.name for path in (ROOT / "changes").iterdir()} - {"README.md"}
    kinds = "added|changed|deprecated|removed|fixed"
    assert not [name for name in names if not re.fullmatch(rf"(\d+|\+[\w-]+)\.({kinds})(\.\d+)?\.md", name)]


def test_sites_of_releases_are_folders_of_the_newest_and_listed_newest_first(tmp_path: Path) -> None:
    root = tmp_path / "site"
    archives = []
    for version in ("0.2.0", "0.10.0", "0.9.1"):
        page = tmp_path / version / "index.html"
        page.parent.mkdir()
        page.write_text(version)
        archives.append(tmp_path / f"kwire-site-{version}.tar.gz")
        with tarfile.open(archives[-1], "w:gz") as tar:
            tar.add(page.parent, ".")
    site(root, archives)
    assert (root / "0.9.1" / "index.html").read_text() == "0.9.1"
    links = re.findall('href="([^"]*)"', (root / "versions.html").read_text())
    assert links[2:] == ["index.html", "0.10.0/index.html", "0.9.1/index.html", "0.2.0/index.html"]
    assert {*links[:2]} < {asset.path for asset in assets()}
    with pytest.raises(ValueError, match="expected the name"):
        site(root, [tmp_path / "kwire-site-..tar.gz"])


def test_a_rehearsal_step_by_step(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything happens in a clone, and both artifacts are tried on both Pythons."""
    (tree / "CHANGELOG.md").write_text("## Unreleased\n\n- First.\n")
    build, steps = tree / "build" / "release", list[str]()
    (build / "left").mkdir(parents=True)

    def run(folder: Path, *command: str) -> str:
        words = [word for word in command if word != release.TRIAL]
        shown = " ".join(word.removeprefix(f"{tree}/") for word in words).replace(sys.executable, "python")
        steps.append(f"{folder.relative_to(tree).as_posix()}: {shown.replace(str(tree), 'ROOT')}")
        if "clone" in command:
            assert not build.exists()
            shutil.copytree(tree, tree / "build" / "release" / "clone", ignore=shutil.ignore_patterns("build"))
        elif "venv" in command:
            Path(command[-1]).mkdir()
        elif release.TRIAL in command:
            return "9.0.0\n"
        return "kwire 9.0.0 (interpreted)\n" if command[0].endswith("kwire") else f"The {command[0]}\n"

    monkeypatch.setattr(release, "ROOT", tree)
    monkeypatch.setattr(release, "FOLDER", build)
    monkeypatch.setattr(release, "_run", run)
    release.rehearse("9.0.0", ["python3.11", "python3.14"])
    here, trials, told = "build/release", list[str](), list[str]()
    for number, python in enumerate(("python3.11", "python3.14")):
        for artifact, kind in (("kwire-9.0.0-py3-none-any.whl", "whl"), ("kwire-9.0.0.tar.gz", "gz")):
            venv = f"{here}/venv-{number}-{kind}"
            trials += [
                f"{here}: {python} -m venv {venv}",
                f"{here}: {venv}/bin/python -m pip install --quiet {here}/dist/{artifact}[compiler]",
                f"{venv}/work: {venv}/bin/python -c",
                *(f"{venv}/work: {venv}/bin/kwire {words}" for words in ("--version", "describe FetchRequest")),
                *(f"{venv}/work: {venv}/bin/kwirec {words}" for words in ("new acme", "check acme")),
                f"{venv}/work: {python} --version",
            ]
            told.append(f"The {python}: {artifact} works\n")
    git = f"{here}/clone: git -c user.name=rehearsal -c user.email=rehearsal@localhost"
    assert steps == [
        f".: git clone --quiet ROOT {here}/clone",
        f"{git} commit --quiet --all --allow-empty --message Release 9.0.0",
        f"{git} tag --annotate v9.0.0 --message Release 9.0.0",
        f"{here}/clone: python -m build --no-isolation --outdir {here}/dist .",
        *trials,
    ]
    assert (build / "notes.md").read_text() == "- First.\n"
    assert "## Unreleased" in (tree / "CHANGELOG.md").read_text()
    told.append(f"kwire 9.0.0: 2 Pythons; notes in {build / 'notes.md'}\n")
    assert capsys.readouterr().out == "".join(told)
    exec(release.TRIAL, {})
    assert capsys.readouterr().out == f"{__version__}\n"


def test_a_step_that_fails_ends_the_rehearsal_with_what_it_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps do not see the packages of this tree."""
    monkeypatch.setenv("PYTHONPATH", "here")
    monkeypatch.setenv("VIRTUAL_ENV", "there")
    monkeypatch.setenv("OTHER", "kept")
    script = "import os, sys; print(os.getcwd(), *map(os.environ.get, ('PYTHONPATH', 'VIRTUAL_ENV', 'OTHER')))"
    assert release._run(tmp_path, sys.executable, "-c", script) == f"{tmp_path} None None kept\n"
    script = "import sys; print('out'); sys.exit('err')"
    with pytest.raises(SystemExit) as ended:
        release._run(tmp_path, sys.executable, "-c", script)
    assert ended.value.code == f"{sys.executable} -c {script} failed in {tmp_path}:\nout\nerr\n"


def test_what_each_action_does(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[tuple[object, ...]] = []
    for name in ("prepare", "rehearse", "site"):
        monkeypatch.setattr(release, name, lambda *given, name=name: done.append((name, *given)))
    monkeypatch.setattr(release, "ROOT", tree)
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "python3.12" else f"/usr/bin/{name}")
    (tree / "CHANGELOG.md").write_text("## 1.0.0\n\n- First.\n")
    monkeypatch.setenv("PYTHONS", "")
    for command in ("prepare 9.0.0", "notes 1.0.0", "site new a.tar.gz b.tar.gz", "rehearse 9.0.0"):
        monkeypatch.setattr(sys, "argv", ["release", *command.split()])
        release.main()
    monkeypatch.setenv("PYTHONS", "python4 python5")
    release.main()
    assert done == [
        ("prepare", tree, "9.0.0", datetime.now(UTC).date()),
        ("site", Path("new"), [Path("a.tar.gz"), Path("b.tar.gz")]),
        ("rehearse", "9.0.0", ["python3.11", "python3.13", "python3.14"]),
        ("rehearse", "9.0.0", ["python4", "python5"]),
    ]
    assert capsys.readouterr().out == "- First.\n"
