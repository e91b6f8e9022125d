"""The base classes of all kinds of changes between two schemas.

A kind of change is a class with a rule. The rule has an identifier, a one-sentence purpose, a reason and a level::

    @rule(Level.JSON, before=clock(field("Zone")), after=clock(field("Region")))
    class FieldRenamed(FieldPersists):
        \"\"\"A field was renamed.

        Request logs contain names, so …
        \"\"\"

        def describe(self) -> Finding: …

The identifier is the class name in upper snake case, such as ``FIELD_RENAMED``. The first paragraph of the docstring
is the purpose, and the second is the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from kwirec.diagnostics.diagnostic import Code, Finding, Severity, explanation, finding
from kwirec.diagnostics.source import Span
from kwirec.diff.rule import Level, Rule
from kwirec.frontend.syntax import FieldDecl, MessageDecl
from kwirec.ir.schema import Enum, EnumValue, Message
from kwirec.ir.sites import FieldSite, MessageSite
from kwirec.naming import snake_case


class Change:
    """A change to a message or an enum."""

    rule: ClassVar[Rule | None] = None
    versions: frozenset[int] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the message or enum on the new and the old side. A side without the message or enum is
        omitted.
        """
        raise NotImplementedError

    @property
    def paths(self) -> tuple[str | None, ...]:
        """The field paths or value names on the new and the old side. There are none if the message or enum itself
        changed.
        """
        return ()

    def describe(self) -> Finding:
        """Return the finding about this change. Only kinds of changes with a rule have findings."""
        raise NotImplementedError


K = TypeVar("K", bound=type[Change])


def rule(level: Level, *, before: str, after: str, severity: Severity = Severity.ERROR) -> Callable[[K], K]:
    """Return a decorator that gives a kind of change its rule.

    The examples ``before`` and ``after`` are complete definitions, which the tests compile.
    """

    def decorate(kind: K) -> K:
        what, why = explanation(kind.__doc__)
        code = Code(
            number=snake_case(kind.__name__).upper(),
            name=level.word,  # Annotations print the name next to the identifier.
            what=what,
            why=why,
            offending=before,
            corrected=after,
            severity=severity,
            relaxable=True,
        )
        kind.rule = Rule(code, level)
        return kind

    return decorate


@dataclass(frozen=True, eq=False)
class AnyMessageChange(Change):
    """A change to a message. A side without the message is ``None``.

    ``versions`` are the affected versions. Both sides have these versions, unless the change adds or removes
    versions.
    """

    old: MessageSite | None
    new: MessageSite | None
    versions: frozenset[int] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(site.message.name for site in (self.new, self.old) if site is not None)

    @property
    def message(self) -> Message:
        """The message on the new side, or on the old side if the new side lacks it."""
        site = self.new or self.old
        assert site is not None
        return site.message


@dataclass(frozen=True, eq=False)
class MessageChange(AnyMessageChange):
    """A change to a message that both sides have."""

    old: MessageSite
    new: MessageSite

    @property
    def decls(self) -> tuple[MessageDecl, MessageDecl] | tuple[FieldDecl, FieldDecl]:
        """The declarations of the changed element on the old and the new side."""
        return self.old.decl, self.new.decl

    def contrast(self, attribute: str, text: str, now: str, was: str, *, helps: Iterable[str] = ()) -> Finding:
        """Return a finding about an attribute, labelled ``now`` on the new side and ``was`` on the old side."""
        old, new = (span_of(decl, attribute) for decl in self.decls)
        return finding(text, new, now, others=[(old, was)], helps=helps)


@dataclass(frozen=True, kw_only=True, eq=False)
class FieldChange(MessageChange):
    """A change to a field. A side without the field is ``None``."""

    before: FieldSite | None
    after: FieldSite | None

    @property
    def paths(self) -> tuple[str | None, ...]:
        return tuple(site.path for site in (self.after, self.before) if site is not None)

    @property
    def subject(self) -> str:
        """The message name and field path, such as ``FetchRequest.Topics.Partitions``."""
        return f"{self.message.name}.{self.paths[0]}"


@dataclass(frozen=True, kw_only=True, eq=False)
class FieldPersists(FieldChange):
    """A change to a field that both sides have."""

    before: FieldSite
    after: FieldSite

    @property
    def decls(self) -> tuple[FieldDecl, FieldDecl]:
        return self.before.decl, self.after.decl


@dataclass(frozen=True, eq=False)
class EnumChange(Change):
    """A change to an enum. A side without the enum is ``None``."""

    old: Enum | None
    new: Enum | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(enum.name for enum in (self.new, self.old) if enum is not None)


@dataclass(frozen=True, eq=False)
class ValueChange(EnumChange):
    """A change to a value of an enum that both sides have."""

    old: Enum
    new: Enum
    before: EnumValue | None
    after: EnumValue | None

    @property
    def paths(self) -> tuple[str | None, ...]:
        return tuple(value.name for value in (self.after, self.before) if value is not None)


def span_of(decl: MessageDecl | FieldDecl, *attributes: str) -> Span:
    """Return the span of the first of these attributes that the declaration has, or else the span of its name."""
    written = filter(None, (getattr(decl, attribute) for attribute in attributes))
    span: Span = next(written, decl.name).span
    return span
