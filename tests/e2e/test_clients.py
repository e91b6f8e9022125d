"""Client libraries talk to real brokers through a relay, and what was recorded is decoded to the last byte.

With ``KWIRE_RECORD=1`` the conversations that ``STORED`` names are kept in ``tests/data/captures``.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kwire.compression import Codec
from kwire.connection import SaslToken
from tests.e2e.capture import Recording, Study, save
from tests.e2e.clients.aio_kafka import AioKafka
from tests.e2e.clients.kafka_python import KafkaPython
from tests.e2e.clients.library import Endpoint, Library, Sent
from tests.e2e.clients.librdkafka import Librdkafka
from tests.e2e.relay import Relay
from tests.e2e.tally import Tally
from tests.real_kafka.broker import HOST, USERS, Broker
from tests.real_kafka.releases import BEFORE, BROKERS, NEWEST

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
ADMIN = ("admin", USERS["admin"])
LIBRARIES: dict[str, Callable[..., Library]] = {
    "librdkafka": Librdkafka,
    "aiokafka": AioKafka,
    "kafka-python": KafkaPython,
}
TRAILING = {("Metadata", b"\1\0\0"), ("AlterUserScramCredentials", b"\0")}
"""Bytes behind the end of requests of librdkafka 2.16, which brokers ignore. Asking for all topics it writes four
bytes for a null list of them, which are the whole request to the broker (confluentinc/librdkafka#5049); behind a
change of credentials it writes one section of tags too many."""

STORED = {
    f"librdkafka on {NEWEST}",
    f"aiokafka on {NEWEST}",
    f"kafka-python on {BEFORE}",
    f"librdkafka on {NEWEST} with SCRAM-SHA-256",
    f"librdkafka as of 0.9 on {BEFORE}",
    f"kafka-python as of 0.10 on {BEFORE}",
    f"kafka-python as of 0.10 on {BEFORE} with PLAIN",
    f"the broker on {NEWEST}",
}
CAPTURES = Path(__file__).parents[1] / "data" / "captures"


Told = defaultdict[str, list[Study]]


@dataclass(frozen=True)
class Arena:
    """A broker behind relays: it tells everybody their addresses, itself included."""

    release: str
    plain: Relay
    sasl: Relay


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Arena]]:
    """``arena(release)``, which is started when it is first asked for."""
    with ExitStack() as running:

        @cache
        def start(release: str) -> Arena:
            plain, sasl = running.enter_context(Relay()), running.enter_context(Relay())
            advertised = f"PLAINTEXT://{HOST}:{plain.port},SASL_PLAINTEXT://{HOST}:{sasl.port}"
            properties = {"advertised.listeners": advertised}
            folder = tmp_path_factory.mktemp("relayed")
            broker = running.enter_context(Broker(release, folder, sasl=MECHANISMS, properties=properties))
            plain.target, sasl.target = broker.address, broker.sasl_address
            for mechanism in MECHANISMS[1:]:
                Librdkafka(Endpoint(plain.bootstrap), client_id="setup").add_scram_user(mechanism, *ADMIN)
            return Arena(release, plain, sasl)

        yield start


@pytest.fixture(scope="module")
def told(tally: Tally) -> Iterator[Told]:
    """All studies by who talked to whom; their numbers are printed at the end of the run."""
    studies: Told = defaultdict(list)
    yield studies
    for who, some in studies.items():
        tally.notes.append(f"{who}: {', '.join(numbers(some))}")
        tally.undecodable += sum(len(study.problems) for study in some)
    tally.notes.append(f"clients in all: {', '.join(numbers([one for some in studies.values() for one in some]))}")


def numbers(studies: list[Study]) -> Iterator[str]:
    apis = {api for study in studies for api in study.apis}
    codecs = sorted({codec for study in studies for codec in study.codecs}, key=lambda codec: Codec[codec.upper()])
    yield f"{sum(study.connections for study in studies)} connections"
    yield f"{sum(study.frames for study in studies)} frames"
    yield f"{len({name for name, _ in apis})} APIs in {len(apis)} versions"
    yield f"{sum(len(study.produced) for study in studies)} records written ({' '.join(codecs)})"
    yield f"{sum(len(study.embedded) for study in studies)} subscriptions and assignments"
    yield f"{sum(study.outstanding for study in studies)} requests outstanding at the end"


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("release", BROKERS)
def test_a_whole_conversation(arena: Callable[[str], Arena], release: str, name: str, told: Told) -> None:
    relay = arena(release).plain
    library = LIBRARIES[name](Endpoint(relay.bootstrap))
    topic, paid = f"{name}-topic", f"{name}-transactions"

    library.create_topic(topic, 2)
    sent = produce(library, topic)
    protocols = library.group_protocols if release.startswith("4") else ("classic",)
    found = {how: library.consume(topic, sent.total(), group=f"{name}-{how}", protocol=how) for how in protocols}
    library.create_topic(paid, 1)
    kept, dropped = records("kept", library), records("dropped", library)
    library.transact(paid, f"{name}-transaction", kept, dropped)
    committed = library.consume(paid, len(kept), group=f"{name}-paid")
    library.administrate(topic, f"{name}-classic")
    library.delete_topic(topic)

    study = studied(relay.take(name), f"{name} on {release}", told)
    assert study.sent(topic) == sent
    assert study.codecs == list(library.codecs)
    for how in protocols:
        assert Counter(found[how]) == Counter(record for _, record in sent.elements()), how
        assert set(found[how]) <= study.received(topic)
    assert study.sent(paid) == Counter(("none", record) for record in (*kept, *dropped))
    assert committed == kept
    assert study.received(paid) >= {*kept, *dropped}
    assert study.markers(paid) == {"commit", "abort"}


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("release", BROKERS)
def test_authentication(arena: Callable[[str], Arena], release: str, name: str, mechanism: str, told: Told) -> None:
    relay = arena(release).sasl
    library = LIBRARIES[name](Endpoint(relay.bootstrap, mechanism, *ADMIN))
    topic = f"{name}-{mechanism}"
    library.create_topic(topic, 1)
    some = records(mechanism, library)
    library.produce(topic, some)
    assert library.consume(topic, len(some), group=topic) == some

    study = studied(relay.take(name), f"{name} on {release} with {mechanism}", told)
    assert study.sent(topic) == Counter(("none", record) for record in some)
    assert {"SaslHandshake", "SaslAuthenticate"} <= set(study.versions)


OLD: dict[str, tuple[str, dict[str, Any], int, bool]] = {
    "librdkafka as of 0.9": (
        "librdkafka",
        {"api_version_request": "false", "broker_version_fallback": "0.9.0"},
        0,
        True,
    ),
    "kafka-python as of 0.9": ("kafka-python", {"api_version": (0, 9)}, 0, False),
    "kafka-python as of 0.10": ("kafka-python", {"api_version": (0, 10, 0)}, 1, False),
    "kafka-python as of 0.11": ("kafka-python", {"api_version": (0, 11)}, 2, True),
    "kafka-python as of 1.0": ("kafka-python", {"api_version": (1, 0)}, 2, True),
    "kafka-python as of 2.0": ("kafka-python", {"api_version": (2, 0)}, 2, True),
}
"""Libraries told to speak as to an old broker: settings, the format of records, and whether they still read so."""


@pytest.mark.parametrize("case", OLD)
def test_old_versions(arena: Callable[[str], Arena], case: str, told: Told) -> None:
    name, settings, magic, reads = OLD[case]
    relay = arena(BEFORE).plain
    topic = case.replace(" ", "-")
    LIBRARIES[name](Endpoint(relay.bootstrap)).create_topic(topic, 1)
    library = LIBRARIES[name](Endpoint(relay.bootstrap), **settings)
    sent = produce(library, topic, acks=["1"], headers=magic == 2)
    if reads:
        found = library.consume(topic, sent.total(), group=topic)
        assert Counter(found) == Counter(record for _, record in sent.elements())

    study = studied(relay.take(name), f"{case} on {BEFORE}", told)
    assert study.sent(topic) == sent
    assert study.magics == [magic]


def test_trap_09_authentication_with_bare_tokens(arena: Callable[[str], Arena], told: Told) -> None:
    """After SaslHandshake 0, as of 0.10, there are frames that are no requests and no responses."""
    relay = arena(BEFORE).sasl
    library = KafkaPython(Endpoint(relay.bootstrap, "PLAIN", *ADMIN), api_version=(0, 10, 0))
    KafkaPython(Endpoint(relay.bootstrap, "PLAIN", *ADMIN)).create_topic("bare", 1)
    sent = produce(library, "bare", acks=["1"], headers=False)

    study = studied(relay.take("kafka-python"), f"kafka-python as of 0.10 on {BEFORE} with PLAIN", told)
    assert study.sent("bare") == sent
    assert 0 in study.versions["SaslHandshake"]
    tokens = {event.data for event in study.events if isinstance(event, SaslToken)}
    assert tokens == {"\0".join(("admin", *ADMIN)).encode(), b""}


@pytest.mark.parametrize("release", BROKERS)
def test_what_a_broker_says_to_itself(arena: Callable[[str], Arena], release: str, told: Told) -> None:
    """It writes the markers of transactions over the network. These connections are still open.

    Nothing else is left but those that prepared the broker."""
    study = studied(arena(release).plain.take(), f"the broker on {release}", told)
    assert "WriteTxnMarkers" in study.versions


def produce(
    library: Library, topic: str, *, acks: list[str] | None = None, headers: bool = True
) -> Counter[tuple[str, Sent]]:
    """Write records with every codec of a library, and with each kind of acknowledgement; what was written.

    What has no headers, magic 0 and 1, has no zstd either."""
    sent: Counter[tuple[str, Sent]] = Counter()
    kinds = acks or ["all", "0", "1"]
    codecs = library.codecs if headers else [codec for codec in library.codecs if codec != "zstd"]
    for codec, kind in [*((codec, kinds[0]) for codec in codecs), *(("none", kind) for kind in kinds[1:])]:
        some = records(f"{codec} {kind}", library, headers=headers)
        library.produce(topic, some, codec=codec, acks=kind)
        sent.update((codec, record) for record in some)
    return sent


def records(tag: str, library: Library, *, headers: bool = True) -> list[Sent]:
    """With and without key, value and headers, and of sizes on both sides of what a varint holds in a byte or two."""
    null = None if library.null_headers else b""
    odd = (("one", b"1"), ("none", null), ("ünï", b"\0\xff"), ("one", b"")) if headers else ()
    some = [Sent(None, tag.encode(), ()), Sent(b"", b"", ()), Sent(b"gone", None, ()), Sent(b"key", b"value", odd)]
    return some + [Sent(f"{tag} {size}".encode(), b"ab" * size, ()) for size in (31, 32, 63, 64, 5000)]


def studied(recordings: list[Recording], title: str, told: Told) -> Study:
    """A study without any problem, which goes into the numbers of whoever the title begins with."""
    study = Study(recordings)
    told[re.sub(" (as of|with) [^ ]+", "", title)].append(study)
    assert study.problems == []
    assert study.trailing <= TRAILING
    assert study.frames > 0
    if title in STORED and os.environ.get("KWIRE_RECORD") == "1":
        save(CAPTURES / f"{title.replace(' ', '-')}.json.gz", recordings)
    return study
