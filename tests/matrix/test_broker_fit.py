"""The answer of a broker against the known releases."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from kwire.command.broker import _text, as_json
from kwire.releases import Api, ApiFit, BrokerAnswer, Feature, Node, Release, Releases
from kwire.releases.broker import fit
from kwire_kafka.releases import RELEASES, negotiate
from tests.support.effort import examples, one_in

PRODUCE, FETCH, METADATA, GET_TELEMETRY = 0, 1, 3, 71


def answer_of(release: Release, listener: str, *, unstable: bool = False, **apis: Any) -> BrokerAnswer:
    """The answer of a broker of this release, with other ranges for some APIs; ``None`` leaves one out."""
    offered: dict[int, Any] = {
        api.key: api.all_advertised(unstable=unstable)
        for api in release.apis.values()
        if not api.listeners or listener in api.listeners
    }
    offered |= {release.api(name).key: versions for name, versions in apis.items()}
    return BrokerAnswer(name="b:1", apis={key: versions for key, versions in offered.items() if versions})


def row(answer: BrokerAnswer, key: int) -> ApiFit:
    return next(api for api in RELEASES.fit(answer).apis if api.key == key)


def listeners_of(release: Release) -> list[str]:
    found: dict[str, None] = {}
    for api in release.apis.values():
        found |= dict.fromkeys(api.listeners)
    return list(found) or [""]


@pytest.mark.slow
def test_every_release_fits_itself() -> None:
    for name, release in one_in(5, [*RELEASES.items()]):
        for listener in listeners_of(release):
            found = RELEASES.fit(answer_of(release, listener))
            assert (found.exact, name in found.releases) == (True, True), (name, listener)
            assert not any(api.lacks or api.more or api.unstable for api in found.apis)


def test_unstable_versions_and_plugins_do_not_make_another_release() -> None:
    newest = RELEASES.newest
    answer = answer_of(newest, "broker", unstable=True, GetTelemetrySubscriptions=range(1))
    found = RELEASES.fit(answer)
    assert (found.releases[-1], found.exact, found.listener) == (newest.name, True, "broker")
    unstable = {api.key: [v for part in api.unstable for v in part] for api in found.apis if api.unstable}
    assert unstable == {
        api.key: list(api.unstable)
        for api in newest.apis.values()
        if api.unstable and (not api.listeners or "broker" in api.listeners)
    }
    assert row(answer, GET_TELEMETRY).more == ()


@pytest.mark.slow
def test_what_a_broker_lacks_and_has_more() -> None:
    release = RELEASES["3.9.1"]
    answer = answer_of(release, "broker", Fetch=range(2, 20), Metadata=None)
    answer = BrokerAnswer(name="b:1", apis={**answer.apis, 999: range(2)})
    found = RELEASES.fit(answer)
    assert (found.exact, found.listener) == (False, "broker")
    assert "3.9.1" in found.releases
    assert [api.key for api in found.apis] == sorted(api.key for api in found.apis)
    assert row(answer, FETCH) == ApiFit(FETCH, "Fetch", range(2, 20), (range(2),), (range(18, 20),), (), ())
    assert row(answer, METADATA).lacks == (release.apis[METADATA].advertised,)
    assert row(answer, METADATA).offered == range(0)
    assert row(answer, 999) == ApiFit(999, "api key 999", range(2), (), (range(2),), (), ())


def test_releases_that_fit_by_another_listener_are_not_named() -> None:
    """The listener of the newest release that fits is that of all."""
    names = {"1": ("broker", "controller"), "2": ("controller", "broker"), "3": ("controller", "broker")}
    releases = {
        name: Release(
            name,
            "",
            {key: Api(key, str(key), range(2), range(2), listeners=(of,)) for key, of in enumerate(listeners)},
        )
        for name, listeners in names.items()
    }
    found = fit(BrokerAnswer(name="b:1", apis={0: range(2)}), releases, str)
    assert (found.releases, found.listener, found.exact) == (("2", "3"), "controller", True)


def test_an_api_that_no_release_has_is_not_exactly_a_release() -> None:
    answer = answer_of(RELEASES["4.1.1"], "broker")
    assert RELEASES.fit(answer).exact
    assert not RELEASES.fit(BrokerAnswer(name="b:1", apis={**answer.apis, 999: range(2)})).exact


def test_a_broker_with_all_apis_that_are_known_fits_exactly() -> None:
    release = Release("1.0", "", {0: Api(0, "Produce", range(2), range(2))})
    for keys, exact in (((0,), True), ((0, 1), False), ((), False)):
        answer = BrokerAnswer(name="b:1", apis=dict.fromkeys(keys, range(2)))
        assert fit(answer, {"1.0": release}, str).exact is exact


def test_of_releases_that_differ_as_much_the_nearest_calls_the_fewest_versions_unstable() -> None:
    """Two releases that differ in this only: version 1 is advertised by both."""
    apis = {
        name: {0: Api(0, "Produce", range(2), range(2), unstable=unstable)}
        for name, unstable in (("1.0", range(0)), ("1.1", range(1, 2)), ("0.9", range(1, 2)))
    }
    releases = {name: Release(name, "", found) for name, found in apis.items()}
    found = fit(BrokerAnswer(name="b:1", apis={0: range(2)}), releases, str)
    assert found.releases == ("1.0",)


def test_versions_that_are_advertised_and_refused_are_told() -> None:
    assert row(answer_of(RELEASES["4.1.1"], "broker"), PRODUCE).refused == (range(3),)
    assert row(answer_of(RELEASES["3.9.1"], "broker"), PRODUCE).refused == ()


def test_a_broker_is_a_side_of_negotiate() -> None:
    answer = answer_of(RELEASES["4.1.1"], "broker", Fetch=range(4, 8))
    assert negotiate("2.1", answer)[FETCH].version == 7
    assert negotiate(answer, "4.1.1")[FETCH].version == 7
    assert negotiate({"Produce": (0, 2)}, answer)[PRODUCE].reason == "refused"


def test_a_broker_as_a_release() -> None:
    release = RELEASES.of(answer_of(RELEASES["3.9.1"], "broker", Fetch=range(4, 8)))
    assert (release.name, release.apis[FETCH].accepted) == ("b:1", range(4, 8))
    assert release.apis[PRODUCE] == Api(PRODUCE, "Produce", range(12), range(12), range(3))
    assert RELEASES.of(answer_of(RELEASES["4.1.1"], "broker")).apis[PRODUCE].accepted == range(3, 14)


def test_a_saved_answer_is_read_back() -> None:
    answer = BrokerAnswer(
        name="[::1]:9092",
        apis={FETCH: range(4, 12), 999: range(-3, 4)},
        features=(Feature("f", (1, 2), None),),
        cluster_id="c",
        controller_id=1,
        nodes=(Node(1, "h", 9092, None),),
    )
    saved = json.loads(json.dumps(as_json(answer, RELEASES.fit(answer))))
    assert BrokerAnswer.from_json(saved) == BrokerAnswer(name=answer.name, apis=answer.apis)
    widest = {"api_key": -(1 << 15), "min_version": -(1 << 15), "max_version": (1 << 15) - 1}
    assert BrokerAnswer.from_json({"broker": "b", "apis": [widest]}).apis == {-(1 << 15): range(-(1 << 15), 1 << 15)}
    assert saved["nodes"] == [{"id": 1, "host": "h", "port": 9092, "rack": None}]
    assert saved["features"] == [{"name": "f", "supported": [1, 2], "finalized": None}]


API = {"api_key": 1, "min_version": 0, "max_version": 3}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"apis": []},
        {"broker": "b", "apis": []},
        {"broker": "b", "apis": [API, API | {"min_version": None}]},
        {"broker": "b", "apis": [API, API | {"max_version": None}]},
        {"broker": "b", "apis": [API | {"min_version": None, "max_version": None}]},
        {"broker": 5, "apis": [API]},
        {"broker": "b", "apis": 7},
        {"broker": "b", "apis": [{**API, "max_version": 1 << 15}]},
        {"broker": "b", "apis": [{**API, "min_version": -(1 << 15) - 1}]},
        {"broker": "b", "apis": [API, {**API, "api_key": 1 << 15}]},
        {"broker": "b", "apis": [{**API, "api_key": True}]},
        {"broker": "b", "apis": [{**API, "min_version": None}]},
        {"broker": "b", "apis": ["x"]},
    ],
    ids=repr,
)
def test_other_files_are_no_answer(value: Any) -> None:
    with pytest.raises(ValueError, match="expected the output of kwire broker"):
        BrokerAnswer.from_json(value)


@examples(0.1)
@given(st.dictionaries(st.integers(-5, 95), st.tuples(st.integers(-32768, 32767), st.integers(-32768, 32767))))
def test_any_answer_fits_something(apis: dict[int, tuple[int, int]]) -> None:
    answer = BrokerAnswer(name="b", apis={key: range(low, high + 1) for key, (low, high) in apis.items()})
    found = RELEASES.fit(answer)
    reference = RELEASES[found.releases[-1]].apis
    for api in found.apis:
        lacks, more = ({v for part in parts for v in part} for parts in (api.lacks, api.more))
        offered = set(answer.apis.get(api.key, ()))
        served = reference.get(api.key)
        if served is None or (served.listeners and found.listener not in served.listeners):
            assert (lacks, more) == (set(), offered)
        else:
            assert lacks == set(served.advertised) - offered
            assert more == offered - set(served.advertised) - set(served.accepted) - set(served.unstable)


SMALL = Releases(
    {"1.0": "", "1.1": "", "2.0": ""},
    {
        0: (
            ("1.0", "1.1", "Produce", "0-2", "", "", "", ""),
            ("2.0", "2.0", "Produce", "3-5", "0-5", "3", "", "broker"),
        ),
        1: (("1.0", "2.0", "Fetch", "2-4", "", "2", "", "broker controller"),),
        2: (("1.1", "2.0", "Vote", "0-2", "", "", "1-2", "controller"),),
        18: (("1.0", "2.0", "ApiVersions", "0-3", "", "", "", "broker controller"),),
    },
    {},
)
NODES = (Node(1, "a\x1b[2J", 9092, None), Node(2, "::1", 9093, "r"))
FEATURES = (Feature("f", (1, 2), None), Feature("g", None, (1, 3)), Feature("h", (1, 5), (1, 4)))
CLUSTER = {"cluster_id": "c", "controller_id": 2}


@pytest.mark.parametrize(
    ("apis", "more"),
    [
        ({0: (3, 5), 1: (2, 4), 18: (0, 3)}, {}),
        ({0: (0, 5), 1: (2, 4), 18: (0, 3)}, {"nodes": NODES[1:], "features": FEATURES[:1]}),
        ({0: (0, 2), 1: (0, 9), 7: (1, 1)}, CLUSTER | {"nodes": NODES, "features": FEATURES}),
        ({1: (2, 4), 2: (0, 2), 18: (0, 3)}, CLUSTER | {"cluster_id": "c" * 300}),
        ({}, {}),
    ],
    ids=["2.0", "refused", "more and less", "unstable", "nothing"],
)
def test_all_that_is_told_of_a_broker(apis: Any, more: Any, snapshot: SnapshotAssertion) -> None:
    answer = BrokerAnswer(name="b:1", apis={key: range(low, high + 1) for key, (low, high) in apis.items()}, **more)
    found = SMALL.fit(answer)
    if apis:
        again = BrokerAnswer.from_json(json.loads(json.dumps(as_json(answer, found))))
        assert again == BrokerAnswer(name="b:1", apis=answer.apis)
    as_release = SMALL.of(answer)
    lines = [f"{api.name}: {[f'{v} {api.status(v)}' for v in range(7)]}" for api in as_release.apis.values()]
    assert [*_text(answer, found), as_release.source, *lines] == snapshot
