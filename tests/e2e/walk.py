"""A walk over the APIs of a listener: every request in every version it lists, and only success is right."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kwire.uuids import Uuid
from kwire_kafka import PROTOCOL
from kwire_kafka.errors import ErrorCode
from kwire_kafka.releases import RELEASES
from tests.e2e.client import Client
from tests.e2e.messages import build, errors
from tests.real_kafka.broker import Broker

PATIENCE = 20.0
"""Seconds to repeat what may succeed later: topics spread, coordinators load, transactions complete."""

SOFTWARE = {"client_software_name": "kwire", "client_software_version": "0.1"}
GROUP, TRANSACTION, SHARE = 0, 1, 2
"""Kinds of coordinators."""

Fields = Mapping[str, Any]
Allowed = Any
"""A collection of ErrorCode. (If it said so, type checkers would want all ``**fields`` to be one.)"""


class Walk:
    """Asks through one client. Versions are those the listener lists, lowest first."""

    def __init__(self, broker: Broker, client: Client) -> None:
        self.broker = broker
        self.client = client
        self.prefix = f"{client.listener}-".replace(" ", "-")
        """For names that several listeners of a broker would otherwise share."""
        self._versions = {18: [0]}
        listed = self.ask("ApiVersions", 0).api_keys
        for api in listed:
            known = RELEASES[broker.release].apis[api.api_key]
            refused = {*known.advertised} - {*known.accepted}  # librdkafka wants to see Produce 0 [KAFKA-18659]
            self._versions[api.api_key] = [
                version for version in range(api.min_version, api.max_version + 1) if version not in refused
            ]

    @property
    def listed(self) -> set[tuple[int, int]]:
        """Api keys and versions that the listener lists, less those known to be refused."""
        return {(key, version) for key, versions in self._versions.items() for version in versions}

    def versions(self, name: str) -> list[int]:
        """The versions of an API, none if the broker does not have it."""
        return self._versions.get(PROTOCOL[f"{name}Request"].API_KEY or 0, [])

    def has(self, name: str) -> bool:
        return bool(self.versions(name))

    def ask(self, name: str, version: int, *, allow: Allowed = (), **fields: Any) -> Any:
        """Ask in one version. Errors that may pass are waited for; any other that is not allowed fails the test."""
        request = build(name, version, fields)
        deadline = time.monotonic() + PATIENCE
        while True:
            response = self.client.ask(request, version)
            found = [(path, ErrorCode(code)) for path, code in errors(response)]
            wrong = [(path, code) for path, code in found if code not in allow]
            if not wrong:
                return response
            may_pass = all(code.retriable for _, code in wrong) and time.monotonic() < deadline
            assert may_pass, f"{name} v{version}: {wrong} in {response}"
            time.sleep(0.1)

    def latest(self, name: str, *, allow: Allowed = (), **fields: Any) -> Any:
        """Ask in the highest version."""
        return self.ask(name, self.versions(name)[-1], allow=allow, **fields)

    def every(self, name: str, *, allow: Allowed = (), **fields: Any) -> list[Any]:
        """Ask in every version; the responses, lowest version first."""
        return [self.ask(name, version, allow=allow, **fields) for version in self.versions(name)]

    def each(self, name: str, make: Callable[[int], Fields], *, allow: Allowed = ()) -> list[Any]:
        """Ask in every version what ``make`` gives for it."""
        return [self.ask(name, version, allow=allow, **make(version)) for version in self.versions(name)]

    def turn(self, name: str, number: int, *, allow: Allowed = (), **fields: Any) -> Any:
        """Ask in version ``number`` of those there are, or the highest: APIs that belong together are walked
        through together, and each has its own number of versions."""
        versions = self.versions(name)
        return self.ask(name, versions[min(number, len(versions) - 1)], allow=allow, **fields)

    def turns(self, *names: str) -> range:
        """How many turns it takes until each of the APIs was asked in all its versions."""
        return range(max(len(self.versions(name)) for name in names))

    def topic(self, name: str, partitions: int = 1, configs: Sequence[Fields] = ()) -> Uuid:
        """Create a topic and wait until its broker knows it; its id."""
        topic = {"name": name, "num_partitions": partitions, "replication_factor": 1, "configs": configs}
        made = self.latest("CreateTopics", topics=[topic], timeout_ms=10000)
        if self.has("Metadata"):
            self.latest("Metadata", topics=[{"name": name}])
        topic_id: Uuid = made.topics[0].topic_id
        return topic_id

    def find_coordinator(self, key: str, kind: int = GROUP) -> None:
        """As clients begin: whoever asks first makes the broker create the coordinator's topic."""
        self.latest("FindCoordinator", key_type=kind, coordinator_keys=[key])

    def wait(self, what: str, attempt: Callable[[], Any]) -> Any:
        """Repeat until ``attempt`` gives something true; that."""
        deadline = time.monotonic() + PATIENCE
        while not (found := attempt()):
            assert time.monotonic() < deadline, f"waited in vain for {what}"
            time.sleep(0.1)
        return found
