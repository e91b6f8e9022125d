"""Releases: notes come from the changelog, and entries of pull requests from fragments."""

from __future__ import annotations

import re
import shutil
import tarfile
from datetime import date
from pathlib import Path

import pytest

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
    links = re.findall('href="([0-9][^"]*)"', (root / "versions.html").read_text())
    assert links == ["0.10.0/index.html", "0.9.1/index.html", "0.2.0/index.html"]
    with pytest.raises(ValueError, match="expected the name"):
        site(root, [tmp_path / "kwire-site-..tar.gz"])
