"""The dissectors that the tests read with, emitted once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kwirec import Report, emit, load

ROOT = Path(__file__).parents[2]
Emit = Callable[..., Path]


@pytest.fixture(scope="session", autouse=True)
def _needs_tshark() -> None:
    if shutil.which("tshark") is None:
        pytest.skip("there is no tshark here")


@pytest.fixture(scope="session")
def emit_dissector(tmp_path_factory: pytest.TempPathFactory) -> Emit:
    def emitted(definitions: str, **parameters: str) -> Path:
        paths, out, report = [ROOT / definitions], tmp_path_factory.mktemp("lua"), Report()
        made = emit(load(paths, report), paths, "wireshark", out=out, report=report, parameters=parameters)
        assert made is not None, report
        [lua] = out.glob("*.lua")
        return lua

    return emitted


@pytest.fixture(scope="session")
def kwire_lua(emit_dissector: Emit) -> Path:
    return emit_dissector("message_defs/kafka")


@pytest.fixture(scope="session")
def clockwork_lua(emit_dissector: Emit) -> Path:
    return emit_dissector("tests/data/clockwork", name="clockwork", title='Clock ]]"\n\\work', ports="9092")
