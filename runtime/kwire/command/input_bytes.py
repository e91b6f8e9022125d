"""Reads a command's input: hex, base64 or raw bytes, from arguments, a file or standard input."""

from __future__ import annotations

import base64
import binascii
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from kwire.errors import cut

CODINGS = ("guess", "hex", "base64", "raw")

_DIGITS = b"0123456789abcdefABCDEF"
_SPACE = b" \t\n\r\f\v"
_BETWEEN = _SPACE + b":,|_"
_TEXT = re.compile(rb"[\s -~]+")


MAX_INPUT = 16 << 20
"""Default maximum input size in bytes. Tracing a megabyte of small fields takes seconds."""


def read_input(words: Sequence[str], coding: str = "guess", most: int = MAX_INPUT) -> bytes:
    """Return the bytes that ``words`` specify as a file name, hex or base64. ``-`` or no words means standard input.

    With the coding ``guess``, input that is neither hex nor base64 is treated as raw. Printable text is rejected,
    because it may be a hex dump with columns but cannot be a frame.

    Raise ``ValueError`` if the input is not in ``coding``, or if a file or standard input contains more than ``most``
    bytes, and ``OSError`` if the file cannot be read.
    """
    if not words or list(words) == ["-"]:
        return _decoded(_read(sys.stdin.buffer, "standard input", most), coding)
    if len(words) == 1 and _is_file(words[0]):
        with Path(words[0]).open("rb") as file:
            return _decoded(_read(file, words[0], most), coding)
    if coding == "raw":
        raise FileNotFoundError(f"no such file: {' '.join(words)!r}")
    try:
        return _decoded(" ".join(words).encode(), coding, typed=True)
    except ValueError:
        raise ValueError(f"{cut(' '.join(words))!r} is not hex, base64 or a file") from None


def _read(file: BinaryIO, name: str, most: int) -> bytes:
    data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"{cut(name)} is larger than {most >> 20} MiB: increase --max-input")
    return data


def _decoded(data: bytes, coding: str, *, typed: bool = False) -> bytes:
    if coding == "raw":
        return data
    if coding != "base64":
        # regular expressions would use a hundred times as much memory as the input
        digits = data.replace(b"0x", b" ").replace(b"0X", b" ").translate(None, _BETWEEN)
        if len(digits) % 2 == 0 and not digits.translate(None, _DIGITS):
            return bytes.fromhex(digits.decode())
        if coding == "hex":
            raise ValueError("the input is not hex")
    try:
        return base64.b64decode(data.translate(bytes.maketrans(b"-_", b"+/"), _SPACE), validate=True)
    except binascii.Error:
        if coding == "base64" or typed:
            raise ValueError("the input is not base64") from None
    if _TEXT.fullmatch(data):
        raise ValueError("this text is neither hex (see xxd -p) nor base64: use --coding raw to decode it as is")
    return data


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except OSError:  # hex that is too long for a file name
        return False
