"""What a real broker counts of deprecated requests, dumped in the ways that operators use, beside a capture of them.

``python -m tests.e2e_traffic.metrics`` → ``tests/data/metrics``, for `make test`: the JMX exporter with its own names
and with common rules, Kafka's JmxTool, Jolokia, what was captured, and from the request log what was deprecated. Of
the exporter, only metrics of the network are kept; nothing else is changed. Takes what ``make libraries`` takes.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kwire_kafka import ApiVersionsRequest
from tests.e2e_traffic import raw
from tests.e2e_traffic.capture import Capture
from tests.e2e_traffic.clients.steps import Task
from tests.e2e_traffic.libraries import AS_OF_0_9, STEPS, Case, command, install
from tests.e2e_traffic.record import make_topics
from tests.e2e_traffic.truth import request_lines
from tests.e2e_traffic.venvs import ROOT
from tests.real_kafka.broker import HOST, end, free_ports
from tests.real_kafka.jars import TOOLS, classpath
from tests.real_kafka.releases import BEFORE
from tests.real_kafka.request_log import LoggingBroker
from tools.maven import mvn

SAMPLE = ROOT / "tests" / "data" / "metrics"
AGENTS = (
    ("io.prometheus.jmx", "jmx_prometheus_javaagent", "1.0.1", ""),
    ("io.prometheus.jmx", "jmx_prometheus_httpserver", "0.20.0", ""),
    ("org.jolokia", "jolokia-agent-jvm", "2.1.2", "javaagent"),
)
DEPENDENCY = """<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
    <classifier>{}</classifier><exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>
    </exclusions></dependency>"""
BEANS = "kafka.network:type=RequestMetrics,name=DeprecatedRequestsPerSec,*"
RULES = """\
lowercaseOutputName: true
rules:
- pattern: kafka.(\\w+)<type=(.+), name=(.+)PerSec\\w*, (.+)=(.+), (.+)=(.+)><>Count
  name: kafka_$1_$2_$3_total
  type: COUNTER
  labels:
    "$4": "$5"
    "$6": "$7"
"""
"""As in the examples of exporter and operators: four labels meet a rule for two."""
CASES = (
    Case("kafka-python", "2.0.2", {"api_version": [0, 10]}),
    Case("librdkafka", "2.16.1", AS_OF_0_9),
    Case("sarama", "1.43.3", {"version": "0.10.2.0"}),
)


class Watched(LoggingBroker):
    """A broker whose metrics can be read by JMX, by HTTP from the JMX exporter, and by HTTP from Jolokia."""

    def __init__(self, folder: Path) -> None:
        super().__init__(BEFORE, folder)
        self.jmx, self.exporter, self.jolokia = free_ports(3)
        self._runs = False

    def _java(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        self._runs = program == "kafka.Kafka"
        return super()._java(program, *arguments)

    def _java_options(self) -> list[str]:
        if not self._runs:
            return super()._java_options()
        exporter, _, jolokia = agents()
        rules = self.folder / "rules.yml"
        rules.write_text(RULES)
        remote = {"port": self.jmx, "rmi.port": self.jmx, "host": HOST, "authenticate": "false", "ssl": "false"}
        return [
            *(f"-Dcom.sun.management.jmxremote.{name}={value}" for name, value in remote.items()),
            f"-Djava.rmi.server.hostname={HOST}",
            f"-javaagent:{exporter}={HOST}:{self.exporter}:{rules}",
            f"-javaagent:{jolokia}=host={HOST},port={self.jolokia}",
            *super()._java_options(),
        ]


def agents() -> list[Path]:
    """The jars of :data:`AGENTS`, fetched unless they are there."""
    folder = ROOT / "build" / "jars" / "agents"
    files = [folder / f"{name}-{version}{'-' if kind else ''}{kind}.jar" for _, name, version, kind in AGENTS]
    if not all(file.exists() for file in files):
        wanted = "".join(DEPENDENCY.format(*agent) for agent in AGENTS)
        mvn(f"<dependencies>{wanted}</dependencies>", "dependency:copy-dependencies", f"-DoutputDirectory={folder}")
    return files


def record(folder: Path) -> None:
    """Old clients against a broker; its metrics afterwards, the capture and the truth go to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        install(case)
    with TemporaryDirectory() as scratch:
        broker = Watched(Path(scratch) / "broker")
        capture = Path(scratch) / "traffic.pcap"
        with Capture(capture, (broker.port, broker.controller_port)), broker:
            _speak(broker)
            time.sleep(1)
            for name, text in _dumps(broker):
                (folder / name).write_text(text)
            truth = deprecated(broker.request_log)
        (folder / "traffic.pcap.gz").write_bytes(gzip.compress(capture.read_bytes(), mtime=0))
    rows = [[*key, count] for key, count in sorted(truth.items(), key=repr)]
    (folder / "truth.json").write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


def _speak(broker: LoggingBroker) -> None:
    """Libraries that name no software and speak old versions; and one that names some."""
    with raw.Conversation(Task(broker.bootstrap, "setup", ""), []) as ask:
        make_topics(ask, [case.name for case in CASES])
    for case in CASES:
        task = Task(broker.bootstrap, case.name, case.name, settings=case.settings, only=list(STEPS))
        subprocess.run([*command(case), task.as_json()], cwd=ROOT, stdout=subprocess.DEVNULL, timeout=90, check=True)
    task = Task(broker.bootstrap, "raw-old", CASES[0].name)
    for message, version in raw.old(task):
        with raw.Conversation(task, []) as ask:
            ask(ApiVersionsRequest(client_software_name="legacy-app", client_software_version="1.2.3"), 3)
            ask(message, version)


def deprecated(log: Path) -> Counter[tuple[Any, ...]]:
    """Requests that a request log calls deprecated, by API, version and software. What a broker forwarded is in it
    twice, as it is in metrics."""
    found: Counter[tuple[Any, ...]] = Counter()
    for line in request_lines(log):
        header, client = line["requestHeader"], line["clientInformation"]
        if header.get("requestApiVersionDeprecated"):
            software = (None if text == "unknown" else text for text in client.values())
            found[header["requestApiKeyName"], header["requestApiVersion"], *software] += 1
    return found


def _dumps(broker: Watched) -> Iterator[tuple[str, str]]:
    yield "exporter-rules.prom", _of_network(_read(f"http://{HOST}:{broker.exporter}/metrics"))
    with _exporter_without_rules(broker) as address:
        yield "exporter.prom", _of_network(_read(address))
    beans = urllib.parse.quote(BEANS)
    yield "jolokia.json", _read(f"http://{HOST}:{broker.jolokia}/jolokia/read/{beans}") + "\n"
    for kind in ("original", "csv"):
        yield f"jmxtool-{kind}.csv", _by_tool(broker, kind)


def _of_network(text: str) -> str:
    """The metrics of the network, and of the exporter."""
    kept = ("kafka_network", "jmx_")
    return "".join(
        f"{line}\n"
        for line in text.splitlines()
        if line.removeprefix("# HELP ").removeprefix("# TYPE ").startswith(kept)
    )


def _read(address: str) -> str:
    with urllib.request.urlopen(address, timeout=30) as answer:
        text: str = answer.read().decode()
    return text


@contextmanager
def _exporter_without_rules(broker: Watched) -> Iterator[str]:
    (port,) = free_ports(1)
    settings = broker.folder / "exporter.yml"
    settings.write_text(f"hostPort: {HOST}:{broker.jmx}\nincludeObjectNames: ['{BEANS}']\n")
    with (broker.folder / "exporter.txt").open("wb") as said:
        process = subprocess.Popen(
            ["java", "-jar", str(agents()[1]), f"{HOST}:{port}", str(settings)], stdout=said, stderr=said
        )
    try:
        address = f"http://{HOST}:{port}/metrics"
        deadline = time.monotonic() + 30
        while True:
            try:
                _read(address)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
        yield address
    finally:
        end(process)


def _by_tool(broker: Watched, kind: str) -> str:
    """What Kafka's JmxTool prints."""
    address = f"service:jmx:rmi:///jndi/rmi://{HOST}:{broker.jmx}/jmxrmi"
    options = ["--jmx-url", address, "--object-name", BEANS, "--one-time", "--report-format", kind]
    tool = ["java", "-cp", classpath(BEFORE, artifacts=TOOLS), "org.apache.kafka.tools.JmxTool"]
    return subprocess.run([*tool, *options], capture_output=True, text=True, check=True, timeout=60).stdout


if __name__ == "__main__":
    shutil.rmtree(SAMPLE, ignore_errors=True)
    record(SAMPLE)
