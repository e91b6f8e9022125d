"""The current field of a reader or writer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from kwire.errors import UnknownVersionError

if TYPE_CHECKING:
    from kwire.message import Message


class Context:
    """The message, version and path of the current field."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self.message_name = cls.__name__
        self.version = version
        self.flexible = version in cls.FLEXIBLE_VERSIONS
        self.parts: list[str] = []

    @property
    def path(self) -> str:
        """The field's path, such as ``topics[3].partitions[0].records``, or ``""`` for the message itself."""
        return "".join(part if part.startswith("[") else f".{part}" for part in self.parts).lstrip(".")

    def fail(self, reason: str) -> NoReturn:
        """Raise an error about the current field."""
        raise NotImplementedError

    def check_version(self, cls: type[Message]) -> None:
        """Raise an error unless ``cls`` has this version."""
        if self.version not in cls.VALID_VERSIONS:
            self.fail(str(UnknownVersionError(self.version, cls.VALID_VERSIONS)))
