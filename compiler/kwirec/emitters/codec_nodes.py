"""An emitted module as a tree of classes, functions and their statements, which templates spell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from types import SimpleNamespace

from kwirec.lowering.coding import FieldCoding, Versions


class Node(SimpleNamespace):
    """A class, a function or a statement: what its macro spells, and the nodes that it contains.

    ``array.read`` is the macro ``read`` in ``templates/codec/array.jinja``, where its attributes are explained.
    """

    def __init__(self, macro: str, **attributes: object) -> None:
        super().__init__(macro=macro, **attributes)


Nodes = tuple[Node, ...]

ALWAYS, NEVER = "always", "never"


def condition(live: Iterable[int], among: Sequence[int]) -> str:
    """The test of ``version`` that selects ``live`` from ``among``, or :data:`ALWAYS` or :data:`NEVER`.

    ``among`` is a run of versions, and so are those of ``live`` that lie in it.
    """
    selected = set(live)
    found = [version for version in among if version in selected]
    if not found:
        return NEVER
    low, high = found[0], found[-1]
    if (low, high) == (among[0], among[-1]):
        return ALWAYS
    if low == among[0]:
        return f"version <= {high}"
    if high == among[-1]:
        return f"version >= {low}"
    return f"version == {low}" if low == high else f"{low} <= version <= {high}"


def in_groups(
    fields: Iterable[FieldCoding], parts: Callable[[FieldCoding], tuple[Versions, ...]]
) -> Iterator[tuple[tuple[Versions, ...], list[FieldCoding]]]:
    """Neighbouring fields for which the versions fall into the same ``parts``, so that one test serves them all."""
    for _, group in groupby(fields, key=lambda one: frozenset(parts(one))):
        together = list(group)
        yield parts(together[0]), together


def choice(branches: Sequence[tuple[Versions, Nodes]], versions: Versions) -> Nodes:
    """The branches that have statements, each with its test. Together the branches cover all ``versions``."""
    if len(branches) == 1:
        return branches[0][1]
    tests = [(condition(part, versions), body) for part, body in branches if body]
    if len(tests) == len(branches):
        tests[-1] = ("", tests[-1][1])
    return (Node("flow.choice", branches=tests),) if tests else ()
