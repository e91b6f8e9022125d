"""What a client and a broker agree on, API by API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kwire.releases.facts import NONE, Api, format_range


@dataclass(frozen=True, slots=True)
class Choice:
    """What client and broker use for one API. ``client`` and ``broker`` are the versions that each of them offers.

    ``version`` is the highest of both; ``None`` if there is none, and then ``reason`` says why:

    ``client``, ``broker``
        this side does not have the API
    ``listener``
        the broker has it, but not on the listener that was asked for
    ``unadvertised``
        the broker knows it, but does not say so: it is switched off, or not configured
    ``unstable``
        the versions in common are unstable on one side and switched off there
    ``client too old``, ``client too new``
        all versions of the client are below those of the broker, or above
    ``refused``
        the broker advertises what they would agree on, but closes the connection on it
    """

    key: int
    name: str
    version: int | None
    reason: str
    client: range
    broker: range

    def __str__(self) -> str:
        what = f"{self.name} ({self.key}): "
        if self.version is not None:
            return f"{what}version {self.version}"
        return f"{what}none: {self.reason} (client {format_range(self.client)}, broker {format_range(self.broker)})"


class Negotiation(Mapping[int, Choice]):
    """The choices by api key.

    ``blind`` is true of brokers before 0.10.0: these cannot be asked for their versions, so that a client finds the
    choices only if it is told the release.
    """

    def __init__(self, choices: Iterable[Choice], *, blind: bool) -> None:
        self._choices = {choice.key: choice for choice in choices}
        self.blind = blind

    def __getitem__(self, key: int) -> Choice:
        return self._choices[key]

    def __iter__(self) -> Iterator[int]:
        return iter(self._choices)

    def __len__(self) -> int:
        return len(self._choices)

    @property
    def agreed(self) -> tuple[Choice, ...]:
        return tuple(choice for choice in self.values() if choice.version is not None)

    @property
    def failed(self) -> tuple[Choice, ...]:
        """The APIs that both sides have and that they cannot use."""
        return tuple(
            choice for choice in self.values() if choice.version is None and choice.reason not in ("client", "broker")
        )


@dataclass(frozen=True, slots=True)
class Change:
    """How one API of a client changes when its broker does. ``lost``: it worked before and does no more."""

    before: Choice
    after: Choice

    @property
    def lost(self) -> bool:
        return self.before.version is not None and self.after.version is None


def choose(key: int, client: Api | None, broker: Api | None, listener: str | None, *, unstable: bool) -> Choice:
    mine = client.taken(unstable=unstable) if client is not None else NONE
    theirs = broker.offered(unstable=unstable) if broker is not None else NONE
    common = range(max(mine.start, theirs.start), min(mine.stop, theirs.stop))
    version: int | None = None
    if client is None or broker is None:
        reason = "client" if client is None else "broker"
    elif listener is not None and broker.listeners and listener not in broker.listeners:
        reason = "listener"
    elif common and mine and theirs:
        version = common[-1] if common[-1] in broker.taken(unstable=unstable) else None
        reason = "" if version is not None else "refused"
    else:
        reason = _disjoint(client, broker, mine, theirs)
    name = (broker or client or Api(key, "", NONE, NONE)).name
    return Choice(key, name, version, reason, mine, theirs)


def _disjoint(client: Api, broker: Api, mine: range, theirs: range) -> str:
    if set(client.taken(unstable=True)) & set(broker.offered(unstable=True)):
        return "unstable"
    if not theirs:
        return "unadvertised" if broker.accepted else "unstable"
    if not mine:
        return "unstable"
    return "client too old" if mine[-1] < theirs[0] else "client too new"
