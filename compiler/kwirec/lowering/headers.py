"""Determines the header version of each message version, from ``headerVersions`` [KIP-1313] or by derivation.

Definitions before KIP-1313 leave the choice to Kafka's ApiMessageTypeGenerator. Flexible requests have header 2, and
classic requests header 1. Flexible responses have header 1, and classic responses header 0 [KAFKA-WIRE 1].
ControlledShutdownRequest 0 and ApiVersionsResponse are exceptions.
"""

from __future__ import annotations

from kwirec.ir.schema import Message, MessageKind

HIGHEST = {MessageKind.REQUEST: 2, MessageKind.RESPONSE: 1}
"""The highest header versions that the runtime supports. The lowest supported version is 0."""


def header_versions(message: Message) -> dict[int, int]:
    """Return the header version for each valid version, or an empty mapping for messages without a header."""
    if not message.headers:
        return derived_header_versions(message)
    found: dict[int, int] = {}
    for versions, number in message.headers:
        for version in versions.intersect(message.valid):
            if version in found:
                break  # reported as K714
            found[version] = number
    return found


def derived_header_versions(message: Message) -> dict[int, int]:
    """Return the header versions that follow from flexibility, by valid version, or ``{}`` for messages without a
    header.
    """
    if not message.is_rpc:
        return {}
    classic = 1 if message.kind is MessageKind.REQUEST else 0
    versions = {version: classic + (version in message.flexible) for version in message.valid}
    match message.name, message.api_key:
        case "ControlledShutdownRequest", 7 if 0 in versions:
            versions[0] = 0  # This version predates client ids and was removed in Kafka 4.0 [KAFKA-WIRE 3].
        case "ApiVersionsResponse", 18:
            versions = dict.fromkeys(versions, 0)  # Clients do not know the broker's versions yet [KIP-511].
    return versions
