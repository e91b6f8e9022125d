"""The little clockwork protocol, compiled once and importable."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import generate, load

DATA = Path(__file__).parent.parent / "data"

Compile = Callable[[Path, str], Path]


@pytest.fixture(scope="session")
def compile_package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compile]:
    """Compile a folder of definitions into a package that can be imported; gives the package's folder."""
    out = tmp_path_factory.mktemp("generated")
    sys.path.insert(0, str(out))

    def compiled(definitions: Path, package: str) -> Path:
        report = Report()
        loaded = load([definitions], report)
        assert not report.has_errors(), [d.message for d in report.diagnostics]
        generate(loaded, [definitions], package=package, out=out)
        importlib.invalidate_caches()
        return out / package

    yield compiled
    sys.path.remove(str(out))


@pytest.fixture(scope="session")
def clockwork(compile_package: Compile) -> ModuleType:
    compile_package(DATA / "clockwork", "clockwork_wire")
    return importlib.import_module("clockwork_wire")
