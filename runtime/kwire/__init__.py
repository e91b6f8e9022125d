"""kwire: what generated codecs need at run time.

Errors and policies are here; ``kwire.headers``, ``kwire.frames`` and ``kwire.protocol`` read and write what travels
on a connection; ``kwire.primitives`` has every type of the protocol guide for use by hand.
"""

from kwire.errors import DecodeError, EncodeError, KwireError
from kwire.policy import LIKE_KAFKA, STRICT, Policy
from kwire.uuids import ZERO_UUID, Uuid

__all__ = ["LIKE_KAFKA", "STRICT", "ZERO_UUID", "DecodeError", "EncodeError", "KwireError", "Policy", "Uuid"]
