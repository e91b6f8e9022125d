"""Reasons why input was not read, and advice on how to avoid some of them. Rows that report unread input contain the
reason in ``problem``. ``CLOSED`` is the reason for requests whose connection the server closed without a response."""

from __future__ import annotations

from kwire.connection.decoder import ENDED
from kwire.connection.events import SERVER

MIN_COVERAGE = 90.0
"""Default minimum percentage of bytes and of connections that must be read for a complete report."""

CLOSED = f"{ENDED}: the {SERVER} closed it"
"""Reason for a request that a server refused by closing the connection, and for the oldest request in flight when a
server stops. Pipelined requests behind it, and requests at the end of a capture, have other reasons."""

MISSING = "bytes are missing from the capture"
PARTIAL = "requests and responses are cut off, but identified by their headers"
NO_FRAME = "bytes do not belong to any request or response"
STRAY = "responses to requests that were not seen"
UNDECIDED = "it is unclear which side is the broker"
NOT_KAFKA = "not Kafka: "
TLS = f"{NOT_KAFKA}TLS"
HTTP = f"{NOT_KAFKA}HTTP"
NO_SECRETS = "the key log has no secrets for the connection"
OTHER_SECRETS = "the secrets in the key log do not match the connection"
HANDSHAKE_LOST = "the handshake was not captured completely"
ENDED_EARLY = "the connection ended during the handshake"
NO_LIBRARY = "install kwire[tls] to decrypt the connection with the secrets in the capture"
"""Reason why a connection was not decrypted although its secrets are known."""
LIKE_TLS = f"{TLS}, judging by its packets"

NOT_READ = "not read: "
"""Prefix of each reason that names an encapsulation, such as a tunnel protocol, whose packets may contain TCP."""
SHORT = "fewer bytes were captured than the packet headers declare"
CUT_IN_TUNNEL = "a tunnel contains only the beginnings of packets"
FRAGMENTS_LOST = "IP fragments are missing from the capture"
FRAGMENTS_DIFFER = "overlapping IP fragments contradict each other, and only the first was used"
NO_PACKET = "records that are not packets"
DROPPED = "packets were dropped while capturing"
NO_TCP = "the file contains no TCP packets"
OTHER_REASONS = f"{NOT_READ}other encapsulations"

NO_DEPRECATED = "no DeprecatedRequestsPerSec among the broker's metrics"

_ADVICE = {
    MISSING: "capture whole packets (tcpdump -s 0) with a larger buffer (-B)",
    NO_FRAME: "normal if the capture begins in the middle of a connection",
    STRAY: "normal if the capture begins in the middle of a connection",
    UNDECIDED: "specify the broker ports with --ports, or capture for longer",
    TLS: "decrypt the traffic with --key-log, capture unencrypted traffic, or use the brokers' request logs",
    SHORT: "capture whole packets (tcpdump -s 0)",
    CUT_IN_TUNNEL: "mirror whole packets: increase the mirror's packet length and the MTU of the path to the capture",
    FRAGMENTS_LOST: "capture with a larger buffer (tcpdump -B)",
    NO_PACKET: "write each captured packet to the topic unchanged, as the value of a record",
    DROPPED: "capture fewer packets (with a filter) or less of each (-s), or use a larger buffer (tcpdump -B)",
    NO_TCP: "capture on the interface that carries the traffic, or on all interfaces (tcpdump -i any)",
    NOT_READ: "capture inside the tunnel, for example on the hosts themselves",
    NO_DEPRECATED: "normal for a broker of 3.7 or newer without deprecated requests. "
    "Otherwise, the exporter omits the metric",
    NOT_KAFKA: "specify the broker ports with --ports to exclude these connections",
}


def advice(reason: str) -> str:
    """Return advice on what to do about a reason, or an empty string if there is no advice."""
    return next((text for known, text in _ADVICE.items() if reason.startswith(known)), "")
