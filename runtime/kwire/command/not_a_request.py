"""Identifies input of ``kwire decode`` that is not a request: responses and other kinds of files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kwire.errors import DecodeError
from kwire.records.layout import MAGIC, MIN_SIZE, OVERHEAD
from kwire.schema import NEVER, format_versions

if TYPE_CHECKING:
    from kwire.protocol import MessageRegistry

MAX_TRIED = 1 << 20
"""Maximum size, in bytes, of a payload that is tried as a response of every API."""
MAX_NAMED = 6
"""Maximum number of APIs named in a hint. A short payload fits many APIs."""

_CAPTURE = "a packet capture", "use kwire tables"
_COMPRESSED = "decompress it, or pass it to kwire tables if it is a capture or a log"
_FILES = {
    b"\xa1\xb2\xc3\xd4": _CAPTURE,
    b"\xd4\xc3\xb2\xa1": _CAPTURE,
    b"\xa1\xb2\x3c\x4d": _CAPTURE,
    b"\x4d\x3c\xb2\xa1": _CAPTURE,
    b"\xa1\xb2\xcd\x34": _CAPTURE,
    b"\x34\xcd\xb2\xa1": _CAPTURE,
    b"\x0a\x0d\x0d\x0a": _CAPTURE,
    b"\x1f\x8b": ("compressed by gzip", _COMPRESSED),
    b"\x28\xb5\x2f\xfd": ("compressed by zstd", _COMPRESSED),
    b"\x04\x22\x4d\x18": ("compressed by lz4", _COMPRESSED),
    b"BZh": ("compressed by bzip2", _COMPRESSED),
    b"\xfd7zXZ": ("compressed by xz", _COMPRESSED),
}
_SEGMENT = "a log segment or a record batch", "kwire tables reads log files, and kwire.records reads one batch"


def other_file(data: bytes) -> str:
    """Return a message that names the file type of ``data`` and how to read it.

    Return an empty string if the first bytes do not match a known type.
    """
    found = next((names for start, names in _FILES.items() if data.startswith(start)), None)
    if (
        not found
        and len(data) > MAGIC
        and data[MAGIC] == 2
        and int.from_bytes(data[8:OVERHEAD], "big") >= MIN_SIZE[2]
    ):
        found = _SEGMENT
    return f"the input is {found[0]}, not a frame: {found[1]}" if found else ""


def responses(protocol: MessageRegistry, payload: bytes) -> str:
    """Return a hint on how to decode ``payload`` as a response of the APIs that it fits completely.

    Return an empty string if ``payload`` does not fit any API.
    """
    found = list(_fitting(protocol, payload)) if len(payload) <= MAX_TRIED else []
    if not found:
        return ""
    named = ", ".join(f"{protocol.api_name(key)} {_versions(versions)}" for key, versions in found[:MAX_NAMED])
    more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
    if len(found) == 1:
        [(key, versions)] = found
        how = f"--api-key {protocol.api_name(key)} --version {versions[-1]}"
    else:
        how = "--api-key KEY --version N"
    return f"all bytes fit a response of {named}{more}: use --response {how}"


def _fitting(protocol: MessageRegistry, payload: bytes) -> Iterator[tuple[int, list[int]]]:
    for key in protocol.api_keys:
        versions = [
            version for version in protocol.request(key).VALID_VERSIONS if _fits(protocol, payload, key, version)
        ]
        if versions:
            yield key, versions


def _fits(protocol: MessageRegistry, payload: bytes, key: int, version: int) -> bool:
    try:
        found = protocol.decode_response(payload, key, version)
    except DecodeError:
        return False
    return found.message is not None and found.version == version


def _versions(versions: list[int]) -> str:
    return format_versions(range(versions[0], versions[-1] + 1), NEVER)
