"""The commands that print a report and write it to files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kwire_inspect.command import Command
from kwire_inspect.command.common import Run, with_inputs
from kwire_inspect.command.options import FORMAT, GUIDE, OWNERS, RELEASES
from kwire_inspect.options import OptionError, Options
from kwire_inspect.reports.report import Column, Report, Table
from kwire_inspect.reports.text import counted, visible
from kwire_inspect.storage import written

if TYPE_CHECKING:
    from kwire.logs import LogSegment
    from kwire_inspect.reports.client_usage import Row
    from kwire_inspect.tables.clients import Clients
    from kwire_inspect.tables.relations import Relation

SHOWN = ("client_id", "client_host", "software_name", "software_version", "principal")
MAX_ROWS = 10_000
LIST = Table("list", "Clients and APIs", empty="No requests found.").with_columns(
    "input_kind",
    Column("client_id", "client"),
    Column("client_host", "address"),
    Column("software_name", "software"),
    Column("software_version", "version"),
    "principal",
    Column("api", "API"),
    "versions",
    "requests",
    "errors",
    "refused",
    "last_seen",
)
BROKERS = replace(LIST, name="brokers", title="Brokers and controllers")
TIMED = (
    *(
        "source",
        "position",
        "client_host",
        "number",
        "forwarded",
        "time",
        "api_key",
        "api",
        "version",
        "client_id",
        "principal",
    ),
    *("outcome", "error_codes", "throttle_ms", "latency_ms", "queue_ms", "local_ms", "remote_ms"),
    *("request_size", "response_size", "unread", "packets", "problem"),
)
"""Columns of EXCHANGES that the latency report needs."""
PLACE = ("source", "position", "topic", "partition", "offset", "problem")


@click.command(cls=Command)
@GUIDE
@FORMAT
@with_inputs(stored=["clients"])
def clients(run: Run, guide_url: str, form: str) -> int:
    """Report the API versions that each client uses, with its address, software and principal."""
    from kwire_inspect.reports.client_usage import collected

    def make_report(seen: Clients[Any]) -> Report:
        rows, more = collected(seen.table, ", ".join((*SHOWN, "api_key", "input_kind")))
        usage = usage_of(rows)
        report = clients_report(usage[:MAX_ROWS], more + max(len(usage) - MAX_ROWS, 0))
        return run.completed(report, run.basis(seen), seen.table)

    return _publish(run, "Counting", make_report, guide_url, form)


def usage_of(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return a table with one row per input type, client and API, computed from rows of CLIENTS."""
    from kwire_inspect.reports.client_usage import grouped

    by = (*SHOWN, "api_key", "input_kind")
    groups = grouped(rows, lambda row: tuple(row[name] for name in by))
    return [
        {
            **dict(zip(by, key, strict=True)),
            "api": max((row["api"] for row in group if row["api"]), default=None),
            "versions": sorted({row["version"] for row in group if row["version"] is not None}),
            **{name: sum(row[name] for row in group) for name in ("requests", "errors", "refused")},
            "last_seen": max((row["last_seen"] for row in group if row["last_seen"] is not None), default=None),
        }
        for key, group in sorted(groups.items(), key=lambda pair: [(cell is not None, cell) for cell in pair[0]])
    ]


def clients_report(rows: Sequence[Row], more: int) -> Report:
    """Return the report on rows of :func:`usage_of`. ``more`` is the number of omitted rows."""
    from kwire_inspect.reports.client_usage import brokers_among, by_client, client_of, completed

    complete = completed(client_of(row) for row in rows)
    everyone = [(complete[client_of(row)], row) for row in rows]
    brokers = brokers_among(everyone)
    between = [row for client, row in everyone if client in brokers]
    uses = [{**row, "version": version} for row in rows for version in row["versions"]]
    total = counted(len({client for client, _ in by_client(uses)} - brokers), "client")
    summary = f"{'At least ' if more else ''}{total} seen."
    listed = LIST.with_rows([row for client, row in everyone if client not in brokers], more)
    tables = (listed, BROKERS.with_rows(between)) if between else (listed,)
    return Report("clients", "Clients and API versions", (summary,), tables)


@click.command(cls=Command)
@click.option(
    "--target",
    "targets",
    required=True,
    multiple=True,
    metavar="RELEASE|HOST:PORT|FILE",
    help="Kafka release to upgrade to (e.g. 4.1.1), a broker, or a file with the output of "
    "`kwire broker --format json`. Repeat the option to compare targets in one report.",
)
@click.option("--target-config", metavar="FILE", help="Client properties file, for a target broker with TLS or SASL.")
@OWNERS
@click.option(
    "--since",
    metavar="DIR",
    help="Output directory of an earlier run, or its table clients. Reports the changes since that run.",
)
@RELEASES
@GUIDE
@FORMAT
@with_inputs(stored=["clients"])
def readiness(
    run: Run,
    targets: tuple[str, ...],
    target_config: str | None,
    owners: str | None,
    since: str | None,
    releases: str | None,
    guide_url: str,
    form: str,
) -> int:
    """Report clients that use API versions which a release or a broker refuses.

    The exit code is 0 if no client is refused, 1 if any client is refused, 2 for a usage error and 3 for a failure.
    The exit code is 4 if no client is refused, but less of the input was read than --min-coverage requires.
    """
    from kwire_inspect.reports.owners import Owners
    from kwire_inspect.reports.readiness import readiness as make_report
    from kwire_inspect.reports.targets import find_targets, warnings
    from kwire_inspect.reports.text import listed

    known = run.releases(releases)
    for warning in warnings(targets, target_config):
        click.echo(f"kwire: warning: {visible(warning)}", err=True)
    found = find_targets(targets, target_config, known)  # report an unknown target before reading any input
    whose = Owners.read(owners) if owners else None
    before = _earlier(run, since) if since else None
    doing = f"Comparing with {listed([release.name for release in found])}"

    def make(seen: Clients[Any]) -> Report:
        worth: Any = {"min_coverage": run.min_coverage, "protocol": run.protocol}
        return make_report(seen, found, known, owners=whose, before=before, **worth)

    return _publish(run, doing, make, guide_url, form)


def _earlier(run: Run, path: str) -> Clients[Any]:
    """Return the clients seen by an earlier run."""
    from kwire_inspect.inputs import Inputs, find
    from kwire_inspect.tables.clients import clients

    tables = tuple(table for table in find([path]).tables if table.kind == "clients")
    if not tables:
        raise OptionError(
            f"--since {path}: this folder contains no table clients. Specify the --out of an earlier run"
        )
    return clients(run.engine.read("clients", Inputs(tables=tables), (), {}))


@click.command(cls=Command)
@RELEASES
@GUIDE
@FORMAT
@with_inputs(stored=["clients", "exchanges"])
def census(run: Run, releases: str | None, guide_url: str, form: str) -> int:
    """Report which APIs and versions clients use over time, and which releases deprecate or refuse them."""
    from kwire_inspect.reports.census import census as make_report
    from kwire_inspect.tables.clients import EXCHANGE_COLUMNS

    known, exchanges = run.releases(releases), None
    if not run.inputs.tables or any(table.kind == "exchanges" for table in run.inputs.tables):
        exchanges = run.cached(run.read("exchanges", *EXCHANGE_COLUMNS, bodies="codes"))

    def make(seen: Clients[Any]) -> Report:
        worth: Any = {"min_coverage": run.min_coverage, "protocol": run.protocol}
        return make_report(seen, exchanges, releases=known, **worth)

    return _publish(run, "Counting", make, guide_url, form, exchanges)


def _publish(
    run: Run,
    doing: str,
    make: Callable[[Clients[Any]], Report],
    guide_url: str,
    form: str,
    exchanges: Relation | None = None,
) -> int:
    """Create and publish a report on clients, and write the tables ``clients`` and ``problems``."""
    seen = run.clients(exchanges)
    run.check_requests(seen)
    with run.step(doing):
        report = make(seen)
    run.write_clients(seen)
    return run.publish(_linked(run, report, guide_url), form)


def _linked(run: Run, report: Report, guide_url: str) -> Report:
    """Return the report with links to the guide at this address, or unchanged if there is no address."""
    from kwire.guide import Guide

    return replace(report, guide=Guide(guide_url, run.protocol)) if guide_url else report


@click.command(cls=Command)
@FORMAT
@GUIDE
@with_inputs(stored=["exchanges"])
def latency(run: Run, form: str, guide_url: str) -> int:
    """Report the latency and errors of requests per API, and throttled clients."""
    from kwire_inspect.reports.latency import latency as make_report

    exchanges = run.cached(run.read("exchanges", *TIMED))
    with run.step("Counting"):
        run.check_requests(exchanges)
        report = make_report(exchanges, codes=run.error_codes)
        report = run.completed(report, run.basis(exchanges), exchanges)
    return run.publish(_linked(run, report, guide_url), form)


@click.command(cls=Command)
@FORMAT
@with_inputs()
def offsets(run: Run, form: str) -> int:
    """Report groups with members, committed offsets and lag, from internal topics in brokers' data directories."""
    from kwire_inspect.reports.basis import problems_of
    from kwire_inspect.reports.offsets import log_ends
    from kwire_inspect.reports.offsets import offsets as make_report
    from kwire_inspect.state.replay import COLUMNS
    from kwire_inspect.tables.groups import INTERNAL

    if not run.inputs.logs:
        raise OptionError(f"offsets needs a broker's data directory, but found {run.inputs}")
    if {"start", "end"} & run.options.keys():
        raise OptionError("--start and --end are not supported: offsets always refer to the end of the logs")
    names = dict.fromkeys((*COLUMNS, *PLACE))
    states = run.cached(run.read("records", *names, topics=",".join(INTERNAL)))
    last = last_segments(run.inputs.logs)
    segments = replace(run.inputs, logs=tuple(written(file.path) for file in last))
    ends = run.read("records", *PLACE, inputs=segments)
    bases = [(file.topic or "", file.partition or 0, file.base_offset or 0) for file in last]
    with run.step(f"Reading {run.inputs}"):
        report = make_report(states, log_ends(ends, bases), protocol=run.protocol)
    with run.step("Looking for broken records"):
        broken = problems_of(states, ends)
    return run.publish(run.completed(report, broken), form)


def last_segments(paths: tuple[str, ...]) -> list[LogSegment]:
    """Return the last segment of each partition in each folder, except for internal topics. The log ends in this
    segment."""
    from kwire_inspect.segments import Selection, segment_files
    from kwire_inspect.tables.groups import INTERNAL

    options = Options({"paths": json.dumps(paths)})
    others = Selection(tuple(f"!{topic}" for topic in INTERNAL), checkpoints="false")
    files = segment_files(options.files(), options.paths(), others)
    known = [file for file in files if file.topic and file.topic not in INTERNAL and file.base_offset is not None]
    return [*{file.path.parent: file for file in known}.values()]
