"""Rules of ``kwirec diff``: an identifier, a purpose in one sentence, a level, and a check of a single change.

::

    @rule(Level.JSON, before=clock(field("Zone")), after=clock(field("Region")))
    def field_renamed(change: c.FieldRenamed) -> Finding:
        \"\"\"A field was renamed.

        Request logs contain names, so …
        \"\"\"

The function name in capitals is the identifier; the first paragraph of its docstring is the purpose, the second
the reason. The annotation of ``change`` is the kind of change that it checks, without subclasses. A check returns
``None`` if it does not object to the change.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, get_type_hints

from kwirec.diagnostics.diagnostic import Code, Finding, Severity, explanation, finding
from kwirec.diagnostics.source import Span
from kwirec.diff.changes import Change, MessageChange
from kwirec.frontend.syntax import FieldDecl, MessageDecl

Check = Callable[[Any], Finding | None]


class Level(enum.IntEnum):
    """The kind of harm that a change does. Each level includes those before it."""

    WIRE = 1
    """Bytes of a numbered version change their meaning or can no longer be read."""
    JSON = 2
    """Names or values change in request logs and other JSON."""
    SOURCE = 3
    """Names, types or defaults change in the generated Python."""
    POLICY = 4
    """The change breaks the project's own rules on how a protocol may evolve."""

    @property
    def word(self) -> str:
        """The name in lower case, as in ``--level``."""
        return self.name.lower()


LEVELS = tuple(level.word for level in Level)


@dataclass(frozen=True)
class Rule:
    """A code with its level and check. The examples in ``code`` are definitions before and after a change."""

    code: Code
    level: Level
    kind: type[Change]
    check: Check

    @property
    def name(self) -> str:
        return self.code.number

    @property
    def purpose(self) -> str:
        return self.code.what

    def look_at(self, change: Change) -> Finding | None:
        """The finding about a change; ``None`` if the rule does not object to it."""
        return self.check(change) if type(change) is self.kind else None


def rule(level: Level, *, before: str, after: str, severity: Severity = Severity.ERROR) -> Callable[[Check], Rule]:
    """A decorator that turns a check for changes of one kind into a rule."""

    def decorate(check: Check) -> Rule:
        what, why = explanation(check.__doc__)
        code = Code(
            number=check.__name__.upper(),
            name=level.word,  # Annotations print it next to the identifier.
            what=what,
            why=why,
            offending=before,
            corrected=after,
            severity=severity,
            relaxable=True,
        )
        return Rule(code, level, get_type_hints(check)["change"], check)

    return decorate


def span_of(decl: MessageDecl | FieldDecl, *attributes: str) -> Span:
    """The span of the first of these attributes that the declaration has, else of its name."""
    written = filter(None, (getattr(decl, attribute) for attribute in attributes))
    span: Span = next(written, decl.name).span
    return span


def contrast(
    change: MessageChange, attribute: str, text: str, now: str, was: str, *, helps: Iterable[str] = ()
) -> Finding:
    """A finding about one attribute, with the label ``now`` on the new side and ``was`` on the old side."""
    old, new = (span_of(decl, attribute) for decl in change.decls)
    return finding(text, new, now, others=[(old, was)], helps=helps)
