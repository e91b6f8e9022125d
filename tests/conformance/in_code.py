"""What Kafka has only in code, compared with its own classes: ``make conformance-code``.

Workers of Connect, records of MirrorMaker 2 and user data of assignors: Java makes objects and writes them, kwire
reads and writes the bytes again; kwire makes values and writes them, Java reads and writes them again. Values, bytes
and JSON must be the same. Takes a JDK and mvn. ``tests/data/conformance/in_code.jsonl`` has a few of Java's objects.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from kwire.logs import decode_record, decode_user_data
from kwire.message import Message
from kwire_kafka import PROTOCOL
from tests.conformance.jvm import BUILD
from tests.conformance.messages import seed
from tests.conformance.tally import Tally
from tests.real_kafka.jars import SIMPLE, classpath
from tools.maven import MavenError

RELEASES = ("3.9.2", "4.3.1")
"""The newest of the last two major releases of which Maven has Connect; 4.4.0 came without."""
ARTIFACTS = ("connect-runtime", "connect-mirror")
SOURCE = Path(__file__).with_name("java_connect") / "InCode.java"
VECTORS = Path(__file__).resolve().parents[1] / "data" / "conformance" / "in_code.jsonl"
KEPT = 3
"""How many objects of each kind and version are kept."""
FROM_JAVA = "Java object → bytes → kwire value → same bytes, same JSON"
TO_JAVA = "kwire value → bytes → Java object → same JSON, same bytes or those of another order"

KINDS: dict[str, tuple[int, ...]] = {
    "ConnectMemberMetadata": (0, 1, 2),
    "ConnectMemberAssignment": (0, 1, 2),
    "MirrorHeartbeat": (0,),
    "MirrorCheckpoint": (0,),
    "MirrorOffsetSync": (0,),
    "StickyAssignorUserData": (1,),
    "CooperativeStickyAssignorUserData": (0,),
}
"""The versions that Java writes; it reads version 0 of StickyAssignorUserData too."""
MIRRORS = {
    "MirrorHeartbeat": "heartbeats",
    "MirrorCheckpoint": "a.checkpoints.internal",
    "MirrorOffsetSync": "mm2-offset-syncs.a.internal",
}
ASSIGNORS = {"StickyAssignorUserData": "sticky", "CooperativeStickyAssignorUserData": "cooperative-sticky"}
HASHED = ("ConnectMemberMetadata", "ConnectMemberAssignment", "StickyAssignorUserData")
"""What Java writes in another order than it has read: then kwire reads that and writes the same bytes."""


@dataclass(frozen=True)
class Object:
    """Bytes of an object of Java, and its fields as JSON: key, if it is a record, and value."""

    kind: str
    version: int
    key: str
    value: str
    fields: list[Any]


class Java:
    """A running ``InCode.java`` with the jars of a release. Use it in a ``with`` statement."""

    def __init__(self, release: str) -> None:
        path = classpath(release, SIMPLE, ARTIFACTS)
        folder = BUILD / f"{release}-in-code"
        subprocess.run(["javac", "-Xlint:all,-classfile,-processing", "-d", folder, "-cp", path, SOURCE], check=True)
        command = ["java", "-ea:org.apache.kafka...", "-XX:TieredStopAtLevel=1", "-cp", f"{folder}:{path}", "InCode"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Java:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def make(self, kind: str, version: int, number: int) -> Object | str:
        """An object made by Java, or what it threw."""
        return self._ask("make", kind, version, number)

    def read(self, kind: str, version: int, key: bytes, value: bytes) -> Object | str:
        """What Java reads and writes again, or what it threw."""
        return self._ask("read", kind, version, key.hex(), value.hex())

    def _ask(self, *words: object) -> Object | str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(" ".join(map(str, words)).encode() + b"\n")
        self._process.stdin.flush()
        verdict, *answer = self._process.stdout.readline().decode().rstrip("\n").split("\t")
        if verdict != "ok":
            return " ".join(answer)
        return Object(str(words[1]), int(str(words[2])), answer[0], answer[1], json.loads(answer[2]))


def disagreement(one: Object) -> str | None:
    """What kwire makes of an object's bytes that Java does not; ``None`` if they agree."""
    key, value = decoded(one.kind, one.version, bytes.fromhex(one.key), bytes.fromhex(one.value))
    ours = value.to_json(one.version)
    if in_order(ours) != in_order(one.fields[1]) or (key and key.to_json(0)) != one.fields[0]:
        return f"kwire reads {ours} of {key}, Java {one.fields}"
    again = encoded(one.kind, one.version, key, value)
    return None if again == (one.key, one.value) else f"kwire writes {again}, Java {(one.key, one.value)}"


def in_order(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with topics and connectors by name, as Java has them in hash tables, and [] for null."""
    found = dict(fields)
    for name in ("assignment", "revoked", "previousAssignment"):
        if name in found:
            found[name] = sorted(found[name] or [], key=lambda one: str(one.get("topic", one.get("connector"))))
    if allocation := found.get("allocation"):
        data = b64decode(allocation)
        version = int.from_bytes(data[:2])
        inner = PROTOCOL["ConnectMemberAssignment"].decode(data, version, start=2)
        found["allocation"] = in_order(inner.to_json(version))
    return found


def decoded(kind: str, version: int, key: bytes, value: bytes) -> tuple[Message | None, Message]:
    """Key and value, as the functions of ``kwire.logs`` read them."""
    if kind in MIRRORS:
        record = decode_record(PROTOCOL, MIRRORS[kind], key, value)
        assert record.value, record.reason
        return record.key, record.value
    if kind in ASSIGNORS:
        return None, decode_user_data(PROTOCOL, ASSIGNORS[kind], value)
    assert int.from_bytes(value[:2]) == version
    return None, PROTOCOL[kind].decode(value, version, start=2)


def encoded(kind: str, version: int, key: Message | None, value: Message) -> tuple[str, str]:
    """The bytes of both in hexadecimal, with what precedes a value."""
    head = b"" if kind in ASSIGNORS or kind == "MirrorOffsetSync" else version.to_bytes(2)
    return key.encode(0).hex() if key else "", (head + value.encode(version)).hex()


def from_java(java: Java, count: int, tally: Tally) -> Iterator[Object]:
    """Objects that Java made; gives them all."""
    for kind, versions in KINDS.items():
        for version in versions:
            for number in range(count):
                one = java.make(kind, version, seed(kind, version, number))
                wrong = one if isinstance(one, str) else disagreement(one)
                if wrong is None:
                    tally.same(FROM_JAVA)
                else:
                    tally.differ(FROM_JAVA, f"{kind} v{version} {number}", wrong)
                if isinstance(one, Object):
                    yield one


def to_java(java: Java, count: int, tally: Tally) -> None:
    """Values that kwire made."""
    for kind, versions in {**KINDS, "StickyAssignorUserData": (0, 1)}.items():
        for version in versions:
            for number in range(count):
                key, value = VALUES[kind](Random(seed("kwire", kind, version, number)), version)
                bytes_ = encoded(kind, version, key, value)
                found = java.read(kind, version, *map(bytes.fromhex, bytes_))
                wrong = found if isinstance(found, str) else _read_otherwise(found, key, value, bytes_)
                if wrong is None:
                    tally.same(TO_JAVA)
                else:
                    tally.differ(TO_JAVA, f"{kind} v{version} {number}", wrong)


def _read_otherwise(found: Object, key: Message | None, value: Message, ours: tuple[str, str]) -> str | None:
    """How what Java read and wrote again is something else than kwire wrote; topics in another order are not."""
    fields = value.to_json(found.version)
    if in_order(found.fields[1]) != in_order(fields) or found.fields[0] != (key and key.to_json(0)):
        return f"Java reads {found.fields}, kwire wrote {fields} of {key}"
    if (found.key, found.value) == ours:
        return None
    if found.kind not in HASHED:
        return f"Java writes {(found.key, found.value)}, kwire {ours}"
    return disagreement(found) if found.value else None  # version 0 of StickyAssignorUserData is only read


def _text(random: Random) -> str:
    size = random.randrange(300 if random.random() < 0.1 else 12)
    return "".join(chr(random.choice((random.randrange(97, 123), random.randrange(32, 0xD800)))) for _ in range(size))


def _int(random: Random, bits: int) -> int:
    return random.choice((random.getrandbits(bits) - 2 ** (bits - 1), -1, 0, 2 ** (bits - 1) - 1, -(2 ** (bits - 1))))


def _names(random: Random) -> list[str]:
    return list(dict.fromkeys(_text(random) for _ in range(random.randrange(5))))


def _work(random: Random) -> list[dict[str, Any]]:
    """Java has the connectors in a set of their own, and writes these first."""
    whole: list[dict[str, Any]] = [{"connector": name, "tasks": [-1]} for name in _names(random)]
    for each in whole:
        each["tasks"] += [random.getrandbits(31) for _ in range(random.randrange(4))]
    known = {each["connector"] for each in whole}
    others = [name for name in _names(random) if name not in known]
    return whole + [{"connector": name, "tasks": [random.getrandbits(31)]} for name in others]


def _assignment(random: Random, version: int) -> dict[str, Any]:
    fields: dict[str, Any] = {"error": random.randrange(2), "leader": _text(random), "leaderUrl": _text(random)}
    fields |= {"configOffset": _int(random, 64), "assignment": _work(random)}
    if version:
        fields |= {"revoked": random.choice((None, _work(random))), "delay": _int(random, 32)}
    return fields


def _metadata(random: Random, version: int) -> dict[str, Any]:
    fields: dict[str, Any] = {"url": _text(random), "configOffset": _int(random, 64)}
    if version:
        inner = PROTOCOL["ConnectMemberAssignment"].from_json(_assignment(random, version), version)
        data = version.to_bytes(2) + inner.encode(version)
        message = PROTOCOL["ConnectMemberMetadata"](url="", allocation=data)  # type: ignore[call-arg]
        fields["allocation"] = random.choice((None, message.to_json(version)["allocation"]))
    return fields


def _previous(random: Random, version: int) -> dict[str, Any]:
    topics = [
        {"topic": name, "partitions": [_int(random, 32) for _ in range(random.randrange(1, 5))]}
        for name in _names(random)
    ]
    return {"previousAssignment": topics} | ({"generation": _int(random, 32)} if version else {})


def _alone(name: str, make: Callable[[Random, int], dict[str, Any]]) -> Callable[..., tuple[None, Message]]:
    return lambda random, version: (None, PROTOCOL[name].from_json(make(random, version), version))


def _record(
    name: str, make: Callable[[Random], tuple[dict[str, Any], dict[str, Any]]]
) -> Callable[..., tuple[Message, Message]]:
    def made(random: Random, version: int) -> tuple[Message, Message]:
        key, value = make(random)
        return PROTOCOL[f"{name}Key"].from_json(key, 0), PROTOCOL[f"{name}Value"].from_json(value, 0)

    return made


def _offsets(random: Random) -> dict[str, Any]:
    return {"upstreamOffset": _int(random, 64), "offset": _int(random, 64)}


def _partition(random: Random) -> dict[str, Any]:
    return {"topic": _text(random), "partition": _int(random, 32)}


VALUES: dict[str, Callable[[Random, int], tuple[Message | None, Message]]] = {
    "ConnectMemberMetadata": _alone("ConnectMemberMetadata", _metadata),
    "ConnectMemberAssignment": _alone("ConnectMemberAssignment", _assignment),
    "MirrorHeartbeat": _record(
        "MirrorHeartbeat",
        lambda random: (
            {"sourceClusterAlias": _text(random), "targetClusterAlias": _text(random)},
            {"timestamp": _int(random, 64)},
        ),
    ),
    "MirrorCheckpoint": _record(
        "MirrorCheckpoint",
        lambda random: (
            {"group": _text(random)} | _partition(random),
            _offsets(random) | {"metadata": _text(random)},
        ),
    ),
    "MirrorOffsetSync": _record("MirrorOffsetSync", lambda random: (_partition(random), _offsets(random))),
    "StickyAssignorUserData": _alone("StickyAssignorUserData", _previous),
    "CooperativeStickyAssignorUserData": _alone(
        "CooperativeStickyAssignorUserData", lambda random, version: {"generation": _int(random, 32)}
    ),
}
"""Values that Java's classes keep without loss: connectors and topics are there once, with something to do."""


def vectors() -> list[Object]:
    """The objects that were kept."""
    return [Object(**json.loads(line)) for line in VECTORS.read_text().splitlines()]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.in_code", description=__doc__)
    parser.add_argument("--random", type=int, default=500, help="objects of each kind and version, each way")
    parser.add_argument("--update-vectors", action="store_true", help=f"write {VECTORS.name} anew")
    options = parser.parse_args(arguments)
    differences: list[str] = []
    kept: dict[tuple[str, int], list[Object]] = {}
    try:
        for release in RELEASES:
            tally = Tally()
            with Java(release) as java:
                for one in from_java(java, options.random, tally):
                    kept.setdefault((one.kind, one.version), []).append(one)
                to_java(java, options.random, tally)
            print(f"Kafka {release}: " + ", ".join(f"{number:,} {what}" for what, number in tally.counts.items()))
            differences += [f"{release}: {line}" for line in tally.differences]
    except (FileNotFoundError, MavenError, subprocess.CalledProcessError) as missing:
        print(missing, file=sys.stderr)
        return 2
    print(f"{len(differences)} differences", *(line[:600] for line in differences[:20]), sep="\n  ")
    if options.update_vectors:
        few = [one for found in kept.values() for one in found[:KEPT]]
        VECTORS.write_text("".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in few))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
