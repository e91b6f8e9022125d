"""Groups with their members, committed offsets and lag, and unfinished transactions.

The input is RECORDS of ``__consumer_offsets`` and ``__transaction_state``, or the tables that ``tables.groups``
creates from these records. The end offsets of logs are optional. The report describes the state at the time when the
data directory was copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

import pyarrow as pa

from kwire.releases import format_range
from kwire_inspect.reports import charts
from kwire_inspect.reports.report import Chart, Column, Report, Table
from kwire_inspect.reports.text import counted, file_name, runs, visible
from kwire_inspect.state.columns import COMMITTED as STORED
from kwire_inspect.state.columns import GROUPS as STORED_GROUPS
from kwire_inspect.tables import groups as tables
from kwire_inspect.tables.relations import R, collect, kept, like, query
from kwire_kafka import PROTOCOL

if TYPE_CHECKING:
    from kwire.protocol import MessageRegistry

TOP = 500
BARS = 25
OPEN = {"Ongoing": "warn", "PrepareCommit": "warn", "PrepareAbort": "warn", "Dead": "bad"}
LAG_NOTE = "Number of records from the committed offset to the log end, if the data directory contains the partition."
MISSING_NOTE = "The other tables omit these records, which may be from a newer release."

GROUPS = Table("groups", "Groups", empty="No groups found.").with_columns(
    "group",
    "type",
    Column("state", comment="State that a coordinator computes when it loads the records."),
    "members",
    Column("lag", comment=LAG_NOTE),
    "topics",
    Column("partitions", comment="Number of partitions with a committed offset."),
    Column("committed", "last commit"),
    "protocol_type",
    Column("protocol", "assignor", comment="Assignor of a classic group."),
    Column("epoch", comment="Group epoch, or the generation of a classic group."),
    "leader",
    "changed",
)
COMMITTED = Table("committed", "Committed offsets", note=LAG_NOTE, empty="No committed offsets found.").with_columns(
    "group",
    "topic",
    "partition",
    "offset",
    Column("end", "log end", comment="Offset of the next record."),
    "lag",
    "committed",
    "leader_epoch",
    "metadata",
    "expires",
    Column("log_partition", "in partition", comment="Partition of __consumer_offsets."),
    Column("log_offset", "at offset"),
)
MEMBERS = Table("members", "Members", empty="No group has a member.").with_columns(
    "group",
    Column("client_id", "client"),
    Column("client_host", "address", comment="Address as printed by Java."),
    Column("member_id", "member"),
    Column("instance_id", "instance", comment="Instance id of a static member [KIP-345]."),
    "state",
    "epoch",
    "topics",
    Column("assignment", comment="Topics with their partitions."),
    Column("reason", comment="Why the subscription or assignment cannot be decoded."),
)
TRANSACTIONS = Table("transactions", "Transactions", empty="No transactional ids found.").with_columns(
    "transactional_id",
    Column("state", mark=OPEN),
    Column("producer_id", "producer"),
    Column("producer_epoch", "epoch"),
    "timeout_ms",
    "started",
    "updated",
    Column("partitions", comment="Partitions of an unfinished transaction."),
)
UNDECODABLE = Table("undecodable", "Records that cannot be decoded", note=MISSING_NOTE).with_columns(
    "topic",
    Column("kind", comment="Kind of record, if known."),
    "records",
    "reason",
    Column("source", comment="File that contains the first of these records.", brief=file_name),
    "position",
    "partition",
    "offset",
)


ENDS = pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("end", pa.int64())])


@dataclass(frozen=True)
class Tables(Generic[R]):
    """The tables that ``tables.groups`` creates. ``ends`` has the columns ``topic``, ``partition`` and ``end``, which
    is the offset of the next record. ``undecodable`` contains the records that the other tables skip.
    """

    committed: R
    groups: R
    members: R
    transactions: R
    ends: R | None = None
    undecodable: R | None = None


def offsets(records: R, ends: R | None = None, *, top: int = TOP, protocol: MessageRegistry = PROTOCOL) -> Report:
    """Return a report on committed offsets and lag from RECORDS. ``ends`` is the result of :func:`log_ends`.

    Some groups identify topics by id. The names of these topics are taken from ``__cluster_metadata`` if the records
    include it.
    """
    transactions, undecodable = tables.transactions(records, protocol), tables.undecodable(records, protocol)
    with tables.coordinated(records, protocol) as found:
        return report_on(Tables(**found, transactions=transactions, ends=ends, undecodable=undecodable), top=top)


def log_ends(records: R, bases: Sequence[tuple[str, int, int]] = ()) -> R:
    """Return a table with the end offset of each partition.

    ``records`` needs only the columns ``topic``, ``partition`` and ``offset``. ``bases`` contains the topic,
    partition and base offset of each log's last segment. The base offset is the end offset of a log whose records
    have all expired.
    """
    others = like(records, ENDS, [dict(zip(ENDS.names, base, strict=True)) for base in bases])
    return query(
        """
        SELECT topic, `partition`, max(`end`) AS `end` FROM (
            SELECT topic, `partition`, `offset` + 1 AS `end` FROM {records}
            WHERE topic IS NOT NULL AND `offset` IS NOT NULL
            UNION ALL SELECT topic, `partition`, `end` FROM {others}
        ) AS ends GROUP BY topic, `partition`""",
        records=records,
        others=others,
    )


def report_on(state: Tables[R], *, top: int = TOP) -> Report:
    """Return the report on these tables."""
    with kept(_lagging(state)) as lagging:
        groups = _first(_groups(state.groups, lagging), GROUPS, top, ["lag", "partitions"], ["group"])
        committed = _first(lagging, COMMITTED, top, ["lag"], ["group", "topic", "partition"])
    members = _first(state.members, MEMBERS, top, [], ["group", "client_id", "member_id"], "assignment")
    is_open = f"CASE WHEN state IN ({', '.join(map(repr, OPEN))}) THEN 1 ELSE 0 END"
    marked = query(f"SELECT *, {is_open} AS is_open FROM {{all}}", all=state.transactions)
    transactions = _first(marked, TRANSACTIONS, top, ["is_open", "updated"], ["transactional_id"], "partitions")
    undecodable = UNDECODABLE
    if state.undecodable is not None:
        undecodable = _first(state.undecodable, UNDECODABLE, top, ["records"], ["topic", "kind", "reason"])
    chart, summary = _lag_chart(groups), _summary(groups, committed, transactions, undecodable)
    shown = (groups, committed, members, transactions, *([undecodable] if undecodable.rows else []))
    return Report("offsets", "Groups and their offsets", summary, shown, (chart,) if chart else ())


def _lagging(state: Tables[R]) -> R:
    """Return the committed offsets with ``end`` and ``lag``. Both are null if the end offset is unknown."""
    own = ", ".join(f"c.`{name}`" for name in STORED.names if name != "topic")
    ends = like(state.committed, ENDS, ()) if state.ends is None else state.ends
    return query(
        f"""
        SELECT coalesce(c.topic, c.topic_id) AS topic, {own}, e.`end`,
            CASE WHEN e.`end` > c.`offset` THEN e.`end` - c.`offset` WHEN e.`end` IS NOT NULL THEN 0 END AS lag
        FROM {{committed}} AS c
        LEFT JOIN {{ends}} AS e ON e.topic = c.topic AND e.`partition` = c.`partition`""",
        committed=state.committed,
        ends=ends,
    )


def _groups(groups: R, lagging: R) -> R:
    """Return the groups in either table, with the numbers of topics and partitions, the lag and the time of the last
    commit."""
    sums = query(
        """
        SELECT `group` AS name, count(DISTINCT topic) AS topics, count(*) AS partitions, sum(lag) AS lag,
            max(committed) AS committed
        FROM {lagging} GROUP BY `group`""",
        lagging=lagging,
    )
    own = [name for name in STORED_GROUPS.names if name != "group"]
    return query(
        f"""
        SELECT g.`group`, {", ".join(f"g.{name}" for name in own)}, s.topics, s.partitions, s.lag, s.committed
        FROM {{groups}} AS g LEFT JOIN {{sums}} AS s ON s.name = g.`group`
        UNION ALL
        SELECT s.name, {", ".join("NULL" for _ in own)}, s.topics, s.partitions, s.lag, s.committed
        FROM {{sums}} AS s LEFT JOIN {{groups}} AS g ON s.name = g.`group` WHERE g.`group` IS NULL""",
        groups=groups,
        sums=sums,
    )


def _first(
    table: R, shape: Table, top: int, largest: Sequence[str], then: Sequence[str], assignments: str = ""
) -> Table:
    """Return the first ``top`` rows, sorted by ``largest`` in descending order and then by the columns in ``then``.
    The table has the columns of ``shape``. The column ``assignments`` is converted to text."""
    order = [f"`{name}` DESC NULLS LAST" for name in largest] + [f"`{name}` ASC NULLS LAST" for name in then]
    listed = ", ".join(f"`{column.name}`" for column in shape.columns)
    rows = collect(f"SELECT {listed} FROM {{table}} ORDER BY {', '.join(order)} LIMIT {top}", table=table)
    more = 0
    if len(rows) == top:
        more = collect("SELECT count(*) AS number FROM {table}", table=table)[0]["number"] - top
    if assignments:
        rows = [row | {assignments: assigned(row[assignments])} for row in rows]
    return shape.with_rows(rows, more)


def assigned(topics: Iterable[Any] | None) -> str | None:
    """Return topics with their partitions, such as ``orders 0-2, 5; returns 0``. Return ``None`` for no topics."""
    names = [f"{topic['topic'] or topic['topic_id']} {ranges(topic['partitions'] or ())}" for topic in topics or ()]
    return "; ".join(name.rstrip() for name in names) or None


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers as text, with adjacent numbers as ranges.

    >>> ranges([5, 0, 1, 2, 7]), ranges([])
    ('0-2, 5, 7', '')
    """
    return ", ".join(map(format_range, runs(numbers)))


def _lag_chart(groups: Table) -> Chart | None:
    lags = [lag for lag in groups.column("lag") if isinstance(lag, int)][:BARS]
    if not any(lags):
        return None
    names = [visible(str(group)) for group in groups.column("group")[: len(lags)]]
    title = "Lag by group" if len(lags) < BARS else f"The {BARS} groups with the largest lag"
    return Chart("lag", title, charts.bars(names, {"lag": lags}, unit="records"), LAG_NOTE)


def _summary(groups: Table, committed: Table, transactions: Table, undecodable: Table) -> tuple[str, ...]:
    sentences = _of_groups(groups, committed, transactions) if groups.rows else ["No groups found."]
    if undecodable.rows:
        count = sum(number for number in undecodable.column("records") if isinstance(number, int))
        records = f"{'At least ' if undecodable.more else ''}{counted(count, 'record')}"
        sentences.append(
            f"{records} of internal topics cannot be decoded and {'is' if count == 1 else 'are'} not included."
        )
    return tuple(sentences)


def _of_groups(groups: Table, committed: Table, transactions: Table) -> list[str]:
    with_members = sum(1 for members in groups.column("members") if members)
    number, offsets = counted(len(groups.rows) + groups.more, "group"), len(committed.rows) + committed.more
    stored = counted(offsets, "committed offset")
    sentences = [f"Found {number} ({with_members or 'none'} with members) and {stored}."]
    lags = committed.column("lag")
    if lags and not any(isinstance(lag, int) for lag in lags):
        sentences.append("The lag is unknown. Add the data directories of the partitions that these groups consume.")
    if lags and isinstance(lags[0], int) and lags[0]:
        group, topic, partition = committed.rows[0][:3]
        sentences.append(f"The largest lag is {lags[0]:,}, of group {group} in partition {partition} of {topic}.")
    pending = sum(1 for state in transactions.column("state") if state in OPEN and state != "Dead")
    if pending:
        sentences.append(f"{counted(pending, 'transaction')} {'is' if pending == 1 else 'are'} not finished.")
    return sentences
