"""The runtime of generated codecs: base classes, errors, policies and the registry of messages.

``kwire.connection`` decodes connections or serves their ends, from ``kwire.frames`` and ``kwire.headers``, and
``kwire.client`` is a client on top of it;
``kwire.records`` and ``kwire.compression`` read and build record batches; ``kwire.logs`` and ``kwire.request_log``
read the files and logs of brokers; ``kwire.trace`` shows bytes as annotated trees.
"""

from kwire import message
from kwire.errors import (
    DecodeError,
    EncodeError,
    KwireError,
    UnexpectedMessageError,
    UnknownApiError,
    UnknownColumnError,
    UnknownLogError,
    UnknownMessageError,
    UnknownNameError,
    UnknownRecordTypeError,
    UnknownReleaseError,
    UnknownVersionError,
)
from kwire.message import Message
from kwire.policy import LIKE_KAFKA, STRICT, Policy
from kwire.protocol import MessageRegistry, Request, Response
from kwire.struct import Struct
from kwire.uuids import ZERO_UUID, Uuid

__version__ = "0.1.0"
"""The version of the distribution, which all packages share."""


def is_native() -> bool:
    """Return whether kwire runs compiled, which gives the same values, bytes and errors faster.

    Compiled classes refuse values of wrong types where they are given, not where they are written.
    """
    return not (message.__file__ or "").endswith(".py")


__all__ = [
    "LIKE_KAFKA",
    "STRICT",
    "ZERO_UUID",
    "DecodeError",
    "EncodeError",
    "KwireError",
    "Message",
    "MessageRegistry",
    "Policy",
    "Request",
    "Response",
    "Struct",
    "UnexpectedMessageError",
    "UnknownApiError",
    "UnknownColumnError",
    "UnknownLogError",
    "UnknownMessageError",
    "UnknownNameError",
    "UnknownRecordTypeError",
    "UnknownReleaseError",
    "UnknownVersionError",
    "Uuid",
    "__version__",
    "is_native",
]
