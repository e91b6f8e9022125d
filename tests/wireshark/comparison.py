"""Compares a dissector with ``kwire.trace``, frame by frame, and with Wireshark's own dissector."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from kwire.protocol import MessageRegistry
from tests.wireshark.dissection import dissected, script, trees
from tests.wireshark.oracle import Frame, frames_of


@dataclass
class Outcome:
    """Numbers of a comparison, and the first difference of each frame that has one."""

    frames: int = 0
    fields: int = 0
    errors: int = 0
    differences: list[str] = field(default_factory=list)

    def __iadd__(self, other: Outcome) -> Outcome:
        self.frames += other.frames
        self.fields += other.fields
        self.errors += other.errors
        self.differences += other.differences
        return self


def compare(capture: Path, lua: Path, protocol: MessageRegistry, name: str = "kwire") -> Outcome:
    """Compare the frames of a capture: paths, offsets, values and errors of all fields."""
    traced, ports = frames_of(capture, protocol)
    found = dissected(capture, script(lua, name, ports), name)
    outcome = Outcome()
    for side in traced.keys() | found.keys():
        for ours, theirs in zip_longest(traced.get(side, ()), found.get(side, ())):
            outcome.frames += 1
            outcome.fields += len(ours.lines) if ours else 0
            outcome.errors += bool(ours and ours.error)
            outcome.differences += [f"{side}: {one}" for one in _difference(ours, theirs)]
    return outcome


def _difference(ours: Frame | None, theirs: Frame | None) -> Iterator[str]:
    if ours is None or theirs is None:
        yield f"only {'tshark' if ours is None else 'kwire'} has a frame {(ours or theirs)!r:.200}"
    elif ours != theirs:
        pairs = zip_longest([*ours.lines, ours.error], [*theirs.lines, theirs.error])
        yield next(f"{mine!r:.200} is {other!r:.200}" for mine, other in pairs if mine != other)


def whole_requests(capture: Path, options: list[str], name: str, clients: Collection[str]) -> tuple[int, int]:
    """Return the number of requests of these clients that a protocol reads to their last byte, and that of all."""
    whole = count = 0
    for proto, problems in trees(capture, options, name):
        sender = {field.get("show") for field in proto.iter("field") if field.get("name") == f"{name}.client_id"}
        if sender & set(clients):
            ends = [int(one.get("pos", "")) + int(one.get("size", "")) for one in proto.iter("field") if not len(one)]
            count += 1
            whole += not problems and max(ends) == int(proto.get("pos", "")) + int(proto.get("size", ""))
    return whole, count
