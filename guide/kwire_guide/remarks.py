"""Remarks about versions in the comments of a definition, such as ``// Version 3 adds the epoch.``

A remark starts with its versions, as in "Versions 1 and 2 are the same" or "Starting in version 4, …", and extends to
the next remark, a list, or the end of the paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from kwirec.frontend.comment_text import comment_text
from kwirec.frontend.syntax import Comment, FieldDecl, MessageDecl, StructDecl
from kwirec.versions import VersionRange

_JOINED = r"\s*(?:,|-|–|\+|&|to|through|and|or)\s*"
_BEGIN = re.compile(
    r"(?:(?:starting|beginning|in|with|from|since|as of) (?:in |with |from )?)?(?:versions?\s+|v)"
    rf"(?P<versions>\d{{1,5}}(?:(?:{_JOINED}){{1,2}}\d{{1,5}})*)(?!\w|\.\d)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?P<range>\s*(?:-|–|to|through)\s*)?(?P<number>\d+)")
_SENTENCE = re.compile(r"(?<=[.;:!)])\s+(?=[A-Z]|v\d)")
_ITEM = re.compile(r"[-*•]\s")


def remarks(message: MessageDecl, versions: Collection[int]) -> Mapping[int, Sequence[str]]:
    """Return the remarks about each of these versions of a message, in the order of the comments."""
    found: dict[int, list[str]] = {}
    for statement in statements(_paragraphs(_lines(message))):
        begin = _BEGIN.match(statement)
        for version in _versions(begin["versions"], versions) if begin is not None else ():
            found.setdefault(version, []).append(statement)
    return found


def statements(paragraphs: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the remarks in ``paragraphs``."""
    for paragraph in paragraphs:
        statement = ""
        for sentence in _SENTENCE.split(" ".join(paragraph)):
            if _BEGIN.match(sentence):
                yield from [statement] if statement else []
                statement = sentence
            elif statement:
                statement += f" {sentence}"
        yield from [statement] if statement else []


def _lines(message: MessageDecl) -> Iterator[str]:
    """Yield all comments of a definition, with an empty line between comments of different declarations."""
    for line in message.comment.split("\n"):
        yield from comment_text(line.strip()).split("\n")
    for node in _nodes(message):
        yield ""
        yield from (line for comment in node for line in comment.text.split("\n"))


def _nodes(node: MessageDecl | StructDecl | FieldDecl) -> Iterator[tuple[Comment, ...]]:
    yield node.comments
    for inner in node.fields or ():
        yield from _nodes(inner)
    if isinstance(node, MessageDecl):
        for struct in node.common_structs:
            yield from _nodes(struct)


def _paragraphs(lines: Iterable[str]) -> Iterator[Sequence[str]]:
    """Yield the paragraphs without lists and without the sentences with a colon that introduce lists."""
    paragraph: list[str] = []
    is_list = False
    for line in (" ".join(text.split()) for text in lines):
        if _ITEM.match(line):
            is_list = True
            if paragraph and paragraph[-1].endswith(":"):
                paragraph[-1:] = _SENTENCE.split(paragraph[-1])[:-1]
        if not line or _BEGIN.match(line):
            is_list = False
        if not line:
            yield paragraph
            paragraph = []
        elif not is_list:
            paragraph.append(line)
    yield paragraph


def _versions(text: str, versions: Iterable[int]) -> list[int]:
    """Return the versions in a text such as ``1, 3-5 and 7``."""
    named: list[VersionRange] = []
    for match in _NUMBER.finditer(text):
        number = int(match["number"])
        low = named.pop().low if match["range"] and named else number
        named.append(VersionRange(low, number))
    return [version for version in versions if any(version in one for one in named)]
