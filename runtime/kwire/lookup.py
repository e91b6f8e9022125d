"""Base classes for looking up message classes, models and columns by message name."""

from __future__ import annotations

from _collections_abc import Mapping  # collections.abc imports all of collections (see docs/decisions/codecs.md)

from kwire.errors import UnknownMessageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeVar

    from kwire.protocol import MessageRegistry

    T = TypeVar("T")


class MessageMapping(Mapping["str", "T"]):
    """A mapping with one value per message of a generated package, loaded on first use.

    The keys are message names. Former names also find the values, but iteration skips them. An unknown name raises
    ``kwire.errors.UnknownMessageError``. Objects are compared by identity.
    """

    def __init__(self, package: str, modules: Mapping[str, str], aliases: Mapping[str, str]) -> None:
        self._package = package
        self._modules = modules
        self._aliases = aliases
        self._loaded: dict[str, T] = {}

    def _load(self, name: str, module: str) -> T:
        """Return the value for a message, given its current name and its module in the package."""
        raise NotImplementedError

    def __getitem__(self, name: str) -> T:
        try:
            return self._loaded[name]
        except KeyError:
            pass
        current = self._aliases.get(name, name)
        if current not in self._modules:
            raise UnknownMessageError(name, self._modules)
        if current not in self._loaded:
            self._loaded[current] = self._load(current, self._modules[current])
        value = self._loaded[name] = self._loaded[current]
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules or name in self._aliases

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._package}: {len(self)} messages>"


class PerMessage(MessageMapping["T"]):
    """A mapping with one value per message of ``registry``."""

    def __init__(self, registry: MessageRegistry) -> None:
        super().__init__(registry._package, registry._modules, registry._aliases)
        self._registry = registry


__all__ = ["MessageMapping", "PerMessage"]
