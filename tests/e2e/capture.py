"""Recorded connections: kept, stored, and taken apart to the last byte.

``Study`` decodes recordings with nothing but what kwire offers, and notes as a problem whatever is not perfect: a
frame that cannot be decoded, a byte that belongs to no frame, a message that is not written again to the same bytes,
subscriptions, assignments and records inside of messages that cannot be read. Bytes behind the end of a message,
which Kafka ignores, are listed by themselves.
"""

from __future__ import annotations

import base64
import gzip
import json
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kwire.connection import (
    CLIENT,
    SERVER,
    ConnectionDecoder,
    Direction,
    Event,
    RequestEvent,
    ResponseEvent,
    SaslToken,
    Unanswered,
)
from kwire.errors import KwireError
from kwire.logs import Embedded, embedded
from kwire.records import Batch, Record, decode_control, read_batches
from kwire.uuids import Uuid
from kwire_kafka import PROTOCOL, FetchResponse, MetadataResponse, ProduceRequest, ProduceResponse
from tests.e2e.clients.library import Sent

AT_THE_END = "the connection ended"


@dataclass
class Recording:
    """One connection. A segment says who sent it, when it passed (in seconds), and what."""

    segments: list[tuple[Direction, float, bytes]] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def size(self, direction: Direction) -> int:
        return sum(len(data) for sender, _, data in self.segments if sender == direction)


def save(path: Path, recordings: Sequence[Recording]) -> None:
    """Store recordings, with times from their beginning on."""
    start = min(time for one in recordings for _, time, _ in one.segments)
    connections = [
        [[sender, round(time - start, 6), base64.b64encode(data).decode()] for sender, time, data in one.segments]
        for one in recordings
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(connections).encode(), mtime=0))


def load(path: Path) -> list[Recording]:
    """What :func:`save` has stored."""
    connections = json.loads(gzip.decompress(path.read_bytes()))
    return [
        Recording([(sender, time, base64.b64decode(data)) for sender, time, data in segments])
        for segments in connections
    ]


class Study:
    """Recordings of whole connections, decoded."""

    def __init__(self, recordings: Sequence[Recording]) -> None:
        self.connections = len(recordings)
        self.problems: list[str] = []
        self.events: list[Event] = []
        for number, recording in enumerate(recordings):
            events = list(_events(recording))
            self.events += events
            self.problems += [f"connection {number}: {problem}" for problem in _problems(recording, events)]
        self.produced: list[tuple[str, Batch, Record]] = []
        self.fetched: list[tuple[str, Batch, Record]] = []
        self.embedded: list[Embedded] = []
        self._names = self._topic_names()
        self._read_inside()

    @property
    def frames(self) -> int:
        """Requests and responses, and tokens of SASL."""
        return sum(isinstance(event, RequestEvent | ResponseEvent | SaslToken) for event in self.events)

    @property
    def outstanding(self) -> int:
        """Requests whose connection was closed before they were answered."""
        return sum(isinstance(event, Unanswered) for event in self.events)

    @property
    def trailing(self) -> set[tuple[str, bytes]]:
        """The name of an API and what stands behind the message in a frame: Kafka ignores it [KAFKA-WIRE 10]."""
        return {
            (event.name, rest)
            for event in self.events
            if isinstance(event, RequestEvent | ResponseEvent) and event.message
            if (rest := event.data[len(_again(event)) :])
        }

    @property
    def apis(self) -> set[tuple[str, int]]:
        """Names and versions of the requests."""
        return {(event.name, event.version) for event in self.events if isinstance(event, RequestEvent)}

    @property
    def versions(self) -> dict[str, list[int]]:
        """The versions of each API, by name."""
        return {name: sorted(v for other, v in self.apis if other == name) for name in sorted(dict(self.apis))}

    @property
    def codecs(self) -> list[str]:
        """How the records were compressed that clients wrote."""
        return [codec.label for codec in sorted({batch.codec for _, batch, _ in self.produced})]

    @property
    def magics(self) -> list[int]:
        """The formats of the records that clients wrote."""
        return sorted({batch.magic for _, batch, _ in self.produced})

    def sent(self, topic: str) -> Counter[tuple[str, Sent]]:
        """What was written to ``topic``, each record with its codec."""
        return Counter((batch.codec.label, _sent(one)) for name, batch, one in self.produced if name == topic)

    def received(self, topic: str) -> set[Sent]:
        """What was delivered from ``topic``, except control records."""
        return {_sent(one) for name, batch, one in self.fetched if name == topic and not batch.control}

    def markers(self, topic: str) -> set[str]:
        """The kinds of control records in ``topic``."""
        controls = [one for name, batch, one in self.fetched if name == topic and batch.control]
        return {decode_control(PROTOCOL, one).name for one in controls}

    def _topic_names(self) -> dict[Uuid, str]:
        """Since topics have ids, requests have no names any more [KAFKA-WIRE 46]."""
        responses = [event.message for event in self.events if isinstance(event, ResponseEvent)]
        answers = [one for one in responses if isinstance(one, MetadataResponse)]
        return {topic.topic_id: topic.name or "" for one in answers for topic in one.topics if any(topic.topic_id)}

    def _read_inside(self) -> None:
        """What consumers wrote into the messages of their groups, and records."""
        for event in self.events:
            if not isinstance(event, RequestEvent | ResponseEvent) or event.message is None:
                continue
            message = event.message
            for inside in embedded(PROTOCOL, message):
                self.embedded.append(inside)
                if inside.message is None or inside.version is None:
                    self.problems.append(f"{event}: {inside}")
                elif inside.version.to_bytes(2, "big") + inside.message.encode(inside.version) != inside.raw:
                    self.problems.append(f"{event}: {inside} is not written as {inside.raw.hex()}")
            try:
                if isinstance(event, RequestEvent):
                    if isinstance(message, ProduceRequest) and not event.expects_response:
                        self._take_produced(message, set())
                elif isinstance(message, ProduceResponse) and isinstance(event.request, RequestEvent):
                    assert isinstance(event.request.message, ProduceRequest)
                    self._take_produced(event.request.message, set(_refused(message)))
                elif isinstance(message, FetchResponse):
                    for answer in message.responses:
                        name = answer.topic or self._names[answer.topic_id]
                        for part in answer.partitions:
                            self.fetched += _records(name, part.records)
            except (KwireError, KeyError) as error:
                self.problems.append(f"records of {event}: {error!r}")

    def _take_produced(self, request: ProduceRequest, refused: set[tuple[str, Uuid, int]]) -> None:
        """Only what the broker took: clients send again what it refuses at first."""
        for topic in request.topic_data:
            name = topic.name or self._names[topic.topic_id]
            for part in topic.partition_data:
                if (topic.name, topic.topic_id, part.index) not in refused:
                    self.produced += _records(name, part.records)


def _refused(response: ProduceResponse) -> Iterator[tuple[str, Uuid, int]]:
    for topic in response.responses:
        for part in topic.partition_responses:
            if part.error_code:
                yield topic.name, topic.topic_id, part.index


def _events(recording: Recording) -> Iterator[Event]:
    decoder = ConnectionDecoder(PROTOCOL, start="beginning")
    last = 0.0
    for direction, time, data in recording.segments:
        yield from decoder.feed(direction, data, time)
        last = time
    yield from decoder.close(last)


def _problems(recording: Recording, events: Sequence[Event]) -> Iterator[str]:
    covered: dict[Direction, int] = {CLIENT: 0, SERVER: 0}
    for event in events:
        if isinstance(event, RequestEvent | ResponseEvent):
            covered[event.direction] += event.size
            if event.message is None:
                yield f"{event} is not known"
            elif not event.data.startswith(again := _again(event)):
                yield f"{event} is written as {again.hex()}, not {event.data.hex()}"
        elif isinstance(event, SaslToken):
            covered[event.direction] += event.size
        elif not isinstance(event, Unanswered) or event.reason != AT_THE_END:
            yield repr(event)
    if unpaired := _unpaired(events):
        yield f"{unpaired} requests without a response, although they expect one"
    for direction, size in covered.items():
        if size != recording.size(direction):
            yield f"{recording.size(direction)} bytes from the {direction}, {size} of them in frames"


def _unpaired(events: Sequence[Event]) -> int:
    """Requests that expect an answer, less responses and those left open at the end."""
    asked = sum(isinstance(event, RequestEvent) and event.expects_response for event in events)
    return asked - sum(isinstance(event, ResponseEvent | Unanswered) for event in events)


def _again(event: RequestEvent | ResponseEvent) -> bytes:
    """The frame written anew, from nothing but what was read."""
    assert event.message is not None
    if isinstance(event, RequestEvent):
        return PROTOCOL.encode_request(
            event.message, event.version, correlation_id=event.correlation_id, client_id=event.client_id
        )
    return PROTOCOL.encode_response(event.message, event.version, correlation_id=event.correlation_id)


def _records(topic: str, data: bytes | None) -> Iterator[tuple[str, Batch, Record]]:
    for batch in read_batches(data):
        for record in batch:
            yield topic, batch, record


def _sent(record: Record) -> Sent:
    return Sent(record.key, record.value, tuple(record.headers))
