"""Negotiates the version that a client and a broker use for each API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import kwire_rules as rules
from kwire.errors import UnknownApiError
from kwire.releases.facts import NONE, Api, format_range


@dataclass(frozen=True, slots=True)
class Choice:
    """The version that a client and a broker use for one API.

    ``client`` and ``broker`` are the versions that each side offers. ``version`` is the highest common version. If
    there is no usable version, ``version`` is ``None``, and ``reason`` is one of these:

    ``client``, ``broker``
        this side does not have the API
    ``listener``
        the broker does not offer the API on the requested listener
    ``unadvertised``
        the broker has the API but does not advertise it, because it is disabled or not configured
    ``unstable``
        the common versions are unstable on one side and disabled there
    ``client too old``, ``client too new``
        all versions of the client are below or above the broker's versions
    ``refused``
        the broker advertises the version but closes the connection when it is used
    """

    key: int
    name: str
    version: int | None
    reason: str
    client: range
    broker: range

    def __str__(self) -> str:
        api = f"{self.name} ({self.key}): "
        if self.version is not None:
            return f"{api}version {self.version}"
        return f"{api}none: {self.reason} (client {format_range(self.client)}, broker {format_range(self.broker)})"


class Negotiation(Mapping[int, Choice]):
    """The choices for all APIs, by API key.

    Raises ``kwire.errors.UnknownApiError`` for an unknown key. ``blind`` is true for brokers before 0.10.0, which do
    not report their versions. A client makes these choices only if it is configured with the broker's release.
    """

    def __init__(self, choices: Iterable[Choice], *, blind: bool) -> None:
        self._choices = {choice.key: choice for choice in choices}
        self.blind = blind

    def __getitem__(self, key: int) -> Choice:
        if key not in self._choices:
            raise UnknownApiError(key)
        return self._choices[key]

    def __iter__(self) -> Iterator[int]:
        return iter(self._choices)

    def __len__(self) -> int:
        return len(self._choices)

    @property
    def agreed(self) -> tuple[Choice, ...]:
        """The APIs with a common version."""
        return tuple(choice for choice in self.values() if choice.version is not None)

    @property
    def failed(self) -> tuple[Choice, ...]:
        """The APIs that both sides have but cannot use."""
        return tuple(
            choice for choice in self.values() if choice.version is None and choice.reason not in ("client", "broker")
        )


@dataclass(frozen=True, slots=True)
class Change:
    """The choices for one API before and after the broker is replaced."""

    before: Choice
    after: Choice

    @property
    def lost(self) -> bool:
        """Whether the client no longer shares a version of the API with the broker."""
        return self.before.version is not None and self.after.version is None


def choose(key: int, client: Api | None, broker: Api | None, listener: str | None, *, unstable: bool) -> Choice:
    """Return the choice for the API with this key. A side without the API is ``None``."""
    mine = client.all_accepted(unstable=unstable) if client is not None else NONE
    theirs = broker.all_advertised(unstable=unstable) if broker is not None else NONE
    version: int | None = None
    if client is None or broker is None:
        reason = "client" if client is None else "broker"
    elif listener is not None and broker.listeners and listener not in broker.listeners:
        reason = "listener"
    else:
        found = rules.choose(mine, theirs, broker.all_accepted(unstable=unstable))
        version = found if isinstance(found, int) else None
        reason = "" if version is not None else str(found or _disjoint(client, broker, mine, theirs))
    name = (broker or client or Api(key, "", NONE, NONE)).name
    return Choice(key, name, version, reason, mine, theirs)


def _disjoint(client: Api, broker: Api, mine: range, theirs: range) -> str:
    """Return the reason why ``mine`` and ``theirs`` have no common version."""
    if set(client.all_accepted(unstable=True)) & set(broker.all_advertised(unstable=True)):
        return "unstable"
    if not theirs:
        return "unadvertised" if broker.accepted else "unstable"
    if not mine:
        return "unstable"
    return "client too old" if mine[-1] < theirs[0] else "client too new"
