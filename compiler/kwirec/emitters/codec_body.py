"""What the texts of readers and writers share: which versions a body is for and how each field is coded in them.

A message has two bodies each way, for its classic and its flexible versions, with structs inlined and
``if version >= n`` where versions differ (docs/decisions/codec-shape.md has the measurements).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kwirec.emitters.environment import macro
from kwirec.emitters.ranges import ALWAYS, condition, runs
from kwirec.emitters.views import ClassView
from kwirec.ir.schema import Field, Message, Struct, StructType

WIDTHS = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}
KINDS = "codec/kinds"
UNTAGGED = ("compact", "classic")


@dataclass
class Body:
    """One half of a message: which versions, and what the readers and writers of it need."""

    message: Message
    classes: Mapping[str, ClassView]
    versions: Sequence[int]
    flexible: bool
    declarations: dict[str, str] = field(default_factory=dict)
    counter: int = 0

    def occurrence(self) -> int:
        """A number for every place where a struct is inlined: it keeps the locals of all places apart."""
        self.counter += 1
        return self.counter - 1

    def mode(self, one: Field, version: int) -> str:
        """How ``one`` is coded in ``version``: absent, tagged, or untagged with a compact or classic length."""
        if version not in one.versions:
            return "absent"
        if self.flexible and one.tag is not None and version in one.tagged:
            return "tagged"
        return "compact" if self.compact(one, version) else "classic"

    def compact(self, one: Field, version: int) -> bool:
        return self.flexible and (one.flexible is None or version in one.flexible)

    def runs(self, one: Field, versions: Sequence[int]) -> list[tuple[str, list[int]]]:
        """``versions`` cut where the coding of ``one`` changes. The mark of a nullable struct is part of it."""
        struct = isinstance(one.type, StructType)
        cut = runs(versions, lambda v: (self.mode(one, v), struct and v in one.nullable))
        return [(mode, run) for (mode, _), run in cut]

    def nullable(self, one: Field, versions: Sequence[int]) -> str:
        return condition([v for v in versions if v in one.nullable], versions)


def choose(blocks: Sequence[tuple[list[int], str]], versions: Sequence[int], otherwise: str = "") -> str:
    """The block for each run of versions, and ``otherwise`` for the versions that have none."""
    if not blocks:
        return otherwise
    branches = [(condition(run, versions), block) for run, block in blocks]
    if branches[0][0] == ALWAYS:
        return branches[0][1]
    if sum(len(run) for run, _ in blocks) == len(versions):
        branches[-1], otherwise = ("", branches[-1][1]), ""
    return macro(f"{KINDS}/flow.jinja", "choose", branches, otherwise)


def is_tagged(body: Body, one: Field) -> bool:
    """Whether the field is a tagged one in any flexible version."""
    return one.tag is not None and any(v in one.tagged and v in body.message.flexible for v in body.message.valid)


def tag_mode(body: Body, struct: Struct) -> str:
    """Whether a struct ends with tags of which some are ``known``, all ``unknown``, or with ``none``."""
    if not body.flexible:
        return "none"
    return "known" if any(is_tagged(body, one) for one in struct.fields) else "unknown"
