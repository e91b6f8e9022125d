"""Rules: a code and the check that finds its violations.

A check is a generator function over one kind of site. Users read its docstring: the first paragraph describes the
problem, the second why it matters. A decorator turns the check into a ``Rule``::

    @on_field("K601", "negative-tag", offending=clock(...), corrected=clock(...))
    def negative_tag(at: FieldSite) -> Iterator[Finding]:
        \"\"\"A tag is negative.

        Tags are encoded as unsigned numbers.
        \"\"\"

``relaxable`` marks rules whose violations can be compiled: projects can change their severity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NotRequired, TypedDict, TypeVar, Unpack

from kwirec.diagnostics.diagnostic import Code, Finding, Severity, explanation
from kwirec.ir.sites import FieldSite, MessageSite, Site, Sites, StructSite

S = TypeVar("S", bound=Site)
Check = Callable[[S], Iterator[Finding]]


@dataclass(frozen=True)
class Rule:
    """A code plus its check over a whole schema."""

    code: Code
    check: Callable[[Sites], Iterable[Finding]]


class Explained(TypedDict):
    """Arguments of the decorators besides number and name. Examples are complete definitions that tests compile."""

    offending: str
    corrected: str
    severity: NotRequired[Severity]
    relaxable: NotRequired[bool]


def on_schema(
    number: str, name: str, **explained: Unpack[Explained]
) -> Callable[[Callable[[Sites], Iterator[Finding]]], Rule]:
    """A rule that compares messages with each other."""
    return lambda check: Rule(_code(number, name, check.__doc__, explained), check)


def on_message(number: str, name: str, **explained: Unpack[Explained]) -> Callable[[Check[MessageSite]], Rule]:
    """A rule that looks at one message at a time."""
    return _on_each(lambda sites: sites.messages, number, name, explained)


def on_struct(number: str, name: str, **explained: Unpack[Explained]) -> Callable[[Check[StructSite]], Rule]:
    """A rule that looks at one struct at a time, the root of a message included."""
    return _on_each(lambda sites: sites.structs, number, name, explained)


def on_field(number: str, name: str, **explained: Unpack[Explained]) -> Callable[[Check[FieldSite]], Rule]:
    """A rule that looks at one field at a time."""
    return _on_each(lambda sites: sites.fields, number, name, explained)


def _on_each(
    select: Callable[[Sites], Iterable[S]], number: str, name: str, explained: Explained
) -> Callable[[Check[S]], Rule]:
    def decorate(check: Check[S]) -> Rule:
        return Rule(
            _code(number, name, check.__doc__, explained),
            lambda sites: chain.from_iterable(map(check, select(sites))),
        )

    return decorate


def _code(number: str, name: str, docstring: str | None, explained: Explained) -> Code:
    what, why = explanation(docstring)
    return Code(number=number, name=name, what=what, why=why, **explained)
