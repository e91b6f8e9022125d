"""What ``make conformance`` knows about releases without asking Java: which there are, where they have their classes,
and in what they differ by their own definitions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kwire_kafka import FetchRequest
from kwirec.merge.history import release_key
from tests.conformance.__main__ import newest
from tests.conformance.leniency import has_newer_tag, is_since
from tests.conformance.messages import CONVERTED, OTHERWISE, judge
from tests.conformance.pairs import Pair, defined, pair_up
from tests.conformance.tally import Tally
from tests.support.kafka_releases import schema


def test_the_newest_of_every_line() -> None:
    lines = [release_key(release)[:2] for release in newest(major=False)]
    assert lines == sorted(set(lines))
    assert lines[:4] == [(2, 5), (2, 6), (2, 7), (2, 8)]
    older, latest = newest(major=True)
    assert (release_key(older)[0] + 1, latest) == (release_key(latest)[0], newest(major=False)[-1])


@pytest.mark.parametrize(
    ("release", "stricter"),
    [("4.1.2", False), ("4.2.1", False), ("4.2.2", True), ("4.3.1", False), ("4.4.0", True), ("5.0.0", True)],
)
def test_what_a_patch_brought_to_an_older_line(release: str, stricter: bool) -> None:
    """A negative count of tagged fields: refused by 4.2.2 and 4.4.0, and not by 4.3.1 between them."""
    assert is_since(release, ("4.2.2", "4.4.0")) is stricter


def test_a_tag_below_its_versions_that_a_release_does_not_know() -> None:
    """Kafka refuses it since the release that brought the tag; before, it is unknown like any other."""
    before = Pair("FetchRequest", 12, FetchRequest, 12, frozenset({"ClusterId"}), ())
    since = replace(before, fields=frozenset({"ClusterId", "ReplicaState"}))
    data = FetchRequest().encode(12)
    tagged = data[:-1] + bytes.fromhex("01 01 0d 00000002 0000000000000003 00")
    assert has_newer_tag(before, tagged)
    assert not has_newer_tag(since, tagged)
    assert not has_newer_tag(before, data)
    assert not has_newer_tag(before, data[:-2])


@pytest.mark.slow
@pytest.mark.releases
def test_a_conversion_differs_only_by_what_the_definitions_of_the_release_say() -> None:
    """In 2.5 the isolation level could not be dropped; of the session's epoch no definition says so today."""
    definitions = schema("2.5.1")
    pairs = pair_up("2.5.1", definitions, defined(definitions)).pairs
    fetch = next(pair for pair in pairs if pair.java == "FetchRequest")
    assert "IsolationLevel" in fetch.changed
    assert next(pair for pair in pairs if pair.java == "HeartbeatRequest").changed == ()
    refused = "Java cannot write: Attempted to write a non-default {} at version 0"
    for pair, field, told in (
        (fetch, "isolationLevel", True),
        (fetch, "maxBytes", False),
        (replace(fetch, changed=()), "isolationLevel", False),
    ):
        tally = Tally()
        judge(pair, "v4 to v0", refused.format(field), tally)
        assert (tally.counts[OTHERWISE] == 1) is told
        assert any(CONVERTED in line for line in tally.differences) is not told
