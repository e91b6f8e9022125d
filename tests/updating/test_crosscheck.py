"""franz-go's definitions come from any repository, at the commit that is asked for."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from kwirec.versions import VersionRange
from tools import crosscheck
from tools.crosscheck import DEFINITIONS, KNOWN, Known, bring, main

GIT = ("git", "-c", "user.name=n", "-c", "user.email=n@localhost", "-c", "init.defaultBranch=main")


def commit(clone: Path, **files: str) -> str:
    """A commit with these definitions and no others; gives its id."""
    folder = clone / DEFINITIONS
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for name, text in files.items():
        (folder / name).write_text(text)
    for command in (("add", "--all"), ("commit", "--quiet", "--message", "m")):
        subprocess.run([*GIT, "-C", str(clone), *command], check=True)
    done = subprocess.run([*GIT, "-C", str(clone), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    subprocess.run([*GIT, "init", "--quiet", str(tmp_path / "clone")], check=True)
    return tmp_path / "clone"


def test_a_clone_on_this_machine_is_read_at_the_commit(clone: Path, tmp_path: Path) -> None:
    first, second = commit(clone, misc="one", enums="e"), commit(clone, misc="two")
    for wanted, files in (
        (first, {"misc": "one", "enums": "e"}),
        (second, {"misc": "two"}),
        ("main", {"misc": "two"}),
    ):
        folder = bring(tmp_path / "brought", wanted, str(clone))
        assert {path.name: path.read_text() for path in folder.iterdir()} == files


def test_differences_and_missing_repositories_are_told(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(crosscheck, "KNOWN", ())
    monkeypatch.setattr(crosscheck, "ROOT", tmp_path)
    union = tmp_path / "message_defs" / "kafka"
    union.mkdir(parents=True)
    definition = "AskRequest => key 7, max version 0\n  A: {}\n\nAskResponse =>\n  B: int8\n"
    record = "\n{} => with version field\n  Version: int16\n  C: int8\n"
    (union / "ask.krm").write_text(definition.format("int8") + record.format("TransactionLogKey"))
    at = commit(clone, **{"ask.krm": definition.format("int16") + record.format("TxnMetadataKey")})
    monkeypatch.chdir(clone.parent)
    assert main(["--repository", clone.name, "--commit", at]) == 1
    differs = "not explained: AskRequest v0: A is i8 | i16"
    printed = capsys.readouterr()
    assert printed.err == f"{differs}\n"
    assert printed.out == (
        "3 messages of franz-go\n"
        "requests and responses: 1 of 2 common versions are equal, 1 differ as explained\n"
        "records: 1 of 1 common versions are equal, 0 differ as explained\n"
    )
    for path, versions, told in (
        ("B", "0", [differs, "explanation without a difference: AskRequest version 0, B"]),
        ("A", "1", [differs, "explanation without a difference: AskRequest version 1, A"]),
        ("A", "0-1", ["explanation without a difference: AskRequest version 1, A"]),
        ("A", "0", []),
    ):
        monkeypatch.setattr(crosscheck, "KNOWN", (Known("AskRequest", versions, path, "an example"),))
        assert main(["--repository", clone.name, "--commit", at]) == bool(told)
        printed = capsys.readouterr()
        assert printed.err.splitlines() == told, "one field or version explains no other"
        assert printed.out.splitlines()[0] == f"AskRequest {versions}, {path}: an example; right: Kafka"
    assert main(["--repository", str(tmp_path / "none")]) == 2
    assert f"{tmp_path / 'none'} cannot be read" in capsys.readouterr().err


def test_a_version_has_one_explanation() -> None:
    """A comparison ends at the first field with different bytes, so that a second explanation never matches."""
    explained = Counter((known.message, version) for known in KNOWN for version in VersionRange.parse(known.versions))
    assert [one for one, times in explained.items() if times > 1] == []


def test_definitions_that_cannot_be_read_are_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of a folder are read where they are. Warnings are not told."""
    union, folder = tmp_path / "message_defs" / "kafka", tmp_path / "theirs"
    for path, kind in ((union, "int8"), (folder, "int9")):
        path.mkdir(parents=True)
        (path / "ask.krm").write_text(f"AskRequest => key 7, max version 0\n  A: {kind}\n\nAskResponse =>\n")
    monkeypatch.setattr(crosscheck, "KNOWN", ())
    monkeypatch.setattr(crosscheck, "ROOT", tmp_path)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit) as ended:
        main(["--definitions", str(folder)])
    assert str(ended.value.code).splitlines()[0] == "error[K101]: there is no type `int9`"
    assert "warning" not in str(ended.value.code)
    (folder / "ask.krm").write_text((union / "ask.krm").read_text())
    assert main(["--definitions", str(folder)]) == 0
    assert "requests and responses: 2 of 2 common versions are equal" in capsys.readouterr().out
