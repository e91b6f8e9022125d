"""What a test decodes, decoded as columns too: those of the message, or refused for the same reason.

And read and written by the interpreter, which otherwise sees only what the emitted codecs refuse.
"""

from __future__ import annotations

from typing import Any, TypeVar

import pyarrow as pa

from kwire import STRICT, DecodeError, Policy, interpreter
from kwire.arrow import Columns
from kwire.message import Message
from kwire_kafka.arrow import ARROW

M = TypeVar("M", bound=Message)


def decode(cls: type[M], data: bytes, version: int, policy: Policy = STRICT) -> M:
    """Decode a message, and compare it with what the interpreter reads, and with its columns: all, and each alone."""
    try:
        message = cls.decode(data, version, policy)
    except DecodeError as error:
        check(cls, data, version, policy, error)
        raise
    check(cls, data, version, policy, message)
    try:
        same = interpreter.decode(cls, data, 0, version, policy, whole=True)[0]
    except DecodeError as error:  # not the one that a test expects: the message was decoded
        raise AssertionError(f"the interpreter refuses what the codec reads: {error}") from None
    assert repr(same) == repr(message)
    if policy == STRICT:
        assert interpreter.encode(message, version) == message.encode(version)
    return message


def check(cls: type[Message], data: bytes, version: int, policy: Policy, decoded: Message | DecodeError) -> None:
    if cls.__name__ not in ARROW:
        return
    whole = Columns(cls)
    names = [column.name for column in whole.type]
    found = whole.select(*names).decode([data], version, policy=policy)  # selected, they are never made of objects
    if isinstance(decoded, DecodeError):
        assert str(found.errors[0]) == str(decoded)
        return
    expected = whole.array([decoded], version)[0].as_py()
    assert repr(found.array[0].as_py()) == repr(expected)  # NaN differs from itself
    for path in paths(whole.type):
        one = whole.select(path)
        assert repr(one.decode([data], version, policy=policy).array[0].as_py()) == repr(narrowed(expected, one.type))


def paths(kind: pa.StructType) -> list[str]:
    """The paths of all columns."""
    found = []
    for column in kind:
        inner = column.type.value_type if pa.types.is_list(column.type) else column.type
        deeper = paths(inner) if pa.types.is_struct(inner) and column.name != "unknown_tags" else []
        found += [column.name, *[f"{column.name}.{path}" for path in deeper]]
    return found


def narrowed(value: Any, kind: pa.DataType) -> Any:
    """The part of a value that a narrower type has."""
    if pa.types.is_struct(kind) and value is not None:
        return {column.name: narrowed(value[column.name], column.type) for column in kind}
    if pa.types.is_list(kind) and value is not None:
        return [narrowed(element, kind.value_type) for element in value]
    return value
