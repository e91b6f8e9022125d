"""The little clockwork protocol with a history of four releases, compiled once."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import generate, load
from kwirec.files import replace_files
from kwirec.lowering import lower
from kwirec.merge.history import ApiFacts, History, history_files

CLOCKWORK = Path(__file__).parents[1] / "data" / "clockwork"


def history(definitions: Path) -> History:
    """Release 1.0.0 is only remembered, 1.2.0 had other bytes, 2.0.0 advertises versions that it takes away."""
    both = ("broker", "controller")
    found = History(sources={"1.0.0": "memory"})
    found.releases = {
        "1.0.0": {900: ApiFacts("Watch", "0")},
        "1.1.0": {900: ApiFacts("Watch", "0-2", listeners=both)},
        "1.2.0": {900: ApiFacts("Clock", "0-3", deprecated="0", listeners=both), 901: ApiFacts("Sundial", "0")},
        "2.0.0": {900: ApiFacts("Clock", "2-4", advertises="0-4", unstable="4", listeners=both)},
    }
    schema = load([definitions], Report()).schema
    for message, versions in lower(schema).by_message.items():
        for version, layout in versions.items():
            for release in ("1.1.0", "1.2.0", "2.0.0"):
                odd = (message, version, release) == ("ClockResponse", 1, "1.2.0")
                found.record_layout(message, version, "0" * 16 if odd else layout.fingerprint, release)
    return found


@pytest.fixture(scope="session")
def clockwork_folder(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the compiled package ``clockwork_releases``."""
    definitions = tmp_path_factory.mktemp("definitions") / "clockwork"
    shutil.copytree(CLOCKWORK, definitions)
    replace_files(definitions, history_files(history(definitions)))
    report = Report()
    loaded = load([definitions], report)
    assert not report.has_errors(), [found.message for found in report.diagnostics]
    generate(loaded, [definitions], package="clockwork_releases", out=packages)
    importlib.invalidate_caches()
    return packages / "clockwork_releases"


@pytest.fixture(scope="session")
def clockwork(clockwork_folder: Path) -> ModuleType:
    return importlib.import_module(clockwork_folder.name)
