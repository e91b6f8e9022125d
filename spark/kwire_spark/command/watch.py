"""``kwire watch`` keeps a table of clients up to date while packets arrive."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from kwire_inspect.capture.layers import ETHERNET
from kwire_inspect.command import Command
from kwire_inspect.command.common import DEFAULT_OUT, only_writer
from kwire_inspect.command.engines import checked_output
from kwire_inspect.command.options import KEY_LOG, MASTER, OWNERS, PORTS, PROTOCOL, QUIET, TABLE_FORMAT
from kwire_inspect.live.interfaces import CaptureError
from kwire_inspect.options import OptionError, Options
from kwire_inspect.reports.text import counted, visible
from kwire_inspect.tls import growing_key_log
from kwire_spark.command.watch_inputs import FolderInput, InterfacesInput, TopicInput, WatchInput, filter_for

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from rich.console import Console

POLL_SECONDS = 1.0
"""Interval, in seconds, between checks of the folder and of the query's progress."""


@click.command(cls=Command)
@click.argument("folder", metavar="[FOLDER]", required=False)
@click.option(
    "--interface",
    "-i",
    "interfaces",
    multiple=True,
    metavar="NAME",
    help="Capture on this interface, or on `any`, with dumpcap or tcpdump. Can be repeated.",
)
@click.option(
    "--filter",
    "pcap_filter",
    metavar="FILTER",
    help="Capture filter in tcpdump syntax. [default: TCP to and from --ports]",
)
@click.option(
    "--snap-length",
    type=click.IntRange(64, 262_144),
    default=262_144,
    metavar="BYTES",
    help="Number of bytes to capture of each packet. For readiness, 200 are enough. [default: all]",
)
@click.option(
    "--disk",
    default="1g",
    show_default=True,
    metavar="SIZE",
    help="Disk space for packets that wait to be read. Further packets are dropped and counted.",
)
@click.option("--topic", metavar="NAME", help="Read packets from this Kafka topic, one per record.")
@click.option("--bootstrap-server", metavar="HOST:PORT", help="Broker of the cluster that contains the topic.")
@click.option("--topic-config", metavar="FILE", help="Consumer properties file, for a broker with TLS or SASL.")
@click.option(
    "--link-type",
    default=ETHERNET,
    show_default=True,
    metavar="NUMBER",
    help="Link type of the packets in the topic: 1 for Ethernet, 101 for IP, 113 or 276 for Linux cooked.",
)
@click.option(
    "--connector",
    metavar="FOLDER",
    help="Folder with the jars of Spark's Kafka connector, unless Spark already has them.",
)
@click.option("--for", "duration", metavar="TIME", help="Stop after this time, such as 60s, 10m or 1h.")
@click.option(
    "--out", default=DEFAULT_OUT, metavar="DIR", show_default=True, help="Folder for the table and its checkpoint."
)
@click.option("--once", is_flag=True, help="Process the existing data and exit.")
@TABLE_FORMAT
@MASTER
@PORTS
@KEY_LOG
@PROTOCOL
@click.option(
    "--settled",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    metavar="SECONDS",
    help="Read a file once it has not grown for this many seconds.",
)
@click.option(
    "--late",
    default="10 minutes",
    show_default=True,
    metavar="TIME",
    help="Maximum delay of packets. Later packets are dropped.",
)
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="RELEASE|HOST:PORT|FILE",
    help="After each batch, report clients that this release or broker refuses, as readiness does. Can be repeated.",
)
@OWNERS
@QUIET
def watch(
    folder: str | None,
    interfaces: tuple[str, ...],
    pcap_filter: str | None,
    snap_length: int,
    disk: str,
    topic: str | None,
    bootstrap_server: str | None,
    topic_config: str | None,
    link_type: int,
    connector: str | None,
    duration: str | None,
    out: str,
    once: bool,
    table_format: str,
    master: str | None,
    ports: str | None,
    key_log: str | None,
    protocol: str | None,
    settled: int,
    late: str,
    targets: tuple[str, ...],
    owners: str | None,
    quiet: bool,
) -> int:
    """Keep the table clients up to date with captures that arrive in FOLDER, or with packets from interfaces or a
    Kafka topic, until interrupted.

    Each file is read once, when it no longer grows, so rotate files with tcpdump -G or dumpcap -b. If run again with
    the same DIR, the command continues where it stopped. With --target, it also prints newly refused clients and
    writes two files to DIR: readiness.html, a page that reloads itself, and kwire.prom, metrics for Prometheus.
    """
    from rich.console import Console
    from rich.markup import escape

    from kwire_inspect.command.live import live_report
    from kwire_inspect.tables.clients import EXCHANGE_COLUMNS
    from kwire_spark.session import spark_session
    from kwire_spark.streams import follow, keep_clients

    if owners and not targets:
        raise OptionError("--owners needs --target")
    options = Options({"ports": ports or "", "protocol": protocol or "", "--disk": disk, "--for": duration or ""})
    broker_ports, messages = options.ports("ports"), options.protocol()
    seconds = options.duration("--for")
    key_log = growing_key_log(key_log)  # fail before Spark starts
    if bool(folder) + bool(interfaces) + bool(topic) != 1:
        raise OptionError("specify exactly one of FOLDER, --interface and --topic")
    if interfaces and not (master or "local").startswith("local"):
        raise OptionError("--interface captures on this machine: omit --master")
    if interfaces and once:
        raise OptionError("--once cannot be used with --interface: use --for to set how long to capture")
    console = Console(stderr=True, quiet=quiet)
    out = checked_output(out)
    live = live_report(out, table_format, targets, owners, messages, console) if targets else None
    given: WatchInput
    if interfaces:
        chosen = filter_for(broker_ports, pcap_filter)
        given = InterfacesInput(interfaces, chosen, snap_length, options.size("--disk", 1 << 30))
    elif topic:
        given = TopicInput(topic, bootstrap_server, topic_config, link_type, connector)
    else:
        given = FolderInput(folder or "", settled)
    with (
        only_writer(out),
        interruption() as interrupted,
        given.within(),
        console.status("Starting Spark …") as status,
    ):
        spark = spark_session(master, brief=False, **given.settings)
        signal.signal(signal.SIGINT, signal.getsignal(signal.SIGTERM))  # Spark has installed its own handler
        exchanges = follow(
            given.packets(spark),
            rows="exchanges",
            columns=EXCHANGE_COLUMNS,
            ports=broker_ports,
            late=late,
            protocol=messages,
            key_log=key_log,
        )
        trigger: dict[str, Any] = {"availableNow": True} if once else {"processingTime": f"{POLL_SECONDS} seconds"}
        query = keep_clients(exchanges, out, format=table_format, inputs=given.name).trigger(**trigger).start()
        progress = ProgressPrinter(console)
        progress.begin(given.name, f"report page is {out}/readiness.html" if live else f"table is {out}/clients")
        end = time.monotonic() + seconds if seconds else float("inf")
        pending = True  # the table may exist from an earlier run
        while query.isActive and not given.problem and time.monotonic() < end:
            if interrupted.wait(POLL_SECONDS):
                break
            pending |= progress.update(query)
            progress.lost(given.dropped)
            if pending and live is not None:
                pending = not live.update()
            status.update(escape(progress.doing(given.name, reading=query.status["isDataAvailable"])))
        problem = given.problem
        if given.end() and query.isActive:
            status.update("Reading the remaining packets …")
            query.processAllAvailable()
        while query.isActive and query.status["isTriggerActive"] and query.status["isDataAvailable"]:
            time.sleep(POLL_SECONDS / 10)  # let the current batch finish, so that its work is not lost
        query.stop()
        progress.update(query)
        progress.lost(given.dropped)
        if live is not None:
            live.update()
    if (error := query.exception()) is not None:
        raise error
    table = escape(visible(out, 1000))
    console.print(f"Read {progress} into the table [bold]{table}/clients[/bold]", highlight=False)
    if problem:
        raise CaptureError(problem)
    return 0


@contextmanager
def interruption() -> Iterator[Event]:
    """Yield an event that the first SIGINT or SIGTERM sets. A second signal terminates the process at once."""
    interrupted = Event()
    with ExitStack() as handlers:

        def interrupt(*_: object) -> None:
            interrupted.set()
            handlers.close()  # restores the previous handlers

        for number in (signal.SIGINT, signal.SIGTERM):
            handlers.callback(signal.signal, number, signal.getsignal(number))
            signal.signal(number, interrupt)
        yield interrupted


class ProgressPrinter:
    """Prints a query's totals over all batches, and a warning whenever packets were dropped because they arrived too
    late."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last_batch = -1
        self.batches = self.packets = self.late = self.missing = 0

    def __str__(self) -> str:
        return f"{counted(self.packets, 'packet')} in {counted(self.batches, 'batch', 'batches')}"

    def begin(self, name: str, result: str) -> None:
        """Print the names of the input and the result."""
        from rich.text import Text

        self._console.print(Text(f"Watching {visible(name, 1000)}. The {visible(result, 1000)}"), soft_wrap=True)

    def doing(self, name: str, *, reading: bool) -> str:
        """Return a status line: the totals, if any, and whether packets are being read or awaited."""
        doing = f"{'reading' if reading else 'waiting for'} {visible(name)} …"
        return f"{self} so far; {doing}" if self.batches else doing[0].upper() + doing[1:]

    def lost(self, packets: int) -> None:
        """Print the total number of packets that the capture dropped, if it has increased."""
        if packets > self.missing:
            self.missing = packets
            warning = f"[yellow]dropped[/yellow] {counted(packets, 'packet')} while capturing so far: capture fewer "
            self._console.print(f"{warning}(--filter), or less of each (--snap-length)", highlight=False)

    def update(self, query: StreamingQuery) -> bool:
        """Add the batches since the last update. Return whether there were new batches."""
        from kwire_spark.streams.connections import too_late

        batches = [
            batch for batch in query.recentProgress if batch["batchId"] > self._last_batch and batch["numInputRows"]
        ]
        if not batches:
            return False
        self._last_batch = batches[-1]["batchId"]
        self.batches += len(batches)
        self.packets += sum(batch["numInputRows"] for batch in batches)
        if late := too_late(batches):
            self.late += late
            self._console.print(
                f"[yellow]dropped[/yellow] {late:,} packets that arrived too late: increase --late", highlight=False
            )
        return True
