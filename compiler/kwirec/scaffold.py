"""A name → a folder with a small protocol, its tests and its Makefile, from ``templates/new``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from kwirec.emitters.environment import render

FILES: Mapping[str, str] = {
    "README.md": "README.md",
    "Makefile": "Makefile",
    "pyproject.toml": "pyproject.toml",
    ".gitignore": "gitignore",
    "defs/OrderRequest.json": "OrderRequest.json",
    "defs/OrderResponse.json": "OrderResponse.json",
    "tests/test_{name}.py": "test_protocol.py",
}
"""The path of each file → its template."""


def create(name: str, folder: Path) -> list[Path]:
    """Write a protocol with the package ``name`` into ``folder``, which must be missing or empty; return the files.

    Raises ``FileExistsError`` before anything is written if the folder is not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder.as_posix()} exists and is not empty")
    written = []
    for path, template in FILES.items():
        target = folder / path.format(name=name)
        text = render(
            f"new/{template}.jinja", name=name, distribution=name.replace("_", "-"), version=version("kwire")
        )
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")
        written.append(target)
    return written
