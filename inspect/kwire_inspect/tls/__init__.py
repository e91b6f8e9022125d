"""Decrypts TLS connections in captures with secrets that the client or server logged, without Spark or Kafka.

Converts pieces of TLS connections to pieces of their plaintext: see docs/decisions/capture.md. ``cryptography``, the
extra ``tls``, is imported only when there is something to decrypt.
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
