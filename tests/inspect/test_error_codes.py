"""Error codes of responses are found wherever they are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from kwire.message import Message
from kwire.schema import struct_class
from kwire.struct import Struct
from kwire_inspect.connections.error_codes import error_codes
from kwire_kafka import PROTOCOL, FetchResponse, HeartbeatResponse, MetadataResponse

RESPONSES = [name for name in PROTOCOL if name.endswith("Response")]


def failing(cls: type[Struct], codes: Iterator[int]) -> Any:
    """A struct with another code in each field for one, at any depth; there are two elements in every list."""
    values: dict[str, Any] = {}
    for field in cls.FIELDS:
        struct = struct_class(cls, field)
        if field.type == "int16" and field.name.endswith("error_code"):
            values[field.name] = next(codes)
        elif struct is not None:
            within = [failing(struct, codes) for _ in (range(2) if field.is_array else range(1))]
            values[field.name] = within if field.is_array else within[0]
    return cls(**values)


@pytest.mark.parametrize("name", RESPONSES)
def test_every_error_code_of_a_response_is_found(name: str) -> None:
    codes = count(1)
    response: Message = failing(PROTOCOL[name], codes)
    assert error_codes(response) == tuple(range(1, next(codes)))


def test_codes_come_once_and_ascending_and_without_those_of_success() -> None:
    assert error_codes(HeartbeatResponse()) == ()
    assert error_codes(FetchResponse(responses=[])) == ()
    response: Any = failing(MetadataResponse, iter([9, 0, 3, 0, 9, 0, 3]))
    assert error_codes(response) == (3, 9)
