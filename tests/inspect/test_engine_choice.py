"""Which engine runs a command, by all options that say something about it."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire_inspect.command import engines
from kwire_inspect.command.engines import BRIEF_LIMIT, ENGINES, WORTH, LocalEngine, checked_output, engine_for
from kwire_inspect.inputs import Inputs
from kwire_inspect.options import OptionError

OTHER_ENGINE = engines.other_engine


def chosen(*given: Any) -> str:
    """The engine, with how it is made, or the error."""
    try:
        engine = engine_for(*given)
    except OptionError as error:
        return f"error: {error}"
    if isinstance(engine, LocalEngine):
        return f"local, {engine._processes} processes"
    return str(engine)


def spark(name: str, option: str) -> Any:
    return lambda *given, brief: f"{name} for {option}: {given}{' briefly' if brief else ''}"


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One with 64 processors, of which this process may use four, and with Spark."""
    monkeypatch.setattr(engines, "other_engine", spark)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(4), raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    for name in ("MASTER", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)


NEEDS = {
    "": ("out", "parquet", None),
    "a master": ("out", "parquet", "local[2]"),
    "Delta": ("out", "delta", None),
    "an object store": ("s3://bucket/out", "parquet", None),
    "a master and Delta": ("out", "delta", "local[2]"),
}


def test_each_choice(snapshot: SnapshotAssertion) -> None:
    told = []
    for name, (needs, given), processes, stdin in product(ENGINES, NEEDS.items(), (None, 3), (False, True)):
        inputs = Inputs(captures=("-",) if stdin else ("a.pcap",), size=1)
        asked = [name, needs, f"{processes} processes" if processes else "", "the standard input" if stdin else ""]
        told.append(f"{', '.join(filter(None, asked))}: {chosen(name, inputs, *given, processes)}")
    assert "\n".join(told) == snapshot


@pytest.mark.parametrize(
    ("size", "processes"), [(0, 1), (WORTH, 1), (2 * WORTH - 1, 1), (2 * WORTH, 2), (4 * WORTH, 4), (9 * WORTH, 4)]
)
def test_large_inputs_are_read_by_several_processes(size: int, processes: int) -> None:
    inputs = Inputs(captures=("a.pcap",), size=size)
    assert chosen("auto", inputs, "out", "parquet", None) == f"local, {processes} processes"


def test_without_a_limit_all_processors_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    assert [engines.processes_for(size * WORTH) for size in (0, 63, 65)] == [1, 63, 64]
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert engines.processes_for(9 * WORTH) == 1


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("found", [["spark"], []])
def test_spark_is_the_engine_of_that_name_if_its_library_is_there(
    monkeypatch: pytest.MonkeyPatch, installed: bool, found: list[str]
) -> None:
    asked: list[Any] = []
    points = [SimpleNamespace(load=lambda name=name: f"the engine {name}") for name in found]

    def answer(*name: str, **of: str) -> Any:
        asked.extend(name or [of])
        return points if of else installed or None

    monkeypatch.setattr(engines, "find_spec", answer)
    monkeypatch.setattr(engines, "entry_points", answer)
    if installed and found:
        assert str(OTHER_ENGINE("spark", "--master local")) == "the engine spark"
    else:
        with pytest.raises(OptionError, match=r"^--master local needs Spark: pip install 'kwire\[spark\]'$"):
            OTHER_ENGINE("spark", "--master local")
    assert asked == ["pyspark", {"group": "kwire.engines", "name": "spark"}][: 1 + installed]
    assert engines.is_installed("spark") is installed


@pytest.mark.parametrize("out", ["out", "s3://bucket/out", "hdfs://name/out"])
def test_only_an_address_is_checked_by_spark(monkeypatch: pytest.MonkeyPatch, out: str) -> None:
    def other(name: str, option: str) -> Any:
        return SimpleNamespace(checked_output=lambda given: f"{given} of {name} for {option}")

    monkeypatch.setattr(engines, "other_engine", other)
    assert checked_output(out) == (out if out == "out" else f"{out} of spark for --out {out}")


def test_an_address_with_a_secret_is_refused_before_anything_writes_there() -> None:
    with pytest.raises(OptionError) as raised:
        checked_output("s3://key:hunter2@bucket/out")
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("variable", ["MASTER", "PYSPARK_GATEWAY_PORT"])
def test_a_cluster_is_used_if_a_variable_names_it(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """Unless the local engine or its processes are asked for; a session for large inputs is not brief."""
    monkeypatch.setenv(variable, "local[2]")
    small, large = (Inputs(captures=("a.pcap",), size=size) for size in (BRIEF_LIMIT, BRIEF_LIMIT + 1))
    used = f"spark for the environment variable {variable}: (None, 'parquet', 'out')"
    assert chosen("auto", small, "out", "parquet", None) == f"{used} briefly"
    assert chosen("auto", large, "out", "parquet", None) == used
    assert chosen("local", small, "out", "parquet", None) == "local, 4 processes"
    assert chosen("auto", small, "out", "parquet", None, 2) == "local, 2 processes"
