"""Recognising other protocols by the first bytes of a connection."""

from __future__ import annotations

import re
from typing import Literal

OtherProtocol = Literal["TLS", "HTTP"]

PREFIX_SIZES = {"TLS": 5, "HTTP": 9}
"""The number of bytes needed to recognise each protocol."""

TLS_TYPES = range(0x14, 0x18)
"""TLS record types: change_cipher_spec, alert, handshake and application_data [RFC 8446, 5.1]."""

MIN_TLS_SIZE = 0x14000000
"""The smallest frame size that looks like the start of a TLS record. The frame size limit has to be lower."""

_HTTP = re.compile(rb"(?:GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|PATCH) [ -~]|HTTP/[12]|PRI \* HTT")


def sniff_protocol(data: bytes | bytearray) -> OtherProtocol | Literal[False] | None:
    """Return the protocol that ``data`` begins with.

    Return ``None`` for an unknown protocol, and ``False`` if more bytes are needed. The first byte determines how
    many bytes are needed.
    """
    if data[0] in TLS_TYPES:
        if len(data) < PREFIX_SIZES["TLS"]:
            return False
        length = data[3] << 8 | data[4]
        return "TLS" if data[1] == 3 and data[2] <= 4 and 0 < length <= 0x4800 else None
    if 0x41 <= data[0] <= 0x5A:
        if len(data) < PREFIX_SIZES["HTTP"]:
            return False
        return "HTTP" if _HTTP.match(data) else None
    return None
