"""Client libraries, and the brokers that each of their releases works with.

``libraries.json`` records trials with real brokers (``python -m tests.e2e_traffic.libraries``). For each library
version and its settings, the file says whether the library wrote records and read them in a group, and lists the API
versions and the software name that the library used. The results for other brokers are derived from the versions that
these brokers accept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from kwire.releases import Release, Releases
    from kwire_inspect.reports.client_usage import Client

JAVA = "java"
"""Kafka's own Java clients. These clients have the same version numbers as the brokers."""

NAMED = {
    "apache-kafka-java": JAVA,
    "kafka-python": "kafka-python",
    "sarama": "sarama",
    "kgo": "franz-go",
    "librdkafka": "librdkafka",
    "confluent-kafka-go": "librdkafka",  # same version numbers as librdkafka
}
"""Libraries by software name in ApiVersions requests [KIP-511]."""
BASELINE = {"librdkafka": (1, 8, 2), "kafkajs": (1, 15, 0), "sarama": (1, 30, 1), "kafka-python": (2, 0, 2)}
"""Library versions that KIP-896 still supports. These versions work with the same brokers as the newer versions that
were tried.
"""
_BUILT_ON_RDKAFKA = re.compile(r"rdkafka-v?(\d+(?:\.\d+)+)")
"""Pattern of the librdkafka version in a software version, such as ``2.16.1-rdkafka-2.16.0``."""
_DEFAULT_IDS = (
    (re.compile(r"kafka-python-(?:producer-\d+|consumer-\d+|(\d[\d.]*))?"), "kafka-python"),
    (re.compile(r"aiokafka-(?:producer-\d+|consumer-\d+|(\d[\d.]*))?"), "aiokafka"),
    (re.compile(r"rdkafka()"), "librdkafka"),
    (re.compile(r"sarama()"), "sarama"),
    (re.compile(r"kafkajs()"), "kafkajs"),
    (re.compile(r"kgo()"), "franz-go"),
    (re.compile(r"(?:producer|consumer|adminclient)-()\d+|consumer-.+-\d+"), JAVA),
)
"""Patterns of the default client ids of libraries. Some ids contain the version."""
_NUMBER = re.compile(r"v?(\d+(?:\.\d+)*)")


class Library(NamedTuple):
    """A library and its version numbers, which are empty if unknown.

    ``is_guess`` is true if the library is known only from the client id.
    """

    name: str
    version: tuple[int, ...]
    is_guess: bool = False


@dataclass(frozen=True, slots=True, order=True)
class Tried:
    """The trials of a library version with certain settings. ``on`` maps the release of each broker to a flag that is
    true if the library worked, and to the versions of each API that the library used.
    """

    library: str
    version: tuple[int, ...]
    settings: str
    on: dict[str, tuple[bool, dict[int, tuple[int, ...]]]] = field(compare=False)

    def works_on(self, target: Release) -> bool | None:
        """Return whether the library works with a broker, or ``None`` if that is unknown.

        If the broker was tried, return the result of the trial. Otherwise, assume that the library would use the same
        versions as with any broker in the trials on which the library worked. In that case, the library works if the
        target accepts all of these versions.
        """
        if target.name in self.on:
            return self.on[target.name][0]
        for works, used in self.on.values():
            if works and all(_accepts(target, key, versions) for key, versions in used.items()):
                return True
        return None


def _accepts(target: Release, key: int, versions: Iterable[int]) -> bool:
    return key in target.apis and all(version in target.apis[key].accepted for version in versions)


def library_of(client: Client) -> Library | None:
    """Return the library of a client according to its software name, or else its client id.

    Return ``None`` if neither identifies a library.
    """
    if client.software:
        name, _, version = client.software.partition(" ")
        if found := _BUILT_ON_RDKAFKA.search(version):
            return Library("librdkafka", numbers(found[1]))
        return Library(NAMED[name], numbers(version)) if name in NAMED else None
    for pattern, name in _DEFAULT_IDS:
        if found := pattern.fullmatch(client.client_id or ""):
            return Library(name, numbers(found[1] or ""), is_guess=True)
    return None


def works_since(library: str, target: Release, releases: Releases) -> tuple[int, ...] | None:
    """Return the oldest version of a library that, like all newer versions, works on a target with default settings.

    Return ``None`` if there is no such version.
    """
    if library == JAVA:
        return _java_since(target, releases)
    cases = sorted((one.version, one) for one in tried() if one.library == library and not one.settings)
    since = None
    for version, one in cases:
        works = one.works_on(target)
        if works:
            since = since or version
        elif works is False:
            since = None
    if since and since == cases[0][0]:  # no older version was tried
        return min(since, BASELINE.get(library, since))
    return since


def _java_since(target: Release, releases: Releases) -> tuple[int, ...] | None:
    """Return the oldest release whose Java clients work on a target, as do all newer Java clients, or ``None``.

    Java clients support the same API versions as the brokers of their release. The target must accept one of these
    versions for each API that producers and consumers need.
    """
    since = None
    for name, release in releases.items():
        spoken = [key for key in CLIENT_APIS if key in release.apis and key in target.apis]
        if len(spoken) == len(CLIENT_APIS) and all(
            set(release.apis[key].accepted) & set(target.apis[key].accepted) for key in spoken
        ):
            since = since or numbers(name)
        else:
            since = None
    return since


CLIENT_APIS = (0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 18)
"""Keys of the APIs that producers and consumers in groups need."""


@cache
def tried() -> tuple[Tried, ...]:
    """Return all trials."""
    return tuple(_tried(entry) for entry in _data()["tried"])


def _tried(entry: dict[str, Any]) -> Tried:
    on = {
        release: (found["works"], {int(key): tuple(versions) for key, versions in found["apis"].items()})
        for release, found in entry["on"].items()
    }
    settings = ", ".join(f"{name}={value}" for name, value in entry["settings"].items())
    return Tried(entry["library"], numbers(entry["version"]), settings, on)


@cache
def _data() -> Any:
    return json.loads(files("kwire_inspect.reports").joinpath("libraries.json").read_text("utf-8"))


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers in a version or release, for sorting. Return no numbers if ``version`` does not start with a
    number.

    >>> numbers("v1.22.2"), numbers("2.3.0-RC1"), numbers("unknown")
    ((1, 22, 2), (2, 3, 0), ())
    >>> sorted(["3.10.0", "3.9.2", "0.10.2"], key=numbers)
    ['0.10.2', '3.9.2', '3.10.0']
    """
    found = _NUMBER.match(version)
    return tuple(int(part[:9]) for part in found[1].split(".")[:6]) if found else ()


def dotted(version: Iterable[int]) -> str:
    """Return a version as text.

    >>> dotted((1, 22, 2))
    '1.22.2'
    """
    return ".".join(map(str, version))
