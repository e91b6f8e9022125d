"""The header version of every message version: not in the definitions, but in Kafka's ApiMessageTypeGenerator.

Requests have header 2 in flexible versions and 1 in classic ones, responses 1 and 0 [KAFKA-WIRE 1], with two
exceptions.
"""

from __future__ import annotations

from kwirec.ir.schema import Message, MessageKind

API_VERSIONS = 18
CONTROLLED_SHUTDOWN = 7


def header_versions(message: Message) -> dict[int, int]:
    """The header version for every valid version; empty for messages that have no header."""
    if message.kind is MessageKind.REQUEST:
        return {version: _request(message, version) for version in message.valid}
    if message.kind is MessageKind.RESPONSE:
        return {version: _response(message, version) for version in message.valid}
    return {}


def _request(message: Message, version: int) -> int:
    if message.name == "ControlledShutdownRequest" and message.api_key == CONTROLLED_SHUTDOWN and version == 0:
        return 0  # From before there were client ids; gone with Kafka 4.0 [KAFKA-WIRE 3].
    return 2 if version in message.flexible else 1


def _response(message: Message, version: int) -> int:
    if message.name == "ApiVersionsResponse" and message.api_key == API_VERSIONS:
        return 0  # A client must be able to read it before it knows what the broker speaks [KIP-511].
    return 1 if version in message.flexible else 0
