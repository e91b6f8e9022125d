"""Assigns the comments in a JSON file to the values and nodes to which they belong.

A comment belongs to the value that ends on the same line, or else to the next value. Comments after the last item of
a list or the last attribute of an object belong to the end of the list or object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kwirec.diagnostics.source import Span
from kwirec.frontend.comment_text import comment_text
from kwirec.frontend.json_parser import JsonArray, JsonObject, JsonValue
from kwirec.frontend.syntax import Comment

NODES = ("fields", "commonStructs", "values")
"""Names of attributes whose items are nodes with their own comments."""

FILE = -1


@dataclass(slots=True)
class Slot:
    """The comments before an item or attribute, and those after it on the same line."""

    before: list[Span] = field(default_factory=list)
    behind: list[Span] = field(default_factory=list)

    @property
    def all(self) -> list[Span]:
        return [*self.before, *self.behind]


Slots = Mapping[int, Sequence[Slot]]
"""Slots of the objects and lists that contain comments, by start offset. Each object or list has one slot per item or
attribute, and one for its end. The key :data:`FILE` maps to the slots of the whole file.
"""


def place(values: Sequence[JsonValue], comments: Sequence[Span]) -> Slots:
    """Return the slots for the comments in a file."""
    slots: dict[int, Sequence[Slot]] = {}
    pending = [(FILE, [(value.span.start, value) for value in values], comments)]
    while pending:
        key, parts, own = pending.pop()
        slots[key], inner = _slots(parts, own)
        pending += [(value.span.start, _parts(value), list(found)) for value, found in inner]
    return slots


def _parts(value: JsonValue) -> list[tuple[int, JsonValue]]:
    """Return the values of an object or list with their start offsets. An attribute starts at its name."""
    if isinstance(value, JsonObject):
        return [(member.key_span.start, member.value) for member in value.members]
    return [(item.span.start, item) for item in value.items] if isinstance(value, JsonArray) else []


def _slots(
    parts: Sequence[tuple[int, JsonValue]], comments: Sequence[Span]
) -> tuple[Sequence[Slot], list[tuple[JsonValue, list[Span]]]]:
    """Return the slots of an object or list, and the comments within each of its items."""
    slots = [Slot() for _ in range(len(parts) + 1)]
    inner: list[tuple[JsonValue, list[Span]]] = []
    at, line_end = 0, -1
    for comment in comments:
        while at < len(parts) and comment.start >= parts[at][1].span.end:
            line_end = parts[at][1].span.end
            at += 1
        value = parts[at][1] if at < len(parts) else None
        if isinstance(value, JsonObject | JsonArray) and comment.start > value.span.start:
            if not inner or inner[-1][0] is not value:
                inner.append((value, []))
            inner[-1][1].append(comment)
        elif at and _is_behind(comment, line_end) and (value is None or comment.start < parts[at][0]):
            slots[at - 1].behind.append(comment)
            line_end = comment.end
        else:
            slots[at].before.append(comment)
            line_end = -1
    return slots, inner


def _is_behind(comment: Span, end: int) -> bool:
    """Return whether a comment has only one line and starts on the line that contains the offset ``end``."""
    return end >= 0 and "\n" not in comment.text and comment.source.text.find("\n", end, comment.start) < 0


def spans_within(value: JsonValue, slots: Slots) -> Iterator[Span]:
    """Yield the comments in an object or list, at any depth."""
    for slot, (_, inner) in zip(_slots_of(value, slots), [*_parts(value), (0, None)], strict=True):
        yield from slot.all
        if inner is not None:
            yield from spans_within(inner, slots)


def _slots_of(value: JsonValue, slots: Slots) -> Sequence[Slot]:
    found = slots.get(value.span.start) if isinstance(value, JsonObject | JsonArray) else None
    return found or [Slot() for _ in range(len(_parts(value)) + 1)]


def bundle_comments(values: Sequence[JsonValue], comments: Sequence[Span]) -> list[str]:
    """Return the comments before each definition of a bundle, as written."""
    slots = place(values, comments)[FILE] if comments else [Slot()] * (len(values) + 1)
    return ["\n".join(span.text for span in slot.before) for slot in slots[:-1]]


def node_comments(roots: Sequence[JsonValue], values: Sequence[JsonValue], comments: Sequence[Span]) -> _ByNode:
    """Return the comments of each node by start offset. ``roots`` are the definitions in ``values``."""
    if not comments:
        return {}
    return _Owners(place(values, comments)).all(roots, values)


_ByNode = dict[int, tuple[Comment, ...]]


class _Owners:
    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._found: _ByNode = {}

    def all(self, roots: Sequence[JsonValue], values: Sequence[JsonValue]) -> _ByNode:
        """Return the comments of all nodes. A comment after a definition belongs to the end of the definition."""
        slots = self._slots[FILE]
        for number, (root, value) in enumerate(zip(roots, values, strict=False)):
            after = list(slots[number].behind)
            if number == len(values) - 1:
                after += slots[-1].before
            if isinstance(root, JsonObject):
                if root is not value:
                    after = [*self._outside(value, root), *after]
                self._node(root, [], _comments(after, ""))
        return self._found

    def _outside(self, wrapper: JsonValue, root: JsonObject) -> Iterator[Span]:
        for slot, (_, value) in zip(_slots_of(wrapper, self._slots), [*_parts(wrapper), (0, None)], strict=True):
            yield from slot.all
            if value is not None and value is not root:
                yield from spans_within(value, self._slots)

    def _node(self, node: JsonObject, own: list[Comment], after: list[Comment]) -> None:
        ends: list[Comment] = []
        *slots, last = _slots_of(node, self._slots)
        for member, slot in zip(node.members, slots, strict=True):
            own += _comments(slot.all, member.key)
            if member.key in NODES and isinstance(member.value, JsonArray):
                *items, end = _slots_of(member.value, self._slots)
                for item, of_item in zip(member.value.items, items, strict=True):
                    if isinstance(item, JsonObject):
                        self._node(item, _comments(of_item.all, None), [])
                ends += _comments(end.before, "")
            else:
                own += _comments(spans_within(member.value, self._slots), member.key)
        self._found[node.span.start] = (*own, *ends, *_comments(last.before, ""), *after)


def _comments(spans: Iterable[Span], attribute: str | None) -> list[Comment]:
    return [Comment(text=comment_text(span.text), attribute=attribute, span=span) for span in spans]
