"""What people meet who step through the codecs of Kafka in a debugger."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import pytest

GENERATED = Path("generated/kwire_kafka")


@pytest.fixture(scope="module")
def functions() -> list[tuple[str, ast.FunctionDef]]:
    """All readers and writers."""
    modules = [path for path in sorted(GENERATED.rglob("*.py")) if "install_constructors" in path.read_text("utf-8")]
    return [
        (f"{path.stem}.{node.name}", node)
        for path in modules
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith(("read_", "write_"))
    ]


def assigned(statements: list[ast.stmt]) -> set[str]:
    names = (node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def test_everything_declared_is_assigned(functions: list[tuple[str, ast.FunctionDef]]) -> None:
    for name, function in functions:
        bare = [node for node in function.body if isinstance(node, ast.AnnAssign) and node.value is None]
        declared = [ast.unparse(node.target) for node in bare]
        rest = [node for node in function.body if node not in bare]
        assert set(declared) <= assigned(rest), name
        assert len(declared) == len(set(declared)), name


def test_no_condition_is_tested_twice_running(functions: list[tuple[str, ast.FunctionDef]]) -> None:
    for name, function in functions:
        for node in ast.walk(function):
            for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
                for one, other in itertools.pairwise(block if isinstance(block, list) else []):
                    if isinstance(one, ast.If) and isinstance(other, ast.If):
                        test = ast.unparse(one.test)
                        assert "version" not in test or test != ast.unparse(other.test), f"{name}: {test}"


def test_loops_do_not_assign_their_bounds(functions: list[tuple[str, ast.FunctionDef]]) -> None:
    """Python would not mind; compiled, the bound of ``range`` is read again in every turn."""
    for name, function in functions:
        for loop in ast.walk(function):
            if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call):
                (bound,) = loop.iter.args
                assert isinstance(bound, ast.Name), name
                assert bound.id not in assigned(loop.body), f"{name}: {bound.id}"


def test_halves_say_their_versions(functions: list[tuple[str, ast.FunctionDef]]) -> None:
    for name, function in functions:
        if name.endswith(("_classic", "_flexible")):
            assert (ast.get_docstring(function) or "").startswith("Version"), name
