"""What some clients and brokers say to each other, with two of everything that tests may mistake for each other, as
packets of several networks and as captures."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

from kwire.connection import CLIENT, SERVER
from kwire.frames import frame
from kwire.message import Message
from kwire.records import Record, encode_batch, encode_message_set
from kwire.uuids import Uuid
from kwire_inspect.capture import Peer
from kwire_kafka import (
    PROTOCOL,
    ApiVersionsRequest,
    ApiVersionsResponse,
    DefaultPrincipalData,
    EnvelopeRequest,
    EnvelopeResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
    TopicRecord,
)
from kwire_kafka.api.find_coordinator import Coordinator
from kwire_kafka.api.metadata import MetadataResponseTopic
from tests.support.capture_files import (
    ACK,
    COOKED,
    ETHERNET,
    FIN,
    NULL,
    RAW,
    Conversation,
    TcpPacket,
    block,
    merged,
    option,
    packets,
    write_pcap,
    write_pcapng,
)
from tests.support.connection_pieces import answered, asked

FIRST, BROKER, OTHER = Peer("10.0.0.1", 50001), Peer("10.0.0.9", 9092), Peer("2001:db8::9", 9093)
BEAT, BEATEN = HeartbeatRequest(group_id="g"), HeartbeatResponse(throttle_time_ms=5, error_code=27)


def steady() -> Conversation:
    """A client that says its name, waits for no response to Produce, and sends two requests at once. The broker
    closes the connection at the last two."""
    found = FindCoordinatorResponse(
        throttle_time_ms=7, coordinators=[Coordinator(key="g", error_code=15), Coordinator(key="h", error_code=14)]
    )
    return Conversation(
        [
            asked(ApiVersionsRequest(client_software_name="kwire", client_software_version="1.0"), 3, 1, 0.0, "one"),
            answered(ApiVersionsResponse(), 3, 1, 0.001),
            asked(ProduceRequest(acks=0, timeout_ms=1), 9, 2, 0.01, "one"),
            asked(FindCoordinatorRequest(coordinator_keys=["g", "h"]), 4, 3, 0.02, "one"),
            asked(BEAT, 4, 4, 0.021, "one"),
            answered(found, 4, 3, 0.025),
            answered(BEATEN, 4, 4, 0.03),
            asked(BEAT, 4, 5, 0.04, "two"),
            asked(BEAT, 3, 6, 0.04, "two"),
        ],
        FIRST,
        BROKER,
    )


def named() -> Conversation:
    """A client that logs in, then a broker that forwards a request of another client; an API and a version that are
    unknown; a request and a response that cannot be decoded."""
    inner = PROTOCOL.encode_request(
        RenewDelegationTokenRequest(hmac=b"hunter2"), 2, correlation_id=9, client_id="you"
    )
    principal = b"\0\0" + DefaultPrincipalData(type="User", name="bob").encode(0)
    envelope = EnvelopeRequest(request_data=inner, request_principal=principal, client_host_address=b"\xc0\0\2\7")
    reply = PROTOCOL.encode_response(RenewDelegationTokenResponse(error_code=62), 2, correlation_id=9)
    request, response = asked(BEAT, 4, 16, 0.6), answered(BEATEN, 4, 17, 0.75)
    return Conversation(
        [
            asked(SaslHandshakeRequest(mechanism="PLAIN"), 1, 11, 0.1),
            answered(SaslHandshakeResponse(mechanisms=["PLAIN"]), 1, 11, 0.101),
            asked(SaslAuthenticateRequest(auth_bytes=b"\0alice\0hunter2"), 2, 12, 0.11),
            answered(SaslAuthenticateResponse(session_lifetime_ms=9), 2, 12, 0.12),
            asked(envelope, 0, 13, 0.2),
            answered(EnvelopeResponse(response_data=reply), 0, 13, 0.25),
            (CLIENT, 0.3, frame(b"\3\xe7\0\1\0\0\0\x0e\0\2me")),
            (SERVER, 0.35, frame(b"\0\0\0\x0e\0\7")),
            (CLIENT, 0.4, frame(b"\0\x0c\0\x63\0\0\0\x0f\0\2me\0xyz")),
            (SERVER, 0.5, frame(b"\0\0\0\x0f\0abc")),
            (CLIENT, 0.6, frame(request[2][4:-2])),
            answered(BEATEN, 4, 16, 0.65),
            asked(BEAT, 4, 17, 0.7),
            (SERVER, 0.75, frame(response[2][4:-2])),
            asked(BEAT, 4, 18, 0.8),
        ],
        Peer("2001:db8::1", 50002),
        OTHER,
    )


def late() -> Conversation:
    """What is left of a connection whose beginning was not captured: the end of a response comes first."""
    beats = [
        one
        for number in (21, 22, 23)
        for one in (asked(BEAT, 4, number, number / 100, "late"), answered(BEATEN, 4, number, number / 100 + 0.004))
    ]
    return Conversation([(SERVER, 0.2, answered(BEATEN, 4, 20)[2][9:]), *beats], Peer("10.0.0.3", 50003), BROKER)


def tokens() -> Conversation:
    """A client of old that logs in by bare tokens."""
    return Conversation(
        [
            asked(SaslHandshakeRequest(mechanism="PLAIN"), 0, 31, 0.3),
            answered(SaslHandshakeResponse(mechanisms=["PLAIN"]), 0, 31, 0.301),
            (CLIENT, 0.31, frame(b"\0carol\0hunter2")),
            (SERVER, 0.32, frame(b"")),
            asked(BEAT, 3, 32, 0.33),
            answered(BEATEN, 3, 32, 0.34),
        ],
        Peer("10.0.0.4", 9092),  # where others have their broker
        Peer("10.0.0.8", 45000),
    )


def foreign() -> list[Conversation]:
    """What is not Kafka, and what may be."""
    hello = b"\x16\3\1\0\x2f\1\0\0\x2b\3\3" + bytes(41)
    return [
        Conversation(
            [(CLIENT, 0.4, b"GET / HTTP/1.1\r\n\r\n"), (SERVER, 0.41, b"HTTP/1.1 200 OK\r\n\r\n")],
            Peer("10.0.0.5", 50005),
            BROKER,
        ),
        Conversation([(CLIENT, 0.42, hello), (SERVER, 0.43, hello)], Peer("10.0.0.6", 50006), BROKER),
    ]


LOST, CUT = asked(BEAT, 4, 22, 0.0, "late")[2], asked(BEAT, 4, 18)[2]


def traffic() -> list[list[TcpPacket]]:
    """The packets of each connection. The broker closes the first; of the second the handshake is missing, and a
    request; of the third the end of a request was not captured; of the last one nobody knows who asks."""
    closed = packets(steady(), ending=0)
    end = replace(closed[-1], source=BROKER, target=closed[0].source, flags=FIN | ACK, data=b"")
    odd = Conversation([(CLIENT, 0.5, b"who am I?")], Peer("10.0.0.7", 5007), Peer("10.0.0.9", 5008))
    return [
        [*closed, end],
        [packet for packet in packets(late(), handshake=False, ending=0) if packet.data != LOST],
        [replace(packet, cut=5) if packet.data == CUT else packet for packet in packets(named(), ending=0)],
        *(packets(talk, ending=0) for talk in (tokens(), *foreign())),
        packets(odd, handshake=False, ending=0),
    ]


def write_captures(folder: Path) -> list[Path]:
    """Two files: one of two sections, each with two interfaces, and one whose packets are cut after 104 bytes."""
    made = merged(traffic())
    first, second = folder / "a.pcapng", folder / "b.pcap"
    write_pcapng(first, made[:20], links=[ETHERNET, COOKED])
    drops = struct.pack("<III", 1, 0, 0) + option(5, struct.pack("<Q", 3)) + option(0, b"")
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    first.write_bytes(
        first.read_bytes()
        + block(5, drops)
        + block(6, struct.pack("<IIIII", 0, 0x60A24, 0, len(arp), len(arp)) + arp)
    )
    write_pcapng(first, made[20:50], links=[NULL, RAW], order=">", resolution=9, append=True)
    write_pcap(second, made[50:], order=">", nanoseconds=True, snaplen=104)
    return [first, second]


ONE, OTHER_ID = Uuid(b"0123456789abcdef"), Uuid(b"fedcba9876543210")


def line(
    request: Message,
    version: int,
    response: Message | None,
    number: int,
    *,
    client: Peer = FIRST,
    client_id: str | None = "one",
    software: tuple[str, str] = ("kwire", "1.0"),
    forwarded: bool = False,
) -> str:
    """A line of a request log, as brokers since 2.8 write it."""
    times = ("totalTimeMs", "requestQueueTimeMs", "localTimeMs", "remoteTimeMs", "responseQueueTimeMs", "sendTimeMs")
    said = {
        "isForwarded": forwarded,
        "requestHeader": {
            "requestApiKey": request.API_KEY,
            "requestApiVersion": version,
            "correlationId": number,
            "clientId": client_id,
        },
        "request": request.to_json(version),
        "response": response and response.to_json(version),
        "connection": f"{BROKER}-{client}-{number}",
        **{name: number + place / 8 for place, name in enumerate(times)},
        "securityProtocol": "SASL_SSL",
        "principal": f"User:{client_id}",
        "listener": "OUTSIDE",
        "clientInformation": dict(zip(("softwareName", "softwareVersion"), software, strict=True)),
    }
    when = f"[2026-11-21 18:22:{number:02},{number:03}]"
    return f"{when} DEBUG Completed request:{json.dumps(said)} (kafka.request.logger)\n"


def request_log() -> str:
    """Requests of two clients, among them one without a response, one that a broker forwarded, and one in an
    Envelope; lines that are broken, and one of a broker of old."""
    topics = [MetadataResponseTopic(name="t", topic_id=ONE), MetadataResponseTopic(name="u", topic_id=OTHER_ID)]
    inner = PROTOCOL.encode_request(BEAT, 4, correlation_id=9, client_id="you")
    reply = PROTOCOL.encode_response(BEATEN, 4, correlation_id=9)
    named = ApiVersionsRequest(client_software_name="own", client_software_version="2")
    refused = line(ApiVersionsRequest(), 0, ApiVersionsResponse(error_code=35), 8)
    usual = line(BEAT, 4, BEATEN, 3)
    old = (
        "[2026-11-21 18:22:40,040] TRACE Completed request:RequestHeader(apiKey=METADATA, apiVersion=7, clientId=old,"
        " correlationId=40) -- {topics=[],allow_auto_topic_creation=true},response:{throttle_time_ms=6,brokers=[],"
        "cluster_id=c,controller_id=1,topics=[{error_code=3,name=t,is_internal=false,partitions=[]}]} from connection"
        " 10.0.0.9:9092-10.0.0.2:50002-0;totalTime:1.5,requestQueueTime:0.25,localTime:0.5,remoteTime:0.125,"
        "throttleTime:0.0,responseQueueTime:0.375,sendTime:0.75,securityProtocol:PLAINTEXT,principal:User:ANONYMOUS,"
        "listener:PLAINTEXT (kafka.request.logger)\n"
    )
    return "".join(
        [
            line(named, 4, ApiVersionsResponse(), 1),
            line(MetadataRequest(), 12, MetadataResponse(cluster_id="c", throttle_time_ms=8, topics=topics), 2),
            usual,
            "[2026-11-21 18:22:03,004] INFO something else (kafka.server)\n",
            line(ProduceRequest(acks=0, timeout_ms=1), 9, None, 4),
            line(BEAT, 3, BEATEN, 5, client=Peer("10.0.0.2", 50002), client_id=None, software=("unknown", "unknown")),
            line(BEAT, 4, BEATEN, 6, forwarded=True),
            refused.replace('Version": 0', 'Version": 9'),
            line(EnvelopeRequest(request_data=inner), 0, EnvelopeResponse(response_data=reply), 7),
            usual[: len(usual) // 2] + usual,
            usual.replace("18:22:03,003", "18:22:09,009").replace("kwire", "ki\tw"),
            old,
            usual[: len(usual) // 3],
        ]
    )


def server_log() -> str:
    """Two refusals, one of which is told twice, and one that is cut off."""

    def entry(second: int, how: str, port: int, said: str) -> str:
        told = f"{how} 10.0.0.9:9092-10.0.0.1:{port}-{second}"
        end = " because of error" if how.startswith("Closing") else ""
        return (
            f"[2026-11-21 18:23:{second:02},415] ERROR {told}{end} (kafka.network.Processor)\n"
            f"org.apache.kafka.common.errors.UnsupportedVersionException: {said}\n"
        )

    closing, processing = "Closing socket for", "Exception while processing request from"
    fetch = "Received request for api with key 1 (Fetch) and unsupported version 2"
    return (
        entry(1, closing, 50001, fetch)
        + "[2026-11-21 18:23:02,000] INFO all is well (kafka.server)\n"
        + entry(1, processing, 50001, fetch)
        + entry(3, closing, 50002, "Received request api key LEADER_AND_ISR with version 4 which is not enabled")
        + "[2026-11-21 18:23:04,415] ERROR Closing socket for 10.0.0.9:9092-10.0.0.1:5-4 because of error (kafka)\n"
    )


def metrics() -> str:
    """Requests of two versions and of two sorts of software, with one series that is not understood."""
    name = "kafka_network_requestmetrics_deprecatedrequestspersec_total"
    one, other = 'clientSoftwareName="app",clientSoftwareVersion="1.0"', 'clientSoftwareName="unknown"'
    return (
        f"# TYPE {name} counter\n"
        f'{name}{{request="Fetch",version="2",{one}}} 7.0\n'
        f'{name}{{request="FetchFollower",version="2",{one}}} 3.0\n'
        f'{name}{{request="Fetch",version="3",{other}}} 5.0\n'
        f'{name}{{request="Produce",version="2",{one}}} 2.0\n'
        f'{name}{{request="BrewCoffee",version="1",{one}}} 9.0\n'
        f'{name}{{version="1"}} 1.0\n'
    )


def write_logs(folder: Path) -> list[Path]:
    """Two partitions of a topic, each of two segments, in all formats and with damage; offsets and the metadata."""
    start = 1_700_000_000_000

    def records(first: int, *values: bytes | None) -> list[Record]:
        return [
            Record(b"k%d" % at, value, (("h", b"1"), ("h", None)) if at % 2 else (), start + 1000 * at, at)
            for at, value in enumerate(values, first)
        ]

    usual = encode_batch(records(0, b"a", b"b"), leader_epoch=5)
    packed = encode_batch(
        records(2, b"c", None), codec=4, producer_id=9, producer_epoch=1, base_sequence=7, transactional=True
    )
    marker = encode_batch(
        [Record(b"\0\0\0\1", b"\0\0\0\0\0\3", (), start + 4000, 4)], producer_id=9, control=True, transactional=True
    )
    broken = bytearray(encode_batch(records(5, b"e", b"f")))
    broken[-1] ^= 1
    appended = encode_batch(records(10, b"g"), timestamp_type="append", max_timestamp=start + 99_000, codec=1)
    old = [Record(b"k", value, (), start + 20_000, at) for at, value in enumerate((b"o", b"p"), 20)]
    set_ = encode_message_set(old, magic=1, codec=2)
    oldest = encode_message_set([Record(None, b"q", (), -1, 22)], magic=0)
    commits = [
        Record(
            *_coordinator("OffsetCommit", {"group": "g", "topic": "t", "partition": at}, {"offset": 5 + at}),
            (),
            start + at,
            at,
        )
        for at in (0, 1)
    ]
    named = [
        Record(None, b"\1" + _metadata(TopicRecord(name=name, topic_id=number)), (), start, at)
        for at, (name, number) in enumerate([("t", ONE), ("v", OTHER_ID)])
    ]
    files = {
        ("orders-3", 0): usual + packed + marker + bytes(broken),
        ("orders-3", 10): appended + usual[:30],
        ("orders-4", 20): set_ + oldest,
        ("orders-4", 23): encode_batch(records(23, b"r"), codec=3),
        ("__consumer_offsets-7", 0): encode_batch(commits),
        ("__cluster_metadata-0", 0): encode_batch(named),
    }
    paths = []
    for (name, base), data in files.items():
        path = folder / name / f"{base:020}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        paths.append(path)
    return paths


def _coordinator(name: str, key: dict[str, Any], value: dict[str, Any]) -> tuple[bytes, bytes]:
    key_class: Any = PROTOCOL[f"{name}Key"]
    (number,) = [one for one in PROTOCOL.record_types("group") if PROTOCOL.record("group", one)[0] is key_class]
    made: Any = PROTOCOL[f"{name}Value"]
    return number.to_bytes(2, "big") + key_class(**key).encode(0), b"\0\3" + made(**value).encode(3)


def _metadata(record: Any) -> bytes:
    (number,) = [
        one for one in PROTOCOL.record_types("metadata") if PROTOCOL.record("metadata", one)[1] is type(record)
    ]
    return bytes([number, 0, *record.encode(0)])
