"""Generated packages as mypy, pyright and Jedi see them: these read the sources, and what runs is not what they read.

A line of ``cases/wrong.py`` that a type checker must refuse ends with ``# error``; all others must pass.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import jedi
import pytest

import kwire_kafka
from kwire import is_native

CASES = Path(__file__).parent / "cases"
TREE = Path(__file__).parents[2]


def mypy(file: Path) -> set[int]:
    """The lines that mypy refuses."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--config-file=", str(file)]
    text = subprocess.run(command, cwd=TREE, capture_output=True, text=True).stdout
    return {int(line) for line in re.findall(rf"{re.escape(file.name)}:(\d+): error", text)}


def pyright(file: Path) -> set[int]:
    """The lines that basedpyright refuses, which has pyright's rules and brings its own Node."""
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, str(file)]
    found = json.loads(subprocess.run(command, cwd=file.parent, capture_output=True, text=True).stdout)
    errors = (one for one in found["generalDiagnostics"] if one["severity"] == "error")
    return {one["range"]["start"]["line"] + 1 for one in errors}


@pytest.mark.slow
@pytest.mark.parametrize("refused_by", [mypy, pyright])
@pytest.mark.parametrize("name", ["right", "wrong"])
def test_type_checkers_refuse_names_that_do_not_exist_and_accept_all_others(name: str, refused_by: object) -> None:
    file = CASES / f"{name}.py"
    lines = file.read_text().splitlines()
    expected = {number for number, line in enumerate(lines, 1) if line.endswith("# error")}
    assert callable(refused_by)
    assert refused_by(file) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from kwire_kafka import FetchRes", "FetchResponse"),
        ("from kwire_kafka import ApiK", "ApiKey"),
        ("from kwire_kafka import FetchResponse\nFetchResponse(error", "error_code="),
        ("from kwire_kafka import FetchResponse\nFetchResponse.decode(b'', 12).error", "error_code"),
        ("from kwire_kafka.models import FetchResp", "FetchResponseModel"),
        ("from kwire_kafka.models import FetchResponseModel\nFetchResponseModel().error", "error_code"),
    ],
)
def test_editors_complete_names_arguments_and_fields(code: str, expected: str) -> None:
    if is_native() and ".decode(" in code:
        pytest.skip("Jedi does not read the sources of native classes")
    assert expected in [found.name for found in jedi.Script(code).complete()]


@pytest.mark.parametrize("package", ["kwire_kafka", "kwire_kafka.models"])
def test_a_misspelt_name_is_reported_with_the_right_one(package: str) -> None:
    misspelt = "ProducRequest" + "Model" * package.endswith("models")
    program = f"import {package} as package; package.{misspelt}"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "Did you mean: 'ProduceRequest" in run.stderr


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python suggests names of imports from 3.12 on")
def test_a_misspelt_import_is_reported_with_the_right_one() -> None:
    program = "from kwire_kafka import ProducRequest"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "Did you mean: 'ProduceRequest" in run.stderr


def test_an_unknown_name_is_no_attribute() -> None:
    assert not hasattr(kwire_kafka, "ProducRequest")
