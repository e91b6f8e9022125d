"""Where in a message an interpretive reader or writer is."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from kwire.message import Message


class Context:
    """Message, version and path of the field that is being read or written."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self.message = cls.__name__
        self.version = version
        self.flexible = version in cls.FLEXIBLE_VERSIONS
        self.parts: list[str] = []

    @property
    def path(self) -> str:
        return "".join(part if part.startswith("[") else f".{part}" for part in self.parts).lstrip(".")


def check_version(cls: type[Message], version: int, fail: Callable[[str], NoReturn]) -> None:
    """``fail`` unless ``cls`` has this version."""
    if version not in cls.VALID_VERSIONS:
        valid = cls.VALID_VERSIONS
        known = f"{valid.start} to {valid.stop - 1}" if valid else "none"
        fail(f"there is no version {version}, the valid ones are {known}")
