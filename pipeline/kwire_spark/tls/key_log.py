"""Key logs: the secrets of TLS connections, as OpenSSL, NSS, Go and others write them to ``SSLKEYLOGFILE``.

The format is that of draft-ietf-tls-keylogfile: a line for each secret, with its label, the random of the client's
hello, and the secret, both in hexadecimal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from kwire_spark.folders import regular
from kwire_spark.options import OptionError

MASTER = "CLIENT_RANDOM"
"""The label of the master secret of TLS 1.2; those of TLS 1.3 follow, each of the client and of the server."""
HANDSHAKE = ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET")
APPLICATION = ("CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0")
LABELS = frozenset({MASTER, *HANDSHAKE, *APPLICATION})

MOST_BYTES = 64 << 20
"""The size of all key logs together, of some hundred thousand connections."""

_LINE = re.compile(rb"^([A-Z0-9_]+) ([0-9A-Fa-f]{64}) ((?:[0-9A-Fa-f]{2}){32,64})[ \t\r]*$", re.MULTILINE)
_NONE: Mapping[str, bytes] = MappingProxyType({})


class KeyLog:
    """``secrets`` by the random of the client's hello, and by label. They are never shown."""

    __slots__ = ("_room", "secrets")

    def __init__(self) -> None:
        self.secrets: dict[bytes, dict[str, bytes]] = {}
        self._room = MOST_BYTES

    def __len__(self) -> int:
        """The number of connections."""
        return len(self.secrets)

    def __repr__(self) -> str:
        return f"<KeyLog of {len(self)} connections>"

    def __reduce__(self) -> str:
        raise TypeError("secrets are not pickled")

    def add(self, text: bytes) -> None:
        """Take the secrets in lines of a key log; other lines are passed over, and so is what is too much in all."""
        self._room -= len(text)
        for match in _LINE.finditer(text) if self._room >= 0 else ():
            label, random, secret = (part.decode() for part in match.groups())
            if label in LABELS:
                self.secrets.setdefault(bytes.fromhex(random), {})[label] = bytes.fromhex(secret)

    def of(self, random: bytes) -> Mapping[str, bytes]:
        """The secrets of a connection by their labels; none if it is not known."""
        return self.secrets.get(random, _NONE)


def checked_key_log(path: str | None) -> str:
    """The absolute path of a key log, empty if there is none. :class:`~kwire_spark.options.OptionError` if it has no
    secrets, or nothing could be decrypted with them."""
    if not path:
        return ""
    if find_spec("cryptography") is None:
        raise OptionError("to decrypt with a key log, install cryptography: pip install 'kwire[tls]'")
    read_key_log(path)
    return str(Path(path).absolute())


def read_key_log(path: str) -> KeyLog:
    """The secrets in a file. :class:`~kwire_spark.options.OptionError` if there are none, or if it cannot be read."""
    keys = KeyLog()
    try:
        with regular(path).open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise OptionError(f"the key log {path} cannot be read: {error.strerror or error}") from None
    if len(text) > MOST_BYTES:
        raise OptionError(f"the key log {path} is larger than {MOST_BYTES >> 20} MB: give the part of this capture")
    keys.add(text)
    if not len(keys):
        raise OptionError(f"the key log {path} has no secrets: expected lines of a label, a random and a secret")
    return keys
