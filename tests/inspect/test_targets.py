"""Brokers as targets of readiness: asked, or by their saved answers. Needs no Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kwire.client import BrokerError
from kwire.command import main as kwire
from kwire.command import main as run
from kwire.errors import UnknownReleaseError
from kwire.releases import BrokerAnswer
from kwire.releases.table import Releases
from kwire_inspect.options import OptionError
from kwire_inspect.reports import targets as targets_module
from kwire_inspect.reports.client_usage import Client, Use
from kwire_inspect.reports.readiness import readiness, report_on
from kwire_inspect.reports.release_support import judge
from kwire_inspect.reports.targets import find_target, find_targets
from kwire_kafka.releases import RELEASES
from tests.runtime.client.loopback import HOST, MECHANISMS, USERS, Loopback, Other
from tests.support.report_rows import client, clients_of

PRODUCE, FETCH, METADATA, API_VERSIONS = 0, 1, 3, 18
ONE = Client("one", "10.0.0.1", None, None)
VENDOR = RELEASES.of(BrokerAnswer(name="v:1", apis={PRODUCE: range(13), FETCH: range(4, 12), API_VERSIONS: range(4)}))


def test_a_broker_is_asked() -> None:
    with Loopback() as broker:
        target = find_target(broker.address)
    assert target.name == broker.address
    assert target.apis[FETCH].accepted == RELEASES["3.9.1"].apis[FETCH].accepted


def test_a_broker_that_is_named_twice_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([BrokerAnswer(name="v:1", apis={})])
    monkeypatch.setattr(targets_module, "_asked", lambda address, config: next(answers))
    assert [one.name for one in find_targets(["v:1", "4.1.1", "v:1"])] == ["v:1", "4.1.1"]


def test_a_broker_is_asked_with_a_login(tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    jaas = f"x.PlainLoginModule required username=alice password={USERS['alice']};"
    config.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={jaas}\n")
    with Loopback(mechanisms=MECHANISMS) as broker:
        assert find_target(broker.address, str(config)).name == broker.address
        with pytest.raises(BrokerError, match="closed the connection"):
            find_target(broker.address)


@pytest.mark.slow
def test_a_login_in_clear_text_is_told_before_it_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As ``kwire broker`` does: not of a release, nor of this machine."""
    config = tmp_path / "client.properties"
    login = "sasl.mechanism=PLAIN\nsasl.jaas.config=x.PlainLoginModule required username=alice password=s;\n"
    config.write_text(f"security.protocol=SASL_PLAINTEXT\n{login}")
    log = str(Path(__file__).parents[1] / "data" / "request_logs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(targets_module, "find_target", lambda name, *more: VENDOR)
        targets = ["--target", "broker.example:9092", "--target", "localhost:9092", "--target", "4.1.1"]
        run(["readiness", *targets, "--target-config", str(config), log, "--out", str(tmp_path / "out"), "-q"])
    told = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    warning = f"the password is sent to broker.example in clear text, as security.protocol in {config} allows"
    assert told == [f"kwire: warning: {warning}"]


def test_a_saved_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Loopback() as broker:
        assert kwire(["broker", broker.address, "--format", "json"]) == 0
        asked = find_target(broker.address)
    saved = tmp_path / "broker.json"
    saved.write_text(capsys.readouterr().out)
    assert find_target(str(saved)) == asked


@pytest.mark.slow
def test_two_saved_answers_of_one_name(tmp_path: Path) -> None:
    files: list[str] = []
    for number in (1, 1, 2):
        files.append(str(tmp_path / f"{len(files)}.json"))
        apis = [{"api_key": 1, "min_version": 0, "max_version": number}]
        Path(files[-1]).write_text(json.dumps({"broker": "localhost:9092", "apis": apis}))
    assert [target.name for target in find_targets(files[:2])] == ["localhost:9092"]
    with pytest.raises(OptionError, match="two different targets are named localhost:9092"):
        find_targets(files)


def test_two_targets_of_one_name_are_told_before_anything_is_read() -> None:
    other = RELEASES.of(BrokerAnswer(name=VENDOR.name, apis={FETCH: range(4, 13)}))
    with pytest.raises(OptionError, match="two different targets are named v:1"):
        readiness(None, ["4.1.1", VENDOR, other])  # type: ignore[arg-type]


def test_a_target_that_is_given_again_is_one() -> None:
    clients = clients_of(client())
    assert readiness(clients, [VENDOR, "4.1.1", VENDOR]).title == "Clients that break on the broker v:1, Kafka 4.1.1"


def test_releases_are_found_as_before() -> None:
    assert find_target("3.9.1") is RELEASES["3.9.1"]
    with pytest.raises(UnknownReleaseError, match=r"unknown release .4\.9., expected one of 4\.0\.0"):
        find_target("4.9")


def test_an_address_that_begins_like_a_release_is_an_address() -> None:
    with pytest.raises(OptionError, match=r"target 1\.1\.1\.1:0: '1\.1\.1\.1:0': expected HOST:PORT"):
        find_target("1.1.1.1:0")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "{}", '{"broker": "b", "apis": []}', "\xff"])
def test_other_files_are_no_targets(text: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text(text, "latin-1")
    with pytest.raises(OptionError, match=f"target {file}: "):
        find_target(str(file))


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    log = Path(__file__).parents[1] / "data" / "request_logs" / "3.9.1.log.gz"
    with Other(b"HTTP/1.1 400\r\n") as other:
        assert run(["readiness", "--target", other.address, str(log)]) == 3
    assert capsys.readouterr().err.endswith(f"{HOST}:{other.port}: an HTTP server, not a Kafka broker\n")
    assert run(["readiness", "--target", "4.1.1", "--target-config", "x", str(log)]) == 2


@pytest.mark.parametrize(
    ("api_key", "version", "negotiates", "state", "reason"),
    [
        (FETCH, 4, False, "ok", ""),
        (FETCH, 3, True, "refused", "the broker accepts 4-11"),
        (FETCH, 12, False, "refused", "the broker accepts 4-11, and the client was not seen to negotiate versions"),
        (FETCH, 12, True, "ok", ""),
        (FETCH, 3000, False, "refused", "the broker accepts 4-11, and the client was not seen to negotiate versions"),
        (
            METADATA,
            1,
            False,
            "refused",
            "the broker does not offer this API, and the client was not seen to negotiate",
        ),
        (METADATA, 1, True, "unsure", "the client negotiates, but the broker does not offer this API"),
        (PRODUCE, 2, True, "refused", "the broker accepts 3-12"),  # though it advertises 0
        (API_VERSIONS, 4, False, "ok", ""),  # always answered
    ],
)
def test_a_broker_judges_by_what_it_offers(
    api_key: int, version: int, negotiates: bool, state: str, reason: str
) -> None:
    verdict = judge(api_key, version, VENDOR, negotiates=negotiates)
    assert (verdict.state, verdict.reason[:75]) == (state, reason[:75])


def test_a_report_on_a_broker() -> None:
    report = report_on([Use(ONE, FETCH, "Fetch", 3)], replace(VENDOR, name="V.Example:1"))
    assert report.title == "Clients that break on the broker V.Example:1"
    assert report.summary[0] == "The broker V.Example:1 refuses 1 of 1 client: one at 10.0.0.1."
    assert report.exit_code == 1


def test_a_broker_with_the_name_of_a_release_is_a_broker() -> None:
    named = RELEASES.of(
        BrokerAnswer.from_json(
            json.loads('{"broker": "4.1.1", "apis": [{"api_key": 1, "min_version": 0, "max_version": 1}]}')
        )
    )
    assert judge(FETCH, 2, named).reason.startswith("the broker accepts 0-1")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """Addresses that were asked, with the configuration of the client; each answers."""
    found: list[tuple[str, str | None]] = []

    def answer(address: str, config: str | None) -> BrokerAnswer:
        found.append((address, config))
        if address == "down:1":
            raise OSError("refused")
        return BrokerAnswer(name=address, apis={FETCH: range(len(address))})

    monkeypatch.setattr(targets_module, "_asked", answer)
    return found


@pytest.mark.slow
def test_brokers_are_asked_with_the_configuration_and_nothing_else_is(
    asked: list[tuple[str, str | None]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = tmp_path / "saved.json"
    saved.write_text('{"broker": "b:1", "apis": [{"api_key": 1, "min_version": 2, "max_version": 3}]}')
    found = find_targets(["b:2", "4.1", str(saved), "b:22", "b:2", "4.1.2"], "login")
    assert asked == [("b:2", "login"), ("b:22", "login")]
    newest = RELEASES["4.1"]
    assert [one.name for one in found] == ["b:2", newest.name, "b:1", "b:22", *["4.1.2"] * (newest.name != "4.1.2")]
    assert [one.apis[FETCH].accepted for one in found[:4:2]] == [range(3), range(2, 4)]
    assert find_targets(["b:2"])[0].name == "b:2"
    assert asked[2:] == [("b:2", None)]
    for config in ("", "login"):
        with pytest.raises(OptionError, match="--target-config needs a target HOST:PORT"):
            find_targets(["4.1.1", str(saved)], config)
    with pytest.raises(OptionError, match="target down:1: refused"):
        find_targets(["4.1.1", "down:1"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "4.1.1").write_text("{}")
    assert find_target("4.1.1") is RELEASES["4.1.1"], "not the file"
    (tmp_path / "b:3").write_bytes(saved.read_bytes())
    assert find_target("b:3").name == "b:1", "a file is not asked"
    assert find_targets([]) == []


def test_releases_of_another_package_are_targets(asked: list[tuple[str, str | None]]) -> None:
    fewer = Releases({"9.0.0": "made"}, {FETCH: (("9.0.0", "9.0.0", "Fetch", "0-3", "", "", "", ""),)}, {})
    assert [one.name for one in find_targets(["9.0", "b:2"], None, fewer)] == ["9.0.0", "b:2"]
    with pytest.raises(UnknownReleaseError, match=r"unknown release .4\.1\.1."):
        find_target("4.1.1", None, fewer)
    for target in ("9.0", fewer["9.0.0"], ["9.0.0", "9.0"], ("9.0.0",)):
        report = readiness(clients_of(client(FETCH, 3), client(FETCH, 4, client_id="two")), target, fewer)
        assert report.title == "Clients that break on Kafka 9.0.0"
        assert report.table("clients").column("verdict") == ["unknown", "ok"]


def test_warnings_on_logins_in_clear_text(tmp_path: Path) -> None:
    """One for each broker, and none for releases, this machine, a configuration that is wrong, or none."""
    plain, tls, wrong = (tmp_path / name for name in ("plain", "tls", "wrong"))
    login = "sasl.mechanism=PLAIN\nsasl.jaas.config=x.PlainLoginModule required username=alice password=s;\n"
    plain.write_text(f"security.protocol=SASL_PLAINTEXT\n{login}")
    tls.write_text(f"security.protocol=SASL_SSL\n{login}")
    wrong.write_text("security.protocol=NONE\n")
    texts = ["4.1.1", "a.example:1", "bad:address:x", "b.example:2", "a.example:1", "localhost:3"]
    said = [
        f"the password is sent to {host} in clear text, as security.protocol in {plain} allows"
        for host in ("a.example", "b.example")
    ]
    assert [*targets_module.warnings(texts, str(plain))] == said
    for config in (str(tls), str(wrong), str(tmp_path / "missing"), None):
        assert [*targets_module.warnings(texts, config)] == []
