"""What people meet who step through the codecs of Kafka in a debugger."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path

import pytest

GENERATED = Path("generated/kwire_kafka")


@pytest.fixture(scope="module")
def functions() -> list[tuple[str, ast.FunctionDef]]:
    """All readers and writers."""
    modules = [path for path in sorted(GENERATED.rglob("*.py")) if "= constructor(" in path.read_text("utf-8")]
    classes = [(path.stem, node) for path in modules for node in ast.parse(path.read_text("utf-8")).body]
    found = [
        (f"{module}.{cls.name}.{node.name}", node)
        for module, cls in classes
        if isinstance(cls, ast.ClassDef)
        for node in cls.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith(("_read", "_write"))
    ]
    assert len(found) > 800
    return found


def assigned(statements: list[ast.stmt]) -> set[str]:
    names = (node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


@pytest.mark.slow
def test_everything_declared_is_assigned(functions: list[tuple[str, ast.FunctionDef]]) -> None:
    for name, function in functions:
        bare = [node for node in function.body if isinstance(node, ast.AnnAssign) and node.value is None]
        declared = [ast.unparse(node.target) for node in bare]
        rest = [node for node in function.body if node not in bare]
        assert set(declared) <= assigned(rest), name
        assert len(declared) == len(set(declared)), name


@pytest.mark.slow
def test_no_condition_is_tested_twice_running(functions: list[tuple[str, ast.FunctionDef]]) -> None:
    for name, function in functions:
        for node in ast.walk(function):
            for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
                for one, other in itertools.pairwise(block if isinstance(block, list) else []):
                    if isinstance(one, ast.If) and isinstance(other, ast.If):
                        test = ast.unparse(one.test)
                        assert "version" not in test or test != ast.unparse(other.test), f"{name}: {test}"


@pytest.mark.slow
def test_loops_do_not_assign_their_bounds(functions: list[tuple[str, ast.FunctionDef]]) -> None:
    """Python would not mind; compiled, the bound of ``range`` is read again in every turn."""
    for name, function in functions:
        for loop in ast.walk(function):
            if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call):
                (bound,) = loop.iter.args
                assert isinstance(bound, ast.Name), name
                assert bound.id not in assigned(loop.body), f"{name}: {bound.id}"


@pytest.mark.slow
def test_halves_say_their_versions(functions: list[tuple[str, ast.FunctionDef]]) -> None:
    for name, function in functions:
        if not name.endswith("_tags"):
            assert (ast.get_docstring(function) or "").startswith("Version"), name


def test_lengths_say_their_fields() -> None:
    lengths = 0
    for path in GENERATED.rglob("*.py"):
        for before, line in itertools.pairwise(path.read_text("utf-8").splitlines()):
            if re.match(r" +n\d* = (data\[|read_i)", line):
                lengths += 1
                assert re.match(
                    r" +# [a-z0-9_]+(\[\])?: (compact )?(nullable )?(string|bytes|records|array|struct)$", before
                )
    assert lengths > 1500
