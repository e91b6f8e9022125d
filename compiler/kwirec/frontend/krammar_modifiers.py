"""The modifiers in the head of a struct: words → what they say, by name."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import did_you_mean
from kwirec.frontend.krammar_fields import ANY_RANGE, WORD, bad_range, word
from kwirec.frontend.krammar_parser import WrittenStruct
from kwirec.frontend.krammar_types import RANGE, Context, read_range
from kwirec.frontend.syntax import HeaderVersionsDecl, Spanned
from kwirec.versions import MAX_VERSION, NONE

ROUTES = {
    "admin": "controller",
    "group coordinator": "group",
    "txn coordinator": "transaction",
    "share coordinator": "share",
}
"""The words for the broker that must get a request, and what ``sentTo`` calls it."""

KINDS = ("header", "data", "metadata", "coordinator key", "coordinator value", "response")
"""The words for messages that are not requests."""

_INT = r"-?[0-9]{1,9}"
_MODIFIER = re.compile(
    rf"key (?P<key>{_INT})|max version (?P<max>[0-9]{{1,9}})|flexible (?P<flexible>{ANY_RANGE})"
    rf"|(?P<route>{'|'.join(ROUTES)})|(?P<not_top_level>not top level)|(?P<version_field>with version field)"
    rf"|(?P<no_encoding>no encoding)|min version (?P<min>[0-9]{{1,9}})|(?P<reserved>reserved)"
    rf"|deprecated (?P<deprecated>{ANY_RANGE})|(?P<unstable>unstable)|listeners(?P<listeners>(?: (?:{WORD}))*)"
    rf"|was (?P<was>{WORD})|(?P<kind>{'|'.join(KINDS)})|of (?P<of>{WORD})|versions (?P<versions>{ANY_RANGE})"
    rf"|header v(?P<header>[0-9]{{1,9}}) for (?P<header_for>{RANGE})"
)
_PLAIN = ("key", "max", "flexible", "route", "not_top_level", "version_field", "no_encoding")
_MODIFIERS = ("key N", "max version N", "flexible vN+", *ROUTES, "not top level", "with version field", "no encoding",
              "min version N", "reserved", "deprecated vN-vM", "unstable", "listeners broker", "was NAME", *KINDS,
              "of MESSAGE", "versions vN+", "header vH for vN+")  # fmt: skip

Modifiers = dict[str, Spanned[Any]]


@dataclass(slots=True)
class Head:
    """A struct with its modifiers by name; those that can be repeated in lists."""

    written: WrittenStruct
    modifiers: Modifiers
    aliases: list[Spanned[str]] = field(default_factory=list)
    headers: list[HeaderVersionsDecl] = field(default_factory=list)
    is_broken: bool = False

    @property
    def name(self) -> Spanned[str]:
        return self.written.name

    def __contains__(self, modifier: str) -> bool:
        return modifier in self.modifiers

    def get(self, modifier: str) -> Spanned[Any] | None:
        return self.modifiers.get(modifier)


class ModifierReader:
    """Reads heads; what is wrong with them goes to the report of the context."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def head(self, written: WrittenStruct) -> Head:
        """modifiers: modifier (", " modifier)*"""
        head = Head(written, {})
        for part in written.modifiers:
            match = _MODIFIER.fullmatch(part.value)
            if match is None:
                self._unknown_modifier(part)
                head.is_broken = True
                continue
            kind = next(name for name in match.re.groupindex if match[name] is not None)
            if kind not in _PLAIN:
                self._context.extension(part.span, f"`{part.value}`")
            if kind == "was":
                head.aliases.append(Spanned(word(match["was"]), part.span))
            elif kind == "header":
                head.headers += self._header(match, part)
            elif (value := self._modifier_value(kind, match[kind], part)) is not None:
                self._add(head, kind, value, part)
        return head

    def _header(self, match: re.Match[str], part: Spanned[str]) -> list[HeaderVersionsDecl]:
        versions = read_range(match["header_for"])
        if versions is None:
            bad_range(Spanned(match["header_for"], part.span), self._context)
            return []
        header = Spanned(int(match["header"]), part.span)
        return [HeaderVersionsDecl(span=part.span, versions=Spanned(versions, part.span), header=header)]

    def _modifier_value(self, kind: str, text: str, part: Spanned[str]) -> Spanned[Any] | None:
        match kind:
            case "key" | "max" | "min":
                if kind != "key" and int(text) > MAX_VERSION:
                    bad_range(Spanned(f"v{text}+", part.span), self._context)
                    return None
                return Spanned(int(text), part.span)
            case "flexible" | "deprecated" | "versions":
                versions = NONE if text == "none" else read_range(text)
                if versions is None:
                    bad_range(Spanned(text, part.span), self._context)
                    return None
                return Spanned(versions, part.span)
            case "listeners":
                return Spanned([word(one) for one in re.findall(WORD, text)], part.span)
            case "of":
                return Spanned(word(text), part.span)
            case "route":
                return Spanned(ROUTES[text], part.span)
            case "kind":
                return Spanned(text.replace(" ", "-"), part.span)
        return Spanned(True, part.span)

    def _add(self, head: Head, kind: str, value: Spanned[Any], part: Spanned[str]) -> None:
        first = head.modifiers.setdefault(kind, value)
        if first is not value:
            same = first.value == value.value
            self._context.report.add(
                codes.REPEATED_ATTRIBUTE if same else codes.DUPLICATE_ATTRIBUTE,
                (
                    f"`{part.value}` is written twice"
                    if same
                    else f"`{part.value}` is written after `{first.span.text}`"
                ),
                part.span,
                others=[(first.span, "first written here")],
            )

    def _unknown_modifier(self, part: Spanned[str]) -> None:
        text = part.value[:40]
        kind = next((kind for kind in ("flexible", "deprecated", "versions") if text.startswith(f"{kind} ")), None)
        if kind is not None:
            bad_range(Spanned(part.value.removeprefix(f"{kind} "), part.span), self._context)
            return
        help = did_you_mean(text, _MODIFIERS) or "after `=>` come `key N, max version N` or `not top level`"
        self._context.report.add(
            codes.UNKNOWN_ATTRIBUTE, f"a struct has no modifier `{text}`", part.span, helps=[help]
        )
