"""Packages that a test generates and imports. The one of the small protocol is checked in: ``tests/generated``."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import load
from kwirec.emitters.codecs import emit_module
from kwirec.emitters.compat import emit_compatibility, history_of
from kwirec.emitters.models import emit_models
from kwirec.emitters.modules import group_modules
from kwirec.emitters.package import emit_package
from kwirec.lowering import lower


def compiled(definitions: Path, package: str, folder: Path) -> ModuleType:
    """The package of a folder of definitions, as it is emitted: formatting would take most of the time."""
    report = Report()
    loaded = load([definitions], report)
    schema = loaded.schema
    groups = group_modules(schema)
    assert not report.has_errors(), [diagnostic.message for diagnostic in report.diagnostics]
    layouts = lower(schema)
    artifacts = [emit_module(group, layouts.halves) for group in groups]
    artifacts += emit_package(groups, name=package, errors=loaded.errors, enums=schema.enums)
    if (definitions / "releases.json").is_file():
        artifacts += emit_compatibility(layouts, groups, history_of([definitions]), package=package)
    artifacts += [emit_models(group, package=package) for group in groups]
    for artifact in artifacts:
        path = folder / package / artifact.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(artifact.text, encoding="utf-8")
    importlib.invalidate_caches()
    return importlib.import_module(package)
