"""The error with which a broker answers."""

from __future__ import annotations

from kwire_kafka.errors import ErrorCode


class Refused(Exception):
    """Raised by handlers to answer with an error code."""

    def __init__(self, error: ErrorCode) -> None:
        super().__init__(error)
        self.error = error

    def __str__(self) -> str:
        return f"{self.error.name}: {self.error.description}"
