"""From names of messages to their columns, without importing any before it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from kwire.arrow.columns import Columns


class Arrow(Mapping[str, Columns]):
    """The columns of all messages of a generated package, by name; names of earlier releases are found too."""

    def __init__(self, package: str, modules: Mapping[str, str], aliases: Mapping[str, str]) -> None:
        self._package = package
        self._modules = modules
        self._aliases = aliases
        self._made: dict[str, Columns] = {}

    def __getitem__(self, name: str) -> Columns:
        """The columns of a message; ``KeyError`` if there is no such message."""
        actual = self._aliases.get(name, name)
        if actual not in self._made:
            if actual not in self._modules:
                raise KeyError(f"unknown message {name!r}")
            path = self._modules[actual]
            message = getattr(import_module(f"{self._package}.{path}"), actual)
            self._made[actual] = Columns(message, import_module(f"{self._package}.arrow.{path}").COLUMNS)
        return self._made[actual]

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules or name in self._aliases
