"""Telling other protocols from Kafka by the first bytes of a connection."""

from __future__ import annotations

import re
from typing import Literal

Foreign = Literal["TLS", "HTTP"]

NEEDED = {"TLS": 5, "HTTP": 9}
"""Bytes that it takes to sniff_protocol them."""

TLS_TYPES = range(0x14, 0x18)
"""change_cipher_spec, alert, handshake, application_data [RFC 8446, 5.1]."""

SMALLEST = 0x14000000
"""A frame of this size would begin like a TLS record: limits of frames have to be lower."""

_HTTP = re.compile(rb"(?:GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|PATCH) [ -~]|HTTP/[12]|PRI \* HTT")


def sniff_protocol(data: bytes | bytearray) -> Foreign | Literal[False] | None:
    """The protocol that ``data`` begins with, ``None`` if it is no known one, ``False`` if that takes more bytes.

    How many bytes it takes is told by the first of them.
    """
    if data[0] in TLS_TYPES:
        if len(data) < NEEDED["TLS"]:
            return False
        length = data[3] << 8 | data[4]
        return "TLS" if data[1] == 3 and data[2] <= 4 and 0 < length <= 0x4800 else None
    if 0x41 <= data[0] <= 0x5A:
        if len(data) < NEEDED["HTTP"]:
            return False
        return "HTTP" if _HTTP.match(data) else None
    return None
