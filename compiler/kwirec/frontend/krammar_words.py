"""The words of the indentation notation, in the heads of structs and at the ends of fields.

Most words stand for an attribute and are defined in the row of this attribute in ``syntax``. All other words are
defined here. The type of an attribute determines how its value is read and written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import did_you_mean, meant
from kwirec.diagnostics.edits import Fix, replaced
from kwirec.diagnostics.source import Span
from kwirec.frontend.edits import without
from kwirec.frontend.krammar_types import RANGE, Context, quoted, range_text, read_range
from kwirec.frontend.syntax import (
    ATTRIBUTES,
    Attribute,
    FieldDecl,
    HeaderVersionsDecl,
    MessageDecl,
    Spanned,
    Word,
)
from kwirec.json_text import json_line
from kwirec.versions import MAX_VERSION, NONE, VersionRange, nearly_range

WORD = r'[A-Za-z0-9_.]+|"(?:[^"\\]|\\.)*"'
_NEARLY_RANGE = re.compile(r"v?[0-9.]+ *([-+~.:,] *v?[0-9.]*)*|[<>=]+ *v?[0-9]+|v\S*")

Found = dict[str, Any]
"""Values with their spans, by attribute name. A word that can be repeated has a tuple of values."""


@dataclass
class Losses:
    """Spans of the facts that a writer omits. These are invalid names and, in franz-go's dialect, extensions."""

    franz_go: bool
    uses: dict[str, list[Span]] = field(default_factory=dict)

    def keeps(self, what: str, span: Span) -> bool:
        """Return whether an extension can be written. If it cannot, record the loss."""
        if self.franz_go:
            self.uses.setdefault(what, []).append(span)
        return not self.franz_go


def word_text(text: str) -> str:
    """Return a word unchanged, and any other text in quotes."""
    return text if re.fullmatch(WORD, text) and not text.startswith('"') else json_line(text)


def _word(text: str) -> str:
    """WORD: letters, digits, ``_`` and ``.``, or any text in quotes as in JSON"""
    value = quoted(text) if text.startswith('"') else None
    return text if value is None else value


def _header(text: str, span: Span) -> HeaderVersionsDecl | None:
    number, versions = text[1:].split(" for ")
    if (found := read_range(versions)) is None:
        return None
    return HeaderVersionsDecl(span=span, versions=Spanned(found, span), header=Spanned(int(number), span))


def _names(text: str, span: Span) -> tuple[Spanned[str], ...]:
    return tuple(Spanned(_word(one), span) for one in re.findall(WORD, text))


_Kind = tuple[str, Callable[[str, Span], Any]]
"""The pattern of the text after a word, and a function that reads this text. The function returns ``None`` for a
version that is too large.
"""


def _kind(pattern: str, read: Callable[[str], Any]) -> _Kind:
    return pattern, lambda text, span: None if (value := read(text)) is None else Spanned(value, span)


_KINDS: Mapping[object, _Kind] = {
    Spanned[bool]: _kind("", lambda _: True),
    Spanned[int]: _kind(" -?[0-9]{1,99}", int),
    Spanned[str]: _kind(f" (?:{WORD})", _word),
    Spanned[VersionRange]: _kind(f" (?:none|{RANGE})", lambda text: NONE if text == "none" else read_range(text)),
    tuple[Spanned[str], ...]: _kind(f" (?:{WORD})", _word),
    tuple[HeaderVersionsDecl, ...]: (f" v[0-9]{{1,9}} for {RANGE}", _header),
    "names": (f"(?: (?:{WORD}))*", _names),
    "version": _kind(" [0-9]{1,9}", lambda text: int(text) if int(text) <= MAX_VERSION else None),
    "range": _kind(f" {RANGE}", read_range),
    "none": _kind("", lambda _: NONE),
}
"""Kinds by attribute type, or by name if no attribute type determines the kind."""


def _kind_of(row: Attribute, word: Word) -> _Kind:
    if word.values:
        return _kind("|".join(word.values), word.values.__getitem__)
    return _KINDS["names" if word.form.endswith("NAME …") else row.type]


def _text(written: Any) -> str:
    """Return the text of a value after its word."""
    match written:
        case Spanned(True):
            return ""
        case Spanned(VersionRange() as versions):
            return range_text(versions)
        case HeaderVersionsDecl():
            return f"v{written.header.value} for {range_text(written.versions.value)}"
        case tuple():
            return " ".join(map(_text, written))
        case Spanned(str() as text):
            return word_text(text)
        case _:
            return str(written.value)


class Vocabulary:
    """The words that are valid in the head of a struct, or after a field. Findings about unknown words contain
    ``lacks`` and ``help``. Findings about extensions contain ``effect``.
    """

    def __init__(self, *rows: Attribute, lacks: str, help: str, effect: str = "") -> None:
        self._words = {row.name: (row.word, _kind_of(row, row.word)) for row in rows if row.word is not None}
        parts = ((name, word.name + kind[0]) for name, (word, kind) in self._words.items())
        self._pattern = re.compile("|".join(f"(?P<{name}>{pattern.lstrip(' ')})" for name, pattern in parts))
        self._lacks = lacks
        self._help = help
        self._effect = effect

    def read(self, parts: Iterable[Spanned[str]], context: Context) -> tuple[Found, bool]:
        """words: word (", " word)*; return the values and whether all words are known"""
        found: Found = {}
        first: dict[str, Spanned[str]] = {}
        is_known, parts = True, list(parts)
        for part in parts:
            match = self._pattern.fullmatch(part.value)
            if match is None or (name := match.lastgroup) is None:
                self._unknown(part, parts, context)
                is_known = False
                continue
            word, (_, read) = self._words[name]
            if not word.franz_go:
                context.extension(part.span, f"`{part.value}`", self._effect)
            text = part.value.removeprefix(word.name).lstrip(" ")
            if (value := read(text, part.span)) is None:
                number = text.split(" ")[-1]
                bad_range(f"v{number}+" if number.isdigit() else number, part.span, context)
            elif word.repeats:
                found[name] = (*found.get(name, ()), value)
            elif (earlier := first.setdefault(name, part)) is part:
                found[name] = value
            else:
                _repeated(part, earlier, value == found[name], context)
        return found, is_known

    def attributes(self, found: Found) -> Found:
        """Return the values that become attributes unchanged."""
        return {name: value for name, value in found.items() if not self._words[name][0].code}

    def texts(self, node: FieldDecl | MessageDecl, losses: Losses) -> Iterator[str]:
        """Yield the words and values of a node, the inverse of :meth:`attributes`."""
        for name, (word, _) in self._words.items():
            written = None if word.code else getattr(node, name)
            for one in written or () if word.repeats else [written]:
                if not one or (isinstance(one, Spanned) and (one.value is False or one.value == word.silent)):
                    continue
                span = one[0].span if isinstance(one, tuple) else one.span
                if word.values:
                    texts = [text for text, value in word.values.items() if value == one.value]
                    losses.uses.update({} if texts else {one.value: [span]})
                else:
                    texts = [f"{word.name} {_text(one)}".strip(" ")]
                yield from (text for text in texts if word.franz_go or losses.keeps(word.name, span))

    def _unknown(self, part: Spanned[str], parts: Iterable[Spanned[str]], context: Context) -> None:
        text = part.value[:40]
        for word, _ in self._words.values():
            rest = part.value.removeprefix(f"{word.name} ")
            if word.form == f"{word.name} vN+".strip() and (
                rest != part.value if word.name else _NEARLY_RANGE.fullmatch(text)
            ):
                bad_range(rest, part.span, context)
                return
        forms = [form for word, _ in self._words.values() for form in word.values or (word.form,)]
        help = did_you_mean(text, forms) or self._help
        what, fix = f"{self._lacks} `{text}`", self._slip(part, parts)
        context.report.add(codes.UNKNOWN_ATTRIBUTE, what, part.span, helps=[help], fix=fix)

    def _slip(self, part: Spanned[str], parts: Iterable[Spanned[str]]) -> Fix:
        """Return the fix for a misspelt word, unless another part already has the word."""
        matches = (self._pattern.fullmatch(other.value) for other in parts)
        taken = {match.lastgroup for match in matches if match is not None}
        free = (word for name, (word, _) in self._words.items() if name not in taken)
        forms = [form for word in free for form in word.values or (word.name,)]
        for count in (1, 2, 3):
            head = " ".join(part.value.split(" ")[:count])
            slip = meant(head, (form for form in forms if form.count(" ") == count - 1))
            if slip is not None and self._pattern.fullmatch(slip + part.value[len(head) :]):
                return replaced(part.span.within(0, len(head)), slip)
        return ()


def bad_range(text: str, span: Span, context: Context) -> None:
    """Report an invalid version range."""
    label = f"versions are int16, so the largest is {MAX_VERSION}" if re.fullmatch(RANGE, text) else ""
    context.report.add(
        codes.BAD_VERSION_RANGE,
        f"`{text}` is not a range of versions",
        span,
        label or "expected `vN+` or `vN-vM`",
        helps=[] if label else _range_help(text),
        fix=_range_fix(text, span),
    )


def _range_fix(text: str, span: Span) -> Fix:
    """Return the fix for an invalid range at the end of a part, if its meaning is clear."""
    near = nearly_range(text) if span.text.endswith(text) else None
    return replaced(Span(span.source, span.end - len(text), span.end), range_text(near)) if near else ()


def _range_help(text: str) -> list[str]:
    numbers = re.findall(r"[0-9]{1,5}", text)
    if len(numbers) == 1:
        return [
            f"`v{numbers[0]}-v{numbers[0]}` is only this version, and `v{numbers[0]}+` includes all later versions"
        ]
    return [f"write `v{numbers[0]}-v{numbers[1]}`"] if len(numbers) == 2 else []


def _repeated(part: Spanned[str], first: Spanned[str], same: bool, context: Context) -> None:
    context.report.add(
        codes.REPEATED_ATTRIBUTE if same else codes.DUPLICATE_ATTRIBUTE,
        f"`{part.value}` is written twice" if same else f"`{part.value}` is written after `{first.value}`",
        part.span,
        others=[(first.span, "first written here")],
        fix=without(part.span, "krammar") if same else (),
    )


def _other(name: str, form: str, type_: object = Spanned[bool], *, franz_go: bool = False) -> Attribute:
    return Attribute(name, type_, Word(form, franz_go=franz_go, code=True))


FIELD_WORDS = Vocabulary(
    _other("versions", "vN+", "range", franz_go=True),
    _other("never", "versions none", "none"),
    *ATTRIBUTES[FieldDecl].values(),
    lacks="a field cannot have",
    help="write a comment on its own line above the field",
    effect="it only affects how kwire handles the field",
)
HEAD_WORDS = Vocabulary(
    *ATTRIBUTES[MessageDecl].values(),
    _other("versions", "versions vN+", Spanned[VersionRange]),
    _other("max", "max version N", "version", franz_go=True),
    _other("min", "min version N", "version"),
    _other("reserved", "reserved"),
    _other("not_top_level", "not top level", franz_go=True),
    _other("version_field", "with version field", franz_go=True),
    _other("no_encoding", "no encoding", franz_go=True),
    _other("of", "of MESSAGE", Spanned[str]),
    lacks="a struct cannot have the modifier",
    help="write `key N, max version N` or `not top level` after `=>`",
)
