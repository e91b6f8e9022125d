"""An environment for each version of a client library: ``environments/NAME.txt`` → ``build/traffic/venvs/NAME``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENVS = ROOT / "build" / "traffic" / "venvs"
WANTED = Path(__file__).with_name("environments")


def python(name: str) -> Path:
    """The Python of an environment, which is made unless it is there with just what is wanted."""
    folder, wanted = VENVS / name, WANTED / f"{name}.txt"
    made_for = folder / "made_for.txt"
    if not made_for.is_file() or made_for.read_text() != wanted.read_text():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "--no-deps", "-r", str(wanted)], check=True)
        shutil.copyfile(wanted, made_for)
    return folder / "bin" / "python"


if __name__ == "__main__":
    for one in sorted(WANTED.glob("*.txt")):
        print(python(one.stem))
