"""Kafka connections without I/O: bytes in, events out.

``ConnectionDecoder`` observes both directions, for captures and proxies. ``ClientConnection`` and
``ServerConnection`` implement the two ends.
"""

from kwire.connection.decoder import ConnectionDecoder
from kwire.connection.ends import ClientConnection, NoCommonVersionError, ProtocolViolationError, ServerConnection
from kwire.connection.events import (
    CLIENT,
    SERVER,
    Direction,
    Event,
    Gap,
    NotKafka,
    RequestEvent,
    ResponseEvent,
    SaslToken,
    Skipped,
    Unanswered,
    Undecodable,
)

__all__ = [
    "CLIENT",
    "SERVER",
    "ClientConnection",
    "ConnectionDecoder",
    "Direction",
    "Event",
    "Gap",
    "NoCommonVersionError",
    "NotKafka",
    "ProtocolViolationError",
    "RequestEvent",
    "ResponseEvent",
    "SaslToken",
    "ServerConnection",
    "Skipped",
    "Unanswered",
    "Undecodable",
]
