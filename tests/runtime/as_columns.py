"""What a test decodes, decoded once more as columns: those of the message, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from kwire import STRICT, DecodeError, Policy, is_native
from kwire.arrow import Columns
from kwire.message import Message
from kwire_kafka.arrow import ARROW


@contextmanager
def also_as_columns() -> Iterator[None]:
    """Decodes within this are repeated as columns, with every column selected and with each by itself.

    Natively nothing is repeated, since methods of compiled classes cannot be replaced.
    """
    if is_native():
        yield
        return
    plain = Message.decode.__func__  # type: ignore[attr-defined]
    seen: list[tuple[type[Message], bytes, int, Policy]] = []

    def decode(cls: type[Message], /, data: Any, version: int, policy: Policy = STRICT, **more: Any) -> Any:
        if cls.__name__ in ARROW and not more and version in cls.VALID_VERSIONS:
            seen.append((cls, bytes(data), version, policy))
        return plain(cls, data, version, policy, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kwire.arrow.columns.COMPILED", True)  # else interpreted programs would not run
        patch.setattr(Message, "decode", classmethod(decode))
        yield
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kwire.arrow.columns.COMPILED", True)
        for one in seen:
            check(*one)


def check(cls: type[Message], data: bytes, version: int, policy: Policy) -> None:
    whole = Columns(cls)
    found = whole.decode([data], version, policy=policy)
    try:
        message = cls.decode(data, version, policy)
    except DecodeError as error:
        problem = str(error)
    else:
        problem = ""
    assert str(found.errors.get(0, "")) == problem
    if problem:
        return
    expected = whole.array([message], version)[0].as_py()
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
