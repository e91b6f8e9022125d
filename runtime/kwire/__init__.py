"""The runtime of generated codecs, with base classes, errors, policies and the message registry.

``kwire.connection`` decodes traffic and implements both ends of a connection, with ``kwire.frames`` and
``kwire.headers``. ``kwire.client`` is a client on top of it. ``kwire.records`` and ``kwire.compression`` read and
build record batches. ``kwire.logs`` and ``kwire.request_log`` read broker files and logs. ``kwire.trace`` shows bytes
as annotated trees.
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
"""Version of the distribution and of all its packages."""


def is_native() -> bool:
    """Return whether kwire runs as compiled code, which is faster and produces the same values, bytes and errors.

    Compiled classes reject a value of the wrong type on assignment, not during encoding.
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
