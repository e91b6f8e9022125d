"""What Kafka's own tools say about groups, offsets, transactions and metadata of a broker, with its logs.

``python -m tests.e2e_traffic.internal_topics FOLDER`` makes a sample as in ``tests/data/logs/4.1.1-groups``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.e2e_traffic.console import JAVA
from tests.real_kafka.broker import Broker, end
from tests.real_kafka.jars import SIMPLE, TOOLS, classpath
from tests.real_kafka.releases import COMPLETE

ROOT = Path(__file__).parents[2]
TOPICS = ("__consumer_offsets", "__transaction_state", "__cluster_metadata")
GROUP_COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
DESCRIPTIONS = {"offsets": ("--offsets",), "members": ("--members", "--verbose"), "state": ("--state",)}
DECODERS = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
}


def record(folder: Path) -> None:
    """Run broker and clients; leave logs and what tools print in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, Broker(COMPLETE, Path(scratch) / "broker") as broker:
        command = [str(ROOT / ".venv-peers" / "bin" / "python"), str(Path(__file__).with_name("groups_client.py"))]
        client = subprocess.Popen([*command, broker.bootstrap], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            assert client.stdout is not None
            assert client.stdout.readline() == b"ready\n"
            for name, options in DESCRIPTIONS.items():
                where = ("--bootstrap-server", broker.bootstrap, "--describe", "--all-groups", *options)
                (folder / f"{name}.txt").write_text(tool(GROUP_COMMAND, *where))
            for found in (found for data in broker.log_dirs for found in data.glob("__*-0")):
                keep(found, folder)
        finally:
            end(client)


def keep(found: Path, folder: Path) -> None:
    """The segment of an internal topic, and what is in it by Kafka's own tool."""
    name = found.name.removesuffix("-0")
    target = folder / found.name
    target.mkdir(exist_ok=True)
    segment = target / f"{0:020}.log"
    shutil.copy(found / segment.name, segment)
    printed = tool("org.apache.kafka.tools.DumpLogSegments", DECODERS[name], "--files", str(segment))
    (folder / f"{name}.txt").write_text(printed.replace(f"{folder}/", ""))


def tool(name: str, *arguments: str) -> str:
    """What a tool prints on its standard output."""
    command = [*JAVA, "-cp", classpath(COMPLETE, SIMPLE, TOOLS), name, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


if __name__ == "__main__":
    record(Path(sys.argv[1]))
