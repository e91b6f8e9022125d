"""``kwire broker`` and ``kwire call`` with real brokers: plain, TLS, every login, and what is said when it fails."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire.releases import BrokerAnswer
from kwire_kafka.releases import RELEASES
from tests.conftest import Result
from tests.e2e.client import Client
from tests.e2e.tally import Tally
from tests.e2e_traffic.scram import add_users
from tests.real_kafka.broker import HOST, USERS, Broker
from tests.real_kafka.releases import BEFORE, NEWEST
from tests.real_kafka.request_log import ZooKeeperBroker
from tests.support.certificates import Certificates

BROKERS: dict[str, type[Broker]] = {"2.8.2": ZooKeeperBroker, BEFORE: Broker, NEWEST: Broker}
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *SCRAM, "OAUTHBEARER")
SECONDS = 20.0
ALICE = USERS["alice"]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module", params=BROKERS)
def broker(
    request: pytest.FixtureRequest, certificates: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    folder = tmp_path_factory.mktemp("asked")
    made = BROKERS[request.param](request.param, folder, sasl=MECHANISMS, tls=certificates.server)
    with made as broker:
        with Client(broker.address, broker.name, Tally()) as client:
            add_users(client.ask, {"alice": ALICE}, SCRAM)
        yield broker


def at(port: int) -> str:
    return f"{HOST}:{port}"


def token(user: str) -> str:
    """One without a signature, which brokers take that are not told where to find keys [RFC 7515, A.5]."""
    now = int(time.time())
    parts = {"alg": "none"}, {"sub": user, "iat": now, "exp": now + 600}
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + "."


def login(mechanism: str, right: bool = True) -> tuple[tuple[str, ...], dict[str, str]]:
    """Options and environment of a login."""
    if mechanism == "OAUTHBEARER":
        return ("--mechanism", mechanism), {"KWIRE_TOKEN": token("alice") if right else "a.b.c"}
    user = ("--mechanism", mechanism, "--user", "alice")
    return user, {"KWIRE_PASSWORD": ALICE if right else "wrong"}


def test_a_broker_fits_its_release(run: Any, broker: Broker) -> None:
    result = run("broker", at(broker.port), "--format", "json")
    assert result.code == 0
    found = json.loads(result.out)
    assert broker.release in found["releases"]
    assert (found["exact"], found["listener"]) == (True, "zkBroker" if broker.release == "2.8.2" else "broker")
    assert [(node["host"], node["port"]) for node in found["nodes"]] == [(HOST, broker.port)]
    assert found["cluster_id"]
    release = RELEASES.of(BrokerAnswer.from_json(found))
    accepted = {key: api.accepted for key, api in RELEASES[broker.release].apis.items()}
    assert {key: api.accepted for key, api in release.apis.items()}.items() <= accepted.items()
    text = run("broker", at(broker.port))
    assert text.out.startswith(f"{at(broker.port)} fits Kafka {', '.join(found['releases'])} (")


def test_a_controller_fits_the_same_release(run: Any, broker: Broker) -> None:
    if isinstance(broker, ZooKeeperBroker):
        pytest.skip("there is no controller to be asked")
    found = json.loads(run("broker", at(broker.controller_port), "--format", "json").out)
    assert broker.release in found["releases"]
    assert (found["exact"], found["listener"]) == (True, "controller")
    assert [node["port"] for node in found["nodes"]] == [broker.controller_port]


def test_requests_are_answered_in_old_and_new_versions(run: Any, broker: Broker) -> None:
    versions = RELEASES[broker.release].api("Metadata").accepted
    for version in (versions[0], versions[-1]):
        result = run("call", at(broker.port), "Metadata", "--version", version, "--json", '{"topics": []}')
        assert json.loads(result.out)["brokers"][0]["port"] == broker.port
    newest = run(
        "call",
        at(broker.port),
        "DescribeConfigs",
        "--json",
        '{"resources": [{"resourceType": 4, "resourceName": "1"}]}',
    )
    configs = {config["name"]: config["value"] for config in json.loads(newest.out)["results"][0]["configs"]}
    assert configs["num.partitions"] == "1"
    software = '{"clientSoftwareName": "kwire", "clientSoftwareVersion": "1"}'
    tree = run("call", at(broker.port), "ApiVersions", "--json", software, "--trace")
    assert (tree.code, "  Fetch" in tree.out) == (0, True)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_logins(run: Any, broker: Broker, certificates: Certificates, mechanism: str) -> None:
    options, environment = login(mechanism)
    assert eventually(run, "broker", at(broker.sasl_port), *options, **environment).code == 0
    assert run("broker", at(broker.sasl_tls_port), "--ca", certificates.ca, *options, **environment).code == 0
    options, environment = login(mechanism, right=False)
    refused = run("broker", at(broker.sasl_port), *options, **environment)
    assert (refused.code, refused.out, refused.err.count("\n")) == (3, "", 1)
    assert "refuses the" in refused.err


def eventually(run: Any, *arguments: object, **environment: str) -> Result:
    """The first success: a new password is known after a moment."""
    deadline = time.monotonic() + SECONDS
    while (result := run(*arguments, **environment)).code and time.monotonic() < deadline:
        time.sleep(0.2)
    found: Result = result
    return found


def test_tls(run: Any, broker: Broker, certificates: Certificates, tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    jaas = f"org.apache.kafka.common.security.plain.PlainLoginModule required username=alice password={ALICE};"
    config.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
        f"sasl.jaas.config={jaas}\nssl.truststore.type=PEM\nssl.truststore.location={certificates.ca}\n"
    )
    assert run("broker", at(broker.sasl_tls_port), "--config", config).code == 0
    assert run("broker", at(broker.tls_port), "--ca", certificates.ca).code == 0


def test_what_goes_wrong_is_one_line_and_exit_code_3(run: Any, broker: Broker, certificates: Certificates) -> None:
    in_plain_text = run("broker", at(broker.tls_port))
    in_tls = run("broker", at(broker.port), "--ca", certificates.ca)
    untrusted = run("broker", at(broker.tls_port), "--tls")
    without_login = run("broker", at(broker.sasl_port))
    scram, environment = login("SCRAM-SHA-256")
    no_login = run("broker", at(broker.port), *scram, **environment)
    for result, reason in (
        (in_plain_text, "TLS"),
        (in_tls, "does not speak TLS"),
        (untrusted, "its certificate is not trusted"),
        (without_login, "requires a login"),
        (no_login, "this port does not accept logins"),
    ):
        assert (result.code, result.out, result.err.count("\n")) == (3, "", 1)
        assert reason in result.err


def test_a_version_that_the_broker_lacks_closes_the_connection(run: Any, broker: Broker) -> None:
    accepted = RELEASES[broker.release].api("Fetch").accepted
    refused = 0 if 0 not in accepted else accepted.stop
    result = run("call", at(broker.port), "Fetch", "--version", refused)
    assert (result.code, result.err.count("\n")) == (3, 1)
    assert "closed the connection instead of answering Fetch" in result.err
