"""The operations of ``native_ops.h`` do what their expressions do in Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

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


STUBS = {
    "__init__.py": "",
    "columns/__init__.py": "",
    "records/__init__.py": "",
    "native.pyi": (RUNTIME_FOLDER / "native.pyi").read_text(),
    "uuids.pyi": "class Uuid(bytes): ...",
    "wire.pyi": """\
from kwire.native import i64
def read_i16s(data: bytes, pos: i64, count: i64) -> list[int]: ...
def read_i32s(data: bytes, pos: i64, count: i64) -> list[int]: ...
def read_i64s(data: bytes, pos: i64, count: i64) -> list[int]: ...
def empty_list(count: i64) -> list[int]: ...
""",
    "records/writing.pyi": """\
from librt.strings import BytesWriter
from kwire.native import i64
def write_coded(out: BytesWriter, number: i64) -> None: ...
def view(out: BytesWriter) -> object: ...
""",
    "columns/rows.pyi": """\
from librt.strings import BytesWriter
from kwire.native import i64
def turned(rows: BytesWriter, offset: i64, stride: i64, size: i64) -> bytes: ...
""",
    "columns/messages.pyi": """\
from librt.strings import BytesWriter
from kwire.native import i64
def copy(outs: list[BytesWriter], column: i64, data: bytes, start: i64, end: i64) -> i64: ...
def array(outs: list[BytesWriter], column: i64, data: bytes, pos: i64, shift: i64) -> i64: ...
def writer(outs: list[BytesWriter], column: i64) -> BytesWriter: ...
def passed(data: bytes, pos: i64, count: i64, shape: i64) -> i64: ...
""",
}
"""What mypyc has to know of kwire for :data:`SHAPES`."""

SHAPES = """\
import gc
from kwire.columns.messages import array, copy, passed, writer
from kwire.columns.rows import turned
from kwire.native import constructor, i64, mypyc_attr
from kwire.records.writing import view, write_coded
from kwire.uuids import Uuid
from kwire.wire import empty_list, read_i16s, read_i32s, read_i64s
from librt.strings import BytesWriter

@mypyc_attr(acyclic=True)
class Zone:
    __slots__ = ("name", "hours", "size", "unknown_tags")

    def __init__(
        self, *, name: str = "none", hours: list[int] | None = None, size: int = 7, unknown_tags: tuple[int, ...] = ()
    ) -> None:
        self.name = name
        self.hours = [] if hours is None else hours
        self.size = size
        self.unknown_tags = unknown_tags

class Base:
    def __init__(self, number: int) -> None:
        self.number = number

class Derived(Base):
    pass

@mypyc_attr(allow_interpreted_subclasses=True)
class Open:
    def __init__(self, number: int) -> None:
        self.number = number

@mypyc_attr(serializable=True)
class Kept:
    def __init__(self, number: int) -> None:
        self.number = number

class Failure(ValueError):
    def __init__(self, number: int) -> None:
        self.number = number

def zones(name: str, size: int) -> list[Zone]:
    return [new_Zone(name, size)]

def by_name(name: str, size: int) -> Zone:
    return new_Zone(name=name, size=size)

def text(data: bytes, start: i64, end: i64) -> list[str]:
    return [data[start:end].decode(), data[end:start].decode()]

def other_text(data: bytes, numbers: bytearray, start: i64, end: i64, at: int) -> list[str]:
    return [data[start:end].decode("latin-1"), data[start:].decode(), data[:end].decode(), data[at:end].decode(),
            data[start:at].decode(), data[start:end:2].decode(), numbers[start:end].decode(), data.decode()]

def uuids(data: bytes, start: i64, end: i64) -> list[bytes]:
    return [Uuid(data[start:end]), Uuid(data), Uuid()]

def written(out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
    out.write(data[start:end])
    out.write(data)
    write_coded(out, start)
    view(out)

def numbers(data: bytes, pos: i64, count: i64) -> list[int]:
    values = empty_list(count)
    values.append(count)
    return values + read_i16s(data, pos, count) + read_i32s(data, count, pos) + read_i64s(data, pos, pos)

def columns(outs: list[BytesWriter], at: i64, data: bytes, start: i64, end: i64) -> i64:
    turned(writer(outs, at), start, end, at)
    return copy(outs, at, data, start, end) + array(outs, at, data, end, start) + passed(data, start, end, at)

def pause() -> bool:
    gc.disable()
    gc.enable()
    return gc.isenabled()

new_Zone = constructor(Zone, without=("hours",))
"""

EMITTED = """\
from kwirec.native_ops import register
register({"shapes.new_Zone": ("hours",)})
from mypyc.build import mypycify
mypycify(["shapes.py"], separate=True, include_runtime_files=False, target_dir="c")
"""


@pytest.mark.long
def test_which_operations_mypyc_writes_for_which_expressions(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """Its own for all others. Attributes of a class without subclasses elsewhere are set without a look at them."""
    for name, text in {"shapes.py": SHAPES, **{f"kwire/{name}": text for name, text in STUBS.items()}}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    env = os.environ | {"PYTHONPATH": str(ROOT / "compiler"), "MYPYPATH": ""}
    subprocess.run([sys.executable, "-c", EMITTED], cwd=tmp_path, env=env, check=True, capture_output=True)
    found = []
    for function in (tmp_path / "c" / "ops.txt").read_text().split("\n\n"):
        name, _, body = function.partition("\n")
        calls = re.findall(r"\b(?:KwireOps|PyGC|CPy_Decode)\w*\(.*?\)|__mypyc__\w+_setup|\br\d+\.\w+ = \w+", body)
        if calls:
            found.append(re.sub(r"\br\d+", "…", "\n  ".join([name, *calls])))
    code = (tmp_path / "c" / "__native.c").read_text()
    slots = re.findall(r"^ *\.tp_(?:init|vectorcall) = .*", code, re.MULTILINE)
    functions = re.findall(r"^static .*\n\w+_(?:init|call)\(.*\n\{\n(?:.*\n)*?\}", code, re.MULTILINE)
    assert "\n".join([*found, *slots, *functions]) == snapshot
