"""Errors about values in Kafka's JSON form, with their paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kwire.errors import FieldError, quoted

if TYPE_CHECKING:
    from kwire.message import Message


class JsonFormError(FieldError):
    """Raised for a value that cannot be converted to or from JSON for a message and version.

    ``path`` locates the value by JSON names, such as ``topics[3].partitions[0].records``. The path is empty for the
    whole message.
    """


class InvalidValueError(Exception):
    """Raised for an invalid value, which is quoted in place of ``{}`` in ``reason``. ``path`` lists the steps to the
    value, innermost step first, because each caller appends its own step."""

    def __init__(self, reason: str, *quoted: object) -> None:
        super().__init__(reason)
        self.reason = reason
        self.quoted = quoted
        self.path: list[str | int] = []


def convert(function: Callable[[Any], Any], value: Any, cls: type[Message], version: int) -> Any:
    """Return ``function(value)``. Convert an ``InvalidValueError`` to a ``JsonFormError`` for ``cls``.

    The error does not quote values of messages that contain secrets.
    """
    try:
        return function(value)
    except InvalidValueError as problem:
        steps = [f"[{step}]" if type(step) is int else f".{step}" for step in reversed(problem.path)]
        path = "".join(steps).removeprefix(".")
        reason = problem.reason
        for given in problem.quoted:
            reason = reason.replace("{}", quoted(cls.__name__, given))
        raise JsonFormError(reason, message_name=cls.__name__, version=version, path=path) from None
