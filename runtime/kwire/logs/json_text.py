"""Reading the JSON in a record, including the position of each value and whether the value is secret.

The reader is a loop over tokens with its own stack. It does not recurse, runs in linear time and does not keep
values, so hostile text cannot exhaust memory. The reader accepts JSON in UTF-8, as defined by RFC 8259.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kwire.errors import DecodeError
from kwire.secrets import HIDDEN

Rule = Callable[[int, str], bool]
"""A function that returns whether a value is secret, given its depth and name. Members of the outermost object have
depth 1."""

MAX_DEPTH = 64
"""Maximum nesting depth of arrays and objects."""
_LONGEST_NUMBER = 1000
_LONGEST_NAME = 300

_SPACE = re.compile(rb"[ \t\n\r]*+")
_STRING = rb'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
_NUMBER = rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"
_NAME = re.compile(_STRING)
_SCALAR = re.compile(
    rb"(?P<string>" + _STRING + rb")|(?P<number>" + _NUMBER + rb")|(?P<bool>true|false)|(?P<null>null)"
)
_BRACKETS = {b"{": ("object", b"}"), b"[": ("array", b"]")}


@dataclass(frozen=True, slots=True)
class Node:
    """A value at ``data[content:end]``, or only its opening bracket if ``kind`` is ``object`` or ``array``.

    ``start`` is the position of the name of the value, or of the value itself if it has no name. ``name`` is
    truncated to 300 characters. In an array, ``name`` is an index such as ``[0]``. Arrays and objects are not
    ``secret`` themselves.
    """

    start: int
    content: int
    end: int
    depth: int
    name: str
    kind: str
    secret: bool


@dataclass(frozen=True, slots=True, repr=False)
class JsonText:
    """Valid JSON or, if ``plain`` is true, the plain text of a key. ``repr`` hides secrets, but ``value`` contains
    them."""

    data: bytes
    secret: Rule | None = None
    plain: bool = False

    @property
    def text(self) -> str:
        """The unchanged text of the record."""
        return self.data.decode()

    @property
    def value(self) -> object:
        """The text of a plain key, or the Python equivalent of the JSON value."""
        return self.text if self.plain else json.loads(self.data)

    def __repr__(self) -> str:
        return repr(self.text) if self.plain else redacted_json(self.data, self.secret).decode()


@dataclass(slots=True)
class _Open:
    """An array or object that is not closed yet."""

    closing: bytes
    secret: bool
    count: int = 0


def read_json(data: bytes, secret: Rule | None = None) -> Iterator[Node]:
    """Yield all values. Arrays and objects precede the values in them.

    With a rule, values without a name are secret, and so are all values under a name that the rule marks as secret.
    Null and empty strings are never secret. Raise ``DecodeError`` if ``data`` is not JSON.
    """
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise DecodeError("not UTF-8", offset=error.start, data=data) from None
    return _Reader(data, secret).nodes()


def redacted_json(data: bytes, secret: Rule | None) -> bytes:
    """Return ``data`` with its secrets replaced by ``kwire.secrets.HIDDEN``. All other bytes are unchanged."""
    if secret is None:
        return data
    parts, last = [], 0
    for node in read_json(data, secret):
        if node.secret:
            parts += [data[last : node.content], b'"', HIDDEN.encode(), b'"']
            last = node.end
    return b"".join([*parts, data[last:]])


class _Reader:
    def __init__(self, data: bytes, secret: Rule | None) -> None:
        self.data = data
        self.secret = secret
        self.open: list[_Open] = []
        self.pos = 0
        self.skip(0)

    def nodes(self) -> Iterator[Node]:
        yield self.value(self.pos, "", self.secret is not None)
        while self.open:
            top = self.open[-1]
            if self.data.startswith(top.closing, self.pos):
                self.open.pop()
                self.skip(1)
            else:
                yield self.member(top)
        if self.pos < len(self.data):
            raise self.error("text after the JSON value")

    def member(self, top: _Open) -> Node:
        """Return the next member of an object or element of an array."""
        if top.count:
            self.take(b",", f"expected a comma or {top.closing.decode()}")
        start, name, secret = self.pos, f"[{top.count}]", top.secret
        top.count += 1
        if top.closing == b"}":
            name = self.name()
            self.take(b":", "expected a colon")
            if self.secret is not None:
                secret = (secret and len(self.open) > 1) or self.secret(len(self.open), name)
        return self.value(start, name, secret)

    def value(self, start: int, name: str, secret: bool) -> Node:
        content, depth = self.pos, len(self.open)
        if bracket := _BRACKETS.get(self.data[content : content + 1]):
            if depth == MAX_DEPTH:
                raise self.error(f"nested more than {MAX_DEPTH} levels deep")
            kind, closing = bracket
            self.open.append(_Open(closing, secret))
            self.skip(1)
            return Node(start, content, content + 1, depth, name, kind, False)
        match = _SCALAR.match(self.data, content)
        if match is None:
            raise self.error("expected a value")
        kind, size = str(match.lastgroup), match.end() - content
        if kind == "number" and size > _LONGEST_NUMBER:
            raise self.error(f"a number of more than {_LONGEST_NUMBER} digits")
        self.skip(size)
        empty = kind == "null" or match[0] == b'""'
        return Node(start, content, content + size, depth, name, kind, secret and not empty)

    def name(self) -> str:
        match = _NAME.match(self.data, self.pos)
        if match is None:
            raise self.error("expected a name in quotes")
        self.skip(len(match[0]))
        text: str = json.loads(match[0])
        return text[:_LONGEST_NAME]

    def take(self, character: bytes, problem: str) -> None:
        if not self.data.startswith(character, self.pos):
            raise self.error(problem)
        self.skip(1)

    def skip(self, size: int) -> None:
        """Skip ``size`` bytes and the white space after them."""
        match = _SPACE.match(self.data, self.pos + size)
        assert match
        self.pos = match.end()

    def error(self, reason: str) -> DecodeError:
        at_end = ", which ends here" if self.pos >= len(self.data) else ""
        return DecodeError(f"not JSON{at_end}: {reason}", offset=self.pos, data=self.data)


__all__ = ["MAX_DEPTH", "JsonText", "Node", "read_json", "redacted_json"]
