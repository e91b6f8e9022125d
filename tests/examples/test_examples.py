"""The programs in ``examples`` run as their pages say. Those with tests of their own are collected by pytest, and
``tests/spark`` runs the Spark job.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kwire.client import connect, parse_address
from kwire_kafka import PROTOCOL, MetadataRequest, MetadataResponse
from kwire_testing import FakeBroker, Proxy
from kwirec.command import main
from tests.support.github import Job, read_yaml

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def test_each_folder_has_a_short_page_and_is_listed() -> None:
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    assert folders == set(re.findall(r"\]\((\w+)/README\.md\)", (EXAMPLES / "README.md").read_text()))
    sentences = {
        name: len(re.findall(r"\.(?:\s|$)", (EXAMPLES / name / "README.md").read_text())) for name in folders
    }
    assert {name: count for name, count in sentences.items() if not 4 <= count <= 8} == {}


def test_a_producer_and_a_consumer(capsys: pytest.CaptureFixture[str]) -> None:
    path = EXAMPLES / "producer_consumer" / "producer_consumer.py"
    assert len(path.read_text().splitlines()) <= 45
    program = runpy.run_path(str(path))
    with FakeBroker(topics={"orders": 1}) as broker:
        broker.produce("orders", b"first")
        asyncio.run(program["main"](broker.bootstrap_servers))
    assert capsys.readouterr().out == "written from offset 1\nread [b'first', b'anvil', b'rope']\n"


def test_a_proxy_hides_topics() -> None:
    hide = runpy.run_path(str(EXAMPLES / "proxy" / "hiding_proxy.py"))["hide"]

    async def seen() -> list[str | None]:
        async with (
            FakeBroker(topics={"orders": 1, "secret-plans": 1}) as broker,
            Proxy(broker.bootstrap_servers, [hide("secret-")]) as proxy,
            await connect(*parse_address(proxy.bootstrap_servers), PROTOCOL) as client,
        ):
            answer = (await client.call(MetadataRequest(topics=None))).expect(MetadataResponse)
            return [topic.name for topic in answer.topics]

    assert asyncio.run(seen()) == ["orders"]


def test_the_program_of_the_proxy_runs() -> None:
    with FakeBroker(topics={"orders": 1}) as broker:
        command = [sys.executable, str(EXAMPLES / "proxy" / "hiding_proxy.py"), broker.bootstrap_servers, "secret-"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            process.terminate()
    assert re.fullmatch(r"127\.0\.0\.1:\d+", address)


@pytest.mark.slow
def test_the_cells_of_the_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES / "notebook")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    notebook = json.loads(Path("clients.ipynb").read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell for cell in cells if cell["outputs"] or cell["execution_count"]] == []
    names: dict[str, Any] = {}
    for cell in cells:
        exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    shutil.rmtree(names["ROWS"])
    unnamed = [(None, "Fetch", 1, 3, 6), (None, "Metadata", 0, 2, 15), (None, "Produce", 1, 2, 4)]
    assert names["versions"] == [("legacy-app", "Metadata", 0, 0, 1), *unnamed]
    assert len(names["latencies"]) == 5
    assert isinstance(names["metadata"].message, MetadataRequest)


@pytest.mark.slow
def test_a_protocol_with_ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = tmp_path / "chat"
    shutil.copytree(EXAMPLES / "own_protocol", checkout)
    monkeypatch.chdir(checkout)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    workflow = Path(".github/workflows/chat.yml")
    written = workflow.read_text()
    workflow.unlink()
    run = CliRunner().invoke
    assert run(main, ["new", "chat", ".", "--ci", "github"]).exit_code == 0
    assert workflow.read_text() == written
    assert run(main, ["generate", "defs", "--package", "chat", "--out", "src"]).exit_code == 0
    command = [sys.executable, "talk.py", "hello", "there"]
    said = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": "src"}, capture_output=True, text=True, check=True
    )
    assert (said.stdout, said.stderr) == ("sentences so far: 1\nsentences so far: 2\n", "")

    for arguments in (
        ["init", "--quiet", "--initial-branch", "main"],
        ["add", "."],
        ["-c", "user.name=x", "-c", "user.email=x", "commit", "--quiet", "--message", "x"],
        ["update-ref", "refs/remotes/origin/main", "HEAD"],
    ):
        subprocess.run(["git", *arguments], check=True)
    assert (
        Job(read_yaml(workflow)["jobs"]["protocol"]["steps"], checkout, {}, {"BASE": "main"}, ["Install"]).run() == ""
    )


@pytest.mark.slow
def test_the_models_of_the_service_are_those_that_kwirec_writes() -> None:
    page = " ".join((EXAMPLES / "fastapi_service" / "README.md").read_text().split())
    found = re.search(r"`kwirec (emit pydantic .*?)`", page)
    assert found is not None
    arguments = [one.strip("'") for one in found[1].split()]
    places = [str(ROOT / one) if "/" in one else one for one in arguments]
    result = CliRunner().invoke(main, [*places, "--check"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
