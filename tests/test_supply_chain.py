"""What CI runs is fixed by digest, and NOTICE says under which licences kwire's dependencies are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PINS = sorted((ROOT / "constraints").glob("*.txt"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("path", PINS, ids=lambda path: path.stem)
def test_every_version_has_the_digests_of_its_files(path: Path) -> None:
    entries = re.split(r"\n(?=\S)", path.read_text().rstrip())
    assert entries
    for entry in entries:
        first, *digests = entry.splitlines()
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+ \\", first), entry
        assert digests
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", digest) for digest in digests), entry


def test_everything_is_installed_by_digest() -> None:
    makefile = (ROOT / "Makefile").read_text()
    installs = [line for line in makefile.splitlines() if re.search(r"\$\((PIP|PINNED)\)", line)]
    free = [line for line in installs if "$(PINNED)" not in line and "--no-deps" not in line]
    assert "--require-hashes" in next(line for line in makefile.splitlines() if line.startswith("PINNED ="))
    assert len(installs) > 8
    assert [re.search(r"\$\((\w+)\)/bin|(venv-pins)", line)[0] for line in free if line.startswith("\t")] == [  # type: ignore[index]
        "venv-pins",  # what makes the lists
        "$(OLDEST)/bin",  # the versions that users may have
    ]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_fixed_by_commit(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text())
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", action) for action in used), used


def test_notice_names_the_licences_of_dependencies() -> None:
    extras = PROJECT["optional-dependencies"]
    wanted = [
        *PROJECT["dependencies"],
        *(name for extra in ("compiler", "guide", "models", "arrow", "inspect", "spark") for name in extras[extra]),
    ]
    names = {re.match(r"[\w-]+", name)[0] for name in wanted} - {"kwire"}  # type: ignore[index]
    notice = dict(re.findall(r"^  ([\w-]+) +(\S.*)$", (ROOT / "NOTICE").read_text(), re.MULTILINE))
    assert set(notice) == names
    for name, licence in notice.items():
        said = str(metadata(name).json)
        family = re.match(r"[A-Za-z]+", licence)[0]  # type: ignore[index]
        assert family in said or (family == "LGPL" and "Lesser" in said), f"{name}: {licence} is not in {said}"


def test_the_checksum_can_be_replaced(tmp_path: Path) -> None:
    """As docs/decisions/records.md promises: by any module of that name with that function."""
    (tmp_path / "crc32c.py").write_text("def crc32c(data, value=0):\n    return len(data) + value\n")
    script = (
        "from kwire.records import Record, encode_batch, read_batches\n"
        "batch = encode_batch([Record(b'key', b'value')])\n"
        "assert int.from_bytes(batch[17:21]) == len(batch) - 21\n"
        "(read,) = read_batches(batch)\n"
        "read.verify()\n"
    )
    subprocess.run([sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": str(tmp_path)}, check=True)
