"""Kafka's uuids, which consist of 16 bytes and are printed in Kafka's notation."""

from __future__ import annotations

import binascii


class Uuid(bytes):
    """A uuid of 16 bytes. A ``Uuid`` equals plain ``bytes`` with the same contents, and can be used in their place.

    ``str`` returns the notation of Kafka's tools and logs, which is URL-safe base64 without padding, and ``parse``
    reads it. Throughout the protocol, the zero uuid ``ZERO_UUID`` means "none".
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Uuid:
        """Return the uuid for 22 characters of URL-safe base64. Raise ``ValueError`` for other text."""
        try:
            value = binascii.a2b_base64(text.translate(_FROM_URL) + "==", strict_mode=False)
        except ValueError:
            value = b""
        if len(text) != 22 or len(value) != 16:
            raise ValueError(f"{text!r} is not a uuid in URL-safe base64")
        return cls(value)

    def __str__(self) -> str:
        return binascii.b2a_base64(self, newline=False).decode().translate(_TO_URL).rstrip("=")

    def __repr__(self) -> str:
        return f"Uuid.parse({str(self)!r})" if len(self) == 16 else f"Uuid({bytes(self)!r})"


_TO_URL = str.maketrans("+/", "-_")
_FROM_URL = str.maketrans("-_", "+/")

ZERO_UUID = Uuid(bytes(16))
"""The all-zero uuid. Messages contain it for "none", such as no topic or no directory."""

__all__ = ["ZERO_UUID", "Uuid"]
