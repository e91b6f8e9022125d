"""Creates new projects from ``templates/new``. A project is a small protocol with tests and a Makefile, or a template
folder with a test.

The module also creates a workflow that checks pull requests.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from kwirec.emitters.environment import render
from kwirec.files import holds, locked, read_regular, replace_files, repository
from kwirec.frontend.notation import Notation
from kwirec.json_schema import schema_text

FILES: Mapping[str, str] = {
    "README.md": "README.md",
    "Makefile": "Makefile",
    "pyproject.toml": "pyproject.toml",
    ".gitignore": "gitignore",
    "tests/test_{name}.py": "test_protocol.py",
}
"""The paths of project files, and their templates."""

DEFINITIONS: Mapping[Notation, Mapping[str, str]] = {
    "json": {
        "defs/OrderRequest.json": "OrderRequest.json",
        "defs/OrderResponse.json": "OrderResponse.json",
        ".vscode/settings.json": "settings.json",
        ".vscode/definitions.schema.json": "definitions.schema.json",
    },
    "krammar": {"defs/Order.krm": "Order.krm"},
}
"""The paths and templates of the definitions in each notation, and of their JSON Schema for editors."""

TEMPLATES: Mapping[str, str] = {
    name: f"templates/{name}"
    for name in ("README.md", "emit.toml", "index.md.jinja", "message.md.jinja", "test_templates.py")
}
"""The paths and templates of a template folder for ``kwirec emit``."""


def create(name: str, folder: Path, notation: Notation = "json", *, templates: bool = False) -> list[Path]:
    """Create a project for the package ``name``, or a folder of ``templates``, and return the paths of its files.

    Raises ``FileExistsError`` without writing a file if ``folder`` contains files other than ``.git`` and the files
    of a killed run.
    """
    facts = {"name": name, "distribution": name.replace("_", "-"), "version": version("kwire"), "notation": notation}
    files = TEMPLATES if templates else {**FILES, **DEFINITIONS[notation]}
    texts = {path.format(name=name): _text(template, facts) for path, template in files.items()}
    with locked(folder):
        for path in folder.rglob("*"):
            relative = path.relative_to(folder)
            if relative.parts[0] == ".git":
                continue
            text = texts.get(relative.as_posix())
            if path.is_symlink() or (not path.is_dir() and (text is None or read_regular(path) != text.encode())):
                raise FileExistsError(f"{folder.as_posix()} exists and is not empty: it contains {path.name}")
        replace_files(folder, texts)
    return [folder / path for path in texts]


def create_workflow(name: str, folder: Path) -> Path:
    """Create a GitHub workflow that checks the protocol ``name`` in ``folder``, and return its path.

    The workflow is written to the root of the repository. Raises ``FileExistsError`` if a different workflow has this
    name.
    """
    here = folder.resolve()
    top = repository(here) or here
    below = "" if top == here else here.relative_to(top).as_posix()
    if not re.fullmatch(r"[\w./@+=-]*", below, re.ASCII):
        raise OSError(f"{below} cannot be used in a workflow: rename the folder with letters, digits and `_.@+=-`")
    path = f".github/workflows/{name}.yml"
    text = _text("workflow.yml", {"name": name, "version": version("kwire"), "below": below})
    with locked(top):
        if (top / path).exists() and not holds(top / path, text):
            raise FileExistsError(f"{(top / path).as_posix()} exists with other content: remove it")
        replace_files(top, {path: text})
    return Path(os.path.relpath(top / path))


def _text(template: str, facts: Mapping[str, str]) -> str:
    if template == "definitions.schema.json":
        return schema_text()
    return render(f"new/{template.removesuffix('.jinja')}.jinja", **facts)
