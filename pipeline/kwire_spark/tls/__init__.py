"""Decrypts connections of captures by the secrets that one of their ends logged, without Spark or Kafka.

Needs ``cryptography``, the extra ``tls``. Pieces of TLS connections go in, those of what they carry come out; see
docs/decisions/tls.md.
"""

from kwire_spark.tls.decryption import decrypted
from kwire_spark.tls.key_log import KeyLog, read_key_log

__all__ = ["KeyLog", "decrypted", "read_key_log"]
