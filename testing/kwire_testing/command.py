"""``kwire fake-broker``: a broker for clients in any language."""

from __future__ import annotations

import asyncio
import signal
import ssl
import sys
from pathlib import Path

import click

from kwire import Message
from kwire.errors import UnknownReleaseError
from kwire_rules import printable
from kwire_testing.broker import FakeBroker
from kwire_testing.call import Call
from kwire_testing.refusal import Refused

_EPILOG = """\
\b
examples:
  kwire fake-broker --release 3.9 --topic orders:3
  kwire fake-broker --nodes 3 --port 9092 --requests

\b
exit codes: 0 stopped by ^C or SIGTERM, 2 usage error, or a port that is not free
"""


@click.command(name="fake-broker", epilog=_EPILOG)
@click.option("--release", metavar="NAME", help="Release of Kafka to behave as.  [default: the newest]")
@click.option("--topic", "topics", metavar="NAME[:PARTITIONS]", multiple=True, help="A topic to begin with.")
@click.option("--nodes", type=click.IntRange(1, 100), default=1, show_default=True, help="Brokers of the cluster.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on, and to name to clients.")
@click.option(
    "--port", type=click.IntRange(0, 65000), default=0, help="Port of the first node.  [default: free ones]"
)
@click.option("--no-auto-create", is_flag=True, help="Create topics on request only.")
@click.option("--cert", metavar="FILE", help="Speak TLS with this certificate and its key, in PEM.")
@click.option("--requests", is_flag=True, help="Print a line for each request.")
def fake_broker(
    release: str | None,
    topics: tuple[str, ...],
    nodes: int,
    host: str,
    port: int,
    no_auto_create: bool,
    cert: str | None,
    requests: bool,
) -> int:
    """Run a fake Kafka cluster in memory until it is stopped. Prints its addresses first."""
    try:
        broker = FakeBroker(
            release,
            dict(_topic(text) for text in topics),
            nodes=nodes,
            auto_create=not no_auto_create,
            tls=_context(cert) if cert else None,
            host=host,
            ports=range(port, port + nodes) if port else (),
            keep_requests=0,
        )
    except (UnknownReleaseError, Refused, OSError, ValueError) as problem:
        raise click.UsageError(printable(str(problem))) from None
    if requests:
        broker.on(Message, _print)
    try:
        asyncio.run(_run(broker))
    except OSError as problem:
        raise click.UsageError(printable(str(problem))) from None
    return 0


async def _run(broker: FakeBroker) -> None:
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    if sys.platform != "win32":
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopped.set)
    async with broker:
        print(f"Kafka {broker.release} at {broker.bootstrap_servers}", flush=True)
        await stopped.wait()


def _print(request: Message, call: Call) -> None:
    software = f" ({printable(' '.join(call.software))})" if any(call.software) else ""
    who = f"{printable(call.client_id or '-')}{software}"
    print(f"{call.connection:>4} node {call.node}  {call.name} {call.version}  {who}", flush=True)


def _topic(text: str) -> tuple[str, int]:
    name, _, partitions = text.partition(":")
    if not (partitions or "1").isdecimal():
        raise ValueError(f"{text!r}: expected NAME or NAME:PARTITIONS")
    return name, int(partitions or 1)


def _context(cert: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if not Path(cert).is_file():
        raise ValueError(f"no file {cert!r}")
    context.load_cert_chain(cert)
    return context
