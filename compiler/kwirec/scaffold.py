"""A name → a folder with a small protocol, its tests and its Makefile, or with templates and their test, from
``templates/new``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from kwirec.emitters.environment import render
from kwirec.files import locked, read_regular, replace_files
from kwirec.frontend.notation import Notation

FILES: Mapping[str, str] = {
    "README.md": "README.md",
    "Makefile": "Makefile",
    "pyproject.toml": "pyproject.toml",
    ".gitignore": "gitignore",
    "tests/test_{name}.py": "test_protocol.py",
}
"""The path of each file → its template."""

DEFINITIONS: Mapping[Notation, Mapping[str, str]] = {
    "json": {
        "defs/OrderRequest.json": "OrderRequest.json",
        "defs/OrderResponse.json": "OrderResponse.json",
    },
    "krammar": {"defs/Order.krm": "Order.krm"},
}
"""The same for the definitions in each notation."""

TEMPLATES: Mapping[str, str] = {
    name: f"templates/{name}"
    for name in ("README.md", "emit.toml", "index.md.jinja", "message.md.jinja", "test_templates.py")
}
"""The same for a folder of templates for ``kwirec emit``."""


def create(name: str, folder: Path, notation: Notation = "json", *, templates: bool = False) -> list[Path]:
    """Write a protocol with the package ``name``, or ``templates``, into ``folder``, which must be missing or empty.
    Return the files.

    Raises ``FileExistsError`` before anything is written if the folder has files, except what a killed run left.
    """
    facts = {"name": name, "distribution": name.replace("_", "-"), "version": version("kwire"), "notation": notation}
    files = TEMPLATES if templates else {**FILES, **DEFINITIONS[notation]}
    texts = {
        path.format(name=name): render(f"new/{template.removesuffix('.jinja')}.jinja", **facts)
        for path, template in files.items()
    }
    with locked(folder):
        for path in folder.rglob("*"):
            text = texts.get(path.relative_to(folder).as_posix())
            if path.is_symlink() or (not path.is_dir() and (text is None or read_regular(path) != text.encode())):
                raise FileExistsError(f"{folder.as_posix()} exists and is not empty: it has {path.name}")
        replace_files(folder, texts)
    return [folder / path for path in texts]
