"""Writes ``tests/data/request_logs`` anew: ``python -m tests.e2e.record_request_logs [RELEASE…]``.

Brokers with their request log on are asked everything that the tests here ask, in every version; client libraries add
what only they do. Of what was logged one line of each kind is kept, and secrets are taken out.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from operator import methodcaller
from pathlib import Path
from typing import Any

from kwire.request_log import parse_line
from kwire_kafka import PROTOCOL, DefaultPrincipalData, MetadataRequest, ProduceRequest
from kwire_kafka.errors import ErrorCode
from tests.e2e import test_apis
from tests.e2e.apis import security
from tests.e2e.brokers import MECHANISMS, PROPERTIES
from tests.e2e.client import Client
from tests.e2e.clients.kafka_python import KafkaPython
from tests.e2e.clients.library import Endpoint, Library, Sent
from tests.e2e.clients.librdkafka import Librdkafka
from tests.e2e.messages import build, errors
from tests.e2e.sasl import login
from tests.e2e.tally import Tally
from tests.e2e.test_apis import Area
from tests.e2e.walk import SOFTWARE, Allowed, Walk
from tests.real_kafka.broker import HOST, NODE, USERS
from tests.real_kafka.request_log import LoggingBroker, ZooKeeperBroker, logging_broker

FOLDER = Path(__file__).parents[1] / "data" / "request_logs"
RELEASES = ("0.11.0.3", "1.1.1", "2.2.2", "2.4.1", "2.7.2", "2.8.2", "3.3.2", "3.9.1", "4.1.1")
TEXT = (2, 8)
"""Releases before it log text."""
WITHOUT_SASL = ("0.11.0.3",)
FEATURES = {"4.1.1": {"share.version": 1}}
REFUSED = {("3.3.2", "delegation.token.secret.key")}
"""What a release does not start with."""

MARK = "Completed request:"
SECRETS = ("saltedPassword", "salt", "hmac", "authBytes")
"""Names of fields whose base64 is replaced by zeros of the same length."""

PATIENCE = 3.0
"""Seconds to repeat what may succeed later."""

LONG = 10_000
"""A line of more characters is kept only if there is no other of its kind."""


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for release in sys.argv[1:] or RELEASES:
        with tempfile.TemporaryDirectory() as scratch:
            lines = recorded(release, Path(scratch) / "broker")
        kept = chosen(lines)
        (FOLDER / f"{release}.log.gz").write_bytes(gzip.compress("".join(kept).encode(), mtime=0))
        print(f"{release}: {len(kept)} of {len(lines)} lines")


def recorded(release: str, folder: Path) -> list[str]:
    """Everything that a broker logs, without secrets, and without the place of its data directories."""
    settings = {name: value for name, value in PROPERTIES.items() if (release, name) not in REFUSED}
    sasl = () if release in WITHOUT_SASL else MECHANISMS if broker_version(release) >= TEXT else ("PLAIN",)
    with logging_broker(release, folder, sasl=sasl, features=FEATURES.get(release), properties=settings) as broker:
        exercise(broker)
    text = broker.request_log.read_text().replace(str(folder), "/kafka")
    return [redacted(line) for line in entries(text)]


def broker_version(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def entries(text: str) -> list[str]:
    """The lines of a log; those of text with the line breaks that are in their values."""
    found: list[str] = []
    for line in text.splitlines(keepends=True):
        if MARK in line or not found:
            found.append(line)
        else:
            found[-1] += line
    return found


def exercise(broker: LoggingBroker) -> None:
    in_kraft = not isinstance(broker, ZooKeeperBroker)
    areas = (*test_apis.BROKER, one_setting, unknown_version, unanswered)
    everything(broker, broker.address, areas if in_kraft else (*areas, as_controller))
    if in_kraft:
        everything(broker, broker.controller_address, (*test_apis.CONTROLLER, refused_envelope))
    attempt(broker, broker.sasl_address, tokens, Tally())
    for library in (KafkaPython(Endpoint(broker.bootstrap)), Librdkafka(Endpoint(broker.bootstrap))):
        converse(library)


class PatientWalk(Walk):
    """Takes errors for answers: brokers log them too, and old ones refuse what the tests do not expect them to."""

    def ask(self, name: str, version: int, *, allow: Allowed = (), **fields: Any) -> Any:
        request = build(name, version, fields)
        deadline = time.monotonic() + PATIENCE
        while True:
            response = self.client.ask(request, version)
            codes = [ErrorCode(code) for _, code in errors(response) if code not in allow]
            if not codes or not all(code.retriable for code in codes) or time.monotonic() > deadline:
                return response
            time.sleep(0.1)

    def wait(self, what: str, attempt: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + PATIENCE
        while not (found := attempt()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return found


def everything(broker: LoggingBroker, address: tuple[str, int], areas: Iterable[Area]) -> None:
    """All areas, and what is listed and has not been asked after them, with nothing in it."""
    tally = Tally()
    listed: set[tuple[int, int]] = set()
    attempt(broker, address, lambda walk: listed.update(walk.listed), tally)
    for area in areas:
        attempt(broker, address, area, tally)
    for key, version in sorted(listed - set().union(*tally.exercised.values())):
        name = PROTOCOL.api_name(key)
        print(f"{broker.name}, {name} {version}: only defaults")
        attempt(broker, address, methodcaller("ask", name, version), tally)


def attempt(broker: LoggingBroker, address: tuple[str, int], area: Area, tally: Tally) -> None:
    listener = broker.name + (" controller" if address == broker.controller_address else "")
    try:
        with Client(address, listener, tally) as client:
            area(PatientWalk(broker, client))
    except Exception as problem:
        print(f"{listener}, {getattr(area, '__name__', '')}: {type(problem).__name__} {str(problem)[:200]}")


def tokens(walk: Walk) -> None:
    login(walk.client, "PLAIN", "admin", USERS["admin"])
    security.delegation_tokens(walk)


def one_setting(walk: Walk) -> None:
    """The tests ask for all of a broker's settings, which are many."""
    resource = {"resource_type": 4, "resource_name": str(NODE), "configuration_keys": ["log.retention.ms"]}
    walk.every("DescribeConfigs", resources=[resource], include_synonyms=True, include_documentation=True)


def unknown_version(walk: Walk) -> None:
    walk.client.probe(18, 99, header_version=2)


def as_controller(walk: Walk) -> None:
    """What the controller says to brokers where there is ZooKeeper, from one whose time is over."""
    partition = {
        "topic_name": "grouped",
        "partition_index": 0,
        "leader": NODE,
        "leader_epoch": 1,
        "isr": [NODE],
        "replicas": [NODE],
    }
    topics = [{"topic_name": "grouped", "partition_states": [partition]}]
    states = {"ungrouped_partition_states": [partition], "topic_states": topics}
    endpoint = {"port": 9, "host": HOST, "listener": "PLAINTEXT"}
    broker = {"id": NODE, "v0_host": HOST, "v0_port": 9, "endpoints": [endpoint]}
    leader = {"broker_id": NODE, "host_name": HOST, "port": 9}
    walk.every("LeaderAndIsr", controller_id=NODE, **states, live_leaders=[leader])
    walk.every("UpdateMetadata", controller_id=NODE, **states, live_brokers=[broker])
    stopped = {"topic_name": "grouped", "partition_states": [{"partition_index": 0, "leader_epoch": 1}]}
    walk.every(
        "StopReplica",
        controller_id=NODE,
        ungrouped_partitions=[{"topic_name": "grouped", "partition_index": 0}],
        topics=[{"name": "grouped", "partition_indexes": [0]}],
        topic_states=[stopped],
    )
    walk.every("ControlledShutdown", broker_id=77, broker_epoch=1)
    walk.every("SaslHandshake", mechanism="PLAIN")


def refused_envelope(walk: Walk) -> None:
    """An Envelope is logged as what is in it, unless nobody may forward that."""
    walk.every(
        "Envelope",
        request_data=PROTOCOL.encode_request(MetadataRequest(topics=None), 9, correlation_id=47, client_id="inner"),
        request_principal=b"\0\0" + DefaultPrincipalData(type="User", name="admin").encode(0),
        client_host_address=bytes([127, 0, 0, 1]),
    )


def unanswered(walk: Walk) -> None:
    walk.topic("unanswered")
    for version in walk.versions("Produce"):
        walk.client.tell(ProduceRequest(acks=0, timeout_ms=1000), version)
    walk.latest("ApiVersions", **SOFTWARE)


def converse(library: Library) -> None:
    name = type(library).__name__
    sent = [Sent(b"key", b"value", ())] * 3
    steps: tuple[Callable[[], object], ...] = (
        lambda: library.create_topic(name, 1),
        lambda: library.produce(name, sent),
        lambda: library.consume(name, len(sent), group=name),
        lambda: library.transact(name, f"{name}-transaction", sent, sent),
        lambda: library.administrate(name, name),
    )
    for step in steps:
        try:
            step()
        except Exception as problem:  # a library may think of an old broker what it likes
            print(f"{name}: {problem!r:.200}")


def redacted(line: str) -> str:
    def zeros(found: re.Match[str]) -> str:
        text = found[2]
        padding = len(text) - len(text.rstrip("="))
        return found[1] + "A" * (len(text) - padding) + "=" * padding + '"'

    line = re.sub(r'"documentation":"(?:[^"\\]|\\.)*"', '"documentation":"left out"', line)
    line = re.sub(r"documentation=(?!null)(.*?)(?=\},\{name=|\}\]|,_tagged_fields)", left_out, line, flags=re.DOTALL)
    return re.sub(rf'("(?:{"|".join(SECRETS)})":")([^"]*)"', zeros, line)


def left_out(found: re.Match[str]) -> str:
    return "documentation=left out" + "\n" * found[1].count("\n")


def chosen(lines: list[str]) -> list[str]:
    """Of each kind the shortest of those that show the most fields, in the order in which they were logged."""
    return chosen_text(lines) if MARK + '{"' not in lines[0] else chosen_json(lines)


def chosen_text(lines: list[str]) -> list[str]:
    """Of each kind the shortest: by version, whether there are response, throttle time, errors and so on."""
    kinds: dict[tuple[Any, ...], int] = {}
    for number, text in enumerate(lines):
        line = parse_line(text)
        assert line is not None
        told = (line.response_text, line.response_throttle_ms, line.error_codes, line.more, "\n" in text.rstrip())
        software = line.software_name not in (None, "unknown")
        kind = line.header.api_key, line.header.api_version, software, *map(bool, told)
        if kind not in kinds or len(text) < len(lines[kinds[kind]]):
            kinds[kind] = number
    return [lines[number] for number in sorted(kinds.values())]


def chosen_json(lines: list[str]) -> list[str]:
    kinds: defaultdict[tuple[Any, ...], list[tuple[bool, int, int, int]]] = defaultdict(list)
    for number, line in enumerate(lines):
        body = json.JSONDecoder().raw_decode(line, line.index(MARK) + len(MARK))[0]
        header = body["requestHeader"]
        shown = set(paths([body["request"], body["response"]]))
        api = header["requestApiKey"], header["requestApiVersion"]
        kind = *api, tuple(body), body["isForwarded"], body["response"] == ""
        kinds[kind].append((len(line) > LONG, -len(shown), len(line), number))
    return [lines[number] for number in sorted(min(some)[-1] for some in kinds.values())]


def paths(json: Any, path: str = "") -> Iterator[str]:
    if isinstance(json, dict):
        for name, value in json.items():
            yield from paths(value, f"{path}.{name}")
    elif isinstance(json, list):
        for value in json:
            yield from paths(value, path + "[]")
    yield path + ("?" if json is None else "")


if __name__ == "__main__":
    main()
