"""What to do about refused clients: the library is told by software or client id, the release by what was tried."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from html import unescape

import pytest

from kwire.releases.table import Releases
from kwire_inspect.reports import libraries
from kwire_inspect.reports.advice import advice, advice_table
from kwire_inspect.reports.client_usage import Client, Use
from kwire_inspect.reports.formats import markdown
from kwire_inspect.reports.judgement import Judgement
from kwire_inspect.reports.libraries import CLIENT_APIS, JAVA, Tried, dotted, library_of, tried, works_since
from kwire_inspect.reports.page import page
from kwire_inspect.reports.readiness import report_on
from kwire_inspect.reports.text import LONGEST
from kwire_kafka import PROTOCOL
from kwire_kafka.releases import RELEASES

PRODUCE = 0


def client(client_id: str | None = None, software: str | None = None) -> Client:
    return Client(client_id, "10.0.0.1", software, None)


def advised(of: Client, refused: dict[int, str], release: str) -> str:
    return advice(of, refused, release, partial(works_since, target=RELEASES[release], releases=RELEASES))


@pytest.mark.parametrize(
    ("software", "library", "version"),
    [
        ("librdkafka 2.3.0", "librdkafka", (2, 3, 0)),
        ("confluent-kafka-python 2.16.1-rdkafka-2.16.0", "librdkafka", (2, 16, 0)),
        ("confluent-kafka-go 2.10.0", "librdkafka", (2, 10, 0)),
        ("sarama v1.43.3", "sarama", (1, 43, 3)),
        ("kgo unknown", "franz-go", ()),
        ("kafka-python 2.2.15", "kafka-python", (2, 2, 15)),
        ("apache-kafka-java 2.0.1", JAVA, (2, 0, 1)),
        ("apache-kafka-java 99999999999999999999.1.1.1.1.1.1.1", JAVA, (999999999, 1, 1, 1, 1, 1)),
    ],
)
def test_a_library_is_told_by_the_software_it_names(software: str, library: str, version: tuple[int, ...]) -> None:
    assert library_of(client("sarama", software)) == (library, version, False)


@pytest.mark.parametrize(
    ("client_id", "library", "version"),
    [
        ("kafka-python-2.0.2", "kafka-python", (2, 0, 2)),
        ("kafka-python-producer-1", "kafka-python", ()),
        ("kafka-python-consumer-22", "kafka-python", ()),
        ("aiokafka-0.8.1", "aiokafka", (0, 8, 1)),
        ("aiokafka-producer-1", "aiokafka", ()),
        ("aiokafka-consumer-22", "aiokafka", ()),
        ("rdkafka", "librdkafka", ()),
        ("sarama", "sarama", ()),
        ("kafkajs", "kafkajs", ()),
        ("kgo", "franz-go", ()),
        ("producer-1", JAVA, ()),
        ("consumer-22", JAVA, ()),
        ("adminclient-3", JAVA, ()),
        ("consumer-billing-3", JAVA, ()),
    ],
)
def test_a_library_is_guessed_by_its_default_client_id(
    client_id: str, library: str, version: tuple[int, ...]
) -> None:
    assert library_of(client(client_id)) == (library, version, True)


@pytest.mark.parametrize(
    "client_id", [None, "", "billing", "rdkafka2", "my-producer-1", "kafka-python-2.0.2-mine", "consumer-a"]
)
def test_no_library_is_guessed_by_any_other(client_id: str | None) -> None:
    assert library_of(client(client_id)) is None
    assert library_of(client(client_id, "unheard-of 1.0")) is None
    assert library_of(client(client_id, "my-rdkafka-2.1.0 1.0")) is None, "that is the name of some software"


@pytest.mark.parametrize("key", [0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 18])
def test_whatever_producers_and_consumers_need_is_a_matter_of_the_version(key: int) -> None:
    told = advised(client("billing", "sarama v1.1"), {key: PROTOCOL.api_names[key]}, "4.1.1")
    assert told.startswith("Upgrade sarama 1.1 to ")
    assert told.endswith(" or newer.")


def outcomes() -> Iterator[tuple[Tried, str, bool]]:
    for one in tried():
        for release, (works, _) in one.on.items():
            yield one, release, works


NAMES = {JAVA: "apache-kafka-java", "franz-go": "kgo"}


@pytest.mark.parametrize(
    ("one", "release", "works"),
    [*outcomes()],
    ids=[f"{one.library}-{dotted(one.version)}-{one.settings}-{release}" for one, release, _ in outcomes()],
)
def test_advice_is_right_for_what_was_really_run(one: Tried, release: str, works: bool) -> None:
    target = RELEASES[release]
    since = works_since(one.library, target, RELEASES)
    assert since is not None
    asked = Client("c", None, f"{NAMES.get(one.library, one.library)} {dotted(one.version)}", None)
    known = library_of(asked) if one.library in libraries.NAMED.values() else library_of(client(one.library))
    assert one.works_on(target) is works
    if works and not one.settings:
        assert since <= one.version
    if not works and known and known.version:
        told = advised(asked, {PRODUCE: "Produce"}, release)
        if one.settings:
            assert told.startswith("Change the settings of")
        else:
            assert told.startswith(f"Upgrade {'Kafka' if one.library == JAVA else one.library}")
            assert f"to {dotted(since)} or newer" in told
            assert one.version < since


def test_many_were_really_run() -> None:
    assert len([*outcomes()]) >= 60
    assert {one.library for one, _, works in outcomes() if not works} >= {
        "kafka-python",
        "librdkafka",
        "sarama",
        JAVA,
    }
    assert any(not works and not one.settings for one, _, works in outcomes())


def test_what_was_not_tried_follows_from_what_a_broker_accepts(monkeypatch: pytest.MonkeyPatch) -> None:
    new = Tried("sarama", (1, 40), "", {"4.4.0": (True, {PRODUCE: (7,), 3: (5,)})})
    old = Tried("sarama", (1, 20), "", {"4.4.0": (False, {PRODUCE: (2,)}), "3.9.2": (True, {PRODUCE: (2,)})})
    monkeypatch.setattr(libraries, "tried", lambda: (new, old))
    assert (new.works_on(RELEASES["4.1.1"]), old.works_on(RELEASES["3.8.1"])) == (True, True)
    assert (new.works_on(RELEASES["0.10.0"]), old.works_on(RELEASES["4.1.1"])) == (None, None)
    both = Tried("sarama", (1, 41), "", {"4.4.0": (True, {PRODUCE: (7, 2)})})
    assert both.works_on(RELEASES["4.1.1"]) is None, "it used a version that the target refuses"
    assert works_since("sarama", RELEASES["4.4.0"], RELEASES) == (1, 40)
    assert works_since("sarama", RELEASES["3.8.1"], RELEASES) == (1, 20)
    assert works_since("none", RELEASES["4.4.0"], RELEASES) is None
    failing = Tried("sarama", (1, 30), "", {"4.4.0": (False, {})})
    slower = Tried("sarama", (1, 41), "version=old", {"4.4.0": (False, {})})
    older = Tried("sarama", (1, 25), "", {"4.4.0": (True, {})})
    for tested in ((new, old, failing, older, slower), (older, failing, new)):
        monkeypatch.setattr(libraries, "tried", lambda tested=tested: tested)
        assert works_since("sarama", RELEASES["4.4.0"], RELEASES) == (1, 40), "as do all newer ones"
    unknown = Tried("sarama", (1, 42), "", {"0.9.0": (False, {})})
    monkeypatch.setattr(libraries, "tried", lambda: (new, unknown))
    assert works_since("sarama", RELEASES["4.4.0"], RELEASES) == (1, 30, 1), "the oldest tried, or what KIP-896 kept"
    assert unknown.works_on(RELEASES["4.4.0"]) is None, "what did not work elsewhere tells nothing"


def test_javas_clients_follow_from_the_releases() -> None:
    since = works_since(JAVA, RELEASES["4.4.0"], RELEASES)
    assert since is not None
    for name, release in RELEASES.items():
        meets = all(
            key in release.apis and set(release.apis[key].accepted) & set(RELEASES["4.4.0"].apis[key].accepted)
            for key in CLIENT_APIS
        )
        assert meets == (libraries.numbers(name) >= since), name


def test_the_report_ends_in_advice() -> None:
    old, newer, nameless = client("a", "librdkafka 1.0.0"), client("b", "librdkafka 2.8.0"), client("c")
    report = report_on([Use(one, PRODUCE, "Produce", 1) for one in (old, newer, nameless)], RELEASES["4.1.1"])
    table = report.table("advice")
    texts = dict(zip(table.column("examples"), table.column("advice"), strict=True))
    assert texts[("a",)] == "Upgrade librdkafka 1.0.0 to 1.8.2 or newer."
    settings = "Change the settings of librdkafka 2.8.0, which supports newer API versions: "
    assert str(texts[("b",)]).startswith(settings)
    assert str(texts[("c",)]).startswith(
        "The library is unknown. Ask the owner. These library versions and newer ones work with 4.1.1: "
    )
    assert "sarama 1.30.0" in str(texts[("c",)])
    accepted = report_on([Use(old, PRODUCE, "Produce", 9)], RELEASES["4.1.1"])
    assert "advice" not in [found.name for found in accepted.tables]


@pytest.mark.parametrize("client_id", [None, ""])
def test_a_client_without_id_is_named_by_its_address(client_id: str | None) -> None:
    assert str(client(client_id)) == "a client without an id at 10.0.0.1"


def test_advice_is_whole_on_the_page_and_in_markdown() -> None:
    report = report_on([Use(client("c"), PRODUCE, "Produce", 1)], RELEASES["4.1.1"])
    (text,) = report.table("advice").column("advice")
    assert len(str(text)) > LONGEST
    assert str(text) in unescape(page(report))
    assert str(text) in unescape(markdown(report))


def test_the_summary_names_sections_by_their_titles() -> None:
    use = Use(client("c"), PRODUCE, "Produce", 1)
    report = report_on([use], RELEASES["4.1.1"], unjudged=1, before=[])
    named = re.findall('See "(.*?)"', " ".join(report.summary))
    assert named == ["What to do", "Clients", "Since the earlier run"]
    assert {*named} <= {table.title for table in report.tables}


def test_the_whole_table_of_advice() -> None:
    """Two targets, several owners, clients of one name, and more clients than are named."""
    old = [Client(name, None, "sarama 1.20", None, owner) for name, owner in zip("abcdef", "xyxyxz", strict=True)]
    twice = Client("a", "10.0.0.8", "sarama 1.20", None)
    admin, both = Client("admin", None, "kgo 1.17.0", None), Client("both", None, "librdkafka 1.0.0", None)
    joins, nameless = Client("joins", None, "librdkafka 2.3.0", None), Client(None, "10.0.0.7", "librdkafka 1", None)
    uses = [Use(one, PRODUCE, "Produce", 1) for one in (*old, twice, both, nameless)]
    uses += [Use(both, 30, "CreateAcls", 0), Use(admin, 30, "CreateAcls", 0), Use(admin, 29, "DescribeAcls", 0)]
    uses += [Use(joins, 11, "JoinGroup", 1), Use(joins, PRODUCE, "Produce", 7), Use(admin, 20, "DeleteTopics", 3)]
    table = advice_table([Judgement.of(uses, RELEASES[name]) for name in ("4.1.1", "4.0.0")], RELEASES)
    settings = "remove `api.version.request` and `broker.version.fallback`, which select old versions"
    to_newest = (
        "Upgrade franz-go 1.17.0 to its newest release, or ask the owner. "
        "The client sends old versions of DescribeAcls, CreateAcls"
    )
    newer = f"Change the settings of librdkafka 2.3.0, which supports newer API versions: {settings}."
    assert table.rows == (
        ("Upgrade sarama 1.20 to 1.30.0 or newer.", 7, tuple("abcde"), tuple("xyz"), "4.1.1"),
        ("Upgrade sarama 1.20 to 1.41.3 or newer.", 7, tuple("abcde"), tuple("xyz"), "4.0.0"),
        ("Upgrade librdkafka 1 to 1.8.2 or newer.", 1, ("a client without an id at 10.0.0.7",), (), "4.1.1"),
        (f"{to_newest}.", 1, ("admin",), (), "4.1.1"),
        ("Upgrade librdkafka 1.0.0 to 1.8.2 or newer.", 1, ("both",), (), "4.1.1"),
        ("Upgrade librdkafka 1 to 1.8.2 or newer.", 1, ("a client without an id at 10.0.0.7",), (), "4.0.0"),
        (f"{to_newest}.", 1, ("admin",), (), "4.0.0"),
        ("Upgrade librdkafka 1.0.0 to 1.8.2 or newer.", 1, ("both",), (), "4.0.0"),
        (newer, 1, ("joins",), (), "4.0.0"),
    )


LONG_NAME = f"{'s' * 60}… (61 characters)"


@pytest.mark.parametrize(
    ("client_id", "software", "apis", "working", "told"),
    [
        ("c", "sarama 1.20", [0], {}, "Upgrade sarama. None of the tested releases works with T."),
        ("producer-1", None, [0], {}, "Upgrade Kafka's Java clients (its client id is the default of Kafka's Java "
         "clients). None of the tested releases works with T."),
        ("sarama", None, [0], {"sarama": (1, 30)}, "Upgrade sarama (its client id is the default of sarama) to 1.30 "
         "or newer. If the library is new enough, change its settings: set `Config.Version` to 2.1 or newer."),
        ("kafkajs", None, [0], {"kafkajs": (1,)}, "Upgrade kafkajs (its client id is the default of kafkajs) to 1 or "
         "newer. If the library is new enough, change its settings: look for a setting that selects an old broker or "
         "old versions."),
        ("aiokafka-0.7", None, [0], {"aiokafka": (0, 7)}, "Change the settings of aiokafka 0.7 (its client id is "
         "the default of aiokafka), which supports newer API versions: remove `api_version` if it selects an old "
         "broker."),
        ("c", "kgo 0.9", [0, 19], {"franz-go": (0, 10)}, "Upgrade franz-go 0.9 to 0.10 or newer."),
        ("c", None, [19], {}, "Upgrade the library to its newest release, or ask the owner. The client sends old "
         "versions of api 19."),
        ("c", "x 1", [19, 20], {}, "Upgrade x 1 to its newest release, or ask the owner. The client sends old "
         "versions of api 19, api 20."),
        ("c", "x 1", [0], {}, "x 1 is not a known library. Ask the owner."),
        ("c", None, [0], {}, "The library is unknown. Ask the owner."),
        ("c", "s" * 61, [0], {JAVA: (0, 11)}, f"{LONG_NAME} is not a known library. Ask the owner. These library "
         "versions and newer ones work with T: Kafka's Java clients 0.11."),
        ("c", None, [0], {JAVA: (2,), "sarama": (1, 2), "kafkajs": (1,)}, "The library is unknown. Ask the owner. "
         "These library versions and newer ones work with T: kafkajs 1, sarama 1.2, Kafka's Java clients 2."),
    ],
)  # fmt: skip
def test_advice_by_what_is_known(
    client_id: str,
    software: str | None,
    apis: list[int],
    working: dict[str, tuple[int, ...]],
    told: str,
) -> None:
    refused = {key: f"api {key}" for key in apis}
    assert advice(Client(client_id, None, software, None), refused, "T", working.get) == told


@pytest.mark.parametrize(
    ("accepted", "advertised", "missing", "since"),
    [
        (["0-1", "1-2", "1-3", "1"], [""] * 4, None, (1, 9)),
        (["0", "1", "2-3", "1"], [""] * 4, None, (1, 12)),
        (["0-1", "0-1", "0", "1"], [""] * 4, None, (1, 12)),
        (["1", "1", "0", "1"], ["", "", "0-1", ""], None, (1, 12)),
        (["1", "0", "1", "1"], [""] * 4, None, (1, 11)),
        (["1", "1", "1", "1"], [""] * 4, "1.10", (1, 11)),
        (["1", "1", "1", "1"], [""] * 4, "1.12", None),
    ],
)
def test_the_oldest_java_clients_that_work_as_do_all_newer_ones(
    accepted: list[str], advertised: list[str], missing: str | None, since: tuple[int, ...] | None
) -> None:
    """On the last of four releases. The oldest speak its versions of all APIs, one of which a release may lack."""
    names = ("1.9", "1.10", "1.11", "1.12")
    rows = {
        key: tuple(
            (name, name, "Api", one, other, "", "", "")
            for name, one, other in zip(names, accepted, advertised, strict=True)
            if key != CLIENT_APIS[-1] or name != missing
        )
        for key in CLIENT_APIS
    }
    releases = Releases(dict.fromkeys(names, "made"), rows, {})
    assert works_since(JAVA, releases["1.12"], releases) == since
