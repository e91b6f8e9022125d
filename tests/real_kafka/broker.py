"""Real Kafka brokers on loopback: KRaft mode, broker and controller in one process with a bounded heap.

::

    with Broker("4.1.1", folder, sasl=("PLAIN",)) as broker:
        socket.create_connection(broker.address, timeout=10)
"""

from __future__ import annotations

import atexit
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar, Self

from kwire.frames import FrameReader, frame
from kwire_kafka import PROTOCOL, MetadataRequest, MetadataResponse
from tests.real_kafka.jars import classpath

HOST = "127.0.0.1"
METADATA = 3
NODE = 1
USERS = {"admin": "admin-secret", "alice": "alice-secret"}
"""Names and passwords of SASL PLAIN. ``admin`` may do everything, as may whoever comes without a name."""

HEAP = "-Xmx600m"
JAVA = ("java", HEAP, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")  # a short life: starting matters most
STARTING = 60.0
STOPPING = 20.0
LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule required "
    + " ".join(f'user_{name}="{password}"' for name, password in USERS.items()),
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule required",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule required",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
    'unsecuredLoginStringClaim_sub="broker"',
}

PROTOCOLS = {
    "PLAINTEXT": "PLAINTEXT",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SSL": "SSL",
    "SASL_SSL": "SASL_SSL",
    "CONTROLLER": "PLAINTEXT",
}
"""By listener."""

DYNAMIC_QUORUM = (3, 9)
"""The release since which a controller may be formatted as the only voter."""

UNSTABLE = {
    "unstable.api.versions.enable": "true",
    "unstable.feature.versions.enable": "true",
}
ALWAYS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:admin",
    "num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "broker.session.timeout.ms": "60000",  # a busy machine is no reason to be fenced
    "log.cleaner.enable": "false",  # every record that was ever written stays to be read
    "log.retention.ms": "-1",  # however old it says it is
}


class BrokerFailed(Exception):
    """The storage could not be formatted or the broker did not come up; the message ends with its log."""


class Broker:
    """One node of its own cluster. Entering starts it and waits until it answers; leaving stops the process."""

    started: ClassVar[list[subprocess.Popen[bytes]]] = []
    """Every java that was ever started here, so that a run can prove that none is left."""

    def __init__(
        self,
        release: str,
        folder: Path,
        *,
        sasl: Sequence[str] = (),
        tls: Path | None = None,
        unstable: bool = False,
        features: Mapping[str, int] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """``folder`` is for this broker alone: its log directories, its configuration and its output.

        ``sasl`` names the mechanisms of a second listener, ``tls`` is key and certificate in PEM, for the same
        listeners again with TLS [KIP-651, since 2.7]. ``unstable`` allows versions that may still change,
        ``features`` are levels to format with (``share.version``), ``properties`` further settings of the server.
        """
        self.release = release
        self.version = tuple(map(int, release.split(".")))
        self.unstable = unstable
        self.name = f"Kafka {release} unstable" if unstable else f"Kafka {release}"
        self.folder = folder
        self.log_dirs = (folder / "data-1", folder / "data-2")
        self.port, self.controller_port, self.sasl_port, self.tls_port, self.sasl_tls_port = free_ports(5)
        self._sasl = tuple(sasl)
        self._tls = tls
        self._features = dict(features or {})
        self._properties = self._settings() | (UNSTABLE if unstable else {}) | dict(properties or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Where clients connect without a password."""
        return HOST, self.port

    @property
    def sasl_address(self) -> tuple[str, int]:
        """Where clients authenticate; nobody listens unless ``sasl`` was given."""
        return HOST, self.sasl_port

    @property
    def controller_address(self) -> tuple[str, int]:
        return HOST, self.controller_port

    @property
    def bootstrap(self) -> str:
        """The address in the form that client libraries want."""
        return f"{HOST}:{self.port}"

    @property
    def log_dir(self) -> Path:
        """The log directory that has the cluster's metadata; topics are spread over all ``log_dirs``."""
        return self.log_dirs[0]

    @property
    def log_text(self) -> str:
        """What formatting and the broker have printed so far."""
        output = self.folder / "output.txt"
        return output.read_text(errors="replace") if output.exists() else ""

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        configuration = self.folder / "server.properties"
        configuration.write_text("".join(f"{name}={value}\n" for name, value in self._properties.items()))
        self._format(configuration)
        self._process = self._java("kafka.Kafka", str(configuration))
        atexit.register(self.stop)
        try:
            self._wait_until_ready(self._process)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process, politely if it lets us. Stopping twice is no error."""
        atexit.unregister(self.stop)
        process, self._process = self._process, None
        if process is not None:
            end(process)

    def _settings(self) -> dict[str, str]:
        listeners = {"PLAINTEXT": self.port, "CONTROLLER": self.controller_port}
        if self._sasl:
            listeners["SASL_PLAINTEXT"] = self.sasl_port
        if self._tls:
            listeners["SSL"] = self.tls_port
        if self._sasl and self._tls:
            listeners["SASL_SSL"] = self.sasl_tls_port
        addresses = {name: f"{name}://{HOST}:{port}" for name, port in listeners.items()}
        logins = {
            f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config": f"{LOGIN_MODULES[mechanism]};"
            for listener in ("sasl_plaintext", "sasl_ssl")
            for mechanism in self._sasl
        }
        return {
            "process.roles": "broker,controller",
            "node.id": str(NODE),
            "listeners": ",".join(addresses.values()),
            "advertised.listeners": ",".join(addresses[name] for name in addresses if name != "CONTROLLER"),
            "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in PROTOCOLS.items()),
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            **self._quorum(),
            "log.dirs": ",".join(str(folder) for folder in self.log_dirs),
            "metadata.log.dir": str(self.log_dir),
            **({"sasl.enabled.mechanisms": ",".join(self._sasl)} if self._sasl else {}),
            **logins,
            **_keystore(self._tls),
            **ALWAYS,
        }

    def _quorum(self) -> dict[str, str]:
        if self.version >= DYNAMIC_QUORUM:
            return {"controller.quorum.bootstrap.servers": f"{HOST}:{self.controller_port}"}
        return {"controller.quorum.voters": f"{NODE}@{HOST}:{self.controller_port}"}

    def _format(self, configuration: Path) -> None:
        options = ["--standalone"] if self.version >= DYNAMIC_QUORUM else []
        options += [part for name, level in self._features.items() for part in ("--feature", f"{name}={level}")]
        command = ("format", "-t", "Zm9vYmFyZm9vYmFyZm9vYg", "-c", str(configuration), *options)
        process = self._java("kafka.tools.StorageTool", *command)
        try:
            failed = process.wait(STARTING)
        finally:
            end(process)
        if failed:
            raise BrokerFailed(f"formatting for Kafka {self.release} failed:\n{self.log_text}")

    def _java(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [*JAVA, *self._java_options(), program, *arguments]
        with (self.folder / "output.txt").open("ab") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=self.folder
            )
        self.started.append(process)
        return process

    def _java_options(self) -> list[str]:
        return ["-cp", classpath(self.release)]

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + STARTING
        while process.poll() is None and time.monotonic() < deadline:
            if _knows_itself(self.address):
                return
            time.sleep(0.2)
        what = "did not answer in time" if process.poll() is None else f"ended with {process.returncode}"
        raise BrokerFailed(f"Kafka {self.release} {what}:\n{self.log_text[-5000:]}")


def _keystore(file: Path | None) -> dict[str, str]:
    """The settings for key and certificate: as texts, because 2.8 reads no file of a key without password."""
    if file is None:
        return {}
    text = file.read_text().strip().replace("\n", "\\n")
    key, begin, certificate = text.partition("-----BEGIN CERTIFICATE")
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": key,
        "ssl.keystore.certificate.chain": begin + certificate,
    }


def _knows_itself(address: tuple[str, int]) -> bool:
    """Whether a broker answers Metadata with itself as a live broker, which it does once it is registered."""
    request = PROTOCOL.encode_request(MetadataRequest(topics=[]), 1, correlation_id=1, client_id="ready?")
    reader = FrameReader()
    try:
        with socket.create_connection(address, timeout=2) as connection:
            connection.sendall(frame(request))
            while data := connection.recv(65536):
                for payload in reader.feed(data):
                    answer = PROTOCOL.decode_response(payload, METADATA, 1).message
                    return isinstance(answer, MetadataResponse) and len(answer.brokers) == 1
    except OSError:
        pass
    return False


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on. All are held until all are found, or one would be found twice."""
    with ExitStack() as held:
        found = [held.enter_context(socket.create_server((HOST, 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in found]


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOPPING)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOPPING)
