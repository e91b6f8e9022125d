"""What the tests ask of a client library: the same conversation with each, so that captures can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

Headers = tuple[tuple[str, bytes | None], ...]

SECONDS = 30
"""How long any single step may take."""


class Sent(NamedTuple):
    """A record as the application knows it."""

    key: bytes | None
    value: bytes | None
    headers: Headers


@dataclass(frozen=True)
class Endpoint:
    """Where a library connects, and as whom."""

    bootstrap: str
    mechanism: str | None = None
    user: str = "alice"
    password: str = "alice-secret"


class Library(Protocol):
    """One library at one endpoint. Every call opens its connections and closes them before it returns."""

    @property
    def codecs(self) -> tuple[str, ...]:
        """The codecs it can write here, by their names in Kafka's configuration."""
        ...

    null_headers: bool
    """Whether it writes headers without a value."""

    group_protocols: tuple[str, ...]
    """``classic``, and ``consumer`` for that of KIP-848."""

    def create_topic(self, topic: str, partitions: int) -> None: ...

    def produce(self, topic: str, records: Sequence[Sent], *, codec: str = "none", acks: str = "all") -> None: ...

    def consume(self, topic: str, count: int, *, group: str, protocol: str = "classic") -> list[Sent]:
        """Join a group, read ``count`` committed records from the beginning, commit, leave."""
        ...

    def transact(self, topic: str, name: str, commit: Sequence[Sent], abort: Sequence[Sent]) -> None:
        """Two transactions of one producer, the second of them aborted."""
        ...

    def administrate(self, topic: str, group: str) -> None:
        """Describe the topic's configuration, list groups and describe ``group``, and whatever else there is."""
        ...

    def delete_topic(self, topic: str) -> None: ...
