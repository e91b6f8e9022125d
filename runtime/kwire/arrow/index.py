"""Columns by the name of the message."""

from __future__ import annotations

from kwire.arrow.columns import Columns
from kwire.lookup import PerMessage


class Arrow(PerMessage[Columns]):
    """The columns of all messages of a generated package, by name or former name, each made on first use."""

    def _load(self, name: str, module: str) -> Columns:
        return Columns(self._registry[name])
