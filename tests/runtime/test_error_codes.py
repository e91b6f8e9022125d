"""The error codes of the generated package."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from kwire_kafka.errors import ErrorCode

DEFINED = json.loads((Path(__file__).parents[2] / "message_defs" / "kafka" / "errors.json").read_text())


def test_every_code_has_its_facts() -> None:
    assert len(DEFINED) == len(ErrorCode) > 130
    for one in DEFINED:
        code = ErrorCode(one["code"])
        assert (code.name, code.retriable, code.description) == (one["name"], one["retriable"], one["about"])


def test_a_code_of_a_newer_broker_is_a_member_too() -> None:
    code = ErrorCode(9999)
    assert (code, code.name, code.retriable) == (9999, "UNKNOWN_9999", False)
    assert code.description == "Unknown to these definitions."
    assert repr(code) == "<ErrorCode.UNKNOWN_9999: 9999>"
    assert pickle.loads(pickle.dumps(code)) == copy.copy(code) == code
    assert code not in list(ErrorCode)


@pytest.mark.parametrize("value", [40000, -40000, "NONE", 1.5])
def test_what_is_no_int16_is_none(value: Any) -> None:
    with pytest.raises(ValueError, match="not a valid ErrorCode"):
        ErrorCode(value)
