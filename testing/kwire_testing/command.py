"""``kwire fake-broker`` and ``kwire proxy``, for clients in any language."""

from __future__ import annotations

import asyncio
import signal
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from kwire import Message
from kwire.client.security import Security, read_properties
from kwire.command.options import epilog, put
from kwire.connection import CLIENT, Event, RequestEvent, ResponseEvent
from kwire.errors import KwireError
from kwire.policy import LIKE_KAFKA
from kwire.trace.frames import trace_request, trace_response
from kwire.trace.view import show
from kwire_kafka import PROTOCOL
from kwire_kafka.errors import ErrorCode
from kwire_rules import printable
from kwire_testing.broker import FakeBroker
from kwire_testing.call import Call
from kwire_testing.proxy import Proxy, structs
from kwire_testing.refusal import Refused

MAX_TREE = 1 << 20
"""Maximum size in bytes of a message whose fields are printed."""
EXIT_CODES = "exit codes: 0 stopped by ^C or SIGTERM, 2 usage error, or a port in use"
BROKER_EPILOG = f"""
examples:
  kwire fake-broker --release 3.9 --topic orders:3
  kwire fake-broker --nodes 3 --port 9092 --requests

{EXIT_CODES}"""
PROXY_EPILOG = f"""
examples:
  kwire proxy --upstream broker:9092 --port 19092
  kwire proxy --upstream broker:9093 --config client.properties --trees

{EXIT_CODES}"""


@contextmanager
def _usage_errors() -> Iterator[None]:
    try:
        yield
    except (KwireError, OSError, Refused, ValueError) as problem:
        raise click.UsageError(printable(str(problem))) from None


@click.command(name="fake-broker", epilog=epilog(BROKER_EPILOG))
@click.option("--release", metavar="NAME", help="Kafka release to imitate.  [default: the newest]")
@click.option("--topic", "topics", metavar="NAME[:PARTITIONS]", multiple=True, help="Topic to create at the start.")
@click.option("--nodes", type=click.IntRange(1, 100), default=1, show_default=True, help="Number of brokers.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on and to advertise to clients."
)
@click.option(
    "--port", type=click.IntRange(0, 65000), default=0, help="Port of the first node.  [default: free ports]"
)
@click.option("--no-auto-create", is_flag=True, help="Create topics only for CreateTopics requests.")
@click.option("--cert", metavar="FILE", help="PEM file with the certificate and private key for TLS.")
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
    """Run a fake Kafka cluster in memory until stopped, and print its addresses."""
    with _usage_errors():
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
    if requests:
        broker.on(Message, _print)
    return _run(broker, f"Kafka {broker.release} at")


@click.command(epilog=epilog(PROXY_EPILOG))
@click.option("--upstream", metavar="HOST:PORT", required=True, help="Address of any broker in the cluster.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 64000),
    default=0,
    help="Port for clients. Further brokers use the following ports.  [default: free ports]",
)
@click.option("--advertise", metavar="HOST", help="Address to advertise to clients.  [default: --host]")
@click.option("--cert", metavar="FILE", help="PEM file with the certificate and private key for TLS with clients.")
@click.option(
    "--config",
    metavar="FILE",
    help="Client properties file with security.protocol and ssl.* for connections to brokers.",
)
@click.option("--trees", is_flag=True, help="Print every field of every message.")
def proxy(
    upstream: str, host: str, port: int, advertise: str | None, cert: str | None, config: str | None, trees: bool
) -> int:
    """Forward and print traffic between clients and brokers until stopped.

    Logins pass through to the brokers. Secrets are not printed.
    """
    with _usage_errors():
        found = Proxy(
            upstream,
            host=host,
            port=port,
            advertised_host=advertise,
            tls=_context(cert) if cert else None,
            upstream_tls=Security.from_properties(read_properties(config)).tls if config else None,
            watch=partial(_print_event, trees=trees),
        )
    return _run(found, f"{printable(upstream)} at")


def _run(running: FakeBroker | Proxy, title: str) -> int:
    try:
        asyncio.run(_run_until_stopped(running, title))
    except OSError as problem:
        raise click.UsageError(printable(str(problem))) from None
    return 0


async def _run_until_stopped(running: FakeBroker | Proxy, title: str) -> None:
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    if sys.platform != "win32":
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopped.set)
    async with running:
        print(f"{title} {running.bootstrap_servers}", flush=True)
        await stopped.wait()


def _print(request: Message, call: Call) -> None:
    software = f" ({printable(' '.join(call.software))})" if any(call.software) else ""
    who = f"{printable(call.client_id or '-')}{software}"
    print(f"{call.connection:>4} node {call.node}  {call.name} {call.version}  {who}", flush=True)


def _print_event(event: Event, connection: int, *, trees: bool) -> None:
    """Print an event as one line with its errors, and optionally all fields of its message."""
    at = datetime.fromtimestamp(event.time, UTC).astimezone().isoformat(" ", "milliseconds")[11:23]
    print(f"{at} {connection:>4} {'→' if event.direction == CLIENT else '←'}  {printable(_line(event))}", flush=True)
    if not trees or not isinstance(event, RequestEvent | ResponseEvent):
        return
    if event.size > MAX_TREE:
        print(f"not shown: more than {MAX_TREE:,} bytes", flush=True)
    elif isinstance(event, RequestEvent):
        put(show(trace_request(PROTOCOL, event.data, LIKE_KAFKA)))
    elif isinstance(event.request, RequestEvent):
        key, version = event.request.api_key, event.request.version
        put(show(trace_response(PROTOCOL, event.data, key, version, LIKE_KAFKA)))


def _line(event: Event) -> str:
    if isinstance(event, RequestEvent):
        software = f" ({' '.join(event.software)})" if any(event.software) else ""
        return f"{event.name} {event.version}  {event.size:,} bytes from {event.client_id or '-'}{software}"
    if isinstance(event, ResponseEvent):
        found = structs(event.message, "error_code") if event.message else ()
        errors = dict.fromkeys(ErrorCode(one.error_code).name for one in found if one.error_code)
        line = f"{event.name} {event.version}  {event.size:,} bytes after {event.latency * 1000:.1f} ms"
        return "  ".join([line, *errors])
    return repr(event).strip("<>")


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
