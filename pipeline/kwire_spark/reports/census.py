"""Who speaks what: APIs, versions and clients, over time; and which releases deprecate or refuse what is in use.

``census(clients, exchanges)`` takes the tables CLIENTS and EXCHANGES and gives a :class:`Report`. Spark does the
counting, in one pass for each table and chart; what is collected is bounded by the number of APIs and by ``top``.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kwire_kafka.releases import RELEASES
from kwire_spark.reports import charts
from kwire_spark.reports.over_time import Steps, counted_over_time
from kwire_spark.reports.report import Chart, Column, Report, Table, cells, columns
from kwire_spark.reports.standing import deprecated_in, is_known, refused_by, spans
from kwire_spark.reports.text import counted, time
from kwire_spark.tables.clients import CAPTURE, REQUEST_LOG, SERVER_LOG

if TYPE_CHECKING:
    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame

TOP = 200
"""Rows of a table. There are fewer versions than this in any honest input; a hostile one can make up 2^32."""
SOME = 5
ANONYMOUS = "User:ANONYMOUS"
STATES = {"refused": "bad", "deprecated": "warn", "current": "good"}
COUNTS = ("requests", "errors", "refused")
COUNTED = columns(*COUNTS, "first_seen", "last_seen")


def census(clients: DataFrame, exchanges: DataFrame | None = None, *, top: int = TOP) -> Report:
    """The report. Without ``exchanges`` there is no chart over time.

    What both captures and logs saw counts once: the kind of input that saw most of it is taken.
    """
    versions, people, software = _versions(clients, top), _clients(clients, top), _software(clients, top)
    found = [_over_time(exchanges, versions) if exchanges is not None else None, _heat(versions)]
    title, shown = "Who speaks what", tuple(chart for chart in found if chart is not None)
    return Report("census", title, _summary(versions, people), (versions, people, software), shown)


def _versions(clients: DataFrame, top: int) -> Table:
    from pyspark.sql import functions as F

    who = F.countDistinct(F.struct("client_id", "client_host")).alias("clients")
    used = clients.groupBy("api_key", "version").agg(F.max("api"), who, *_counts())
    rows, more = _top(used, top)
    told = [(row[0], row[2] or f"key {row[0]}", row[1], *_standing(row[0], row[1]), *row[3:]) for row in rows]
    told.sort(key=lambda row: (row[0] is None, row[0], row[2]))
    shape = columns(
        Column("api_key", "key"),
        Column("api", "API"),
        "version",
        Column("state", mark=STATES, comment=f"In {RELEASES.newest.name}; unknown is what no release ever accepted."),
        Column("deprecated", "deprecated in"),
        Column("refused_by", "refused by"),
        "clients",
        *COUNTED,
    )
    return Table("versions", "APIs and versions", shape, tuple(told), more=more, empty="No request was seen.")


def _clients(clients: DataFrame, top: int) -> Table:
    """A row for each client id and address: what a client says of itself, it often says on one connection of many."""
    from pyspark.sql import functions as F

    software = F.concat_ws(" ", "software_name", "software_version")
    used = clients.groupBy("client_id", "client_host").agg(
        _some(F.when(F.col("software_name").isNotNull(), software)).alias("software"),
        _some(F.nullif("principal", F.lit(ANONYMOUS))).alias("principals"),
        F.size(F.collect_set("api_key")).alias("apis"),
        F.size(F.collect_set(F.struct("api_key", "version"))).alias("versions"),
        *_counts(),
    )
    rows, more = _top(used, top)
    shape = columns(
        Column("client_id", "client"),
        Column("client_host", "address"),
        Column("software", comment=f"At most {SOME} kinds."),
        Column("principals", comment=f"At most {SOME}."),
        Column("apis", "APIs"),
        Column("versions", comment="Pairs of API and version."),
        *COUNTED,
    )
    return Table("clients", "Clients", shape, cells(rows), more=more, empty="No client was seen.")


def _some(texts: Expression) -> Expression:
    from pyspark.sql import functions as F

    return F.slice(F.sort_array(F.collect_set(texts)), 1, SOME)


def _software(clients: DataFrame, top: int) -> Table:
    from pyspark.sql import functions as F

    who = F.countDistinct(F.struct("client_id", "client_host")).alias("clients")
    rows, more = _top(clients.groupBy("software_name", "software_version").agg(who, *_counts()), top)
    shape = columns(Column("software_name", "software"), Column("software_version", "version"), "clients", *COUNTED)
    note = "As clients introduce themselves in ApiVersions, from version 3 on [KIP-511]; older ones do not."
    return Table("software", "Software", shape, cells(rows), note, more)


def _counts() -> list[Expression]:
    """What ``COUNTED`` names."""
    from pyspark.sql import functions as F

    times = [F.min("first_seen").alias("first_seen"), F.max("last_seen").alias("last_seen")]
    return [*(_most(name).alias(name) for name in COUNTS), *times]


def _most(name: str) -> Expression:
    """Of what the kinds of input counted, the most."""
    from pyspark.sql import functions as F

    kinds = (CAPTURE, REQUEST_LOG, SERVER_LOG)
    return F.greatest(*(F.coalesce(F.sum(F.when(F.col("seen_in") == kind, F.col(name))), F.lit(0)) for kind in kinds))


def _top(table: DataFrame, top: int) -> tuple[list[Any], int]:
    """The rows with the most requests, and how many more there are."""
    from pyspark.sql import functions as F

    names = [name for name in table.columns if name not in COUNTS]
    rows = table.orderBy(F.desc("requests"), *names).limit(top).collect()
    return rows, table.count() - top if len(rows) == top else 0


def _standing(api_key: int | None, version: int | None) -> tuple[str, str, str]:
    """State in the newest release, releases that deprecate it, releases that refuse it."""
    if api_key is None or version is None or not is_known(api_key, version):
        return "unknown", "", ""
    newest = RELEASES.newest.name
    refused, deprecated = refused_by(api_key, version), deprecated_in(api_key, version)
    state = "refused" if newest in refused else "deprecated" if newest in deprecated else "current"
    return state, spans(deprecated), spans(refused)


def _heat(versions: Table) -> Chart | None:
    if not versions.rows:
        return None
    counts = {(row[0], row[2]): row[7] for row in versions.rows}
    names = {row[0]: str(row[1]) for row in versions.rows}
    across = sorted({row[2] for row in versions.rows if isinstance(row[2], int)})
    table: list[list[Any]] = [[counts.get((key, version)) for version in across] for key in names]
    title, note = "Requests by API and version", "The stronger the colour the more requests, by powers of ten."
    labels = [str(version) for version in across]
    return charts.heat("heat", title, list(names.values()), labels, table, unit="requests", note=note)


def _over_time(exchanges: DataFrame, versions: Table) -> Chart | None:
    from pyspark.sql import functions as F

    if not (span := _span(versions)):
        return None
    steps = Steps.of(*span)
    what = F.coalesce("api", F.lit("unknown")).alias("what")
    requests = exchanges.where("_corrupt is null and time is not null")
    counts = (
        requests.groupBy(steps.number("time").alias("at"), what, F.isnull("number").alias("log")).count().collect()
    )
    return counted_over_time("time", "Requests over time", map(tuple, counts), steps, unit="requests")


def _span(versions: Table) -> tuple[datetime, datetime] | None:
    firsts = [moment for moment in versions.column("first_seen") if isinstance(moment, datetime)]
    lasts = [moment for moment in versions.column("last_seen") if isinstance(moment, datetime)]
    return (min(firsts), max(lasts)) if firsts and lasts else None


def _summary(versions: Table, people: Table) -> tuple[str, ...]:
    if not versions.rows:
        return ("No request was seen.",)
    states = Counter(versions.column("state"))
    span = _span(versions)
    when = f", from {time(span[0])} to {time(span[1])} UTC" if span else ""
    who = counted(len(people.rows) + people.more, "client")
    apis = counted(len(set(versions.column("api_key"))), "API")
    pairs = counted(len(versions.rows) + versions.more, "version")
    told = f"Of these versions, Kafka {RELEASES.newest.name} refuses {states['refused']}"
    return (f"{who} used {apis} in {pairs}{when}.", f"{told} and deprecates {states['deprecated']}.")
