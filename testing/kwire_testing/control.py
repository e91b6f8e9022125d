"""Rules that change how a broker responds: errors, delays, dropped connections and handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypedDict

from kwire import Message
from kwire_kafka.errors import ErrorCode

if TYPE_CHECKING:
    from kwire_testing.call import Call

Handler = Callable[[Any, "Call"], Message | Awaitable[Message | None] | None]
"""A test's handler. Its arguments are a request and the ``Call``, and its result is the response. If the handler
returns ``None``, the broker handles the request.
"""


class Which(TypedDict, total=False):
    """Selects at most ``times`` requests by node and client id."""

    times: int | None
    node: int | None
    client_id: str | None


class Named(Which, total=False):
    """Also selects requests by topic, partition, or ``key``, which is a group or transactional id."""

    topic: str | None
    partition: int | None
    key: str | None


@dataclass(slots=True, eq=False, kw_only=True)
class Rule:
    """A rule for the requests of an API, which applies until ``remove`` is called or its ``with`` block ends.

    ``where`` selects by ``node``, ``client_id``, ``topic``, ``partition`` or ``key``, which is a group or
    transactional id. ``used`` counts the requests to which the rule was applied.
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
        """Stop applying the rule."""
        if self in self.rules:
            self.rules.remove(self)

    def matches(self, entity: Mapping[str, object]) -> bool:
        """Return whether ``entity`` has all values in ``where``."""
        return all(entity.get(name) == value for name, value in self.where.items())

    def use(self) -> bool:
        """Count a request and return true, or return false if the rule has already been applied ``times`` times."""
        if self.times is not None and self.used >= self.times:
            return False
        self.used += 1
        return True
