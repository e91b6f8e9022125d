"""Supported cipher suites, from IANA's registry "TLS Cipher Suites"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["gcm", "ccm", "ccm8", "chacha", "cbc"]


@dataclass(frozen=True, slots=True)
class Suite:
    """A cipher suite with keys of ``key`` bytes. Keys are derived with the hash function ``hash``. CBC records are
    authenticated with the hash function ``mac``."""

    kind: Kind
    key: int
    hash: str
    mac: str = ""


_GCM128, _GCM256 = Suite("gcm", 16, "sha256"), Suite("gcm", 32, "sha384")
_CHACHA = Suite("chacha", 32, "sha256")
_CBC128, _CBC256 = Suite("cbc", 16, "sha256", "sha1"), Suite("cbc", 32, "sha256", "sha1")

TLS13 = {
    0x1301: _GCM128,
    0x1302: _GCM256,
    0x1303: _CHACHA,
    0x1304: Suite("ccm", 16, "sha256"),
    0x1305: Suite("ccm8", 16, "sha256"),
}
TLS12 = {
    **dict.fromkeys((0x009C, 0x009E, 0x00A0, 0x00A2, 0x00A4, 0x00A6, 0x00A8, 0x00AA, 0x00AC), _GCM128),
    **dict.fromkeys((0xC02B, 0xC02D, 0xC02F, 0xC031), _GCM128),
    **dict.fromkeys((0x009D, 0x009F, 0x00A1, 0x00A3, 0x00A5, 0x00A7, 0x00A9, 0x00AB, 0x00AD), _GCM256),
    **dict.fromkeys((0xC02C, 0xC02E, 0xC030, 0xC032), _GCM256),
    **dict.fromkeys(range(0xCCA8, 0xCCAF), _CHACHA),
    **dict.fromkeys((0xC09C, 0xC09E, 0xC0A4, 0xC0A6, 0xC0AC), Suite("ccm", 16, "sha256")),
    **dict.fromkeys((0xC09D, 0xC09F, 0xC0A5, 0xC0A7, 0xC0AD), Suite("ccm", 32, "sha256")),
    **dict.fromkeys((0xC0A0, 0xC0A2, 0xC0A8, 0xC0AA, 0xC0AE), Suite("ccm8", 16, "sha256")),
    **dict.fromkeys((0xC0A1, 0xC0A3, 0xC0A9, 0xC0AB, 0xC0AF), Suite("ccm8", 32, "sha256")),
    **dict.fromkeys((*range(0x002F, 0x0035), 0xC004, 0xC009, 0xC00E, 0xC013, 0xC018), _CBC128),
    **dict.fromkeys((*range(0x0035, 0x003B), 0xC005, 0xC00A, 0xC00F, 0xC014, 0xC019), _CBC256),
    **dict.fromkeys((0x003C, 0x003E, 0x003F, 0x0040, 0x0067, 0x006C), Suite("cbc", 16, "sha256", "sha256")),
    **dict.fromkeys((0xC023, 0xC025, 0xC027, 0xC029), Suite("cbc", 16, "sha256", "sha256")),
    **dict.fromkeys((0x003D, 0x0068, 0x0069, 0x006A, 0x006B, 0x006D), Suite("cbc", 32, "sha256", "sha256")),
    **dict.fromkeys((0xC024, 0xC026, 0xC028, 0xC02A), Suite("cbc", 32, "sha384", "sha384")),
}
