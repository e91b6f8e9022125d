"""An emitted module as a tree of classes, functions and statements, which templates render."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from kwirec.lowering.coding import FieldCoding, Versions
from kwirec.lowering.layout import ScalarKind
from kwirec.versions import VersionRange

if TYPE_CHECKING:
    from kwirec.emitters.views import ClassView, FieldView


class Node:
    """A class, function or statement. A node contains its inner nodes and the name of the macro that renders it.

    For example, ``array.read`` is the macro ``read`` in ``templates/codec/array.jinja``. The template explains the
    attributes of the node.
    """

    macro: ClassVar[str]


Nodes = tuple[Node, ...]


@dataclass(frozen=True, kw_only=True)
class Choice(Node):
    macro = "flow.choice"
    branches: Sequence[tuple[str, Nodes]]


@dataclass(frozen=True, kw_only=True)
class Advance(Node):
    macro = "flow.advance"
    width: int


@dataclass(frozen=True, kw_only=True)
class SetDefault(Node):
    macro = "flow.default"
    target: str
    value: str


@dataclass(frozen=True, kw_only=True)
class RequireDefault(Node):
    macro = "flow.require_default"
    source: str
    field: FieldView


@dataclass(frozen=True, kw_only=True)
class ReadScalar(Node):
    macro = "scalar.read"
    type: str
    target: str
    at: str


@dataclass(frozen=True, kw_only=True)
class WriteScalar(Node):
    macro = "scalar.write"
    type: str
    source: str


@dataclass(frozen=True, kw_only=True)
class ReadStruct(Node):
    macro = "struct.read"
    path: str
    target: str
    cls: str
    arguments: Sequence[str]
    fields: Sequence[Node]
    tags: str
    at: str
    advance: int


@dataclass(frozen=True, kw_only=True)
class WriteStruct(Node):
    macro = "struct.write"
    path: str
    source: str
    local: str
    cls: ClassView
    fields: Sequence[Node]
    tags: str


@dataclass(frozen=True, kw_only=True)
class ReadLength(Node):
    """Base class for reading values that begin with a length, a count or a null marker."""

    label: str
    target: str
    n: str
    compact: bool
    nullable: str
    at: str
    advance: int


@dataclass(frozen=True, kw_only=True)
class ReadBlob(ReadLength):
    macro = "blob.read"
    kind: str


@dataclass(frozen=True, kw_only=True)
class ReadBulk(ReadLength):
    macro = "array.read_bulk"
    kind: str = "array"
    element: ScalarKind


@dataclass(frozen=True, kw_only=True)
class ReadArray(ReadLength):
    macro = "array.read"
    kind: str = "array"
    item: str
    body: Nodes
    guard: bool


@dataclass(frozen=True, kw_only=True)
class ReadNullableStruct(ReadLength):
    macro = "struct.read_nullable"
    tagged: bool
    body: Nodes


@dataclass(frozen=True, kw_only=True)
class WriteLength(Node):
    """Base class for writing values that begin with a length, a count or a null marker."""

    source: str
    local: str
    nullable: str
    optional: bool
    compact: bool


@dataclass(frozen=True, kw_only=True)
class WriteBlob(WriteLength):
    macro = "blob.write"
    kind: str


@dataclass(frozen=True, kw_only=True)
class WriteArray(WriteLength):
    macro = "array.write"
    kind: str = "array"
    item: str
    body: Nodes


@dataclass(frozen=True, kw_only=True)
class WriteNullableStruct(WriteLength):
    macro = "struct.write_nullable"
    tagged: bool
    body: Nodes


@dataclass(frozen=True, kw_only=True)
class DefineClass(Node):
    macro = "class.define"
    view: ClassView
    message: Mapping[str, object] | None
    codec: Sequence[Node]
    sentinel: str


@dataclass(frozen=True, kw_only=True)
class DefineTag:
    """A tagged field in the tagged section of its struct."""

    field: FieldView
    condition: str
    local: str
    read: Nodes
    write: Nodes


@dataclass(frozen=True, kw_only=True)
class DefineSection(Node):
    macro = "section.define"
    cls: str
    declarations: Sequence[tuple[str, str]]
    tags: Sequence[DefineTag]


@dataclass(frozen=True, kw_only=True)
class DefineHalf(Node):
    macro = "half.define"
    suffix: str
    older: str
    is_only: bool
    cls: str
    versions: VersionRange
    declarations: Sequence[tuple[str, str]]
    read: Nodes
    write: Nodes


ALWAYS, NEVER = "always", "never"


def condition(live: Iterable[int], among: Sequence[int]) -> str:
    """Return the condition on ``version`` that selects ``live`` from ``among``, or :data:`ALWAYS` or :data:`NEVER`.

    The versions in ``among`` must be consecutive, and so must the versions that are in both sets.
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
    """Yield groups of adjacent fields for which ``parts`` returns the same versions. The fields of a group share
    their version tests.
    """
    for _, group in groupby(fields, key=lambda one: frozenset(parts(one))):
        together = list(group)
        yield parts(together[0]), together


def choice(branches: Sequence[tuple[Versions, Nodes]], versions: Versions) -> Nodes:
    """Return a statement with the non-empty branches and their version tests. Together, ``branches`` must cover all
    ``versions``.
    """
    if len(branches) == 1:
        return branches[0][1]
    tests = [(condition(part, versions), body) for part, body in branches if body]
    if len(tests) == len(branches):
        tests[-1] = ("", tests[-1][1])
    return (Choice(branches=tests),) if tests else ()
