"""Releases kwire: ``prepare`` sets the version and the release notes, ``notes`` prints the notes, ``rehearse`` tests
the release, and ``site`` combines the sites of all releases.

``make release-rehearsal`` clones ``HEAD`` into ``build/release``, prepares and tags the version there, and builds the
sdist and the pure wheel. Both are installed in new environments of the Python versions in ``PYTHONS`` or, by default,
of every version on the path. The rehearsal publishes nothing. The exit code is 1 if a step fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from tools import ROOT

FOLDER = ROOT / "build" / "release"
VERSION_FILE = Path("runtime", "kwire", "__init__.py")
UNRELEASED = "## Unreleased\n"
NAMES = ("python3.11", "python3.12", "python3.13", "python3.14")
COMMIT = ("git", "-c", "user.name=rehearsal", "-c", "user.email=rehearsal@localhost")
TRIAL = """
import kwire
from kwire_kafka import PROTOCOL, FetchRequest

payload = PROTOCOL.encode_request(FetchRequest(max_wait_ms=7), 12, correlation_id=1, client_id="trial")
assert PROTOCOL.decode_request(payload).expect(FetchRequest).max_wait_ms == 7
print(kwire.__version__)
"""

SITE = re.compile(r"kwire-site-(\d+(?:\.\d+)*)\.tar\.gz")
VERSIONS = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Releases of kwire</title>
<link rel="icon" type="image/svg+xml" href="assets/icon.svg">
<link rel="stylesheet" href="assets/page.css">
</head>
<body>
<main>
<h1>Releases of kwire</h1>
<p>Guide and documentation of each release. The <a href="index.html">newest release</a> is the start of this site.</p>
<ul>
{items}</ul>
</main>
</body>
</html>
"""


def prepare(root: Path, version: str, today: date) -> None:
    """Set the version, and put the release notes under the title of the version. The notes are the section
    "Unreleased" or, if there is no such section, are built by towncrier from the fragments in ``changes``."""
    path = root / VERSION_FILE
    path.write_text(re.sub(r'^__version__ = ".*"$', f'__version__ = "{version}"', path.read_text(), flags=re.M))
    changelog = root / "CHANGELOG.md"
    text = changelog.read_text("utf-8")
    if UNRELEASED in text:
        changelog.write_text(text.replace(UNRELEASED, f"## {version} ({today})\n", 1), "utf-8")
    else:
        _run(root, sys.executable, "-m", "towncrier", "build", "--yes", "--version", version, "--date", str(today))


def notes(changelog: str, version: str) -> str:
    """Return the section of a release without its title. Raise ``ValueError`` for a version without a section."""
    found = re.search(rf"^## {re.escape(version)}(?: [^\n]*)?\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    if found is None or not found[1].strip():
        raise ValueError(f"CHANGELOG.md has no notes of {version}")
    return found[1].strip() + "\n"


def rehearse(version: str, pythons: Sequence[str]) -> None:
    """Build the release in a clone, and test it on each Python version."""
    clone, dist = FOLDER / "clone", FOLDER / "dist"
    shutil.rmtree(FOLDER, ignore_errors=True)
    _run(ROOT, "git", "clone", "--quiet", str(ROOT), str(clone))
    prepare(clone, version, datetime.now(UTC).date())
    _run(clone, *COMMIT, "commit", "--quiet", "--all", "--allow-empty", "--message", f"Release {version}")
    _run(clone, *COMMIT, "tag", "--annotate", f"v{version}", "--message", f"Release {version}")
    (FOLDER / "notes.md").write_text(notes((clone / "CHANGELOG.md").read_text("utf-8"), version), "utf-8")
    _run(clone, sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist), ".")
    sdist, wheel = dist / f"kwire-{version}.tar.gz", dist / f"kwire-{version}-py3-none-any.whl"
    for number, python in enumerate(pythons):
        for artifact in (wheel, sdist):
            _try_out(artifact, python, FOLDER / f"venv-{number}-{artifact.suffix[1:]}", version)
    print(f"kwire {version}: {len(pythons)} Pythons; notes in {FOLDER / 'notes.md'}")


def site(root: Path, archives: Iterable[Path]) -> None:
    """Unpack the sites of releases (``kwire-site-1.2.3.tar.gz``) into folders of the newest site, and list them."""
    found = {}
    for archive in archives:
        if not (match := SITE.fullmatch(archive.name)):
            raise ValueError(f"{archive}: expected the name kwire-site-1.2.3.tar.gz")
        found[match[1]] = archive
    for version, archive in found.items():
        with tarfile.open(archive) as tar:
            tar.extractall(root / version, filter="data")
    newest_first = sorted(found, key=lambda version: [int(part) for part in version.split(".")], reverse=True)
    items = "".join(f'<li><a href="{version}/index.html">{version}</a></li>\n' for version in newest_first)
    (root / "versions.html").write_text(VERSIONS.format(items=items), "utf-8")


def _try_out(artifact: Path, python: str, venv: Path, version: str) -> None:
    """Install an artifact as users do, and use the library and both commands outside the tree."""
    _run(FOLDER, python, "-m", "venv", str(venv))
    _run(FOLDER, str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", f"{artifact}[compiler]")
    work = venv / "work"
    work.mkdir()
    printed = _run(work, str(venv / "bin" / "python"), "-c", TRIAL)
    assert printed == f"{version}\n", printed
    assert _run(work, str(venv / "bin" / "kwire"), "--version") == f"kwire {version} (interpreted)\n"
    _run(work, str(venv / "bin" / "kwire"), "describe", "FetchRequest")
    _run(work, str(venv / "bin" / "kwirec"), "new", "acme")
    _run(work, str(venv / "bin" / "kwirec"), "check", "acme")
    print(f"{_run(work, python, '--version').strip()}: {artifact.name} works")


def _run(folder: Path, *command: str) -> str:
    """Return the output of a command. If the command fails, exit with its output."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed in {folder}:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.release")
    parser.add_argument("action", choices=["prepare", "notes", "rehearse", "site"])
    parser.add_argument("version", help="release to prepare, print or rehearse, or folder of the newest site")
    parser.add_argument("archives", nargs="*", type=Path, help="kwire-site-1.2.3.tar.gz of each release")
    given = parser.parse_args()
    if given.action == "prepare":
        prepare(ROOT, given.version, datetime.now(UTC).date())
    elif given.action == "notes":
        print(notes((ROOT / "CHANGELOG.md").read_text("utf-8"), given.version), end="")
    elif given.action == "site":
        site(Path(given.version), given.archives)
    else:
        pythons = os.environ.get("PYTHONS", "").split() or [name for name in NAMES if shutil.which(name)]
        rehearse(given.version, pythons)


if __name__ == "__main__":
    main()
