"""Decrypts TLS connections in captures, using secrets logged by the client or server, without Spark or Kafka.

Pieces of TLS connections are converted to pieces of their plaintext. See docs/decisions/capture.md.
``cryptography``, which the extra ``tls`` installs, is imported only when there is something to decrypt.
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
