"""The base class of all generated messages, with encoding and decoding."""

from __future__ import annotations

import gc
from operator import index

from librt.strings import BytesWriter

from kwire.errors import DecodeError, EncodeError
from kwire.native import i64, mypyc_attr
from kwire.policy import STRICT, Policy
from kwire.struct import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Final, Self


UNPAUSED: Final = 16384
"""Maximum size, in bytes, of messages that are decoded without pausing the garbage collector. Larger messages can
contain many lists. Decoding creates no reference cycles, but searching for them would double the decoding time.
"""


def pause_collector() -> bool:
    """Stop the garbage collector, and return whether it was running.

    If the collector was running, the caller must call ``gc.enable()`` afterwards.
    """
    if not gc.isenabled():
        return False
    gc.disable()
    return True


@mypyc_attr(acyclic=True, allow_interpreted_subclasses=True)
class Message(Struct):
    """Base class of messages. A message is encoded and decoded as a whole, in any of its versions."""

    __slots__ = ()

    API_KEY: ClassVar[int | None] = None
    VALID_VERSIONS: ClassVar[range] = range(0)
    DEPRECATED_VERSIONS: ClassVar[range] = range(0)
    HEADER_VERSIONS: ClassVar[dict[int, int]] = {}
    """Header versions, keyed by the first message version that uses each header version."""

    @staticmethod
    def _read(data: bytes, pos: i64, version: i64) -> tuple[Any, i64]:
        raise NotImplementedError

    def _write(self, out: BytesWriter, version: i64) -> None:
        raise NotImplementedError

    @classmethod
    def header_version(cls, version: int) -> int:
        """Return the header version for this message version. Raise ``LookupError`` if the message never has a
        header."""
        if not cls.HEADER_VERSIONS:
            raise LookupError(f"{cls.__name__} has no header")
        # Versions before the first key use the header version of that key.
        first, *later = cls.HEADER_VERSIONS
        found = first
        for start in later:
            if version >= start:
                found = start
        return cls.HEADER_VERSIONS[found]

    def encode(self, version: int) -> bytes:
        """Return the bytes of this message in ``version``, without a header.

        Raise ``EncodeError`` with the path of a field whose value is out of range, an invalid null, or set although
        the version lacks this non-ignorable field.
        """
        if type(version) is not int:
            version = index(version)
        try:
            out = BytesWriter()
            self._write(out, version)
            return out.getvalue()
        except Exception:  # the slow path reports the error in detail
            pass
        from kwire import interpreter

        return interpreter.encode(self, version)

    @classmethod
    def decode(
        cls, data: bytes | bytearray | memoryview, version: int, policy: Policy = STRICT, *, start: int = 0
    ) -> Self:
        """Return the message that extends from ``start`` to the end of ``data``.

        Raise ``DecodeError`` with the message name, version, field path and byte offset of the problem.
        """
        if type(data) is not bytes or type(version) is not int or (start and not 0 < start <= len(data)):
            data, version = cls._checked(data, version, start)
        paused = len(data) > UNPAUSED and pause_collector()
        try:
            message, end = cls._read(data, start, version)
            if end == len(data) or (end < len(data) and policy.trailing == "ignore"):
                return message  # type: ignore[no-any-return]
        except Exception:  # the slow path reports the error in detail
            pass
        finally:
            if paused:
                gc.enable()
        message = None  # frees it before the data is decoded again
        from kwire import interpreter

        return interpreter.decode(cls, data, start, version, policy, whole=True)[0]

    @classmethod
    def decode_from(
        cls, data: bytes | bytearray | memoryview, version: int, policy: Policy = STRICT, *, start: int = 0
    ) -> tuple[Self, int]:
        """Return the message that starts at byte ``start`` of ``data``, and its end offset.

        Other bytes may follow the message. The errors are the same as for ``decode``.
        """
        if type(data) is not bytes or type(version) is not int or (start and not 0 < start <= len(data)):
            data, version = cls._checked(data, version, start)
        paused = len(data) > UNPAUSED and pause_collector()
        try:
            message, end = cls._read(data, start, version)
            if end <= len(data):
                return message, end
        except Exception:  # the slow path reports the error in detail
            pass
        finally:
            if paused:
                gc.enable()
        message = None  # frees it before the data is decoded again
        from kwire import interpreter

        return interpreter.decode(cls, data, start, version, policy, whole=False)

    @classmethod
    def from_json(cls, value: Any, version: int, *, empty_records: bool = False) -> Self:
        """Return the message represented by ``value``, which ``json.loads`` parsed from Kafka's JSON form.

        See ``kwire.json_form.from_json``.
        """
        from kwire.json_form import from_json

        return from_json(cls, value, version, empty_records=empty_records)

    def to_json(self, version: int, *, with_records: bool = False) -> dict[str, Any]:
        """Return this message in Kafka's JSON form, ready for ``json.dumps``. See ``kwire.json_form.to_json``."""
        from kwire.json_form import to_json

        return to_json(self, version, with_records=with_records)

    @classmethod
    def _checked(cls, data: object, version: int, start: int) -> tuple[bytes, int]:
        """Return ``data`` and ``version`` as ``bytes`` and ``int``, and check that ``start`` is within the data."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"data must be bytes, bytearray or memoryview, not {type(data).__name__}")
        data, version = bytes(data), index(version)
        if start < 0 or start > len(data):
            raise DecodeError(
                "the offset is outside the data", message_name=cls.__name__, version=version, offset=start, data=data
            )
        return data, version


def decode_within(
    most: int, cls: type[Any], data: bytes, version: int, policy: Policy = STRICT, start: int = 0
) -> Any | None:
    """Return the message from ``start`` to the end of ``data``, like ``Message.decode``, or ``None`` if the message
    is large.

    A decoded message can use 75 times the memory of its bytes. A message is large if ``data`` is longer than ``most``
    bytes, unless it mainly consists of a few values such as records. ``too_many_values`` gives the reason.
    """
    if len(data) <= most:
        if len(data) <= UNPAUSED and type(data) is bytes and 0 <= start <= len(data):
            try:
                message, end = cls._read(data, start, version)
                if end == len(data):
                    return message
            except Exception:  # decode raises the error
                pass
        return cls.decode(data, version, policy, start=start)
    from kwire.interpreter.large import TooManyValuesError, read_large

    try:
        return read_large(cls, data, start, version, policy, whole=True)[0]
    except TooManyValuesError:
        return None


def too_many_values(data: bytes) -> str:
    return f"{len(data)} bytes contain too many values to decode: increase maxDecoded"


__all__ = ["DecodeError", "EncodeError", "Message"]
