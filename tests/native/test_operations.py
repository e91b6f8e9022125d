"""The operations of ``native_ops.h`` do what their expressions do in Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from kwirec.native import build_native, libraries
from tests.native.test_native import PACKAGE, ROOT, RUNTIME_FOLDER, SOURCES, on_demand


def said(*folders: Path) -> list[str]:
    command = [sys.executable, "-m", "tests.native.operations_used"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout.splitlines()


@on_demand
def test_every_operation_is_used_and_gives_what_python_gives(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    shutil.copy(Path(__file__).with_name("operations.py"), package)
    plain = tmp_path / "plain"
    shutil.copytree(RUNTIME_FOLDER, plain / "kwire", ignore=SOURCES)
    shutil.copytree(PACKAGE, plain / PACKAGE.name, ignore=SOURCES)
    built = build_native(tmp_path / "native", runtime=RUNTIME_FOLDER, package=package, modules=["operations"])
    made = next(built.folder.rglob("__native_operations.c")).read_text()
    names = ["Slice", "DecodeSlice", "MakeUuid", "ReadI16s", "ReadI32s", "ReadI64s", "EmptyList", "Append"]
    names += ["WriteSlice", "Copy", "Array", "Writer", "Passed", "Turned"]
    for name in (*names, "WriteCoded", "View", "ReuseMemory"):
        assert f"KwireOps_{name}(" in made
    assert "PyGC_Disable(" in made
    assert made.count(".tp_vectorcall = ") == len(("Flat", "Named", "Counted", "Made"))
    assert "CPyArg_ParseStackAndKeywords(" in made
    assert not re.search(r"cpy_r_\w+ = CPyDef_\w+___new_\w+\(", made)
    assert any(libraries(built.folder / "package"))
    native = said(built.folder / "package", built.folder, plain)
    interpreted = said(package, plain)
    assert (native.pop(0), interpreted.pop(0)) == ("native", "interpreted")
    assert native[-1] == "True True"
    assert native == interpreted
