"""Renews constraints/*.txt: the versions that CI installs, with the digests of all their files.

Versions stay as they are unless pyproject.toml forbids them; arguments, such as ``--upgrade``, go to pip-compile.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

FOLDER = Path("constraints")
OPTIONS = [
    *("--quiet", "--generate-hashes", "--no-annotate", "--no-header", "--allow-unsafe", "--strip-extras"),
    *("--no-emit-index-url", "--no-emit-trusted-host", "--no-emit-options"),
]
PROJECT = tomllib.loads(Path("pyproject.toml").read_text())
BUILD = [*PROJECT["build-system"]["requires"], "build", "editables", "mypy[mypyc]", "setuptools"]


def compiled(name: str, *inputs: str, text: str = "") -> dict[str, str]:
    """The entries of a list by the name of the package, without kwire itself."""
    path = FOLDER / f"{name}.txt"
    command = [sys.executable, "-m", "piptools", "compile", *OPTIONS, *sys.argv[1:], "--output-file", str(path)]
    subprocess.run([*command, *inputs], input=text, text=True, check=True)
    entries = re.findall(r"^([\w.-]+)(==.*(?:\n    .*)*)", path.read_text(), re.MULTILINE)
    return {package: package + rest for package, rest in entries}


def save(name: str, entries: dict[str, str]) -> None:
    (FOLDER / f"{name}.txt").write_text("\n".join(entries.values()) + "\n")


FOLDER.mkdir(exist_ok=True)
save("build", compiled("build", "-", text="\n".join(BUILD)))
dev = compiled("dev", "--constraint=constraints/build.txt", "--extra=dev", "pyproject.toml")
save("dev", dev)
for extra in ("peers", "fuzz", "stores"):
    entries = compiled(extra, "--constraint=constraints/dev.txt", f"--extra={extra}", "pyproject.toml")
    save(extra, {package: entry for package, entry in entries.items() if package not in dev})
