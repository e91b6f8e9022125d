"""Real brokers, real clients, tcpdump: ``python -m tests.e2e_traffic.record [RELEASE…]`` → ``build/traffic/RELEASE``.

``--clients`` names some of the cast: ``--clients sarama kafkajs``.

A run leaves, for each release of the broker:

====================  ================================================================================================
``traffic.pcap``      all packets to and from its listeners, from before it started until after it ended
``kafka-request.log`` its request log
``server.log``        all else that it logs
``data-1 data-2``     its log directories
``steps.json``        what every client did, in order, and what became of it
``told/CLIENT.txt``   what the client library logged
``truth.json``        who spoke what, from request log and client logs
``verdicts.json``     who was refused, and with what
====================  ================================================================================================
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kwire_kafka import CreateTopicsRequest, ListOffsetsRequest, ListOffsetsResponse
from kwire_kafka.api.create_topics import CreatableTopic
from kwire_kafka.api.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from kwirec.merge.history import release_key
from tests.e2e_traffic import console, raw
from tests.e2e_traffic.capture import Capture
from tests.e2e_traffic.cast import CAST, USERS, Member
from tests.e2e_traffic.clients.steps import Task
from tests.e2e_traffic.languages import TOOLS, command, missing
from tests.e2e_traffic.scram import add_users
from tests.e2e_traffic.truth import write_truth
from tests.e2e_traffic.venvs import ROOT, python
from tests.e2e_traffic.verdicts import write_verdicts
from tests.real_kafka.broker import BrokerFailed
from tests.real_kafka.releases import BROKERS, STRICT
from tests.real_kafka.request_log import LoggingBroker

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
PROPERTIES = {
    "allow.everyone.if.no.acl.found": "true",
    "auto.create.topics.enable": "false",
}
NEW_GROUPS = {"group.coordinator.rebalance.protocols": "classic,consumer"}
"""What 3.9 does not offer unless it is told to."""

RUNS = ROOT / "build" / "traffic"
INTERFACES = {STRICT: "any"}
"""Where not on ``lo``: so that there are captures of both link types."""

STEP = 60.0
"""No run of a program takes longer: it is ended then."""

Result = dict[str, Any]
"""client_id, step, error or null, started and ended in seconds, from and to which line of server.log."""


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # brokers are stopped on the way out
    parser = ArgumentParser(prog="python -m tests.e2e_traffic.record")
    parser.add_argument("releases", nargs="*", default=BROKERS)
    parser.add_argument("--clients", nargs="+", default=[member.client_id for member in CAST])
    wanted = parser.parse_args()
    for release in wanted.releases:
        record(release, [member for member in CAST if member.client_id in wanted.clients])


def record(release: str, cast: Iterable[Member] = CAST) -> Path:
    """The cast against one broker; the folder with what is left."""
    folder = RUNS / release
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "told").mkdir(parents=True)
    properties = PROPERTIES if release_key(release) >= (4,) else PROPERTIES | NEW_GROUPS
    broker = LoggingBroker(release, folder, sasl=MECHANISMS, properties=properties)
    ports = (broker.port, broker.sasl_port, broker.controller_port)
    asked: list[raw.Asked] = []
    with Capture(folder / "traffic.pcap", ports, interface=INTERFACES.get(release, "lo")), broker:
        _prepare(broker)
        results = [result for member in _present(broker, cast) for result in _perform(broker, member, asked)]
        time.sleep(1)  # what a client asked for and did not wait for
    (folder / "server.log").write_text(broker.log_text)
    (folder / "steps.json").write_text(json.dumps(results, indent=1))
    (folder / "asked.json").write_text(json.dumps([asdict(one) for one in asked], indent=1))
    write_truth(folder)
    write_verdicts(folder)
    return folder


def _present(broker: LoggingBroker, cast: Iterable[Member]) -> list[Member]:
    """Who can be here: the broker knows what they want, and this machine can run them."""
    return [
        member
        for member in cast
        if member.since <= broker.version and not (member.environment in TOOLS and missing(member.environment))
    ]


def _prepare(broker: LoggingBroker) -> None:
    """Topics and SCRAM users, in requests of a client ``setup``."""
    task = Task(broker.bootstrap, "setup", "")
    with raw.Conversation(task, []) as ask:
        add_users(ask, {"bob": USERS["bob"]}, MECHANISMS[1:])
        make_topics(ask, [one.client_id for one in CAST])


def make_topics(ask: raw.Conversation, names: Sequence[str]) -> None:
    """Make topics of one partition, and wait until the broker leads them: it knows of them before, and an old
    producer that comes too early gives up."""
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
    ask(CreateTopicsRequest(topics=topics, timeout_ms=30_000), 5)
    asking = [ListOffsetsTopic(name=name, partitions=[ListOffsetsPartition(timestamp=-1)]) for name in names]
    deadline = time.monotonic() + STEP
    while time.monotonic() < deadline:
        answer = ask(ListOffsetsRequest(topics=asking), 2)
        assert isinstance(answer, ListOffsetsResponse)
        if not any(partition.error_code for topic in answer.topics for partition in topic.partitions):
            return
        time.sleep(0.2)
    raise BrokerFailed("the broker never led the partitions that it was told to make")


def _perform(broker: LoggingBroker, member: Member, asked: list[raw.Asked]) -> Iterator[Result]:
    address = broker.sasl_address if member.mechanism else broker.address
    task = Task(
        f"{address[0]}:{address[1]}",
        member.client_id,
        member.client_id,
        member.mechanism,
        member.user,
        USERS[member.user] if member.user else None,
        member.settings,
        list(member.only),
    )
    before, started = broker.log_text.count("\n"), time.time()
    for step, error in _steps(member, task, broker.folder, asked):
        time.sleep(0.1)  # the broker logs a refusal after the client has noticed it
        after, ended = broker.log_text.count("\n"), time.time()
        print(
            f"{broker.release} {member.client_id:24} {step:32} {ended - started:5.1f} s  {error or ''}"[:200],
            flush=True,
        )
        times = {"started": started, "ended": ended, "log_from": before, "log_to": after}
        yield {"client_id": member.client_id, "step": step, "error": error, **times}
        before, started = after, ended


def _steps(member: Member, task: Task, folder: Path, asked: list[raw.Asked]) -> Iterator[tuple[str, str | None]]:
    if member.environment:
        yield from _library(member, task, folder)
    elif member.tools:
        yield from _tools(member.tools, task, folder)
    else:
        for name, step in raw.steps(task, asked).items():
            try:
                step()
                yield name, None
            except OSError as problem:
                yield name, str(problem)


def _library(member: Member, task: Task, folder: Path) -> Iterator[tuple[str, str | None]]:
    assert member.environment
    command = _command(member.environment, str(member.program))
    with (folder / "told" / f"{member.client_id}.txt").open("wb") as told:
        process = subprocess.Popen(
            [*command, task.as_json()], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=told
        )
        try:
            assert process.stdout
            for line in process.stdout:
                result = json.loads(line)
                yield result["step"], result["error"]
            process.wait(STEP)
        finally:
            process.kill()
            process.wait()


def _command(environment: str, program: str) -> list[str]:
    if environment in TOOLS:
        return command(environment, program)
    return [str(python(environment)), "-W", "ignore", "-m", f"tests.e2e_traffic.clients.{program}"]


def _tools(release: str, task: Task, folder: Path) -> Iterator[tuple[str, str | None]]:
    with (folder / "told" / f"{task.client_id}.txt").open("wb") as told:
        for call in console.calls(release, task, folder):
            process = subprocess.Popen(
                call.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=told, cwd=folder
            )
            try:
                said, _ = process.communicate(call.input, STEP)
                yield call.step, console.problem(call, process.returncode, said)
            except subprocess.TimeoutExpired:
                yield call.step, f"did not end within {STEP:.0f} s"
            finally:
                process.kill()
                process.wait()


if __name__ == "__main__":
    main()
