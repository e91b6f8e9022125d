"""The header version of every message version: as the definition says (``headerVersions``, KIP-1313), else derived.

Definitions before KIP-1313 leave it to Kafka's ApiMessageTypeGenerator. Requests have header 2 in flexible versions
and 1 in classic ones, responses 1 and 0 [KAFKA-WIRE 1], with two exceptions.
"""

from __future__ import annotations

from kwirec.ir.schema import Message, MessageKind

HIGHEST = {MessageKind.REQUEST: 2, MessageKind.RESPONSE: 1}
"""The highest versions of headers that the runtime has; the lowest is 0."""


def header_versions(message: Message) -> dict[int, int]:
    """Return the header version for every valid version; empty for messages without a header."""
    if not message.headers:
        return derived_header_versions(message)
    found: dict[int, int] = {}
    for versions, number in message.headers:
        for version in versions.intersect(message.valid):
            if version in found:
                break  # which K714 reports
            found[version] = number
    return found


def derived_header_versions(message: Message) -> dict[int, int]:
    """Return the header version for every valid version, by its flexibility; empty for messages without a header."""
    if not message.is_rpc:
        return {}
    classic = 1 if message.kind is MessageKind.REQUEST else 0
    versions = {version: classic + (version in message.flexible) for version in message.valid}
    match message.name, message.api_key:
        case "ControlledShutdownRequest", 7 if 0 in versions:
            versions[0] = 0  # It predates client ids, and was removed in Kafka 4.0 [KAFKA-WIRE 3].
        case "ApiVersionsResponse", 18:
            versions = dict.fromkeys(versions, 0)  # Clients read it before they know the broker's versions [KIP-511].
    return versions
