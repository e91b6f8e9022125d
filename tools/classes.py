"""Locate the classes of a release: Kafka moves classes between packages, and our Java sources import them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

IMPORT = re.compile(r"^import (org\.apache\.kafka\.[\w.]+)\.(\w+);$", re.MULTILINE)


def packages(jar: Path) -> dict[str, set[str]]:
    """Return the packages that have a class of a name, for all classes of a jar."""
    found: dict[str, set[str]] = {}
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            package, _, file = name.rpartition("/")
            if file.endswith(".class") and "$" not in file:
                found.setdefault(file.removesuffix(".class"), set()).add(package.replace("/", "."))
    return found


def qualified(found: Mapping[str, set[str]], name: str, package: str = "") -> str:
    """Return the class ``name`` with its package: ``package`` if that has it, or the only one that has it."""
    there = found.get(name, set())
    if package not in there:
        if len(there) != 1:
            raise ValueError(
                f"{name} is in {' and '.join(sorted(there)) or 'no package'}: look where the release has it"
            )
        (package,) = there
    return f"{package}.{name}"


def relocated(source: str, found: Mapping[str, set[str]]) -> str:
    """Java source whose imports of Kafka's classes are from the packages that have them."""
    return IMPORT.sub(lambda statement: f"import {qualified(found, statement[2], statement[1])};", source)
