"""What some clients and brokers say to each other, with two of everything that tests may mistake for each other, as
packets of several networks and as captures."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

from kwire.connection import CLIENT, SERVER
from kwire.frames import frame
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
    ProduceRequest,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kwire_kafka.api.find_coordinator import Coordinator
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

BROKER, OTHER = Peer("10.0.0.9", 9092), Peer("2001:db8::9", 9093)
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
        Peer("10.0.0.1", 50001),
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
