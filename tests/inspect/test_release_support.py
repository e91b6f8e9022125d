"""What releases do with a version of an API, with releases made by hand that accept and drop versions in all ways."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kwire.releases import BrokerAnswer
from kwire.releases.table import Releases, Row
from kwire_inspect.options import OptionError
from kwire_inspect.reports.release_support import (
    BETWEEN_BROKERS,
    Verdict,
    deprecated_in,
    each_once,
    is_known,
    is_newer,
    judge,
    refused_by,
    releases_of,
    spans,
    titled,
)
from kwire_kafka.releases import RELEASES

NAMES = ("1.0.0", "1.1.0", "1.1.1", "2.0.0")


def row(first: str, last: str, accepted: str, deprecated: str = "", unstable: str = "") -> Row:
    return first, last, "Api", accepted, "", deprecated, unstable, ""


MADE = Releases(
    dict.fromkeys(NAMES, "made"),
    {
        7: (
            row("1.0.0", "1.0.0", "0-2"),
            row("1.1.0", "1.1.1", "0-3", "0-1"),
            row("2.0.0", "2.0.0", "2-5", "2", "5"),
        ),
        8: (row("1.1.0", "1.1.0", "0"),),
        9: (row("2.0.0", "2.0.0", "1"),),
        10: (row("1.0.0", "1.0.0", "0-1"), row("1.1.0", "1.1.0", "1"), row("1.1.1", "2.0.0", "0-1")),
        12: (row("1.0.0", "1.1.1", "0-1"), row("2.0.0", "2.0.0", "2-3")),
        18: (row("1.0.0", "1.1.1", "0-1"),),
    },
    {},
)
TOO_NEW = "newer than the target, and the client was not seen to negotiate versions"
LATER = "a future release will remove the version"
NEWER = "newer than Kafka 2.0.0, the newest known release"
ABSENT = "the client negotiates, but the target does not have this API"
OLDER = "the client negotiates, but the target accepts only older versions, which the client may lack"
SWITCH = "accepted only if unstable.api.versions.enable is set"
OK, REFUSED = ("ok", ""), ("refused", TOO_NEW)
UNKNOWN = ("unknown", NEWER)
DROPPED = ("refused", "refused by 2.0.0 and newer")


@pytest.mark.parametrize(
    ("key", "version", "first", "deprecated", "silent", "negotiating"),
    [
        (7, -1, None, None, [("unknown", "no known release has this version")] * 4, None),
        (7, 1, "2.0.0", "1.1.0", [OK, ("deprecated", LATER), ("deprecated", LATER), DROPPED], None),
        (7, 2, None, "2.0.0", [OK, OK, OK, ("deprecated", LATER)], None),
        (7, 3, None, None, [REFUSED, OK, OK, OK], [OK, OK, OK, OK]),
        (7, 4, None, None, [REFUSED, REFUSED, REFUSED, OK], [OK, OK, OK, OK]),
        (7, 5, None, None, [REFUSED, REFUSED, REFUSED, ("unsure", SWITCH)], [OK, OK, OK, ("unsure", SWITCH)]),
        (7, 6, None, None, [UNKNOWN] * 4, [OK] * 4),
        (8, 0, "1.1.1", None, [REFUSED, OK, *[("refused", "refused by 1.1.1 and newer")] * 2],
         [("unsure", ABSENT), OK, *[("refused", "refused by 1.1.1 and newer")] * 2]),
        (8, 1, None, None, [UNKNOWN] * 4, [UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]),
        (9, 0, None, None, [("unknown", "no known release has this version")] * 4, None),
        (9, 1, None, None, [REFUSED, REFUSED, REFUSED, OK], [*[("unsure", ABSENT)] * 3, OK]),
        (9, 2, None, None, [UNKNOWN] * 4, [UNKNOWN, UNKNOWN, UNKNOWN, OK]),
        (10, 0, "1.1.0", None, [OK, ("refused", "refused by 1.1.0"), OK, OK], None),
        (11, 0, None, None, [("unknown", "no known release has this API")] * 4, None),
        (12, 1, "2.0.0", None, [OK, OK, OK, DROPPED], None),
        (12, 2, None, None, [REFUSED, REFUSED, REFUSED, OK], [*[("unsure", OLDER)] * 3, OK]),
        (12, 4, None, None, [UNKNOWN] * 4, [UNKNOWN, UNKNOWN, UNKNOWN, OK]),
        (18, 1, "2.0.0", None, [OK, OK, OK, DROPPED], None),
        (18, 2, None, None, [OK, OK, OK, UNKNOWN], None),
    ],
)  # fmt: skip
def test_the_verdicts_of_all_releases(
    key: int,
    version: int,
    first: str | None,
    deprecated: str | None,
    silent: list[tuple[str, str]],
    negotiating: list[tuple[str, str]] | None,
) -> None:
    """On a client that was not seen to negotiate, and on one that was."""
    for negotiates, states in ((False, silent), (True, negotiating or silent)):
        found = [judge(key, version, one, negotiates=negotiates, releases=MADE) for one in MADE.values()]
        assert found == [Verdict(*state, first, deprecated) for state in states]


def test_what_is_known_of_a_version_over_all_releases() -> None:
    versions = range(-1, 7)
    known = {key: [version for version in versions if is_known(key, version, MADE)] for key in (7, 8, 9, 11)}
    assert known == {7: [0, 1, 2, 3, 4, 5], 8: [0], 9: [1], 11: []}
    newer = {key: [version for version in versions if is_newer(key, version, MADE)] for key in (7, 8, 9, 11)}
    assert newer == {7: [6], 8: [1, 2, 3, 4, 5, 6], 9: [2, 3, 4, 5, 6], 11: []}
    refused = {key: [refused_by(key, version, MADE) for version in (0, 1, 2)] for key in (7, 8, 9, 10)}
    assert refused == {
        7: [("2.0.0",), ("2.0.0",), ()],
        8: [("1.1.1", "2.0.0"), (), ()],
        9: [(), (), ()],
        10: [("1.1.0",), (), ()],
    }
    assert [deprecated_in(7, version, MADE) for version in range(4)] == [NAMES[1:3], NAMES[1:3], NAMES[3:], ()]
    assert deprecated_in(11, 0, MADE) == ()


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (NAMES, "1.0.0 and newer"),
        (NAMES[::-1], "1.0.0 and newer"),
        (["2.0.0"], "2.0.0 and newer"),
        (["1.1.0"], "1.1.0"),
        (["1.1.1", "1.0.0", "1.1.0"], "1.0.0 to 1.1.1"),
        (["1.0.0", "1.1.1", "2.0.0"], "1.0.0, 1.1.1 and newer"),
        (["1.0.0", "1.1.1"], "1.0.0, 1.1.1"),
    ],
)
def test_names_of_releases_as_text(names: list[str], text: str) -> None:
    assert spans(names, MADE) == text


def answering(name: str, **apis: range) -> BrokerAnswer:
    return BrokerAnswer(name=name, apis={int(key[1:]): versions for key, versions in apis.items()})


def test_a_broker_is_judged_by_its_answer_and_has_a_title_of_its_own() -> None:
    """Whatever its name is."""
    broker = MADE.of(answering("1.0.0", k7=range(1, 3), k9=range(1, 2), k10=range(0)))
    unseen = "and the client was not seen to negotiate versions"
    for key, version, silent, negotiating in (
        (7, 0, ("refused", "the broker accepts 1-2"), None),
        (7, 1, OK, None),
        (7, 3, ("refused", f"the broker accepts 1-2, {unseen}"), OK),
        (12, 1, ("refused", f"the broker does not offer this API, {unseen}"),
         ("unsure", "the client negotiates, but the broker does not offer this API")),
        (9, 2, ("refused", f"the broker accepts 1, {unseen}"), OK),
        (10, 0, ("refused", f"the broker does not offer this API, {unseen}"),
         ("unsure", "the client negotiates, but the broker does not offer this API")),
    ):  # fmt: skip
        for negotiates, state in ((False, silent), (True, negotiating or silent)):
            verdict = judge(key, version, broker, negotiates=negotiates, releases=MADE)
            assert (verdict.state, verdict.reason) == state, (key, version, negotiates)
    assert [titled(one) for one in (broker, MADE["2.0.0"])] == ["the broker 1.0.0", "Kafka 2.0.0"]


def test_targets_of_one_name_are_one_unless_they_differ() -> None:
    one, same = MADE.of(answering("b", k7=range(3))), MADE.of(answering("b", k7=range(3)))
    other = MADE.of(answering("b", k7=range(2)))
    assert each_once([MADE["2.0.0"], one, same, MADE["2.0.0"]]) == [MADE["2.0.0"], one]
    with pytest.raises(OptionError, match="two different targets are named b: specify them by different names"):
        each_once([one, MADE["2.0.0"], other])
    assert each_once([one, replace(one, source="elsewhere"), one]) == [one]
    assert each_once([]) == []


def test_apis_of_brokers_and_controllers_alone() -> None:
    """An upgrade changes both ends of these. Clients and administrators send the others."""
    assert sorted(BETWEEN_BROKERS) == [
        *(*range(4, 8), 27, *range(52, 55), 56, 58, 59, 62, 63, 67, 70, 73, 82),
        *range(83, 88),
    ]


def test_the_releases_of_a_package() -> None:
    assert releases_of("kwire_kafka") is RELEASES
    for name in ("no_such_package", "json"):
        with pytest.raises(
            OptionError, match=f"no releases in the package {name}: .+. Generate the package from definitions"
        ):
            releases_of(name)
