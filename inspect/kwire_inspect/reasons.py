"""Reasons why bytes of a connection were not read, with advice for each. They are the values of ``problem`` in rows
with ``unread``. One of them is for requests whose connection the server closed without a response."""

from __future__ import annotations

from kwire.connection.decoder import ENDED
from kwire.connection.events import SERVER

MIN_COVERAGE = 90.0
"""Default minimum percentage of bytes and of connections that must be read for a complete report."""

CLOSED = f"{ENDED}: the {SERVER} closed it"
"""Reason in a capture if a server refused a request. The oldest request in flight when a server stops looks the same.
Pipelined requests, and requests at the end of a capture, look different."""

MISSING = "bytes are missing in the capture"
PARTIAL = "requests and responses are cut off, but known by their headers"
NO_FRAME = "bytes belong to no request and no response"
STRAY = "responses to requests that were not seen"
UNDECIDED = "which side is the broker is undecided"
NOT_KAFKA = "not Kafka: "
TLS = f"{NOT_KAFKA}TLS"
HTTP = f"{NOT_KAFKA}HTTP"
NO_SECRETS = "the key log has no secrets of it"
OTHER_SECRETS = "the secrets in the key log do not fit"
HANDSHAKE_LOST = "its handshake was not captured whole"
ENDED_EARLY = "it ended in its handshake"
NO_LIBRARY = "to decrypt it by the secrets in the capture, install kwire[tls]"
"""Reason why a connection was not decrypted although its secrets are known."""
LIKE_TLS = f"{TLS}, by the looks of its packets"

NOT_READ = "not read: "
"""Prefix of the reason that names an encapsulation whose packets may contain TCP."""
SHORT = "fewer bytes of packets were captured than their headers have"
CUT_IN_TUNNEL = "a tunnel has only the beginnings of packets in it"
FRAGMENTS_LOST = "IP fragments are missing in the capture"
FRAGMENTS_DIFFER = "IP fragments overlap and contradict each other: the first counts"
NO_PACKET = "records that are no packets"
DROPPED = "packets were dropped while capturing"
NO_TCP = "none of its packets is TCP"
OTHER_REASONS = f"{NOT_READ}more encapsulations"

NO_DEPRECATED = "no DeprecatedRequestsPerSec among its metrics"

_ADVICE = {
    MISSING: "capture with a larger buffer (tcpdump -B) and with whole packets (-s 0)",
    NO_FRAME: "normal where a capture begins in the middle of connections",
    STRAY: "normal where a capture begins in the middle of connections",
    UNDECIDED: "name the ports of the brokers with --ports, or capture for longer",
    TLS: "capture where it is not encrypted, decrypt it with --key-log, or use the brokers' request logs",
    SHORT: "capture whole packets (tcpdump -s 0)",
    CUT_IN_TUNNEL: "mirror whole packets: raise the mirror's packet length, and the MTU on the way to the capture",
    FRAGMENTS_LOST: "capture with a larger buffer (tcpdump -B)",
    NO_PACKET: "write each packet to the topic as it was captured, as the value of a record",
    DROPPED: "capture fewer packets (a filter), less of each (-s), or with a larger buffer (tcpdump -B)",
    NO_TCP: "capture where the traffic is, such as with tcpdump -i any",
    NOT_READ: "capture inside of the tunnel, such as on the hosts themselves",
    NO_DEPRECATED: "normal for a broker of 3.7 or newer without deprecated requests; else its exporter leaves it out",
    NOT_KAFKA: "leave such connections out with --ports",
}


def advice(reason: str) -> str:
    """Return advice on what to do about a reason, or an empty string if there is none."""
    return next((text for known, text in _ADVICE.items() if reason.startswith(known)), "")
