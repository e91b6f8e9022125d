"""Checks the facts in ``releases.json`` about Kafka releases before 2.2: ``make conformance-older``.

These releases had no complete definitions, so the check reads the classes of the first and the last release of each
line. The supported versions are in the jar of the clients or, for 0.8, of the broker. The broker's class
``KafkaApis`` names the APIs that the broker handles. The check requires a JDK and Maven. The exit code is 1 if
something differs, 2 if Maven or Java failed, and otherwise 0.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from kwire_rules import API_VERSIONS
from kwirec.merge.history import ApiFacts, read_history
from kwirec.versions import VersionRange, runs_text
from tools import UNION
from tools.error_codes import LAST_OF_LINE
from tools.maven import LOGGING, MavenError, Module, check_digests, copy

PROGRAM = Path(__file__).with_name("OlderReleases.java")
FIRST_OF_LINE = {line: f"{line}.0" for line in LAST_OF_LINE}
WITHOUT_CLIENTS = {"0.8.0": "0.8.0", "0.8.1": "0.8.1.1"}
"""The last release of each line for which Maven has only the broker."""
BROKER = {"0.8.0": "kafka_2.10", "0.8.1.1": "kafka_2.10"}
"""Broker modules of releases that were not compiled for Scala 2.11."""
SCALA = {"Offsets": "OffsetRequest", "Metadata": "TopicMetadataRequest", "Produce": "ProducerRequest"}
"""The classes of requests that are not named after their APIs."""
CLIENTS = re.compile(r"([0-9]+) ([A-Z_]+) ([0-9,]*) ([0-9,]*)")
CONSTANT = re.compile(
    r"(?:iconst_|bipush +)([0-9]+)(?:\n.*(?:int2Integer|shortValue).*)*\n.*putfield .*Field (\w+):S"
)
"""Matches a number that a constructor stores as a constant."""
HANDLED = re.compile(r"(?:RequestKeys\$\.(\w+)Key:\(\)S|ApiKeys\.([A-Z_]+):)")

Versions = frozenset[int]
Facts = Mapping[int, tuple[Versions, Versions]]
"""Accepted and advertised versions of a broker, by API key."""


def facts_of(release: str, folder: Path) -> Facts:
    """Return the facts in the classes of a release, whose jars are in ``folder``."""
    broker = folder / f"{BROKER.get(release, 'kafka_2.11')}-{release}.jar"
    clients = folder / f"kafka-clients-{release}.jar"
    accepted: dict[int, Versions] = {}
    keys: dict[str, int] = {}
    if clients.exists():
        path = os.pathsep.join(map(str, (clients, *folder.glob(f"{LOGGING[1]}-*.jar"))))
        for line in _run("java", "-cp", path, str(PROGRAM)).splitlines():
            key, name, requests, responses = _line(line)
            if requests != responses:
                raise ValueError(
                    f"{release}: {name} has requests {sorted(requests)} and responses {sorted(responses)}"
                )
            keys[name], accepted[key] = key, requests
    advertised = dict(accepted) if API_VERSIONS in accepted else {}
    own = _constants(broker, "RequestKeys")
    for name, number in (own or {"ControlledShutdownKey": 7}).items():
        short = name.removesuffix("Key")
        newest = _constants(broker, SCALA.get(short, f"{short}Request")).get("CurrentVersion", -1)
        accepted[number] = accepted.get(number, frozenset()) | frozenset(range(newest + 1))
        keys[short] = number
    handled = {keys[name] for name in _handled(broker)}
    return {key: (accepted[key], advertised.get(key, accepted[key])) for key in sorted(handled)}


def _line(line: str) -> tuple[int, str, Versions, Versions]:
    if (match := CLIENTS.fullmatch(line)) is None:
        raise ValueError(f"the program printed {line[:100]!r}")
    requests, responses = (frozenset(map(int, filter(None, match[side].split(",")))) for side in (3, 4))
    return int(match[1]), match[2], requests, responses


def _constants(broker: Path, name: str) -> dict[str, int]:
    """Return the numbers in a Scala object of ``kafka.api`` by name, or an empty dictionary if there is no object."""
    return {name: int(number) for number, name in CONSTANT.findall(_javap(broker, f"kafka.api.{name}$"))}


def _handled(broker: Path) -> Iterator[str]:
    """Yield the names of APIs in the method ``handle``, which uses the keys of the broker or of the clients."""
    method = _javap(broker, "kafka.server.KafkaApis").partition("  public void handle(")[2].partition("\n\n")[0]
    for own, of_clients in HANDLED.findall(method):
        yield own or of_clients


def _javap(broker: Path, name: str) -> str:
    """Return the disassembled code of a class, or an empty string if the broker does not have the class."""
    command = ["javap", "-p", "-c", "-cp", str(broker), name]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise ValueError(f"{command[0]} failed: {done.stderr[:1000]}")
    return done.stdout


def differences(said: Mapping[int, ApiFacts], found: Facts) -> Iterator[str]:
    """Yield the differences between a release's facts in ``releases.json`` and the facts in its classes."""
    for key in sorted(said.keys() | found.keys()):
        api = said.get(key)
        accepts = frozenset(VersionRange.parse(api.accepts)) if api else frozenset()
        advertises = frozenset(VersionRange.parse(api.advertises)) if api and api.advertises else accepts
        for what, ours, theirs in zip(
            ("accepts", "advertises"), (accepts, advertises), found.get(key, (frozenset(), frozenset())), strict=True
        ):
            if ours != theirs:
                name = f"API {key} ({api.name})" if api else f"API {key}"
                yield f"{name} {what} {runs_text(theirs) or 'nothing'}, not {runs_text(ours) or 'nothing'}"


def main() -> int:
    history = read_history(UNION)
    lines = [*WITHOUT_CLIENTS.items(), *FIRST_OF_LINE.items(), *LAST_OF_LINE.items()]
    modules = [Module(BROKER.get(release, "kafka_2.11"), release) for _, release in lines]
    modules += [Module("kafka-clients", release) for line, release in lines if line not in WITHOUT_CLIENTS]
    count = 0
    try:
        with tempfile.TemporaryDirectory() as scratch:
            copy(modules, Path(scratch))
            check_digests(Path(scratch))
            for line, release in lines:
                found = facts_of(release, Path(scratch, release))
                for difference in differences(history.releases[line], found):
                    count += 1
                    print(f"{release}: {difference}")
    except (MavenError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 2
    print(f"{len(lines)} releases compared with their classes, {count} differences")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
