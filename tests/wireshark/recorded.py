"""All recorded traffic as captures, also frames of real brokers and messages that Kafka's classes wrote."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from kwire.connection import CLIENT, SERVER
from kwire.frames import frame
from kwire.headers import RequestHeader, ResponseHeader
from kwire.protocol import MessageRegistry
from kwire_inspect.capture import Peer
from kwire_kafka import PROTOCOL
from tests.conformance import vectors
from tests.support.capture_files import Conversation, Segment, merged, packets, recorded, recordings, write_pcap

DATA = Path(__file__).parents[1] / "data"
CAPTURES = (*sorted(DATA.glob("traffic/*/traffic.pcap.*")), DATA / "metrics" / "traffic.pcap.gz")


def all_captures(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield names and files. Those that are made go to ``folder``."""
    for path in CAPTURES:
        yield f"traffic/{path.parent.name}", path
    for name in recordings():
        yield name, write_pcap(folder / f"{name}.pcap", merged(packets(one) for one in recorded(name)))
    yield "real_frames", conversations(folder / "real_frames.pcap", real_frames())
    for release in vectors.RELEASES:
        yield f"messages of {release}", conversations(folder / f"{release}.pcap", java_messages(release))
        yield f"broken messages of {release}", conversations(folder / f"{release}b.pcap", broken_messages(release))


def conversations(path: Path, found: Iterable[list[Segment]]) -> Path:
    """Write connections, each from a port of its own."""
    made = (Conversation(segments, client=Peer("10.0.0.1", 20_000 + number)) for number, segments in enumerate(found))
    return write_pcap(path, merged(packets(one, acks=False) for one in made))


def real_frames() -> Iterator[list[Segment]]:
    for number, line in enumerate((DATA / "real_frames" / "frames.jsonl").open()):
        exchange = json.loads(line)
        found: list[Segment] = [(CLIENT, float(number), frame(bytes.fromhex(exchange["request"])))]
        if exchange["response"] is not None:
            found.append((SERVER, number + 0.5, frame(bytes.fromhex(exchange["response"]))))
        yield found


def java_messages(release: str) -> list[list[Segment]]:
    """Return every request and response, in all versions and several shapes."""
    return _exchanges(release, [(one.message, one.version, one.data) for one in vectors.messages(release)])


def broken_messages(release: str) -> list[list[Segment]]:
    """Return what is left of them after bytes changed or were cut off."""
    return _exchanges(release, [(one.message, one.version, one.data) for one in vectors.broken(release)])


def newest_requests() -> list[list[Segment]]:
    """Return the requests of the newest release, each in its newest version."""
    release = vectors.RELEASES[-1]
    found = list(vectors.messages(release))
    newest = {one.message: one.version for one in found}
    chosen = [(one.message, one.version, one.data) for one in found if newest[one.message] == one.version]
    return _exchanges(release, [one for one in chosen if one[0].endswith("Request")])


def _exchanges(release: str, messages: list[tuple[str, int, bytes]]) -> list[list[Segment]]:
    """Return connections, one for each message. Before a response goes a whole request."""
    whole = {(one.message, one.version): one.data for one in vectors.messages(release)}
    found: dict[str, list[Segment]] = defaultdict(list)
    for number, (name, version, data) in enumerate(messages):
        api = name.removesuffix("Request").removesuffix("Response")
        if api == name or name not in PROTOCOL:
            continue
        sent = data if name.endswith("Request") else whole[f"{api}Request", version]
        found[name].append((CLIENT, float(number), request(PROTOCOL, f"{api}Request", version, number, sent)))
        if name.endswith("Response"):
            header = ResponseHeader(correlation_id=number).encode(PROTOCOL[name].header_version(version))
            found[name].append((SERVER, number + 0.5, frame(header + data)))
    return list(found.values())


def request(protocol: MessageRegistry, name: str, version: int, number: int, body: bytes) -> bytes:
    """Return the frame of a request with this body."""
    cls = protocol[name]
    header = RequestHeader(api_key=cls.API_KEY or 0, api_version=version, correlation_id=number, client_id="me")
    return frame(header.encode(cls.header_version(version)) + body)
