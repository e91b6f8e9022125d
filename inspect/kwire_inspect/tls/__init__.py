"""Decrypts connections of captures by the secrets that one of their ends logged, without Spark or Kafka.

Pieces of TLS connections go in, those of what they carry come out; see docs/decisions/tls.md. ``cryptography``, the
extra ``tls``, is imported when there is something to decrypt.
"""

from kwire_inspect.tls.connection import TlsConnection
from kwire_inspect.tls.decryption import (
    KeyLog,
    begun,
    checked_key_log,
    decrypted,
    followed_key_log,
    growing_key_log,
    read_key_log,
)

__all__ = [
    "KeyLog",
    "TlsConnection",
    "begun",
    "checked_key_log",
    "decrypted",
    "followed_key_log",
    "growing_key_log",
    "read_key_log",
]
