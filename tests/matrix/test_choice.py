"""The version that a client and a broker agree on."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from kwire.errors import UnknownApiError, UnknownReleaseError
from kwire.releases import Api, Choice, Releases
from kwire.releases.negotiation import choose as chosen
from kwire_rules import REFUSED, choose

RANGES = [range(first, stop) for first in range(4) for stop in range(first, 5)]


def test_the_highest_version_that_both_have_is_chosen_and_refused_if_the_broker_only_advertises_it() -> None:
    for client, advertised, accepted in product(RANGES, repeat=3):
        shared = max(set(client) & set(advertised), default=None)
        expected = shared if shared is None or shared in accepted else REFUSED
        assert choose(client, advertised, accepted) == expected, (client, advertised, accepted)


@st.composite
def apis(draw: st.DrawFn) -> Api:
    """An API that is advertised as it is accepted, in part, in more versions or not at all; some are unstable."""
    first, stop, more = draw(st.integers(0, 4)), draw(st.integers(0, 6)), draw(st.integers(0, 2))
    accepted = range(first, max(first, stop))
    offers = [accepted, range(accepted.stop), range(0)]
    if not more:
        offers.append(range(first, max(first, stop - 1)))
    unstable = range(accepted.stop, accepted.stop + more)
    listeners = draw(st.sampled_from([(), ("broker",), ("broker", "controller")]))
    name = draw(st.sampled_from(["Fetch", "Pull"]))
    return Api(1, name, accepted, draw(st.sampled_from(offers)), range(0), unstable, listeners)


def reason_of(client: Api, broker: Api, mine: set[int], theirs: set[int]) -> str:
    """Why there is no version, with all that could be enabled in mind."""
    if {*client.accepted, *client.unstable} & {*broker.advertised, *broker.unstable}:
        return "unstable"
    if not theirs and broker.accepted:
        return "unadvertised"
    if not theirs or not mine:
        return "unstable"
    return "client too old" if max(mine) < min(theirs) else "client too new"


@given(st.none() | apis(), st.none() | apis(), st.none() | st.sampled_from(["broker", "controller"]), st.booleans())
def test_every_choice_has_a_version_or_the_reason_why_it_has_none(
    client: Api | None, broker: Api | None, listener: str | None, unstable: bool
) -> None:
    def all_of(api: Api | None, versions: str) -> set[int]:
        return set() if api is None else {*getattr(api, versions), *(api.unstable if unstable else ())}

    mine, theirs = all_of(client, "accepted"), all_of(broker, "advertised")
    version, reason = max(mine & theirs, default=None), ""
    if client is None or broker is None:
        version, reason = None, "client" if client is None else "broker"
    elif listener is not None and broker.listeners and listener not in broker.listeners:
        version, reason = None, "listener"
    elif version is None:
        reason = reason_of(client, broker, mine, theirs)
    elif version not in all_of(broker, "accepted"):
        version, reason = None, "refused"
    found = chosen(1, client, broker, listener, unstable=unstable)
    named = broker or client
    assert (found.key, found.name) == (1, named.name if named else "")
    assert (found.version, found.reason) == (version, reason)
    assert (set(found.client), set(found.broker)) == (mine, theirs)


ROWS: dict[int, tuple[Any, ...]] = {
    18: (("1.1", "2.0", "ApiVersions", "0-3", "", "", "", "broker controller"),),
    0: (("1.0", "1.1", "Produce", "0-2", "", "", "", ""), ("2.0", "2.0", "Produce", "3-5", "0-5", "3", "", "broker")),
    1: (("1.0", "2.0", "Fetch", "0-4", "", "0-1", "", "broker controller"),),
    2: (("1.1", "2.0", "Vote", "0-2", "", "", "1-2", "controller"),),
    3: (("1.1", "1.1", "Push", "0-1", "none", "", "", "broker"), ("2.0", "2.0", "Push", "2", "", "", "", "broker")),
}
RELEASES = Releases({"1.0": "a", "1.1": "b", "2.0": "c"}, ROWS, {"1.1": (("FetchRequest", "ClusterId", 0, "2-4"),)})


def test_what_releases_agree_on(snapshot: SnapshotAssertion) -> None:
    """Of three releases, each with each: what is refused, unstable, not advertised, of another listener or gone."""
    lines = []
    for client, broker in product(RELEASES, repeat=2):
        others: list[dict[str, Any]] = [{"unstable": True}, {"listener": "broker"}] if client == broker else []
        for options in [{}, *others]:
            found = RELEASES.negotiate(client, broker, **options)
            lines.append(f"{client} with {broker} {options or ''}{' blindly' * found.blind}")
            lines += [f"  {choice}" for choice in found.values()]
            lines.append(
                f"  agreed: {[one.key for one in found.agreed]}, failed: {[one.key for one in found.failed]}"
            )
            assert [*found] == sorted(found)
            assert len(found) == len([*found])
    assert lines == snapshot


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        ("1.0", {0: (2, None), 18: None}),
        ("2.0", {0: (None, 5), 3: (None, 2)}),
        ({"Fetch": (3, 9), "Vote": "0", 3: range(1, 3)}, {3: (None, 2)}),
    ],
    ids=["old", "new", "other"],
)
def test_what_changes_when_another_broker_answers(client: Any, expected: dict[int, Any]) -> None:
    """Only APIs that both brokers or the client have are compared."""
    found = RELEASES.changes(client, "1.1", "2.0")
    versions = {one.before.key: (one.before.version, one.after.version) for one in found}
    assert versions == {key: pair for key, pair in expected.items() if pair}
    assert {one.before.key for one in found if one.lost} == {
        key for key, (before, after) in versions.items() if before is not None and after is None
    }


@pytest.mark.parametrize(
    ("name", "known"),
    [("2.9", "2.1.0, 2.1.1, 2.2.0"), ("0.7.1", "0.8.2.1, 0.8.2.2"), ("2", "2.2.0"), ("7", "0.8.2.2, 2.1.1, 2.2.0")],
)
def test_an_unknown_release_is_named_with_those_of_its_major_or_the_newest_of_each_line(
    name: str, known: str
) -> None:
    releases = Releases(dict.fromkeys(("0.8.2.1", "0.8.2.2", "2.1.0", "2.1.1", "2.2.0"), ""), {}, {})
    number: Any = 2
    assert (name in releases, number in releases) == (name == "2", False)
    if name == "2":
        assert releases[name].name == known
    else:
        with pytest.raises(UnknownReleaseError, match=rf"^unknown release '{name}', expected one of {known}$"):
            releases[name]


def test_choices_ascend_by_api_key() -> None:
    others = {999: (0, 1), 64: "0", 5: range(2)}
    assert [*RELEASES.negotiate(others, "2.0")] == [0, 1, 2, 3, 5, 18, 64, 999]


def test_an_api_that_neither_side_has_is_unknown() -> None:
    with pytest.raises(UnknownApiError):
        RELEASES.negotiate("1.0", "1.0")[18]
    assert str(Choice(1, "Fetch", None, "refused", range(2, 5), range(0))) == (
        "Fetch (1): none: refused (client 2-4, broker none)"
    )
    assert [
        (release.name, release.source, [api.key for api in release.apis.values()], release.tagged)
        for release in RELEASES.values()
    ][1:2] == [("1.1", "b", [0, 1, 2, 3, 18], RELEASES["1.1"].tagged)]
    (tag,) = RELEASES["1.1"].tagged
    assert (tag.message, tag.field, tag.tag, tag.versions) == ("FetchRequest", "ClusterId", 0, range(2, 5))
    vote = RELEASES["2.0"].api("Vote")
    assert (vote.accepted, vote.unstable, vote.advertised) == (range(1), range(1, 3), range(1))
    assert [vote.status(version) for version in range(4)] == ["stable", "unstable", "unstable", "none"]
    produce = RELEASES.newest.api(0)
    statuses = [produce.status(version) for version in range(7)]
    assert statuses == ["refused"] * 3 + ["deprecated", "stable", "stable", "none"]
