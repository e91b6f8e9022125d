"""Client libraries that are in no other test, alone with a broker that accepts what they say and with one that does
not: ``python -m tests.e2e_traffic.strangers``.

Of each is compared: what ``clients`` makes of its capture with the broker's request log, and what ``readiness`` says
about it by its capture with the older broker with what the newer one did, which is in its server log. Prints a table
of what was found; the exit code is 1 if anything differs. Takes what ``make libraries`` takes, tcpdump and cargo.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kwire_inspect.reports.client_usage import client_of, collected, uses_of
from kwire_inspect.reports.judgement import Judgement
from kwire_inspect.reports.release_support import REFUSED
from kwire_inspect.tables.relations import collect
from kwire_kafka import PROTOCOL
from kwire_kafka.releases import RELEASES
from tests.e2e_traffic import raw
from tests.e2e_traffic.capture import Capture
from tests.e2e_traffic.clients.steps import Task
from tests.e2e_traffic.languages import SOURCES
from tests.e2e_traffic.libraries import STEPS
from tests.e2e_traffic.named import spoken
from tests.e2e_traffic.record import make_topics
from tests.e2e_traffic.truth import request_lines
from tests.e2e_traffic.venvs import ROOT
from tests.e2e_traffic.verdicts import REFUSAL
from tests.real_kafka.broker import HOST
from tests.real_kafka.releases import BEFORE, NEWEST
from tests.real_kafka.request_log import LoggingBroker

BUILT = ROOT / "build" / "traffic" / "strangers"
HERE = SOURCES / "strangers"
STEP = 60.0
LINGERING = 6.0
"""How long a broker may hold the last Fetch of a client that is gone: it is logged and answered then."""
Requests = Counter[tuple[Any, ...]]
"""Client id, software, API and version → number of requests."""


@dataclass(frozen=True)
class Stranger:
    """A library and its program; ``client_id`` if it cannot be chosen."""

    library: str
    version: str
    language: str
    program: str
    settings: dict[str, Any] = field(default_factory=dict)
    client_id: str = ""

    @property
    def name(self) -> str:
        return f"{self.library.rpartition('/')[2]}-{self.version}"


STRANGERS = (
    Stranger("github.com/Shopify/sarama", "1.19.0", "go", "sarama"),
    Stranger("github.com/segmentio/kafka-go", "0.3.10", "go", "kafkago"),
    Stranger("github.com/confluentinc/confluent-kafka-go/v2", "2.10.0", "go", "confluent"),
    Stranger("kafka-node", "5.0.0", "node", "kafka_node"),
    Stranger("no-kafka", "3.4.4", "node", "no_kafka"),
    Stranger("@platformatic/kafka", "1.35.0", "node", "platformatic"),
    Stranger("kafka", "0.10.0", "rust", "kafka-rust"),
    Stranger("rskafka", "0.6.0", "rust", "rskafka"),
    Stranger("pykafka", "2.8.0", "python", "strangers.py_kafka", {"broker_version": "0.9.0"}, "pykafka"),
    Stranger("afkak", "21.5.0.post0", "python", "strangers.afkak_twisted"),
    Stranger("kafka-python-ng", "2.2.3", "python", "kafka_python"),
)


def main() -> None:
    parser = ArgumentParser(prog="python -m tests.e2e_traffic.strangers")
    parser.add_argument("--only", nargs="+", help="names of libraries")
    wanted = parser.parse_args().only
    present = [one for one in STRANGERS if (not wanted or one.library in wanted) and _installed(one)]
    runs = {release: dict(_runs(release, present)) for release in (BEFORE, NEWEST)}
    differences = 0
    for one in present:
        before, after = (runs[release][one.name] for release in (BEFORE, NEWEST))
        problems = [*differing(before), *differing(after), *misjudged(before, after)]
        refused = ", ".join(f"{api} {version}" for api, version in sorted(after.refused)) or "nothing"
        software = ", ".join(sorted({key[1] for key in before.seen if key[1]})) or "does not say"
        count = sum(before.seen.values())
        print(
            f"| {one.name} | {one.language} | {software} | {count} | {refused} | {'; '.join(problems) or 'equal'} |"
        )
        differences += len(problems)
    sys.exit(1 if differences else 0)


@dataclass
class Run:
    """A client with a broker: what its capture says, what the broker logged, what it refused, which steps failed."""

    release: str
    capture: Path
    seen: Requests
    logged: Requests
    refused: set[tuple[str, int]]
    failed: dict[str, str]


def _runs(release: str, present: Sequence[Stranger]) -> Iterator[tuple[str, Run]]:
    """Each client alone."""
    folder = BUILT / "runs" / release
    shutil.rmtree(folder, ignore_errors=True)
    with LoggingBroker(release, folder) as broker:
        with raw.Conversation(Task(broker.bootstrap, "setup", ""), []) as ask:
            make_topics(ask, [one.name for one in present])
        for one in present:
            yield one.name, _run(broker, one)


def _run(broker: LoggingBroker, one: Stranger) -> Run:
    capture = broker.folder / f"{one.name}.pcap"
    task = Task(broker.bootstrap, one.client_id or one.name, one.name, None, None, None, one.settings, list(STEPS))
    time.sleep(LINGERING)
    logged, said = broker.request_log.stat().st_size, len(broker.log_text)
    with Capture(capture, [broker.port]):
        failed = dict(_steps(one, task, broker.folder / f"{one.name}.txt"))
        time.sleep(LINGERING)
    log = broker.folder / f"{one.name}.log"
    log.write_bytes(broker.request_log.read_bytes()[logged:])
    refusals = REFUSAL.finditer(broker.log_text[said:])
    refused = {(PROTOCOL.api_name(int(found["key"])), int(found["version"])) for found in refusals}
    run = Run(broker.release, capture, _seen(capture), _logged(log, broker.port), refused, failed)
    print(
        f"{broker.release} {one.name:30} refused {sorted(refused)} failed {failed}"[:300], file=sys.stderr, flush=True
    )
    return run


def _steps(one: Stranger, task: Task, told: Path) -> Iterator[tuple[str, str]]:
    """The steps that failed."""
    with told.open("wb") as output:
        process = subprocess.Popen(
            [*_command(one), task.as_json()],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
        )
        try:
            said, _ = process.communicate(timeout=STEP)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
    results = [json.loads(line) for line in said.splitlines() if line.startswith(b"{")]
    found = {result["step"]: result["error"] for result in results}
    for step in STEPS:
        if error := found.get(step, "did not end"):
            yield step, error


def _seen(capture: Path) -> Requests:
    found: Requests = Counter()
    for row in collect("SELECT * FROM {seen}", seen=spoken([str(capture)]).counted):
        if row["problem"]:
            found[row["problem"], None, "", -1] += 1
        else:
            found[row["client_id"], client_of(row).software, row["api"], row["version"]] += row["requests"]
    return found


def _logged(log: Path, port: int) -> Requests:
    """What came to a port: brokers and controllers use another one among themselves."""
    found: Requests = Counter()
    for line in request_lines(log):
        header, told, known = line["requestHeader"], line["request"], line["clientInformation"]
        parts = [told.get(f"clientSoftware{part}") or known[f"software{part}"] for part in ("Name", "Version")]
        software = " ".join(part for part in parts if part not in ("unknown", "")) or None
        api = PROTOCOL.api_name(header["requestApiKey"])
        if line["connection"].startswith(f"{HOST}:{port}-"):
            found[header["clientId"], software, api, header["requestApiVersion"]] += 1
    return found


def differing(run: Run) -> Iterator[str]:
    """Requests whose numbers differ in capture and log. A refused request is not in the log, nor what came after it;
    and a broker does not read the software in an ApiVersions request that is newer than it."""
    newest = RELEASES[run.release].api("ApiVersions").accepted.stop
    for key in sorted(run.seen.keys() | run.logged.keys(), key=repr):
        _, _, api, version = key
        if (api, version) not in run.refused and not (api == "ApiVersions" and version >= newest):
            if (run.seen[key] != run.logged[key]) if not run.refused else (run.seen[key] < run.logged[key]):
                yield f"{run.release}: {key}: {run.seen[key]} captured, {run.logged[key]} logged"


def misjudged(before: Run, after: Run) -> Iterator[str]:
    """Where the verdict by the capture with the older broker is not what the newer one did."""
    uses = uses_of(collected(spoken([str(before.capture)]).table, "api_key")[0])
    verdicts = Judgement.of(uses, RELEASES[after.release]).clients
    predicted = {(use.api, use.version) for use, verdict in verdicts if verdict.state == REFUSED}
    if bool(predicted) != bool(after.refused):
        yield f"predicted {sorted(predicted)}, refused {sorted(after.refused)}"
    if not after.refused <= predicted:  # the others come later in a conversation that has ended
        yield f"refused {sorted(after.refused - predicted)} without a prediction"
    if before.failed:
        yield f"{before.release}: failed: {before.failed}"
    if bool(after.failed) != bool(after.refused):
        yield f"{after.release}: failed {after.failed}, refused {sorted(after.refused)}"


def _command(one: Stranger) -> list[str]:
    folder = BUILT / one.name
    return {
        "go": [str(folder / "program")],
        "node": ["node", str(folder / f"{one.program}.mjs")],
        "rust": [str(BUILT / "rust" / "target" / "debug" / "strangers"), one.program],
        "python": [str(folder / "bin" / "python"), "-W", "ignore", "-m", f"tests.e2e_traffic.clients.{one.program}"],
    }[one.language]


def _installed(one: Stranger) -> bool:
    """Bring a library, unless it is there."""
    done = BUILT / one.name / "installed"
    try:
        if not done.exists():
            shutil.rmtree(done.parent, ignore_errors=True)
            done.parent.mkdir(parents=True)
            {"go": _by_go, "node": _by_npm, "rust": _by_cargo, "python": _by_pip}[one.language](one, done.parent)
            done.touch()
    except (subprocess.CalledProcessError, OSError) as problem:
        print(f"{one.name}: left out: {getattr(problem, 'stderr', None) or problem}"[-500:], file=sys.stderr)
        return False
    return True


def _must(command: Sequence[str], folder: Path) -> None:
    environment = os.environ | {"GOFLAGS": "-mod=mod"}
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, env=environment)


def _by_go(one: Stranger, folder: Path) -> None:
    sources = folder / "sources"
    shutil.copytree(HERE / "go" / one.program, sources / one.program)
    shutil.copytree(SOURCES / "go" / "steps", sources / "steps")
    _must(["go", "mod", "init", "kwire.invalid/clients"], sources)
    _must(["go", "get", f"{one.library}@v{one.version}"], sources)
    _must(["go", "mod", "tidy"], sources)
    _must(["go", "build", "-o", str(folder / "program"), f"./{one.program}"], sources)


def _by_npm(one: Stranger, folder: Path) -> None:
    shutil.copytree(HERE / "node", folder, dirs_exist_ok=True)
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--silent"]
    _must(["npm", "install", *options, f"{one.library}@{one.version}"], folder)


def _by_cargo(one: Stranger, folder: Path) -> None:
    """All in one program."""
    shutil.copytree(HERE / "rust", BUILT / "rust", dirs_exist_ok=True)
    _must(["cargo", "build", "--quiet"], BUILT / "rust")


def _by_pip(one: Stranger, folder: Path) -> None:
    _must([sys.executable, "-m", "venv", str(folder)], folder)
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _must([*install, f"{one.library}=={one.version}"], folder)
    for tests in folder.glob("lib/python*/site-packages/tests"):
        shutil.rmtree(tests)  # which pykafka leaves in the place of ours


if __name__ == "__main__":
    main()
