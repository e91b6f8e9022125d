"""kwire: what generated codecs need at run time.

Errors, policies and base classes are here. ``kwire.connection`` decodes connections or serves their ends, from
``kwire.frames`` and ``kwire.headers``; ``kwire.records`` and ``kwire.compression`` read and build record batches;
``kwire.logs`` and ``kwire.request_log`` read what brokers keep and log; ``kwire.primitives`` has every type of the
protocol guide for use by hand.
"""

from kwire.errors import DecodeError, EncodeError, KwireError
from kwire.message import Message
from kwire.policy import LIKE_KAFKA, STRICT, Policy
from kwire.protocol import Protocol, UnexpectedMessage, UnknownApi
from kwire.uuids import ZERO_UUID, Uuid

__all__ = [
    "LIKE_KAFKA",
    "STRICT",
    "ZERO_UUID",
    "DecodeError",
    "EncodeError",
    "KwireError",
    "Message",
    "Policy",
    "Protocol",
    "UnexpectedMessage",
    "UnknownApi",
    "Uuid",
]
