"""The kwire compiler, which turns message definitions into typed Python codecs.

::

    from pathlib import Path
    from kwirec import Report, generate, load

    report, paths = Report(), [Path("defs")]
    loaded = load(paths, report)                        # reads, parses, resolves and validates
    if not report.has_errors():
        generate(loaded, paths, package="acme", out=Path("src"))

The ``kwirec generate`` command runs the same steps and prints the findings. Names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwirec.diagnostics.diagnostic import Diagnostic as Diagnostic
    from kwirec.diagnostics.diagnostic import Report as Report
    from kwirec.diagnostics.render import render as render
    from kwirec.diff import Level as Level
    from kwirec.diff import compare as compare
    from kwirec.diff import judge as judge
    from kwirec.driver import Generated as Generated
    from kwirec.driver import Loaded as Loaded
    from kwirec.driver import OutputNotGeneratedError as OutputNotGeneratedError
    from kwirec.driver import generate as generate
    from kwirec.driver import load as load
    from kwirec.ir import Schema as Schema
    from kwirec.native import build_native as build_native
    from kwirec.outputs import Emitted as Emitted
    from kwirec.outputs import emit as emit

_MODULES = {
    "Diagnostic": "kwirec.diagnostics.diagnostic",
    "Emitted": "kwirec.outputs",
    "Generated": "kwirec.driver",
    "Level": "kwirec.diff",
    "Loaded": "kwirec.driver",
    "OutputNotGeneratedError": "kwirec.driver",
    "Report": "kwirec.diagnostics.diagnostic",
    "Schema": "kwirec.ir",
    "build_native": "kwirec.native",
    "compare": "kwirec.diff",
    "emit": "kwirec.outputs",
    "generate": "kwirec.driver",
    "judge": "kwirec.diff",
    "load": "kwirec.driver",
    "render": "kwirec.diagnostics.render",
}

__all__ = list(_MODULES)


# This code does not use kwire_rules.lazy, because native wheel builds import only this package.


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
