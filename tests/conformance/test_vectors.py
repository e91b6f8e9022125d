"""Agreement with Kafka's own classes, by what they said when ``make conformance-vectors`` asked. Needs no JVM."""

from __future__ import annotations

import copy
from typing import Any

from kwire.policy import LIKE_KAFKA, STRICT
from kwire.schema import present_fields
from kwire.struct import Struct
from kwire_kafka import PROTOCOL
from tests.conformance import messages, records, vectors
from tests.conformance.leniency import STRICTER, decoded, encoded, is_since, newer_tags
from tests.conformance.messages import Vector
from tests.conformance.pairs import defined, pair_up
from tests.support.each import each_release
from tests.support.kafka_releases import schema

releases = each_release(*vectors.RELEASES)


@releases
def test_messages(release: str) -> None:
    """Java's bytes → our value, which is that of Java's JSON → the same bytes."""
    found = [
        f"{vector.message} v{vector.version} {vector.shape}: {wrong}"
        for vector in vectors.messages(release)
        if (wrong := messages.disagreement(PROTOCOL[vector.message], vector))
    ]
    assert found == []


def test_new_messages_have_the_defaults_of_the_newest_release() -> None:
    defaults = [vector for vector in vectors.messages(vectors.RELEASES[-1]) if vector.shape == "default"]
    assert len(defaults) > 700
    wrong = ((str(v.message), v.version, messages.new_message_differs(PROTOCOL[v.message], v)) for v in defaults)
    assert [one for one in wrong if one[2] is not None] == []


@releases
def test_every_message_and_version_is_there(release: str) -> None:
    shapes: dict[tuple[str, int], list[str]] = {}
    for vector in vectors.messages(release):
        shapes.setdefault((vector.message, vector.version), []).append(vector.shape)
    pairing = pair_up(release, schema(release), defined(schema(release)))
    assert shapes.keys() == {(pair.message.__name__, pair.version) for pair in pairing.pairs}
    assert len(shapes) > 700
    assert pairing.unmatched == []
    for (name, version), there in shapes.items():
        assert {"full", "null", "random"} <= set(there), f"{name} v{version}"


@releases
def test_full_instances_have_all_fields_and_null_ones_all_nulls(release: str) -> None:
    """Or else the vectors would prove nothing about the fields that Java left alone."""
    pairs = pair_up(release, schema(release), defined(schema(release))).pairs
    whole = {(pair.message.__name__, pair.version) for pair in pairs if not newer_tags(pair)}
    assert len(whole) > 700
    for vector in vectors.messages(release):
        if vector.shape in ("full", "null") and (vector.message, vector.version) in whole:
            message = PROTOCOL[vector.message].decode(vector.data, vector.version)
            assert _left_alone(message, vector) == [], f"{vector.message} v{vector.version} {vector.shape}"


def _left_alone(value: Struct, vector: Vector) -> list[str]:
    """Fields with their default in a full instance; fields that could be null and are not in the other."""
    found = []
    for field in present_fields(type(value), vector.version):
        mine = getattr(value, field.name)
        if vector.shape == "full" and mine == field.default:
            found.append(field.defined_name)
        if vector.shape == "null" and field.is_nullable and mine is not None:
            found.append(field.defined_name)
        for inner in mine if isinstance(mine, list) else [mine]:
            if isinstance(inner, Struct):
                found += _left_alone(inner, vector)
    return found


@releases
def test_batches(release: str) -> None:
    """Java's batches → the records that Java reads in them → the same bytes, unless they are compressed."""
    there = list(vectors.batches(release))
    assert {(vector.magic, vector.codec, vector.kind) for vector in there} == set(records.combinations(control=True))
    assert [f"{vector}: {wrong}" for vector in there if (wrong := records.disagreement(vector))] == []


@releases
def test_broken_messages(release: str) -> None:
    """``LIKE_KAFKA`` accepts what Java accepts, as the same value, and refuses what Java refuses; but what only newer
    releases refuse, a negative count of tagged fields, it reads as older ones do."""
    accepted = refused_since = 0
    for vector in vectors.broken(release):
        message, _ = decoded(PROTOCOL[vector.message], vector.version, vector.data, LIKE_KAFKA)
        written = None if message is None else encoded(message, vector.version)
        where = f"{vector.message} v{vector.version}: {vector.data.hex()}"
        if written is not None and vector.written is None:
            _, reason = decoded(PROTOCOL[vector.message], vector.version, vector.data, STRICT)
            assert reason == "the number of tagged fields is N", where
            refused_since += 1
        else:
            assert written == vector.written, where
        accepted += vector.written is not None
    assert accepted > 300
    (since,) = STRICTER.values()
    assert (refused_since > 0) is is_since(release, since)


def test_the_comparison_sees_differences() -> None:
    """Every value of a JSON form is looked at: none can be changed, left out or added unnoticed."""
    vector = next(
        v
        for v in vectors.messages(vectors.RELEASES[-1])
        if (v.message, v.version, v.shape) == ("FetchRequest", 17, "tags")
    )
    cls = PROTOCOL[vector.message]
    assert messages.disagreement(cls, vector) is None
    changed = list(_changed(vector.json))
    assert len(changed) > 40
    for json in changed:
        assert messages.disagreement(cls, Vector(vector.message, 17, "tags", vector.data, json)), json


def _changed(json: Any) -> list[Any]:
    """Copies of a JSON value, each with one thing changed."""
    if isinstance(json, dict):
        copies: list[Any] = [json | {"more": 1}]
        for name, value in json.items():
            copies.append({key: json[key] for key in json if key != name})
            copies += [json | {name: other} for other in _changed(value)]
        return copies
    if isinstance(json, list):
        copies = [[*json, copy.deepcopy(json[0])], json[1:]]
        for number, value in enumerate(json):
            copies += [[*json[:number], other, *json[number + 1 :]] for other in _changed(value)]
        return copies
    return [json + 1 if isinstance(json, int) else json + "A", None]
