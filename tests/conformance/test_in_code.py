"""Agreement with classes of Kafka that no definition describes, by objects that ``make conformance-code`` kept."""

from __future__ import annotations

import pytest

from tests.conformance import in_code
from tests.conformance.in_code import KINDS, Object

VECTORS = in_code.vectors()


@pytest.mark.parametrize("one", VECTORS, ids=[f"{one.kind} v{one.version}" for one in VECTORS])
def test_bytes_of_java_are_read_and_written_again(one: Object) -> None:
    assert in_code.disagreement(one) is None


def test_every_kind_and_version_is_there() -> None:
    there = {(one.kind, one.version) for one in VECTORS}
    assert there == {(kind, version) for kind, versions in KINDS.items() for version in versions}


def test_a_difference_is_told() -> None:
    [one, *_] = [one for one in VECTORS if one.kind == "MirrorOffsetSync"]
    other = Object(one.kind, one.version, one.key, one.value, [one.fields[0], one.fields[1] | {"offset": 1}])
    assert (in_code.disagreement(other) or "").startswith("kwire reads ")
