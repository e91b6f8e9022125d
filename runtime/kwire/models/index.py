"""From names of messages to their models, without importing any before it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kwire.protocol import UnknownApi

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.models.model import ModelOf


class Models:
    """The models of all messages of a generated package."""

    def __init__(self, package: str, modules: Mapping[str, str], aliases: Mapping[str, str]) -> None:
        self._package = package
        self._modules = modules
        self._aliases = aliases

    def message(self, name: str) -> type[ModelOf[Any]]:
        """The model of a message, by the name of the message or a name it had in an earlier release."""
        actual = self._aliases.get(name, name)
        if actual not in self._modules:
            raise UnknownApi(f"unknown message {name!r}")
        module = import_module(f"{self._package}.{self._modules[actual]}")
        found: type[ModelOf[Any]] = getattr(module, f"{actual}Model")
        return found
