"""Rules, which consist of a code and a check that finds violations.

A check is a generator function, and its docstring is part of the user documentation. The first paragraph describes
the problem, and the second explains why the problem matters. The decorator turns the function into a ``Rule``::

    @rule("K601", offending=clock(...), corrected=clock(...))
    def negative_tag(at: FieldSite) -> Iterator[Finding]:
        \"\"\"A tag is negative.

        Tags are encoded as unsigned numbers.
        \"\"\"

The function name becomes the code's name, ``negative-tag``. The annotation of the parameter determines the subject:
one field, struct (including the root of a message), message or enum at a time, or all messages together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar, get_type_hints

from kwirec.diagnostics.diagnostic import Code, Finding, Severity, explanation
from kwirec.ir.schema import Schema
from kwirec.ir.sites import EnumSite, FieldSite, MessageSite, Sites, StructSite, sites_of

T = TypeVar("T")
S = TypeVar("S", Sites, MessageSite, StructSite, FieldSite, EnumSite)


class Subjects:
    """The messages and enums of a schema, which rules check."""

    def __init__(self, schema: Schema) -> None:
        self.messages = sites_of(schema)
        self.enums = tuple(EnumSite(enum=enum) for enum in schema.enums)


_LOOKS_AT: Mapping[object, Callable[[Subjects], Iterable[Any]]] = {
    Sites: lambda subjects: [subjects.messages],
    MessageSite: lambda subjects: subjects.messages,
    StructSite: lambda subjects: chain.from_iterable(message.structs for message in subjects.messages),
    FieldSite: lambda subjects: chain.from_iterable(message.fields for message in subjects.messages),
    EnumSite: lambda subjects: subjects.enums,
}


@dataclass(frozen=True)
class Rule:
    """A code and the check that finds its violations in a schema."""

    code: Code
    check: Callable[[Subjects], Iterable[Finding]]


def rule(
    number: str,
    *,
    offending: str,
    corrected: str,
    severity: Severity = Severity.ERROR,
    relaxable: bool = False,
    fixable: bool = False,
) -> Callable[[Callable[[S], Iterator[Finding]]], Rule]:
    """Return a decorator that turns a check into a rule.

    The examples are complete definitions, which the tests compile. ``relaxable`` marks errors that do not prevent
    compilation. Projects can change the severity of these errors and of all warnings and notes. ``fixable`` marks
    rules whose findings can have a fix.
    """

    def decorate(check: Callable[[S], Iterator[Finding]]) -> Rule:
        what, why = explanation(check.__doc__)
        code = Code(
            number=number,
            name=check.__name__.replace("_", "-"),
            what=what,
            why=why,
            offending=offending,
            corrected=corrected,
            severity=severity,
            relaxable=relaxable or severity is not Severity.ERROR,
            fixable=fixable,
        )
        select = _LOOKS_AT[next(iter(get_type_hints(check).values()))]
        return Rule(code, lambda subjects: chain.from_iterable(map(check, select(subjects))))

    return decorate


def repeated(sites: Iterable[T], key: Callable[[T], object]) -> Iterator[tuple[T, T]]:
    """Yield the first site with a key, paired with each later site that has the same key."""
    first: dict[object, T] = {}
    for site in sites:
        if (earlier := first.setdefault(key(site), site)) is not site:
            yield earlier, site
