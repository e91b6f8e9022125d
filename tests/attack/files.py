"""The files of a security review, and worse ones: as large as limits allow."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from itertools import chain, repeat
from struct import pack

import pyarrow as pa
import zstandard

from kwire.compression import compress
from kwire.connection import CLIENT, SERVER, Direction
from kwire.frames import frame
from kwire.headers import RequestHeader
from kwire.message import Message
from kwire.records import Record, encode_batch, encode_message_set
from kwire.records.writing import varint
from kwire_inspect.capture import Peer
from kwire_inspect.schemas import EXCHANGES
from kwire_kafka import (
    PROTOCOL,
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    ClientQuotaRecord,
    EnvelopeRequest,
    FetchRequest,
    GroupMetadataKey,
    GroupMetadataValue,
    IncrementalAlterConfigsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
)
from kwire_kafka.api.alter_client_quotas import AlterClientQuotasRequestEntryData, AlterClientQuotasResponseEntryData
from kwire_kafka.api.incremental_alter_configs import AlterableConfig, AlterConfigsResource
from kwire_kafka.api.list_offsets import ListOffsetsTopicResponse
from kwire_kafka.api.metadata import MetadataResponseBroker
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from kwire_kafka.coordinator.group_metadata import MemberMetadata
from kwire_kafka.metadata.client_quota_record import EntityData
from tests.attack import packed
from tests.attack.worker import TYPED
from tests.runtime.records.test_record_reader import SMALLEST, around, headers
from tests.support import capture_files
from tests.support.capture_files import ACK, EPOCH, ETHERNET, SYN, TcpPacket

MB = 1_000_000
PADDING = 20 * MB
"""So much more has a compressed capture, whose content may be 200 times its size."""
BROKER = Peer("10.1.0.9", 9092)

Json = dict[str, object]
Sent = Iterable[tuple[Direction, bytes]]


@dataclass(frozen=True)
class File:
    """A hostile file at ``path`` in a folder, and the ``source`` with ``options`` that reads it."""

    name: str
    path: str
    content: Callable[[], bytes]
    source: str
    options: dict[str, str] = field(default_factory=dict)
    member: str = ""
    """What is read of an archive."""


def uvarint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + uvarint(value >> 7)


def grown(payload: bytes, element: bytes, size: int) -> bytes:
    """A payload with the one ``element`` of its compact array as often as it takes to be of about ``size`` bytes."""
    before, after = payload.split(b"\2" + element)
    count = size // len(element)
    return before + uvarint(count + 1) + element * count + after


def asked(message: Message, version: int, element: bytes = b"", size: int = 0, number: int = 1) -> bytes:
    payload = PROTOCOL.encode_request(message, version, correlation_id=number, client_id="me")
    return frame(grown(payload, element, size) if element else payload)


def quotas(size: int, number: int = 1) -> bytes:
    """A request of so many bytes: three of them are an object with two lists."""
    entry = AlterClientQuotasRequestEntryData(entity=[], ops=[])
    return asked(AlterClientQuotasRequest(entries=[entry]), 1, b"\1\1\0", size, number)


def altered(size: int, number: int) -> Sent:
    """The same with its response, of which five bytes are an object with a list."""
    entry = AlterClientQuotasResponseEntryData(error_message=None, entity=[])
    payload = PROTOCOL.encode_response(AlterClientQuotasResponse(entries=[entry]), 1, correlation_id=number)
    return [(CLIENT, quotas(size, number)), (SERVER, frame(grown(payload, b"\0\0\0\1\0", size)))]


def configs(size: int, number: int) -> bytes:
    """A request from which secrets are removed: four bytes are a configuration."""
    resource = AlterConfigsResource(configs=[AlterableConfig(name="", value=None)])
    request = IncrementalAlterConfigsRequest(resources=[resource])
    return asked(request, 1, b"\1\0\0\0", size, number)


def enveloped(size: int, number: int) -> bytes:
    inner = quotas(size, number)[4:]
    return asked(EnvelopeRequest(request_data=inner, client_host_address=b"\1\2\3\4"), 0, number=number)


def tagged(size: int) -> bytes:
    """A request whose header has as many tagged fields as so many bytes can have."""
    tags = b"".join(uvarint(tag) + b"\0" for tag in range(size // 5))
    payload = RequestHeader(api_key=3, api_version=9).encode(2)
    return frame(payload[:-1] + uvarint(size // 5) + tags + MetadataRequest().encode(9))


def named(number: int) -> bytes:
    return frame(PROTOCOL.encode_request(FetchRequest(), 4, correlation_id=1, client_id=f"{number:030000}"))


def connection(number: int, sent: Sent, first: int = 1) -> Iterator[TcpPacket]:
    """The packets of a connection that stays open; with ``first`` above 1, bytes before are missing."""
    client = Peer(f"10.0.{number >> 8}.{number & 255}", 50412)
    ends = {CLIENT: (client, BROKER), SERVER: (BROKER, client)}
    at = {CLIENT: first, SERVER: 1}
    yield TcpPacket(EPOCH, client, BROKER, SYN, 0, 0)
    yield TcpPacket(EPOCH, BROKER, client, SYN | ACK, 0, 1)
    for direction, data in sent:
        for start in range(0, len(data), 60_000):
            part = data[start : start + 60_000]
            yield TcpPacket(EPOCH, *ends[direction], ACK, at[direction] & 0xFFFFFFFF, 1, part)
            at[direction] += len(part)


def in_turn(connections: Iterable[Iterator[TcpPacket]]) -> Iterator[TcpPacket]:
    """A packet of each, again and again."""
    left = list(connections)
    while left:
        packets = [(one, next(one, None)) for one in left]
        yield from (packet for _, packet in packets if packet)
        left = [one for one, packet in packets if packet]


def capture(packets: Iterable[TcpPacket]) -> bytes:
    file = BytesIO()
    file.write(pack("<II", 0x184D2A50, PADDING) + bytes(PADDING))  # a frame that is passed over
    with zstandard.open(file, "wb", closefd=False) as out:
        out.write(pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, ETHERNET))
        for packet in packets:
            data = capture_files.frame(packet, ETHERNET)
            out.write(pack("<IIII", int(packet.time), 0, len(data), len(data)) + data)
    return file.getvalue()


def squeezed(payload: bytes, count: int) -> bytes:
    """A batch of zstd around records that ``encode_batch`` would take long to write."""
    batch: bytes = around(compress(4, payload), count, codec=4)
    return batch


def record_of(value: bytes) -> bytes:
    """A record with a value and nothing else, as ``squeezed`` takes it."""
    body = b"\0\0\0\1" + varint(len(value)) + value + b"\0"
    return varint(len(body)) + body


def quota_record(size: int) -> Record:
    """A record of the cluster metadata: three bytes are an object."""
    value = ClientQuotaRecord(entity=[EntityData(entity_type="", entity_name=None)]).encode(0)
    return Record(None, b"\1\x0e\0" + grown(value, b"\1\0\0", size))


def logged(size: int) -> bytes:
    """A line of a request log that becomes many objects."""
    header = {"requestApiKey": 49, "requestApiVersion": 1, "correlationId": 1, "clientId": "me"}
    entries: list[Json] = [{"entity": [], "ops": []}] * (size // 22)
    line = {
        "isForwarded": False,
        "requestHeader": header,
        "request": {"entries": entries, "validateOnly": False},
        "connection": "127.0.0.1:9092-127.0.0.1:41236-0",
        "totalTimeMs": 1.0,
    }
    text = json.dumps(line, separators=(",", ":"))
    return f"[2026-11-21 16:44:21,981] INFO Completed request:{text} (kafka.request.logger)\n".encode()


def refusal(size: int) -> bytes:
    """An entry of a server log with a long reason."""
    error = "ERROR Closing socket for 127.0.0.1:9092-127.0.0.1:43498-1-0 because of error (kafka.network.Processor)"
    cause = "org.apache.kafka.common.errors.InvalidRequestException: Error getting request for apiKey: "
    return f"[2026-11-21 18:54:47,474] {error}\n{cause}{'x' * size}\n".encode()


def exchanges(*requests: bytes) -> bytes:
    """Exchanges as Spark passes them to a worker."""
    out = BytesIO()
    with pa.ipc.new_stream(out, EXCHANGES) as stream:
        rows = [{"api_key": 49, "version": 1, "request": one[4:]} for one in requests]
        stream.write_batch(pa.RecordBatch.from_pylist(rows, EXCHANGES))
    return out.getvalue()


FETCH = asked(FetchRequest(), 4)
UNFINISHED = pack(">i", 12 * MB) + FETCH[4:]
REQUESTS, METADATA = "kafka-request.log.gz", "__cluster_metadata"
QUOTA, QUOTAS = "ClientQuotaRecord", {"api": "AlterClientQuotas"}


def captures(name: str, number: int, sent: Callable[[int], Sent], first: int = 1) -> Iterator[File]:
    """So many connections whose packets take turns, as frames and as exchanges."""
    for rows in ("frames", "exchanges"):
        content = partial(_capture, number, sent, first)
        yield File(f"{name}, {rows}", "capture.pcap.zst", content, "kafka_capture", {"rows": rows})


def unfinished(number: int, size: int) -> bytes:
    """A capture of so many connections, one after the other, each with so many bytes of a frame that never ends."""
    return capture(packet for n in range(number) for packet in connection(n, [(CLIENT, UNFINISHED + bytes(size))]))


def _capture(number: int, sent: Callable[[int], Sent], first: int) -> bytes:
    return capture(in_turn(connection(n, sent(n), first) for n in range(number)))


def segment(name: str, content: Callable[[], bytes], topic: str = "orders", **options: str) -> File:
    return File(name, f"{topic}-0/{0:020}.log", content, "kafka_log", options)


FILES = [
    *captures("nothing", 1, lambda n: [(CLIENT, FETCH)]),
    # H4 of the review
    *captures("4 connections, requests unanswered", 4, lambda n: ((CLIENT, quotas(MB, i)) for i in range(16))),
    *captures("a frame of 30 MB", 1, lambda n: [(CLIENT, quotas(30 * MB)), (CLIENT, FETCH)]),
    *captures("100 unfinished frames", 100, lambda n: chain([(CLIENT, UNFINISHED)], repeat((CLIENT, bytes(MB)), 10))),
    File("300 unfinished frames, in turn", "c.pcap.zst", partial(unfinished, 300, 10 * MB), "kafka_capture"),
    File("600 unfinished frames, in turn", "c.pcap.zst", partial(unfinished, 600, 3 * MB), "kafka_capture"),
    segment("a record of 10 million headers", lambda: squeezed(headers(10 * MB), 1)),
    File("a line of 60 MB", REQUESTS, lambda: gzip.compress(logged(60 * MB)), "kafka_request_log"),
    # as large as the limits allow
    *captures("a header of 30 MB of tags", 1, lambda n: [(CLIENT, tagged(30 * MB))]),
    *captures("an envelope of 30 MB", 1, lambda n: [(CLIENT, enveloped(30 * MB, 1))]),
    *captures("10,000 client ids of 30 kB", 100, lambda n: ((CLIENT, named(i)) for i in range(100))),
    *captures("frames of 2 MB", 1, lambda n: chain.from_iterable(altered(2 * MB, i) for i in range(8))),
    *captures("frames of 2 MB with secrets", 1, lambda n: ((CLIENT, configs(2 * MB, i)) for i in range(8))),
    *captures("envelopes of 2 MB", 1, lambda n: ((CLIENT, enveloped(2 * MB - 100, i)) for i in range(8))),
    *captures("300 connections with lost bytes", 300, lambda n: [(CLIENT, FETCH * 10_000)], first=5000),
    *captures("40,000 connections", 40_000, lambda n: [(CLIENT, bytes(3))]),
    segment("a value of 100 MB", lambda: squeezed(record_of(bytes(100 * MB)), 1)),
    segment("a value of 90 MB, not compressed", lambda: encode_batch([Record(None, bytes(90 * MB))])),
    segment("100 values of 1 MB", lambda: encode_batch([Record(None, bytes(MB))] * 100, codec=4)),
    segment("14 million records", lambda: squeezed(SMALLEST * 14 * MB, 14 * MB)),
    segment("metadata of 30 MB", lambda: encode_batch([quota_record(30 * MB)]), METADATA),
    segment("typed metadata of 30 MB", lambda: encode_batch([quota_record(30 * MB)]), METADATA, record=QUOTA),
    File("lines of 4 MB", REQUESTS, lambda: gzip.compress(logged(4 * MB) * 4), "kafka_request_log"),
    File("refusals of 4 MB", "server.log.gz", lambda: gzip.compress(refusal(4 * MB) * 4), "kafka_server_log"),
    File("typed exchanges of 2 MB", "arrow", lambda: exchanges(*[quotas(2 * MB)] * 10), TYPED, QUOTAS),
    File("a typed exchange of 30 MB", "arrow", lambda: exchanges(quotas(30 * MB)), TYPED, QUOTAS),
    *(File(name, "packed", content, source, member=member) for name, source, content, member in packed.files()),
]
"""Each is made within seconds."""


def produced(size: int) -> bytes:
    """A request with so many bytes of records."""
    partition = PartitionProduceData(index=0, records=bytes(size))
    return asked(ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="t", partition_data=[partition])]), 9)


def compressed(size: int) -> bytes:
    """A request with so many bytes of batches, each of 1000 records of 1 kB that compress well."""
    batch = encode_batch([Record(bytes(1024), bytes(1024))] * 1000, codec=4)
    partition = PartitionProduceData(index=0, records=batch * (size // len(batch)))
    return asked(ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="t", partition_data=[partition])]), 9)


def one_after_another(count: int, size: int) -> bytes:
    """A capture of so many connections, each with a request with so many bytes of records, and its answer."""
    sent: Sent = [(CLIENT, produced(size)), (SERVER, frame(pack(">iB", 1, 0) + b"\1"))]
    return capture(packet for n in range(count) for packet in connection(n, sent))


def groups(batches: int, count: int, size: int) -> bytes:
    """Batches of groups, each with a member that has an assignment of so many bytes."""
    made = []
    for batch in range(batches):
        member = MemberMetadata(member_id="m", client_id="c", client_host="h", assignment=bytes(size))
        value = pack(">h", 3) + GroupMetadataValue(protocol_type="consumer", members=[member]).encode(3)
        keys = [pack(">h", 2) + GroupMetadataKey(group=f"{batch} {n}").encode(0) for n in range(count)]
        made.append(encode_batch([Record(key, value) for key in keys], codec=4))
    return b"".join(made)


def nodes(size: int) -> bytes:
    """An answer to Metadata of so many bytes, of which 11 are a broker."""
    response = MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="a", port=1)], controller_id=1)
    element = pack(">iBBiBB", 1, 2, 97, 1, 0, 0)
    return grown(PROTOCOL.encode_response(response, 12, correlation_id=2), element, size)


def empty_topics(size: int) -> bytes:
    """An answer to ListOffsets of so many bytes, of which three are a topic."""
    response = ListOffsetsResponse(topics=[ListOffsetsTopicResponse()])
    return grown(PROTOCOL.encode_response(response, 7, correlation_id=2), b"\1\1\0", size)


def metrics(size: int) -> bytes:
    """A dump of metrics of so many bytes, of which three are an object."""
    bean = "kafka.network:type=RequestMetrics,name=DeprecatedRequestsPerSec,request=Fetch,version=1"
    head = json.dumps({"request": {"mbean": bean, "type": "read"}, "value": {"Count": 3}})[:-1] + ', "x": ['
    return (head + "{}," * (size // 3) + "0]}").encode()


def document(head: str, piece: str, tail: str = "") -> bytes:
    """Definitions, or a message in JSON, as large as can be read: with as many of these pieces as fit."""
    return (head + piece * ((LARGEST - len(head + tail)) // len(piece)) + tail).encode()


def numbered(head: str, piece: str, tail: str = "") -> bytes:
    """The same with a number in each piece, in place of ``#``."""
    pieces = (
        (piece.replace("#", f"{number:06}"))
        for number in range((LARGEST - 200) // len(piece.replace("#", f"{0:06}")))
    )
    return (head + "".join(pieces) + tail).encode()


LARGEST = (2 << 20) - 1000
MESSAGE = '{"type":"data","name":"M","about":"a","validVersions":"0","flexibleVersions":"0+","fields":['
TAGGED = '{"name":"A#","type":"int8","about":"a","versions":"0","taggedVersions":"0","tag":#},'.replace(":#", ":1#")
DEFINITIONS = {
    "numbers for fields": ("a.json", partial(document, MESSAGE, "1,", "1]}")),
    "empty fields": ("a.json", partial(document, MESSAGE, "{},", "{}]}")),
    "nested lists": ("a.json", partial(document, MESSAGE, "[" * 90 + "]" * 90 + ",", "1]}")),
    "tagged fields": ("a.json", partial(numbered, MESSAGE, TAGGED, "{}]}")),
    "a long name": ("a.json", partial(document, MESSAGE + '{"name":"', "a", '"}]}')),
    "comments": ("a.json", partial(document, "", "//\n", MESSAGE + "]}")),
    "a number on each line": ("a.jsonl", partial(document, "", "1\n")),
    "fields without fields": ("a.krm", partial(document, "A =>\n", "  A: =>\n")),
    "fields": ("a.krm", partial(document, "// a\nA => data, max version 0\n", "  A: int8\r\n")),
    "steps of indentation": ("a.krm", partial(document, "A =>\n", "".join(" " * n + "a\n" for n in range(200)))),
    "structs": ("a.krm", partial(numbered, "", "A# =>\n")),
    "quotes": ("a.krm", partial(document, "A => ", '"')),
}
"""What ``kwirec`` reads, all with mistakes."""
SMALL = "// a\nA# => data, max version 0\n  // a\n  B: int8\n"

BODIES = {
    "99,000 groups": lambda: ('{"groups":[' + "{}," * 49_500 + "{}]}").encode(),
    "a text of 16 MB": lambda: ('{"groups":[{"groupId":"\U0001d54f' + "a" * 16 * MB + '"}]}').encode(),
    "names of 16 MB": lambda: ('{"' + "\\ud835\\udd4f" * (4 * MB // 3) + '":1}').encode(),
}
"""What ``kwire encode`` reads."""

OFFSETS, KEPT = "__consumer_offsets", 2 * MB
ONE_VALUE = (record_of(bytes(90 * MB)), 1)
OLD = [Record(None, bytes(KEPT), (), 1, n) for n in range(45)]

READ_WHOLE = (
    *("4 connections, requests unanswered, frames", "300 unfinished frames, in turn", "lines of 4 MB"),
    *("envelopes of 2 MB, frames", "10,000 client ids of 30 kB, frames", "refusals of 4 MB"),
)

WHOLE = [
    File("100 requests of 1 MB", "c.pcap.zst", partial(one_after_another, 100, MB), "kafka_capture"),
    File("400 requests of 1 MB", "c.pcap.zst", partial(one_after_another, 400, MB), "kafka_capture"),
    File("60 requests of 9 MB", "c.pcap.zst", partial(one_after_another, 60, 9 * MB), "kafka_capture"),
    File("20 requests of 40 MB", "c.pcap.zst", partial(one_after_another, 20, 40 * MB), "kafka_capture"),
    segment("20 values of 90 MB", lambda: squeezed(*ONE_VALUE) * 20, OFFSETS),
    segment("40 values of 90 MB", lambda: squeezed(*ONE_VALUE) * 40, OFFSETS),
    segment(
        "20 x 45 values of 2 MB", lambda: encode_batch([Record(b"\0\1", bytes(KEPT))] * 45, codec=4) * 20, OFFSETS
    ),
    segment("20 x 45 values of 2 MB, magic 1", lambda: encode_message_set(OLD, magic=1, codec=3) * 20, OFFSETS),
    segment("14 million records", lambda: squeezed(SMALLEST * 14 * MB, 14 * MB), OFFSETS),
    segment("1000 groups of 2 MB", lambda: groups(20, 50, 1_900_000), OFFSETS),
    *(file for file in FILES if file.name in READ_WHOLE),
    File("metrics of 16 MB", "metrics.json", lambda: metrics(16 * MB), "metrics"),
    File("a window of 128 MiB", "c.pcap.zst", partial(packed.wide_window, 300 * MB), "kafka_capture"),
    File("a request of 1 MB", "frame", lambda: quotas(MB), "kwire decode"),
    File("a request of 16 MB", "frame", lambda: quotas(16 * MB), "kwire decode"),
    File("50,000 requests", "frame", lambda: FETCH * 50_000, "kwire decode"),
    File("a request of 16 MB of records", "frame", lambda: produced(16 * MB), "kwire decode"),
    File("100 kB of batches of 1,000 records", "frame", lambda: compressed(MB // 10), "kwire decode"),
    *(File(name, "body.json", content, "kwire encode") for name, content in BODIES.items()),
    *(File(f"definitions: {name}", path, content, "kwirec") for name, (path, content) in DEFINITIONS.items()),
    File("definitions: 37,000 messages", "a.krm", partial(numbered, "", SMALL), "kwirec check"),
    File("an answer of 2 MB", "answer", lambda: nodes(2 * MB), "kwire broker"),
    File("an answer of 4 MB", "answer", lambda: nodes(4 * MB), "kwire broker"),
    File("an answer of 2 MB, empty topics", "answer", lambda: empty_topics(2 * MB), "kwire call"),
]
"""Those that whole commands read."""
