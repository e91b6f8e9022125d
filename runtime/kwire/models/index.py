"""The models of a generated package."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kwire.lookup import PerMessage

if TYPE_CHECKING:
    from kwire.models.model import ModelOf


class Models(PerMessage["type[ModelOf[Any]]"]):
    """The models of all messages of a generated package, by name or former name, each imported on first use."""

    def _load(self, name: str, module: str) -> type[ModelOf[Any]]:
        model: type[ModelOf[Any]] = getattr(import_module(f"{self._package}.models.{module}"), f"{name}Model")
        return model
