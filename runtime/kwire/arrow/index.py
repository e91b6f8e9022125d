"""Columns by the name of the message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kwire.arrow.columns import Columns
from kwire.protocol import MessageRegistry, UnknownApi


class Arrow(Mapping[str, Columns]):
    """The columns of all messages of a generated package, by name or former name, each made on first use."""

    def __init__(self, registry: MessageRegistry) -> None:
        self._registry = registry
        self._made: dict[str, Columns] = {}

    def __getitem__(self, name: str) -> Columns:
        """The columns of a message; ``KeyError`` if it is unknown."""
        try:
            message = self._registry.message(name)
        except UnknownApi as error:
            raise KeyError(str(error)) from None
        if message.__name__ not in self._made:
            self._made[message.__name__] = Columns(message)
        return self._made[message.__name__]

    def __iter__(self) -> Iterator[str]:
        return iter(self._registry.messages)

    def __len__(self) -> int:
        return len(self._registry.messages)
