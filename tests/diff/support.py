"""The types of the fixtures of this folder."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Protocol

from kwirec.diagnostics.diagnostic import Waiver
from kwirec.diff import Judgement, Level
from kwirec.ir import Schema


class Load(Protocol):
    """``load(example, folder)`` → the schema of its definitions, each in a file of its own."""

    def __call__(self, example: str, folder: str = "new") -> Schema: ...


class Diff(Protocol):
    """``diff(before, after)`` → the judgement, of all levels unless one is given."""

    def __call__(
        self,
        before: str,
        after: str,
        level: Level = Level.POLICY,
        waivers: Iterable[Waiver] = (),
        today: datetime.date | None = None,
    ) -> Judgement: ...
