"""The place in a message that is being read or written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from kwire.message import Message


class Context:
    """Message, version and path of the current field."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self.message_name = cls.__name__
        self.version = version
        self.flexible = version in cls.FLEXIBLE_VERSIONS
        self.parts: list[str] = []

    @property
    def path(self) -> str:
        """``topics[3].partitions[0].records``; empty for the message itself."""
        return "".join(part if part.startswith("[") else f".{part}" for part in self.parts).lstrip(".")


def check_version(cls: type[Message], version: int, fail: Callable[[str], NoReturn]) -> None:
    """``fail`` unless ``cls`` has this version."""
    if version not in cls.VALID_VERSIONS:
        valid = cls.VALID_VERSIONS
        known = f"{valid.start} to {valid.stop - 1}" if valid else "none"
        fail(f"unknown version {version}, valid versions are {known}")
