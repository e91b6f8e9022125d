"""Two codec modules compiled by mypyc, held against the same sources interpreted.

Takes a minute, needs mypyc and a C compiler, and therefore runs only on demand: ``make test-native``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kwirec.native import INTERPRETED, RUNTIME, Build, BuildError, build_native, codec_modules

ROOT = Path(__file__).resolve().parent.parent.parent
RUNTIME_FOLDER = ROOT / "runtime" / "kwire"
PACKAGE = ROOT / "generated" / "kwire_kafka"
MODULES = ("api/fetch", "coordinator/offset_commit")

on_demand = pytest.mark.skipif(
    os.environ.get("KWIRE_NATIVE") != "1", reason="compiling takes a minute: make test-native"
)

BEHAVIOUR = """
import sys
from collections.abc import Hashable
sys.path[:0] = sys.argv[1].split(":")
from kwire import DecodeError, EncodeError, Uuid
from kwire.records import Record, encode_batch, read_batches
from kwire_kafka.api.fetch import FetchResponse, FetchableTopicResponse, PartitionData

def hash_of(value):
    try:
        return hash(value)
    except TypeError as problem:
        return str(problem)

def said(call):
    try:
        return call()
    except (DecodeError, EncodeError) as problem:
        return type(problem).__name__, str(problem)

print(FetchResponse.__doc__)
print(isinstance(FetchResponse(), Hashable), said(lambda: hash_of(FetchResponse())))

topic = FetchableTopicResponse(topic_id=Uuid(range(16)), partitions=[PartitionData(records=b"abc")])
message = FetchResponse(session_id=7, responses=[topic])
data = message.encode(13)
print(message)
print(message.replace(error_code=3) == message, message.replace() == message)
print(message.responses[0].partitions[0].current_leader)
print(said(lambda: FetchResponse.decode(data[:-3], 13)))
print(said(lambda: FetchResponse.decode(data + b"?", 13)))
print(said(lambda: FetchResponse.decode(data, 99)))
print(said(lambda: message.replace(error_code=70000).encode(13)))
print(FetchResponse.decode_from(b"??" + data, 13, start=2)[1], FetchResponse.decode(bytearray(data), 13) == message)
for cut in range(len(data)):
    assert said(lambda: FetchResponse.decode(data[:cut], 13))[0] == "DecodeError"

headers = (("h", None), ("g", b"1"))
records = [Record(b"k", bytes(size), headers, 1000 - size, 3 * size) for size in (0, 70, 9000, 2**21)]
data = encode_batch([*records, Record(timestamp=2**62), Record(timestamp=-(2**63))])
(batch,) = read_batches(data)
print(batch, batch.crc, [(one.offset, one.timestamp, len(one.value or b""), one.headers) for one in batch])
assert batch.records()[:4] == records and batch.encode() == data
assert [view.record() for view in batch.views()] == batch.records()
for at in range(61, 80):
    for byte in (0, 1, 2, 127, 128, 255):
        (batch,) = read_batches(data[:at] + bytes([byte]) + data[at + 1 :], verify=False)
        print(said(lambda: [one.offset for one in batch.records()]))
        print(said(lambda: [(one.offset, one.key, one.headers) for one in batch.views()]))
"""


def test_every_runtime_module_is_compiled_or_says_why_not() -> None:
    present = {path.stem for path in RUNTIME_FOLDER.glob("*.py")}
    present |= {path.parent.name for path in RUNTIME_FOLDER.glob("*/__init__.py")}
    assert {name for name in RUNTIME if "/" not in name} | set(INTERPRETED) == present
    assert all((RUNTIME_FOLDER / f"{name}.py").is_file() for name in RUNTIME)
    assert not set(RUNTIME) & set(INTERPRETED)


def test_codec_modules_are_found_largest_first() -> None:
    found = codec_modules(PACKAGE)
    sizes = [(PACKAGE / f"{name}.py").stat().st_size for name in found]
    assert set(MODULES) < set(found)
    assert sizes == sorted(sizes, reverse=True)


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / RUNTIME_FOLDER.name).mkdir()
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(BuildError, match="is not empty"):
        build_native(tmp_path, runtime=RUNTIME_FOLDER, package=PACKAGE, modules=MODULES)
    assert (tmp_path / "mine.txt").read_text() == "keep"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return build_native(
        tmp_path_factory.mktemp("native") / "build", runtime=RUNTIME_FOLDER, package=PACKAGE, modules=MODULES, level=0
    )


def folders(built: Build | None) -> str:
    return str(built.folder) if built else f"{RUNTIME_FOLDER.parent}:{PACKAGE.parent}"


def round_trips(built: Build | None) -> dict[str, Any]:
    script = ROOT / "benchmarks" / "roundtrip.py"
    command = [sys.executable, str(script), folders(built), "kwire_kafka", *MODULES]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def behaviour(built: Build | None) -> str:
    command = [sys.executable, "-c", BEHAVIOUR, folders(built)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@on_demand
def test_nothing_is_written_beside_the_sources(compiled: Build) -> None:
    assert compiled.size > 0
    for source in (RUNTIME_FOLDER, PACKAGE):
        assert not list(source.rglob("*.so"))


@on_demand
def test_round_trips_give_the_same_bytes(compiled: Build) -> None:
    native, plain = round_trips(compiled), round_trips(None)
    assert (native["compiled"], plain["compiled"]) == (len(MODULES), 0)
    assert native["digest"] == plain["digest"]
    assert native["slow"] == plain["slow"] == []


@on_demand
def test_objects_and_errors_are_the_same(compiled: Build) -> None:
    assert behaviour(compiled) == behaviour(None)
