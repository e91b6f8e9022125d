"""A Java client's TLS traffic with a real broker, decrypted by a key log that an agent in its JVM writes."""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from kwire_inspect.reasons import TLS
from tests.e2e_live.commands import LONGEST, problems, requests, run
from tests.e2e_traffic import console, raw
from tests.e2e_traffic.capture import Capture
from tests.e2e_traffic.clients.steps import VALUES, Task
from tests.e2e_traffic.record import make_topics
from tests.real_kafka.broker import HOST, USERS
from tests.real_kafka.releases import COMPLETE, NEWEST
from tests.real_kafka.request_log import LoggingBroker
from tests.support.certificates import Certificates
from tools.maven import COPY, ITEM, mvn

AGENT = "name.neykov", "extract-tls-secrets", "4.0.0"
CLIENT_IDS = {"java-tls-1.3": "TLSv1.3", "java-tls-1.2": "TLSv1.2"}
"""Each speaks one version, with the listener that accepts no other."""


@dataclass(frozen=True)
class Recorded:
    """What one run of the clients has left."""

    folder: Path

    @property
    def capture(self) -> str:
        return str(self.folder / "traffic.pcap")

    @property
    def keys(self) -> str:
        return str(self.folder / "keys.log")

    def truth(self) -> Counter[tuple[object, ...]]:
        """By the broker's request log."""
        run(
            "clients",
            str(self.folder / "kafka-request.log"),
            "--engine",
            "local",
            "--out",
            str(self.folder / "truth"),
        )
        return ours(requests(self.folder / "truth"))


def ours(found: Counter[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    """The requests of these clients after a login, which are those that brokers log, by whom a capture shows."""
    return Counter(
        {
            (client_id, name, version, None if principal == "User:ANONYMOUS" else principal, *rest): count
            for (client_id, name, version, principal, *rest), count in found.items()
            if client_id in CLIENT_IDS and name
        }
    )


def agent() -> Path:
    folder = Path(__file__).parents[2] / "build" / "jars" / "extract-tls-secrets"
    if not folder.is_dir():
        mvn(COPY.format(ITEM.format(*AGENT, "jar", folder)), "dependency:copy")
    (jar,) = folder.glob("*.jar")
    return jar


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("java")
    certificates = Certificates(tmp_path_factory.mktemp("certificates"))
    listeners = {
        "listener.name.ssl.ssl.enabled.protocols": "TLSv1.3",
        "listener.name.sasl_ssl.ssl.enabled.protocols": "TLSv1.2",
    }
    broker = LoggingBroker(NEWEST, folder, sasl=("PLAIN",), tls=certificates.server, properties=listeners)
    with Capture(folder / "traffic.pcap", (broker.tls_port, broker.sasl_tls_port)), broker:
        with raw.Conversation(Task(broker.bootstrap, "setup", ""), []) as ask:
            make_topics(ask, [*CLIENT_IDS])
        for client_id, version in CLIENT_IDS.items():
            port = broker.tls_port if version == "TLSv1.3" else broker.sasl_tls_port
            speak(folder, client_id, version, port, certificates.ca)
    return Recorded(folder)


def speak(folder: Path, client_id: str, version: str, port: int, ca: Path) -> None:
    """Let Kafka's console tools write and read records."""
    settings = {
        "client.id": client_id,
        "security.protocol": "SSL" if version == "TLSv1.3" else "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(ca),
        "ssl.enabled.protocols": version,
    }
    if version == "TLSv1.2":
        login = console.LOGIN.format(console.MODULES["PLAIN"], "admin", USERS["admin"])
        settings |= {"sasl.mechanism": "PLAIN", "sasl.jaas.config": login}
    config = folder / f"{client_id}.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    server = ["--bootstrap-server", f"{HOST}:{port}", "--topic", client_id]
    limits = ["--from-beginning", "--max-messages", str(len(VALUES)), "--timeout-ms", "60000"]
    for tool, arguments in (
        ("ConsoleProducer", [*server, "--producer.config", str(config)]),
        ("ConsoleConsumer", [*server, *limits, "--consumer.config", str(config)]),
    ):
        java, *rest = console.tool(COMPLETE, tool)
        watched = [java, f"-javaagent:{agent()}={folder / 'keys.log'}", *rest, *arguments]
        done = subprocess.run(
            watched, input=b"\n".join(VALUES) + b"\n", capture_output=True, timeout=LONGEST, check=True
        )
        if tool == "ConsoleConsumer":
            assert {*VALUES} <= {*done.stdout.splitlines()}


def test_the_capture_is_encrypted_and_says_so(recorded: Recorded, tmp_path: Path) -> None:
    told = run("clients", recorded.capture, "--engine", "local", "--out", str(tmp_path), allowed=(4,))
    assert "INCOMPLETE" in told
    assert not requests(tmp_path)
    assert set(problems(tmp_path)) == {TLS}


def test_with_the_key_log_the_clients_are_those_of_the_request_log(recorded: Recorded, tmp_path: Path) -> None:
    keys = ["--key-log", recorded.keys]
    told = run("clients", recorded.capture, *keys, "--engine", "local", "--out", str(tmp_path))
    assert "100 % of the bytes and 100 % of the connections were read" in " ".join(told.split())
    found, truth = ours(requests(tmp_path)), recorded.truth()
    assert {key[0] for key in found} == set(CLIENT_IDS)
    assert {key[3] for key in found} == {None, "User:admin"}
    assert found == truth


def test_a_stream_of_the_capture_decrypts_the_same(recorded: Recorded, tmp_path: Path) -> None:
    folder, out, whole = (tmp_path / name for name in ("captures", "out", "whole"))
    folder.mkdir()
    (folder / "traffic.pcap").write_bytes(Path(recorded.capture).read_bytes())
    keys = ["--key-log", recorded.keys]
    run("watch", str(folder), "--once", "--settled", "0", "--target", "4.4.0", *keys, "--out", str(out))
    run("clients", recorded.capture, *keys, "--engine", "local", "--out", str(whole))
    assert requests(out) == requests(whole)
    assert "kwire_clients{" in (out / "kwire.prom").read_text()
