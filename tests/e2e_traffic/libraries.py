"""Which release of which client library works with which broker: tried, not read in a changelog.

``python -m tests.e2e_traffic.libraries [RELEASE…]`` runs each of :data:`CASES` against a broker of each release: it
writes and reads twenty records in a group. What became of it, the API versions that it used and the software that it
named go to ``inspect/kwire_inspect/reports/libraries.json``, from which ``kwire readiness`` gives advice. Takes
what ``make e2e-traffic`` takes, and the package indexes of Python, Go and Node. A case that cannot be installed here
is left out.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kwire.request_log import parse_line
from tests.e2e_traffic import console, raw
from tests.e2e_traffic.clients.steps import Task
from tests.e2e_traffic.languages import SOURCES
from tests.e2e_traffic.record import make_topics
from tests.e2e_traffic.venvs import ROOT
from tests.real_kafka.releases import BROKERS
from tests.real_kafka.request_log import LoggingBroker

FOUND = ROOT / "inspect" / "kwire_inspect" / "reports" / "libraries.json"
BUILT = ROOT / "build" / "traffic" / "libraries"
STEPS = ("produce", "consume")
STEP = 90.0
OLD_GO = {"sarama": ("github.com/IBM/sarama", "github.com/Shopify/sarama", (1, 40))}
"""Library → its module, the former name of it, and the first version with the new one."""
PYTHON = {
    "kafka-python": ("kafka_python", ("six",)),
    "aiokafka": ("aio_kafka", ("async-timeout", "packaging", "typing-extensions", "kafka-python==2.0.2")),
    "librdkafka": ("librdkafka", ()),
}
"""Library → its program, and what it needs."""


class NotInstalledError(Exception):
    """This version of a library cannot be had here."""


@dataclass(frozen=True)
class Case:
    """A version of a library, with settings that are not the default."""

    library: str
    version: str
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        chosen = "-".join(f"{key}-{value}" for key, value in self.settings.items())
        return "".join(
            char if char.isalnum() or char in "-." else "-" for char in f"{self.library}-{self.version}-{chosen}"
        )

    @property
    def folder(self) -> Path:
        return BUILT / f"{self.library}-{self.version}"


AS_OF_0_9 = {"api.version.request": "false", "broker.version.fallback": "0.9.0"}
CASES = (
    *(Case("kafka-python", version) for version in ("1.4.7", "2.0.2", "2.0.6", "2.1.5", "2.2.15", "2.3.3", "3.0.12")),
    Case("kafka-python", "2.0.2", {"api_version": [0, 10]}),
    Case("kafka-python", "2.2.15", {"api_version": [0, 10]}),
    *(Case("aiokafka", version) for version in ("0.8.1", "0.10.0", "0.12.0", "0.14.0")),
    *(Case("librdkafka", version) for version in ("2.0.2", "2.3.0", "2.8.0", "2.11.1", "2.16.1")),
    Case("librdkafka", "2.0.2", AS_OF_0_9),
    Case("librdkafka", "2.16.1", AS_OF_0_9),
    *(Case("kafkajs", version) for version in ("1.11.0", "1.12.0", "1.15.0", "1.16.0", "2.2.4")),
    *(Case("sarama", version) for version in ("1.30.0", "1.38.1", "1.40.1", "1.41.3", "1.42.1", "1.43.3", "1.61.1")),
    Case("sarama", "1.43.3", {"version": "0.10.2.0"}),
    Case("sarama", "1.61.1", {"version": "0.10.2.0"}),
    Case("sarama", "1.61.1", {"version": "2.1.0"}),
    *(Case("franz-go", version) for version in ("1.17.0", "1.19.5", "1.22.2")),
    Case("franz-go", "1.22.2", {"version": "0.10.2"}),
    *(Case("kafka-go", version) for version in ("0.4.42", "0.4.47", "0.4.48", "0.4.49", "0.4.50", "0.4.51")),
    *(Case("java", version) for version in ("0.10.2.2", "1.1.1", "2.0.1", "2.1.1", "2.4.1", "3.9.1", "4.1.1")),
)


def main() -> None:
    parser = ArgumentParser(prog="python -m tests.e2e_traffic.libraries")
    parser.add_argument("releases", nargs="*", default=BROKERS)
    parser.add_argument("--only", nargs="+", help="names of libraries")
    wanted = parser.parse_args()
    cases = list(_installed(case for case in CASES if not wanted.only or case.library in wanted.only))
    known = json.loads(FOUND.read_text()) if FOUND.exists() else {"tried": []}
    entries = {_key(entry): entry for entry in known["tried"]}
    for release in wanted.releases:
        for case, outcome in tried(release, cases):
            entry = {"library": case.library, "version": case.version, "settings": case.settings, "on": {}}
            entry = entries.setdefault(_key(entry), entry)
            entry["on"][release] = outcome
    order = [_key({"library": case.library, "version": case.version, "settings": case.settings}) for case in CASES]
    known["tried"] = [entries[key] for key in order if key in entries]
    FOUND.write_text(json.dumps(known, indent=1) + "\n")


def _key(entry: dict[str, Any]) -> str:
    return json.dumps([entry["library"], entry["version"], entry["settings"]], sort_keys=True)


def _installed(cases: Iterator[Case]) -> Iterator[Case]:
    missing: set[Path] = set()
    for case in cases:
        try:
            if case.folder not in missing:
                install(case)
                yield case
        except (NotInstalledError, OSError) as problem:
            missing.add(case.folder)
            print(f"{case.name}: left out: {problem}", file=sys.stderr, flush=True)


def tried(release: str, cases: list[Case]) -> Iterator[tuple[Case, dict[str, Any]]]:
    """Each case against one broker, two at a time: whether it works, and what it was seen to use."""
    with TemporaryDirectory() as folder, LoggingBroker(release, Path(folder) / "broker") as broker:
        with raw.Conversation(Task(broker.bootstrap, "setup", ""), []) as ask:
            make_topics(ask, [case.name for case in cases])
        with ThreadPoolExecutor(2) as runners:
            results = list(runners.map(lambda case: _run(broker, case), cases))
        used = _used(broker.request_log)
    for case, problems in zip(cases, results, strict=True):
        seen = used.get(case.name, {"software": None, "apis": {}})
        yield case, {"works": not any(problems.values()), **seen}


def _run(broker: LoggingBroker, case: Case) -> dict[str, str | None]:
    """Step → what went wrong."""
    task = Task(broker.bootstrap, case.name, case.name, settings=case.settings, only=list(STEPS))
    found: dict[str, str | None] = dict.fromkeys(STEPS, "did not end")
    folder = broker.folder / case.name
    folder.mkdir()
    if case.library == "java":
        for call in list(console.calls(case.version, task, folder))[: len(STEPS)]:
            code, said = _output(call.command, folder, call.input)
            found[call.step] = console.problem(call, code, said)
    else:
        _, said = _output([*command(case), task.as_json()], ROOT, b"")
        for line in said.splitlines():
            result = json.loads(line)
            found[result["step"]] = result["error"]
    print(f"{broker.release:8} {case.name:50} {next(filter(None, found.values()), 'works')}"[:200], flush=True)
    return found


def _output(command: list[str], folder: Path, given: bytes) -> tuple[int, bytes]:
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder
    ) as process:
        try:
            said, _ = process.communicate(given, STEP)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
        return process.returncode, said


def _used(log: Path) -> dict[str, dict[str, Any]]:
    """Client id → the software that it named, and the versions of each API that it used."""
    apis: defaultdict[str, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    software: dict[str, list[str]] = {}
    for text in log.read_text(errors="replace").splitlines():
        if (line := parse_line(text)) is None or line.header.client_id is None:
            continue
        apis[line.header.client_id][str(line.header.api_key)].add(line.header.api_version)
        name, version = line.software
        if name:
            software[line.header.client_id] = [name, version or ""]
    return {
        name: {
            "software": software.get(name),
            "apis": {key: sorted(found) for key, found in sorted(of.items(), key=lambda pair: int(pair[0]))},
        }
        for name, of in apis.items()
    }


def install(case: Case) -> None:
    """Bring a version of a library, unless it is there."""
    done = case.folder / "installed"
    if case.library == "java" or done.exists():
        return
    shutil.rmtree(case.folder, ignore_errors=True)
    case.folder.mkdir(parents=True)
    {"kafkajs": _by_npm}.get(case.library, _by_pip if case.library in PYTHON else _by_go)(case)
    done.touch()


def command(case: Case) -> list[str]:
    """What runs a case, without the task."""
    if case.library in PYTHON:
        program = PYTHON[case.library][0]
        return [str(case.folder / "bin" / "python"), "-W", "ignore", "-m", f"tests.e2e_traffic.clients.{program}"]
    return ["node", str(case.folder / "kafkajs.mjs")] if case.library == "kafkajs" else [str(case.folder / "program")]


def _by_pip(case: Case) -> None:
    package = "confluent-kafka" if case.library == "librdkafka" else case.library
    needed = (
        PYTHON[case.library][1]
        if case.library != "aiokafka" or case.version < "0.9"
        else ("async-timeout", "packaging", "typing-extensions")
    )
    _must([sys.executable, "-m", "venv", str(case.folder)], case.folder)
    install = [str(case.folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _must([*install, "--no-deps", "--only-binary", ":all:", f"{package}=={case.version}", *needed], case.folder)


def _by_npm(case: Case) -> None:
    shutil.copytree(SOURCES / "node", case.folder, dirs_exist_ok=True)
    (case.folder / "package-lock.json").unlink()
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    _must(["npm", "install", *options, f"kafkajs@{case.version}"], case.folder)


def _by_go(case: Case) -> None:
    sources = case.folder / "sources"
    program = {"franz-go": "franzgo", "kafka-go": "kafkago"}.get(case.library, case.library)
    module = {"franz-go": "github.com/twmb/franz-go", "kafka-go": "github.com/segmentio/kafka-go"}.get(
        case.library, ""
    )
    if not module:
        module, former, first = OLD_GO[case.library]
        numbers = tuple(map(int, case.version.split(".")))
        if numbers < first:
            main = SOURCES / "go" / program / "main.go"
            text, module = main.read_text().replace(module, former), former
    for part in (program, "steps"):
        shutil.copytree(SOURCES / "go" / part, sources / part)
    if module.startswith("github.com/Shopify"):
        (sources / program / "main.go").write_text(text)
    _must(["go", "mod", "init", "kwire.invalid/clients"], sources)
    _must(["go", "get", f"{module}@v{case.version}"], sources)
    _must(["go", "mod", "tidy"], sources)
    _must(["go", "build", "-o", str(case.folder / "program"), f"./{program}"], sources)


def _must(command: list[str], folder: Path) -> None:
    environment = os.environ | {"GOFLAGS": "-mod=mod"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise NotInstalledError((done.stderr or done.stdout).strip()[-300:])


if __name__ == "__main__":
    main()
