"""What tests of models share: the model of a message in a version, and JSON values that differ in one place."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from kwire.message import Message
from kwire.models import ModelOf
from kwire_kafka.models import MODELS

Model = type[ModelOf[Any]]


def model_of(cls: type[Message], version: int) -> Model:
    return MODELS[cls.__name__].for_version(version)


OTHERS: tuple[Any, ...] = (None, True, -1, 1.5, 2.0, 2**40, 2**64, "", "AAAA", "A" * 22, "NaN", [], {})
"""Values of every kind, some of which fit anywhere."""


def mutated(json: Any, chosen: Random) -> Any:
    """A copy of a JSON value with one thing changed at random, somewhere inside."""
    if json and isinstance(json, dict | list) and chosen.random() < 0.8:
        place: Any = chosen.choice(list(json) if isinstance(json, dict) else range(len(json)))
        twin = copy.copy(json)
        twin[place] = mutated(json[place], chosen)
        return twin
    return chosen.choice(list(_changed_here(json)))


def changed(json: Any) -> Iterator[Any]:
    """All copies of a JSON value with one thing changed: a value, a name more or less, an element more."""
    yield from _changed_here(json)
    if isinstance(json, dict):
        for name, value in json.items():
            yield from (json | {name: other} for other in changed(value))
    elif isinstance(json, list):
        for number, value in enumerate(json):
            yield from ([*json[:number], other, *json[number + 1 :]] for other in changed(value))


def _changed_here(json: Any) -> Iterator[Any]:
    for other in OTHERS:
        if type(other) is not type(json) or other != json:
            yield other
    if isinstance(json, dict):
        yield json | {"unknownTags": 1}
        yield from ({key: json[key] for key in json if key != name} for name in json)
    elif isinstance(json, list):
        yield [*json, *json[:1], None]
    elif isinstance(json, str):
        yield from (json + "\n", json + "=", json[:-1], "\N{GREEK SMALL LETTER ALPHA}" + json, json[:-1] + "B")
    elif isinstance(json, int) and not isinstance(json, bool):
        yield from (float(json), -json, json * 2**16, json + 2**31)
