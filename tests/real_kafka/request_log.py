"""Brokers that log every request, as Kafka's own logging configuration would: ``[time] LEVEL message (logger)``.

::

    with logging_broker("3.9.1", folder) as broker:
        ...
    lines = broker.request_log.read_text().splitlines()
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.real_kafka.broker import HOST, NODE, STARTING, Broker, BrokerFailed, end, free_ports
from tests.real_kafka.jars import ARTIFACTS, LOG4J1, LOG4J2, classpath

REQUEST_LOG = "kafka-request.log"
PATTERN = "[%d] %p %m (%c)%n"
LOG4J1_CONFIGURATION = f"""\
log4j.rootLogger=INFO, server
log4j.appender.server=org.apache.log4j.ConsoleAppender
log4j.appender.server.layout=org.apache.log4j.PatternLayout
log4j.appender.server.layout.ConversionPattern={PATTERN}
log4j.logger.kafka.request.logger=DEBUG, requests
log4j.additivity.kafka.request.logger=false
log4j.appender.requests=org.apache.log4j.FileAppender
log4j.appender.requests.File={REQUEST_LOG}
log4j.appender.requests.layout=org.apache.log4j.PatternLayout
log4j.appender.requests.layout.ConversionPattern={PATTERN}
"""
LOG4J2_CONFIGURATION = f"""\
appender.server.type=Console
appender.server.name=server
appender.server.layout.type=PatternLayout
appender.server.layout.pattern={PATTERN}
appender.requests.type=File
appender.requests.name=requests
appender.requests.fileName={REQUEST_LOG}
appender.requests.layout.type=PatternLayout
appender.requests.layout.pattern={PATTERN}
rootLogger.level=INFO
rootLogger.appenderRef.server.ref=server
logger.requests.name=kafka.request.logger
logger.requests.level=DEBUG
logger.requests.additivity=false
logger.requests.appenderRef.requests.ref=requests
"""
AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
OLD_AUTHORIZER = "kafka.security.auth.SimpleAclAuthorizer"
"""Those of ZooKeeper's time, since 2.4 and before."""

OLD_ARTIFACTS = ("kafka_2.12",)
"""Of releases before 2.4."""

NO_JMX = "-Dzookeeper.jmx.log4j.disable=true"
"""Old ZooKeepers want something of log4j that its successor does not have."""


class LoggingBroker(Broker):
    """A broker in KRaft mode; what its controller is asked is in the same log."""

    @property
    def request_log(self) -> Path:
        return self.folder / REQUEST_LOG

    def _java_options(self) -> list[str]:
        if self.version >= (4,):
            jars, switch, text = LOG4J2, "log4j2.configurationFile", LOG4J2_CONFIGURATION
        else:
            jars, switch, text = LOG4J1, "log4j.configuration", LOG4J1_CONFIGURATION
        configuration = self.folder / "log4j.properties"
        configuration.write_text(text)
        artifacts = ARTIFACTS if self.version >= (2, 4) else OLD_ARTIFACTS
        return [f"-D{switch}={configuration.as_uri()}", "-cp", classpath(self.release, jars, artifacts)]


class ZooKeeperBroker(LoggingBroker):
    """A broker with a ZooKeeper of its own. There is no listener for a controller."""

    def __init__(self, release: str, folder: Path, **settings: object) -> None:
        (self._zookeeper_port,) = free_ports(1)
        self._zookeeper: subprocess.Popen[bytes] | None = None
        super().__init__(release, folder, **settings)  # type: ignore[arg-type]

    def stop(self) -> None:
        super().stop()
        process, self._zookeeper = self._zookeeper, None
        if process is not None:
            end(process)

    def _settings(self) -> dict[str, str]:
        settings = super()._settings()
        for name in [name for name in settings if name.startswith(("controller.", "metadata.", "process.", "node."))]:
            del settings[name]
        kept = [part for part in settings["listeners"].split(",") if not part.startswith("CONTROLLER")]
        return settings | {
            "broker.id": str(NODE),
            "zookeeper.connect": f"{HOST}:{self._zookeeper_port}",
            "listeners": ",".join(kept),
            "authorizer.class.name": AUTHORIZER if self.version >= (2, 4) else OLD_AUTHORIZER,
        }

    def _java_options(self) -> list[str]:
        return [NO_JMX, *super()._java_options()]

    def _format(self, configuration: Path) -> None:
        """There is nothing to format: what the broker wants to find is a ZooKeeper."""
        keeper = self.folder / "zookeeper.properties"
        settings = {
            "dataDir": str(self.folder / "zookeeper"),
            "clientPort": str(self._zookeeper_port),
            "clientPortAddress": HOST,
            "admin.enableServer": "false",
        }
        keeper.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        self._zookeeper = self._java("org.apache.zookeeper.server.quorum.QuorumPeerMain", str(keeper))
        deadline = time.monotonic() + STARTING
        while time.monotonic() < deadline:
            try:
                socket.create_connection((HOST, self._zookeeper_port), timeout=2).close()
                return
            except OSError:
                time.sleep(0.2)
        end(self._zookeeper)
        raise BrokerFailed(f"ZooKeeper did not answer in time:\n{self.log_text[-5000:]}")


def logging_broker(
    release: str,
    folder: Path,
    *,
    sasl: Sequence[str] = (),
    features: Mapping[str, int] | None = None,
    properties: Mapping[str, str] | None = None,
) -> LoggingBroker:
    """A broker of ``release`` with its request log on: with ZooKeeper before 3.3, in KRaft mode since.

    What is known to start on Java 17: 0.11.0.3, 1.1.1, 2.2.2, 2.4.1, 2.7.2 and later. 0.10.2.2 starts and logs
    nothing, 0.9.0.1 does not know the question that tells that it is ready. ``sasl`` is for 1.1 and later.
    """
    kind = ZooKeeperBroker if tuple(map(int, release.split("."))) < (3, 3) else LoggingBroker
    return kind(release, folder, sasl=sasl, features=features, properties=properties)
