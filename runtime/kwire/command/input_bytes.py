"""The bytes that a user means: hex, base64 or raw, given as arguments, in a file or on standard input."""

from __future__ import annotations

import base64
import binascii
import re
import sys
from collections.abc import Sequence
from pathlib import Path

CODINGS = ("guess", "hex", "base64", "raw")

_HEX = re.compile(rb"(?:(?:0[xX])?[0-9a-fA-F\s:,|_])*")
_BETWEEN = re.compile(rb"0[xX]|[\s:,|_]")
_TEXT = re.compile(rb"[\s -~]+")


def read_input(words: Sequence[str], coding: str = "guess") -> bytes:
    """Bytes from ``words``: the name of a file, ``-`` or nothing for standard input, or the bytes themselves.

    ``ValueError`` if they are not in ``coding``; with ``guess`` the bytes of a file that are neither hex nor base64
    are raw, unless they are nothing but text: a frame never is, a hex dump with columns is. ``OSError`` if the file
    cannot be read.
    """
    if not words or list(words) == ["-"]:
        return _decoded(sys.stdin.buffer.read(), coding)
    if len(words) == 1 and _is_file(words[0]):
        return _decoded(Path(words[0]).read_bytes(), coding)
    if coding == "raw":
        raise FileNotFoundError(f"there is no file {' '.join(words)!r}")
    try:
        return _decoded(" ".join(words).encode(), coding, typed=True)
    except ValueError:
        raise ValueError(f"{_short(' '.join(words))!r} is neither hex nor base64, nor the name of a file") from None


def _decoded(data: bytes, coding: str, *, typed: bool = False) -> bytes:
    if coding == "raw":
        return data
    if coding != "base64":
        digits = _BETWEEN.sub(b"", data)
        if _HEX.fullmatch(data) and len(digits) % 2 == 0:
            return bytes.fromhex(digits.decode())
        if coding == "hex":
            raise ValueError("this is not hex")
    try:
        return base64.b64decode(b"".join(data.split()).translate(bytes.maketrans(b"-_", b"+/")), validate=True)
    except binascii.Error:
        if coding == "base64" or typed:
            raise ValueError("this is not base64") from None
    if _TEXT.fullmatch(data):
        raise ValueError("this text is neither hex (as of xxd -p) nor base64; --coding raw takes it as it is")
    return data


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except OSError:  # hex that is longer than a name may be
        return False


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
