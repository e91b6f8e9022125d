"""``kwire-spark watch``: who speaks what, kept up to date while captures arrive in a folder."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import click

from kwire_spark.command.common import DEFAULT_OUT
from kwire_spark.options import OptionError, Options
from kwire_spark.reports.text import counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from rich.console import Console

POLL_SECONDS = 1.0
"""Seconds between looks at the folder, and at how far the query is."""


@click.command("watch")
@click.argument("folder", metavar="FOLDER")
@click.option(
    "--out", default=DEFAULT_OUT, metavar="DIR", show_default=True, help="Folder for the table and its checkpoint."
)
@click.option("--once", is_flag=True, help="Take the files that are there, and end.")
@click.option("--format", default="parquet", show_default=True, help="Format of the table, any that Spark writes.")
@click.option("--master", metavar="URL", help="Spark's master; default: all cores of this machine.")
@click.option("--ports", metavar="PORTS", help="Ports of brokers, as 9092,19092: for captures that begin late.")
@click.option(
    "--settled",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    metavar="SECONDS",
    help="A file is taken when it has not grown for so long.",
)
@click.option(
    "--late",
    default="10 minutes",
    show_default=True,
    metavar="TIME",
    help="How far out of order packets may arrive.",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress on the terminal.")
def command(
    folder: str,
    out: str,
    once: bool,
    format: str,
    master: str | None,
    ports: str | None,
    settled: int,
    late: str,
    quiet: bool,
) -> int:
    """Keep the table clients up to date with the captures that arrive in FOLDER, until interrupted.

    Each file is taken once, when it does not grow any more: let tcpdump -G or dumpcap -b begin new ones. Called
    again with the same DIR, it goes on where it was.
    """
    from rich.console import Console

    if not Path(folder).is_dir():
        raise OptionError(f"{folder}: no such folder")
    known_ports = Options({"ports": ports or ""}).ports("ports")
    progress = Console(stderr=True, quiet=quiet)
    with _interrupted() as stopped, progress.status("Starting Spark …") as status:
        query = _started(_session(master), folder, out, once, format, known_ports, settled, late)
        told = ProgressPrinter(progress)
        while query.isActive and not stopped.wait(POLL_SECONDS):
            told.tell(query)
            status.update(f"{told} so far; waiting for captures in {folder} …")
        while query.isActive and _is_busy(query):
            time.sleep(POLL_SECONDS / 10)
        query.stop()
    told.tell(query)
    if (failed := query.exception()) is not None:
        raise failed
    progress.print(f"{told}; the table is [bold]{out}/clients[/bold]", highlight=False)
    return 0


def _session(master: str | None) -> SparkSession:
    from kwire_spark.session import session

    return session(master)


def _started(
    spark: SparkSession,
    folder: str,
    out: str,
    once: bool,
    format: str,
    ports: frozenset[int],
    settled: int,
    late: str,
) -> StreamingQuery:
    from kwire_spark.streaming import follow, keep_clients
    from kwire_spark.tables.clients import EXCHANGE_COLUMNS

    packets = spark.readStream.format("kafka_packets").option("settled", settled).load(folder)
    exchanges = follow(packets, rows="exchanges", columns=EXCHANGE_COLUMNS, ports=ports, late=late)
    writer = keep_clients(exchanges, out, format=format)
    timed = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=f"{POLL_SECONDS} seconds")
    return timed.start()


def _is_busy(query: StreamingQuery) -> bool:
    """Whether it is in a batch, of which nothing would be kept if it were stopped."""
    return bool(query.status["isTriggerActive"] and query.status["isDataAvailable"])


@contextmanager
def _interrupted() -> Iterator[Event]:
    """Set by the first signal that is to end the program; a second one ends it at once."""
    stopped = Event()
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}

    def stop(*_: object) -> None:
        stopped.set()
        restore()

    def restore() -> None:
        for one, handler in before.items():
            signal.signal(one, handler)

    for one in before:
        signal.signal(one, stop)
    try:
        yield stopped
    finally:
        restore()


class ProgressPrinter:
    """What the query has done, as far as it was told."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = -1
        self.batches = self.packets = self.late = 0

    def __str__(self) -> str:
        return f"{counted(self.packets, 'packet')} in {counted(self.batches, 'batch', 'batches')}"

    def tell(self, query: StreamingQuery) -> None:
        """Count the batches since the last time; say at once which packets came too late."""
        from kwire_spark.streaming.progress import too_late

        new = [one for one in query.recentProgress if one["batchId"] > self._last and one["numInputRows"]]
        if not new:
            return
        self._last = new[-1]["batchId"]
        self.batches += len(new)
        self.packets += sum(one["numInputRows"] for one in new)
        if late := too_late(new):
            self.late += late
            self._console.print(
                f"[yellow]left out[/yellow] {late:,} packets that came too late: see --late", highlight=False
            )
