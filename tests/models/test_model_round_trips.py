"""Every message in every version: model → codec → bytes → codec → model is the identity, and so is JSON."""

from __future__ import annotations

import copy
import pickle
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.errors import EncodeError
from kwire.message import Message
from kwire.models import WITH_RECORDS, ModelOf
from tests.models.support import model_of
from tests.properties.values import (
    FIXED,
    NAMES,
    RandomSource,
    as_decoded,
    each_message,
    each_version,
    exact,
    instances,
    make,
    message_class,
    pairs,
)
from tests.support.effort import examples


def assert_round_trip(message: Message, version: int) -> ModelOf[Any]:
    """From a codec object to the model and back by way of the bytes, and by way of JSON; gives the model."""
    cls = type(message)
    model = model_of(cls, version).from_codec(message)
    struct = model.to_codec()
    assert exact(struct) == exact(as_decoded(message, version))
    again = type(model).from_codec(cls.decode(struct.encode(version), version))
    assert again == model
    assert exact(again.to_codec()) == exact(struct)
    return model


def assert_round_trips(messages: tuple[Message, ...]) -> None:
    for message, version in zip(messages, type(messages[0]).VALID_VERSIONS, strict=True):
        assert_round_trip(message, version)


@pytest.mark.slow
@each_version
@pytest.mark.long
def test_fixed_cases(cls: type[Message], version: int) -> None:
    """With records in full, JSON loses nothing but unknown tags."""
    for case in ("max", "null", "unknown tags", "long"):
        model = assert_round_trip(make(cls, version, FIXED[case]), version)
        if case in ("max", "null"):
            text = model.model_dump_json(context=WITH_RECORDS)
            assert type(model).model_validate_json(text) == model


@pytest.mark.slow
@each_message
def test_drawn_values(name: str) -> None:
    """Each example is one message of every version: setting Hypothesis up takes longer than a round trip."""
    every_version = st.tuples(*(instances(cls, version) for cls, version in pairs([name])))
    examples(0.03)(given(every_version)(assert_round_trips))()


@pytest.mark.slow
def test_models_refuse_the_codec_objects_that_cannot_be_encoded() -> None:
    """Read in the newest version, written in an older one: what may be lost and what may not is the same for both."""
    verdicts: list[bool] = []
    for name in NAMES:
        cls = message_class(name)
        message = make(cls, cls.VALID_VERSIONS[-1], RandomSource(Random(name)))
        for version in cls.VALID_VERSIONS[:-1]:
            try:
                data = message.encode(version)
            except EncodeError:
                with pytest.raises(ValueError, match=cls.__name__):
                    model_of(cls, version).from_codec(message)
                verdicts.append(False)
            else:
                assert model_of(cls, version).from_codec(message).to_codec().encode(version) == data
                verdicts.append(True)
    assert verdicts.count(True) > 200
    assert verdicts.count(False) > 50


@pytest.mark.slow
def test_copies_and_pickles_keep_everything() -> None:
    for name in ("FetchRequest", "ProduceRequest", "ConsumerGroupMemberMetadataValue"):
        for cls, version in pairs([name]):
            model = assert_round_trip(make(cls, version, FIXED["unknown tags"]), version)
            for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), model.model_copy(deep=True)):
                assert type(twin) is type(model)
                assert twin == model
                assert exact(twin.to_codec()) == exact(model.to_codec())
