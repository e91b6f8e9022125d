"""The levels of harm, and the rules of ``kwirec diff``."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kwirec.diagnostics.diagnostic import Code


class Level(enum.IntEnum):
    """The kind of harm that a change does. Each level includes the previous levels."""

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
    """A code and its level. The examples in ``code`` are definitions before and after a change."""

    code: Code
    level: Level

    @property
    def name(self) -> str:
        return self.code.number

    @property
    def purpose(self) -> str:
        return self.code.what
