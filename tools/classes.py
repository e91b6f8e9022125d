"""Locates the Kafka classes that our Java sources import. Kafka moves classes between packages."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

IMPORT = re.compile(r"^import (org\.apache\.kafka\.[\w.]+)\.(\w+);$", re.MULTILINE)


def packages(jar: Path) -> dict[str, set[str]]:
    """Return the packages of the classes in a jar, by class name."""
    found: dict[str, set[str]] = {}
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            package, _, file = name.rpartition("/")
            if file.endswith(".class") and "$" not in file:
                found.setdefault(file.removesuffix(".class"), set()).add(package.replace("/", "."))
    return found


def qualified(found: Mapping[str, set[str]], name: str, package: str = "") -> str:
    """Return the qualified name of the class ``name``, in ``package`` or else in the only package that has it."""
    there = found.get(name, set())
    if package not in there:
        if len(there) != 1:
            raise ValueError(
                f"{name} is in {' and '.join(sorted(there)) or 'no package'}: find its package in the release"
            )
        (package,) = there
    return f"{package}.{name}"


def relocated(source: str, found: Mapping[str, set[str]]) -> str:
    """Return Java source whose imports name the current packages of Kafka's classes."""
    return IMPORT.sub(lambda statement: f"import {qualified(found, statement[2], statement[1])};", source)
