"""Rules by which a test interferes: errors, delays, lost connections, handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypedDict

from kwire import Message
from kwire_kafka.errors import ErrorCode

if TYPE_CHECKING:
    from kwire_testing.call import Call

Handler = Callable[[Any, "Call"], Message | Awaitable[Message | None] | None]
"""A handler of a test. It gets a request and the ``Call``, and returns the response. With ``None`` the broker
answers.
"""


class Which(TypedDict, total=False):
    """Selects requests: the first ``times``, at a ``node``, from a ``client_id``."""

    times: int | None
    node: int | None
    client_id: str | None


class Named(Which, total=False):
    """Selects also by topic, partition, or ``key``, a group or transactional id."""

    topic: str | None
    partition: int | None
    key: str | None


@dataclass(slots=True, eq=False, kw_only=True)
class Rule:
    """A rule for the requests of an API. Leaving ``with`` removes it, and so does ``remove``.

    ``where`` selects by ``node``, ``client_id``, ``topic``, ``partition`` or ``key``, the name of a group or of a
    transactional id. ``used`` counts the requests that it met.
    """

    api: str
    where: Mapping[str, object] = field(default_factory=dict)
    times: int | None = None
    error: ErrorCode | None = None
    handler: Handler | None = None
    delay: float = 0.0
    throttle: float = 0.0
    drop: str = ""
    used: int = 0
    rules: list[Rule] = field(default_factory=list, repr=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Let requests pass from now on."""
        if self in self.rules:
            self.rules.remove(self)

    def matches(self, entity: Mapping[str, object]) -> bool:
        """Return whether ``entity`` has all that ``where`` asks for."""
        return all(entity.get(name) == value for name, value in self.where.items())

    def use(self) -> bool:
        """Count a request; false if there have been enough."""
        if self.times is not None and self.used >= self.times:
            return False
        self.used += 1
        return True
