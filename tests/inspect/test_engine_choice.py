"""Which engine runs a command, by all options that say something about it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire_inspect.command import engines
from kwire_inspect.command.engines import BRIEF_LIMIT, ENGINES, WORTH, LocalEngine, checked_output, engine_for
from kwire_inspect.inputs import Inputs
from kwire_inspect.options import OptionError


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
    """One with four processors and Spark."""
    monkeypatch.setattr(engines, "other_engine", spark)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(4), raising=False)
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


def test_an_address_with_a_secret_is_refused_before_anything_writes_there() -> None:
    with pytest.raises(OptionError) as raised:
        checked_output("s3://key:hunter2@bucket/out")
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("variable", ["MASTER", "PYSPARK_GATEWAY_PORT"])
def test_a_cluster_is_used_if_a_variable_names_it(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """Unless the local engine or its processes are asked for; a session for large inputs is not brief."""
    monkeypatch.setenv(variable, "local[2]")
    small, large = (Inputs(captures=("a.pcap",), size=size) for size in (BRIEF_LIMIT, BRIEF_LIMIT + 1))
    used = f"spark for the variable {variable}: (None, 'parquet', 'out')"
    assert chosen("auto", small, "out", "parquet", None) == f"{used} briefly"
    assert chosen("auto", large, "out", "parquet", None) == used
    assert chosen("local", small, "out", "parquet", None) == "local, 4 processes"
    assert chosen("auto", small, "out", "parquet", None, 2) == "local, 2 processes"
