"""Uuids: bytes that print as Kafka's tools print them."""

from __future__ import annotations

import base64
import copy
import pickle
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import ZERO_UUID, Uuid

SIXTEEN = st.binary(min_size=16, max_size=16).map(Uuid)


@given(SIXTEEN)
def test_text_and_back(value: Uuid) -> None:
    text = str(value)
    assert text == base64.urlsafe_b64encode(value).decode().rstrip("=")
    assert len(text) == 22
    assert Uuid.parse(text) == value
    assert type(Uuid.parse(text)) is Uuid
    assert eval(repr(value), {"Uuid": Uuid}) == value


def test_kafkas_own_examples() -> None:
    """The zero uuid, and the two that Kafka reserves (org.apache.kafka.common.Uuid)."""
    assert str(ZERO_UUID) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert str(Uuid(bytes(15) + b"\1")) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert Uuid.parse("-_-_-_-_-_-_-_-_-_-_-w") == Uuid.parse(str(Uuid.parse("-_-_-_-_-_-_-_-_-_-_-w")))


@given(SIXTEEN)
def test_it_is_bytes(value: Uuid) -> None:
    plain = bytes(value)
    assert value == plain
    assert hash(value) == hash(plain)
    assert {plain: 1}[value] == 1
    assert uuid.UUID(bytes=value).bytes == value
    assert sorted([value, ZERO_UUID]) == sorted([plain, bytes(16)])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A" * 21,
        "A" * 23,
        "A" * 24,
        "A" * 22 + "==",
        "A" * 22 + "\n",
        "AAAAAAAAAAAAAAAAAAAAA!",
        "AAAAAAAAAAAAAAAAAAAAA ",
        "AAAAAAAAAAAAAAAAAAAAA\n",
        "00000000-0000-0000-0000-000000000000",
        "ÄAAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAA==",
    ],
)
def test_text_that_is_no_uuid(text: str) -> None:
    with pytest.raises(ValueError, match="is not a uuid in URL-safe base64"):
        Uuid.parse(text)


def test_other_sizes_still_print() -> None:
    assert repr(Uuid(b"ab")) == "Uuid(b'ab')"


def test_copies() -> None:
    value = Uuid(range(16))
    for twin in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert twin == value
        assert type(twin) is Uuid
