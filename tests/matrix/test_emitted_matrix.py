"""What is emitted: the whole matrix of a small protocol, some messages of Kafka, and how long it takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import kwire_kafka
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import clock, field, request, response, tagged
from kwirec.diagnostics.source import Source
from kwirec.driver import load
from kwirec.emitters.compat import emit_compatibility, history_of
from kwirec.emitters.compat_pages import decisive
from kwirec.emitters.modules import group_modules
from kwirec.emitters.release_facts import negotiations
from kwirec.frontend import parse
from kwirec.ir import resolve
from kwirec.lowering import lower
from kwirec.merge.history import ApiFacts, History
from kwirec.merge.proof import as_of

KAFKA = Path(__file__).parents[2] / "message_defs" / "kafka"
EMITTED = Path(str(kwire_kafka.__file__)).parent


@pytest.mark.slow
def test_everything_emitted_for_the_small_protocol(clockwork_folder: Path, snapshot: SnapshotAssertion) -> None:
    found = [clockwork_folder / "releases.py", clockwork_folder / "compat.py", clockwork_folder / "compat.json"]
    for path in [*found, *sorted((clockwork_folder / "matrix").rglob("*.md"))]:
        assert path.read_text() == snapshot(name=path.relative_to(clockwork_folder).as_posix())


TWO_APIS = (
    request(
        field("Zone", versions="0-1", nullableVersions="1"),
        field("Hour", "int8", ignorable=True, versions="2+"),
        field("Raw", "records", versions="1+", nullableVersions="2+"),
        field("Log", "records", versions="2"),
        field("Bells", "[]Bell", nullableVersions="2+", fields=[field("Tone"), field("Loud", "bool", versions="3+")]),
        tagged("Spare", 0, since="1.1.0"),
        tagged("More", 1, "int8", since="2.0.0"),
        tagged("Last", 2, "bytes", versions="2+", taggedVersions="2+", since="2.0.0"),
        apiKey=7,
        validVersions="0-3",
    ),
    response(field("Minute", "int16"), apiKey=7, validVersions="0-3"),
    request(name="AlarmRequest", apiKey=2, validVersions="1-2", flexibleVersions="none"),
    response(field("Error", "int16"), name="AlarmResponse", apiKey=2, validVersions="1-2", flexibleVersions="none"),
    clock(field("Time", "int64"), type="metadata", name="TickRecord", apiKey=7, validVersions="0-1"),
    clock(field("Teeth", "int16"), name="Gear", validVersions="0"),
)
ALARM = ApiFacts("Alarm", "1-2", listeners=("controller", "broker"))
SIX_RELEASES: dict[str, dict[int, ApiFacts]] = {
    "0.9.0": {7: ApiFacts("Watch", "0"), 9: ApiFacts("Bell", "0-1")},
    "0.10.2": {7: ApiFacts("Watch", "0-1"), 2: ApiFacts("Alarm", "1")},
    "1.0.0": {7: ApiFacts("Clock", "0-2", deprecated="0"), 2: ALARM},
    "1.1.0": {7: ApiFacts("Clock", "0-2", deprecated="0"), 2: ALARM},
    "2.0.0": {7: ApiFacts("Clock", "2-3", advertises="0-3", unstable="3"), 2: ApiFacts("Alarm", "2")},
    "2.1.0": {7: ApiFacts("Clock", "1-3", deprecated="1-2"), 2: ApiFacts("Alarm", "2", advertises="none")},
}


def test_everything_emitted_for_two_apis_in_six_releases(snapshot: SnapshotAssertion) -> None:
    sources = [Source(f"{number}.json", text) for number, text in enumerate(TWO_APIS)]
    schema = resolve([parse(source, Report()) for source in sources], Report())
    history = History(releases=dict(SIX_RELEASES))
    history.sources = {"0.9.0": "by | hand", "0.10.2": "by | hand", "1.0.0": "a <jar>", "2.0.0": "by | hand"}
    history.unpublished = {"2.1.0": ["TickRecord"]}
    layouts = lower(schema)
    for version, layout in layouts.by_message["TickRecord"].items():
        for release in ("1.1.0", "2.0.0"):
            other = (version, release) == (0, "1.1.0")
            history.record_layout("TickRecord", version, "0" * 16 if other else layout.fingerprint, release)
    for release in ("1.0.0", "1.1.0", "2.0.0"):
        own = "f" * 16 if release == "1.0.0" else as_of(layouts.by_message["ClockRequest"][2], release).fingerprint
        history.record_layout("ClockRequest", 2, own, release)
    artifacts = emit_compatibility(layouts, group_modules(schema), history, package="clocks")
    for one in artifacts:
        assert one.text == snapshot(name=one.path)


def test_the_overview_has_the_last_release_of_each_line_and_those_that_removed_something() -> None:
    accepted = {"0.8.2": "0", "0.10.1": "0-1", "0.10.2": "0-1", "1.0.0": "0-2", "1.1.0": "1-2", "1.10.0": "1-3"}
    accepted |= {"2.0.0": "1-3", "2.1.0": "none", "2.2.0": "1-4"}
    found = History(releases={name: {7: ApiFacts("Clock", versions)} for name, versions in accepted.items()})
    shown = list(decisive(found.names, negotiations(found)))
    assert shown == ["0.8.2", "0.10.2", "1.1.0", "1.10.0", "2.1.0", "2.2.0"]


@pytest.mark.parametrize(
    ("broker", "fails"),
    [
        (ApiFacts("Clock", "0-1"), False),
        (ApiFacts("Clock", "1"), True),
        (ApiFacts("Clock", "1", advertises="0-1"), True),
        (ApiFacts("Clock", "1", advertises="none"), False),
        (ApiFacts("Clock", "1", unstable="1"), False),
        (None, False),
    ],
)
def test_releases_fail_to_negotiate_an_api_that_both_offer_without_a_common_version(
    broker: ApiFacts | None, fails: bool
) -> None:
    """A broker that does not advertise an API offers it to nobody, so no client asks it."""
    apis = {"1.0.0": {7: ApiFacts("Clock", "0")}, "2.0.0": {7: broker} if broker else {}}
    [clocks] = negotiations(History(releases=apis))
    assert clocks.fails("1.0.0", "2.0.0") is fails


def emitted(releases: dict[str, dict[int, ApiFacts]]) -> dict[str, str]:
    """What is emitted for a request and its response with this history."""
    sources = [Source("A.json", request(apiKey=7)), Source("B.json", response(apiKey=7))]
    schema = resolve([parse(source, Report()) for source in sources], Report())
    history = History(releases=releases, sources=dict.fromkeys(releases, "definitions"))
    artifacts = emit_compatibility(lower(schema), group_modules(schema), history, package="x")
    return {artifact.path: artifact.text for artifact in artifacts}


def test_clients_with_as_many_failures_as_others_keep_their_own() -> None:
    """With the newest broker, clients of 1.0.0 fail at A and those of 2.0.0 at B."""
    accepted = {"1.0.0": ("0-1", "0-2"), "2.0.0": ("0-2", "0-1"), "3.0.0": ("2", "2")}
    page = emitted({name: {7: ApiFacts("A", a), 8: ApiFacts("B", b)} for name, (a, b) in accepted.items()})
    rows = page["matrix/negotiation.md"].splitlines()
    assert {"| 1.0.0 | 3.0.0 | A |", "| 2.0.0 | 3.0.0 | B |"} <= set(rows)


def test_a_failure_is_that_of_the_client_and_not_of_its_release_as_a_broker() -> None:
    """Clients of 1.0.0 choose version 2, which brokers of 2.0.0 only advertise. Those of 2.0.0 choose version 1."""
    releases = {"1.0.0": ApiFacts("A", "0-2"), "2.0.0": ApiFacts("A", "1", advertises="0-2")}
    page = emitted({name: {7: api} for name, api in releases.items()})["matrix/negotiation.md"]
    assert [row for row in page.splitlines() if row.endswith("| A |")] == ["| 1.0.0 | 2.0.0 | A |"]


def test_a_version_that_is_unstable_and_deprecated_is_unstable() -> None:
    data = json.loads(
        emitted({"1.0.0": {7: ApiFacts("Clock", "0-2", deprecated="0-2", unstable="2")}})["compat.json"]
    )
    statuses = [one["status"] for one in data["messages"]["ClockRequest"]["versions"]]
    assert statuses == ["deprecated", "deprecated", "unstable"]


def test_the_order_of_listeners_makes_no_difference() -> None:
    both = ("broker", "controller")
    same, turned = (
        {"1.0.0": {7: ApiFacts("Clock", "0", listeners=both)}, "2.0.0": {7: ApiFacts("Clock", "0", listeners=other)}}
        for other in (both, both[::-1])
    )
    assert emitted(same)["releases.py"] == emitted(turned)["releases.py"]


def test_a_record_does_not_have_the_versions_of_the_api_with_its_number() -> None:
    texts = (clock(type="metadata", apiKey=7, name="ClockRecord"), request(apiKey=7), response(apiKey=7))
    documents = [parse(Source(f"{number}.json", text), Report()) for number, text in enumerate(texts)]
    schema = resolve(documents, Report())
    found = History(releases={"1.0.0": {7: ApiFacts("Clock", "0-2")}})
    pages = emit_compatibility(lower(schema), group_modules(schema), found, package="p")
    with_table = [page.path for page in pages if "## Client releases and broker releases" in page.text]
    assert with_table == ["matrix/api/clock.md"]
    [overview] = [page.text for page in pages if page.path == "matrix/README.md"]
    assert "[Clock](api/clock.md)" in overview


@pytest.mark.parametrize(
    "page", ["api/produce", "api/offset_fetch", "metadata/partition_change_record", "coordinator/offset_commit"]
)
def test_pages_of_kafka(page: str, snapshot: SnapshotAssertion) -> None:
    assert (EMITTED / "matrix" / f"{page}.md").read_text() == snapshot


def test_overview_of_kafka_fits_a_page(snapshot: SnapshotAssertion) -> None:
    overview, _, _ = (EMITTED / "matrix" / "README.md").read_text().partition("## Pages")
    assert overview == snapshot
    header = next(line for line in overview.splitlines() if line.startswith("| key |"))
    assert header.count("|") <= 15


def test_every_link_of_the_overview_leads_to_a_page_that_leads_back() -> None:
    folder = EMITTED / "matrix"
    links = [part.partition(")")[0] for part in (folder / "README.md").read_text().split("](")[1:]]
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")} == {*links, "README.md"}
    for link in links:
        back = (folder / link).read_text().partition("[overview](")[2].partition(")")[0]
        assert (folder / link).parent.joinpath(back).resolve() == (folder / "README.md").resolve()


@pytest.mark.long
def test_the_whole_matrix_is_emitted() -> None:
    schema = load([KAFKA], Report()).schema
    artifacts = emit_compatibility(lower(schema), group_modules(schema), history_of([KAFKA]), package="x")
    assert {artifact.path for artifact in artifacts} > {"releases.py", "compat.py", "compat.json", "matrix/README.md"}


def test_a_protocol_without_releases_has_a_matrix_of_messages_only(tmp_path: Path) -> None:
    schema = load([KAFKA.parents[1] / "tests" / "data" / "clockwork"], Report()).schema
    artifacts = emit_compatibility(lower(schema), group_modules(schema), history_of([tmp_path]), package="x")
    texts = {artifact.path: artifact.text for artifact in artifacts}
    assert not {"releases.py", "matrix/releases.md", "matrix/negotiation.md"} & set(texts)
    data = json.loads(texts["compat.json"])
    assert data["releases"] == []
    statuses = [one["status"] for one in data["messages"]["ClockRequest"]["versions"]]
    assert statuses == ["deprecated", "stable", "stable", "stable", "unstable"]
    assert "releases.md" not in texts["matrix/README.md"]
