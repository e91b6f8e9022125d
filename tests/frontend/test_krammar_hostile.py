"""Whatever a file in the indentation notation holds, reading it ends, raises nothing, and takes linear time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.frontend.test_json_hostile import mutated_from, read

SAMPLE = (Path(__file__).parents[1] / "data" / "krammar" / "Clock.krm").read_text()
DEFINITIONS = [SAMPLE, *(f"{block}\n" for block in SAMPLE.split("\n\n"))]
TOKENS = ["  ", " ", "\t", "\n", "\n\n", "//", " // ", "=>", "[=>]", "[", "]", "(", ")", ":", ": ", ", ", '"', "\\",
          "A", "Request", "Response", "int32", "string", "nullable", "nullable-v1+", "enum-", "v1+", "v1-v2", "tag 0",
          "key 1", "max version 1", "flexible v1+", "not top level", "of ", "with version field", "-1", "0x", "\r",
          "\0", "\ud7ff", "é", "9" * 50]  # fmt: skip


@given(st.text() | st.lists(st.sampled_from(TOKENS)).map("".join), st.sampled_from(["a.krm", "a"]))
def test_any_text(text: str, name: str) -> None:
    document, _, report = read(text, name)
    assert document.messages or document.enums or document.structs or report.diagnostics


@given(mutated_from(DEFINITIONS, TOKENS), st.sampled_from(["a.krm", "a"]))
def test_damaged_definitions(text: str, name: str) -> None:
    document, _, report = read(text, name)
    assert document.messages or document.enums or document.structs or report.diagnostics


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    ["A", " ", "\t", "  A: [", "[", '"', '\\"', "(", "v", "//", ", ", "=>", "\n  ", "A =>\n", "  A: =>\n",
     "nullable-", "A: int8 // v1+, ", " - ", "A => not top level\n  A: [A]\n\n"],
)  # fmt: skip
@pytest.mark.long
def test_time_grows_with_the_text(piece: str) -> None:
    """Ten times the text takes ten times as long, with room for noise, not a hundred times."""

    def seconds(size: int) -> float:
        text = "ARequest => key 1, max version 1\n  B: " + piece * (size // len(piece))
        started = time.process_time()
        read(text, "a.krm")
        return time.process_time() - started

    assert seconds(200_000) < 30 * seconds(20_000) + 0.2
