"""Errors in responses, and limits on the number of names that clients can create."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kwire_kafka.errors import ErrorCode

K = TypeVar("K")
V = TypeVar("V")


class Refused(Exception):
    """Raised by handlers to respond with an error code."""

    def __init__(self, error: ErrorCode) -> None:
        super().__init__(error)
        self.error = error

    def __str__(self) -> str:
        return f"{self.error.name}: {self.error.description}"


def make_room(kept: dict[K, V], limit: int, idle: Callable[[K], bool]) -> None:
    """Remove the oldest ``idle`` entry if there are ``limit`` entries. Raise ``Refused`` if no entry is idle."""
    if len(kept) >= limit:
        oldest = next(filter(idle, kept), None)
        if oldest is None:
            raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        del kept[oldest]
