"""What a rule is: an identifier, one sentence of purpose, a level, and a check that sees one change.

::

    @rule(c.FieldRenamed, Level.JSON, before=clock(field("Zone")), after=clock(field("Region")))
    def field_renamed(it: c.FieldRenamed) -> Finding | None:
        \"\"\"A field has another name.

        Request logs print names, and so …
        \"\"\"

The name of the function in capitals is the identifier, the first paragraph of its docstring the purpose, the second
the reason. A check that returns ``None`` has nothing to say about this change.
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
    """A code with its level and its check. In ``code`` the examples are the case before and after the change."""

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
        """What the rule says about a change, ``None`` if it is not about such changes."""
        return self.check(change) if type(change) is self.kind else None


def rule(
    kind: type[C], level: Level, *, before: str, after: str, severity: Severity = Severity.ERROR
) -> Callable[[Callable[[C], Finding | None]], Rule]:
    """Make a rule of a check for changes of one kind."""

    def decorate(check: Callable[[C], Finding | None]) -> Rule:
        what, why = explanation(check.__doc__)
        code = Code(
            number=check.__name__.upper(),
            name=level.word,  # Annotations print it beside the identifier.
            what=what,
            why=why,
            offending=before,
            corrected=after,
            severity=severity,
            relaxable=True,
        )
        return Rule(code, level, kind, check)

    return decorate
