"""Groups, their members, what they have committed and how far they are behind; and transactions that are open.

Takes RECORDS of ``__consumer_offsets`` and ``__transaction_state``, or the tables of ``tables.groups`` that follow
from them, and the ends of the logs where they are known: all as a data directory had it when it was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_spark.reports import charts
from kwire_spark.reports.report import Chart, Column, Report, Table, cells, columns
from kwire_spark.reports.text import counted, file_name, visible
from kwire_spark.tables import groups as tables
from kwire_spark.tables.topics import with_topic_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TOP = 500
BARS = 25
OPEN = {"Ongoing": "warn", "PrepareCommit": "warn", "PrepareAbort": "warn", "Dead": "bad"}
LAG_NOTE = "Records from the committed offset to the end of the log, where the data directory has the partition."


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables of ``tables.groups``, and ``ends``: topic, partition and ``end``, the offset that comes next.

    ``unread``, if it is there, are the records that the others pass over, as ``tables.groups.unread`` has them.
    """

    committed: DataFrame
    groups: DataFrame
    members: DataFrame
    transactions: DataFrame
    ends: DataFrame | None = None
    unread: DataFrame | None = None


def offsets(records: DataFrame, ends: DataFrame | None = None, *, top: int = TOP) -> Report:
    """A report on committed offsets and lag from RECORDS; ``ends`` is the result of :func:`log_ends`.

    Names of topics that groups know by id are those of ``__cluster_metadata``, if that is among the records.
    """
    from pyspark.sql import functions as F

    names = tables.topics(records).select("topic_id", "topic").distinct()
    found = with_topic_names(tables.coordinated(records), names).persist()
    committed, groups, members = (
        found.where(F.col(name).isNotNull()).select(f"{name}.*") for name in ("committed", "groups", "members")
    )
    transactions, unread = tables.transactions(records), tables.undecodable(records)
    report = report_on(Tables(committed, groups, members, transactions, ends, unread), top=top)
    found.unpersist()
    return report


def log_ends(records: DataFrame, bases: Sequence[tuple[str, int, int]] = ()) -> DataFrame:
    """The end offset of each partition. ``records`` needs only the columns topic, partition and offset.

    ``bases`` are topics, partitions and the offsets with which their last segments begin. So a log has an end if all
    of its records have expired.
    """
    from pyspark.sql import functions as F

    known = records.where("topic IS NOT NULL AND offset IS NOT NULL")
    ends = known.select("topic", "partition", (F.col("offset") + 1).alias("end"))
    if bases:
        ends = ends.union(records.sparkSession.createDataFrame([*bases], ends.schema))
    return ends.groupBy("topic", "partition").agg(F.max("end").alias("end"))


def report_on(found: Tables, *, top: int = TOP) -> Report:
    """The report on tables that are there already."""
    from pyspark.sql import functions as F

    lagging = _lagging(found).persist()
    per_group = lagging.groupBy("group").agg(
        F.countDistinct("topic").alias("topics"),
        F.count("*").alias("partitions"),
        F.sum("lag").alias("lag"),
        F.max("committed").alias("committed"),
    )
    groups, committed = _groups(found.groups.join(per_group, "group", "full"), top), _committed(lagging, top)
    members, transactions = _members(found.members, top), _transactions(found.transactions, top)
    lagging.unpersist()
    unread = _unread(found.unread, top)
    chart, summary = _lag_chart(groups), _summary(groups, committed, transactions, unread)
    shown = (groups, committed, members, transactions, *unread)
    return Report("offsets", "Groups and their offsets", summary, shown, (chart,) if chart else ())


def _lagging(found: Tables) -> DataFrame:
    """Committed offsets with ``end`` and ``lag``, null where the end is not known."""
    from pyspark.sql import functions as F

    named = found.committed.withColumn("topic", F.coalesce("topic", "topic_id"))
    if found.ends is None:
        return named.withColumns({"end": F.lit(None).cast("long"), "lag": F.lit(None).cast("long")})
    # greatest() passes over nulls, and what is not known is not 0
    behind = F.when(F.col("end").isNotNull(), F.greatest(F.col("end") - F.col("offset"), F.lit(0)))
    return named.join(F.broadcast(found.ends), ["topic", "partition"], "left").withColumn("lag", behind)


def _groups(table: DataFrame, top: int) -> Table:
    shape = columns(
        "group",
        "type",
        Column("state", comment="What a coordinator makes of the records when it loads them."),
        "members",
        Column("lag", comment=LAG_NOTE),
        "topics",
        Column("partitions", comment="With a committed offset."),
        Column("committed", "last commit"),
        Column("protocol_type", "protocol type"),
        Column("protocol", "assignor", comment="Of classic groups."),
        Column("epoch", comment="Generation of a classic group."),
        "leader",
        "changed",
    )
    rows, more = _first(table, shape, top, ["lag", "partitions"], ["group"])
    return Table("groups", "Groups", shape, cells(rows), more=more, empty="There is no group.")


def _committed(table: DataFrame, top: int) -> Table:
    shape = columns(
        "group",
        "topic",
        "partition",
        "offset",
        Column("end", "log end", comment="The offset that the next record gets."),
        "lag",
        "committed",
        Column("leader_epoch", "leader epoch"),
        "metadata",
        "expires",
        Column("log_partition", "in partition", comment="Of __consumer_offsets."),
        Column("log_offset", "at offset"),
    )
    rows, more = _first(table, shape, top, ["lag"], ["group", "topic", "partition"])
    return Table(
        "committed", "Committed offsets", shape, cells(rows), LAG_NOTE, more, "No group has committed an offset."
    )


def _members(table: DataFrame, top: int) -> Table:
    shape = columns(
        "group",
        Column("client_id", "client"),
        Column("client_host", "address", comment="As Java prints it."),
        Column("member_id", "member"),
        Column("instance_id", "instance", comment="Of a static member [KIP-345]."),
        "state",
        "epoch",
        "topics",
        Column("assignment", comment="Topics with their partitions."),
        Column("reason", comment="Why subscription or assignment cannot be read."),
    )
    rows, more = _first(table, shape, top, [], ["group", "client_id", "member_id"])
    place = [column.name for column in shape].index("assignment")
    told = cells([(*row[:place], assigned(row[place]), *row[place + 1 :]) for row in rows])
    return Table("members", "Members", shape, told, more=more, empty="No group has a member.")


def _transactions(table: DataFrame, top: int) -> Table:
    shape = columns(
        Column("transactional_id", "transactional id"),
        Column("state", mark=OPEN),
        Column("producer_id", "producer"),
        Column("producer_epoch", "epoch"),
        Column("timeout_ms", "timeout ms"),
        "started",
        "updated",
        Column("partitions", comment="Of the transaction that is not finished."),
    )
    rows, more = _first(
        table.withColumn("open", table["state"].isin(*OPEN)), shape, top, ["open", "updated"], ["transactional_id"]
    )
    told = cells([(*row[:-1], assigned(row[-1])) for row in rows])
    return Table("transactions", "Transactions", shape, told, more=more, empty="There is no transactional id.")


def _unread(table: DataFrame | None, top: int) -> list[Table]:
    """What cannot be read, if there is anything."""
    shape = columns(
        "topic",
        Column("kind", comment="The kind of record, if that can be told."),
        "records",
        "reason",
        Column("source", comment="File of the first of them; what follows is its place.", brief=file_name),
        "position",
        "partition",
        "offset",
    )
    rows, more = _first(table, shape, top, ["records"], ["topic", "kind", "reason"]) if table is not None else ([], 0)
    note = "All other tables pass over them: they may be of a newer release."
    return [Table("unread", "Records that cannot be read", shape, cells(rows), note, more)] if rows else []


def _told_unread(unread: Table) -> str:
    count = sum(number for number in unread.column("records") if isinstance(number, int))
    number = f"{'At least ' if unread.more else ''}{counted(count, 'record')}"
    return f"{number} of internal topics cannot be read and {'is' if count == 1 else 'are'} missing here."


def _first(
    table: DataFrame, shape: Sequence[Column], top: int, largest: list[str], then: list[str]
) -> tuple[list[Any], int]:
    """The first rows, in this order, of the columns of ``shape``; and how many more there are."""
    from pyspark.sql import functions as F

    order = [F.col(name).desc_nulls_last() for name in largest] + [F.col(name).asc_nulls_last() for name in then]
    rows = table.select(*(column.name for column in shape)).orderBy(*order).limit(top).collect()
    return rows, table.count() - top if len(rows) == top else 0


def assigned(topics: Iterable[Any] | None) -> str | None:
    """Topics with their partitions as text: ``orders 0-2, 5; returns 0``. ``None`` if there are none."""
    told = [f"{one['topic'] or one['topic_id']} {ranges(one['partitions'] or ())}".rstrip() for one in topics or ()]
    return "; ".join(told) or None


def ranges(numbers: Iterable[int]) -> str:
    """
    >>> ranges([5, 0, 1, 2, 7]), ranges([])
    ('0-2, 5, 7', '')
    """
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _lag_chart(groups: Table) -> Chart | None:
    lags = [lag for lag in groups.column("lag") if isinstance(lag, int)][:BARS]
    if not any(lags):
        return None
    names = [visible(str(group)) for group in groups.column("group")[: len(lags)]]
    title = "Lag by group" if len(lags) < BARS else f"The {BARS} groups that lag most"
    return charts.bars("lag", title, names, {"lag": lags}, unit="records", note=LAG_NOTE)


def _summary(groups: Table, committed: Table, transactions: Table, unread: Sequence[Table]) -> tuple[str, ...]:
    told = _of_groups(groups, committed, transactions) if groups.rows else ["There is no group."]
    return (*told, *map(_told_unread, unread))


def _of_groups(groups: Table, committed: Table, transactions: Table) -> list[str]:
    inhabited = sum(1 for members in groups.column("members") if members)
    number, offsets = counted(len(groups.rows) + groups.more, "group"), len(committed.rows) + committed.more
    told = [f"{number}, {inhabited or 'none'} with members; {counted(offsets, 'committed offset')}."]
    lags = committed.column("lag")
    if lags and not any(isinstance(lag, int) for lag in lags):
        told.append("Lag is not known: none of the partitions that they consume is among the inputs.")
    if lags and isinstance(lags[0], int) and lags[0]:
        group, topic, partition = committed.rows[0][:3]
        told.append(f"The largest lag is {lags[0]:,}: group {group} in partition {partition} of {topic}.")
    pending = sum(1 for state in transactions.column("state") if state in OPEN and state != "Dead")
    if pending:
        told.append(f"{counted(pending, 'transaction')} {'is' if pending == 1 else 'are'} not finished.")
    return told
