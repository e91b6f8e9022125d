"""Rules of ``kwirec diff``: an identifier, a purpose in one sentence, a level, and a check of a single change.

::

    @rule(c.FieldRenamed, Level.JSON, before=clock(field("Zone")), after=clock(field("Region")))
    def field_renamed(it: c.FieldRenamed) -> Finding | None:
        \"\"\"A field was renamed.

        Request logs contain names, so …
        \"\"\"

The function name in capitals is the identifier; the first paragraph of its docstring is the purpose, the second
the reason. A check returns ``None`` if it does not object to the change.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from kwirec.diagnostics.diagnostic import Code, Finding, Severity, explanation
from kwirec.diff.changes import Change

C = TypeVar("C", bound=Change)


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
    check: Callable[[Any], Finding | None]

    @property
    def name(self) -> str:
        return self.code.number

    @property
    def purpose(self) -> str:
        return self.code.what

    def look_at(self, change: Change) -> Finding | None:
        """The finding about a change; ``None`` if the rule does not object to it."""
        return self.check(change) if type(change) is self.kind else None


def rule(
    kind: type[C], level: Level, *, before: str, after: str, severity: Severity = Severity.ERROR
) -> Callable[[Callable[[C], Finding | None]], Rule]:
    """A decorator that turns a check for changes of one kind into a rule."""

    def decorate(check: Callable[[C], Finding | None]) -> Rule:
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
        return Rule(code, level, kind, check)

    return decorate
