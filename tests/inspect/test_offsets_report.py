"""Groups, offsets and lag: numbers on rows made by hand and on real logs, and what is printed of them."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from kwire.command import main as run
from kwire.logs import committed_offsets
from kwire.protocol import MessageRegistry
from kwire.records import Record, encode_batch
from kwire_inspect.command.engines import LocalEngine
from kwire_inspect.command.reports import last_segments
from kwire_inspect.inputs import find
from kwire_inspect.reports.offsets import Tables, assigned, log_ends, offsets, ranges, report_on
from kwire_inspect.reports.report import Report
from kwire_inspect.reports.terminal import print_report
from kwire_inspect.reports.text import counted
from kwire_inspect.schemas import RECORDS
from kwire_inspect.state import columns
from kwire_inspect.state.replay import NEEDED
from kwire_inspect.tables import groups as tables
from kwire_inspect.tables.relations import like
from kwire_kafka import PROTOCOL
from tests.support.effort import examples
from tests.support.log_files import rows, segment
from tests.support.report_rows import table_of, whole

DATA = Path(__file__).parents[1] / "data"
WHEN = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
ENDS = pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("end", pa.int64())])


def commit(group: str, topic: str | None, partition: int, offset: int, **facts: Any) -> dict[str, Any]:
    usual = {"group": group, "topic": topic, "partition": partition, "offset": offset, "committed": WHEN}
    return usual | {"log_partition": 7, "log_offset": 100 + partition} | facts


@pytest.fixture(scope="module")
def report() -> Report:
    orders = [{"topic": "orders", "topic_id": None, "partitions": [0, 1, 2, 5]}]
    return report_on(
        Tables(
            table_of(
                columns.COMMITTED,
                commit("billing", "orders", 0, 90, leader_epoch=4, metadata="m", expires=WHEN.replace(day=9)),
                commit("billing", "orders", 1, 200),
                commit("billing", "gone", 0, 5),
                commit("idle", "orders", 0, 100),
                commit("by-id", None, 0, 1, topic_id="AAAAAAAAAAAAAAAAAAAAAQ"),
            ),
            table_of(
                columns.GROUPS,
                {"group": "billing", "type": "classic", "state": "Stable", "members": 1, "protocol": "range"}
                | {"protocol_type": "consumer", "leader": "m-1", "changed": WHEN.replace(hour=11)},
                {"group": "idle", "type": "classic", "state": "Empty", "members": 0},
                {"group": "fresh", "type": "consumer", "state": "Stable", "members": 2, "epoch": 3},
            ),
            table_of(
                columns.MEMBERS,
                {"group": "billing", "member_id": "m-1", "client_id": "[red]app", "assignment": orders}
                | {
                    "client_host": "/10.0.0.1",
                    "instance_id": "i",
                    "state": "Stable",
                    "epoch": 4,
                    "reason": "cut off",
                },
                {"group": "fresh", "member_id": "m-2", "topics": ["orders"]},
            ),
            table_of(
                columns.TRANSACTIONS,
                {
                    "transactional_id": "pay",
                    "state": "Ongoing",
                    "producer_id": 9,
                    "producer_epoch": 2,
                    "timeout_ms": 60,
                    "started": WHEN,
                    "updated": WHEN.replace(hour=13),
                    "partitions": orders,
                },
                {"transactional_id": "done", "state": "CompleteCommit", "producer_id": 8},
            ),
            table_of(
                ENDS,
                {"topic": "orders", "partition": 0, "end": 100},
                {"topic": "orders", "partition": 1, "end": 150},  # of a replica that is behind
            ),
        )
    )


def test_the_chart_has_the_groups_whose_lag_is_known(report: Report) -> None:
    (chart,) = report.charts
    assert chart.figure["layout"]["yaxis"]["ticktext"] == ["billing", "idle"]
    assert chart.figure["data"][0]["x"] == [10, 0]


def test_what_is_printed(report: Report, snapshot: SnapshotAssertion) -> None:
    text = io.StringIO()
    print_report(report, Console(file=text, width=150))
    assert text.getvalue() == snapshot
    assert whole(report) == snapshot


def test_real_logs() -> None:
    folder = "tests/data/logs/4.1.1/__consumer_offsets-0"
    records = LocalEngine().read("records", find([folder]), NEEDED, {})
    expected = {(*place, value.offset) for place, value in committed_offsets(PROTOCOL, folder).items()}
    assert expected
    assert {row[:4] for row in offsets(records).table("committed").rows} == expected
    _, topic, partition, offset = min(expected, key=lambda row: (*row[1:], row[0]))
    ends = like(records, ENDS, [{"topic": topic, "partition": partition, "end": offset + 5}])
    limited = offsets(records, ends, top=1).table("committed")
    assert [row[1:6] for row in limited.rows] == [(topic, partition, offset, offset + 5, 5)]
    assert limited.more == len(expected) - 1


def test_records_are_read_with_the_package_that_is_given(
    newer: MessageRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[MessageRegistry] = []
    for name in ("transactions", "undecodable", "coordinated"):
        real = getattr(tables, name)

        def read(records: object, protocol: MessageRegistry, real: Any = real) -> Any:
            used.append(protocol)
            return real(records, protocol)

        monkeypatch.setattr(tables, name, read)
    assert offsets(table_of(RECORDS), protocol=newer).summary == ("No groups found.",)
    assert used == [newer] * 3


def test_rows_that_are_equal_are_in_the_order_of_their_names() -> None:
    """In each table, those without a value come last, whatever the order in which they were read."""
    commits = [commit("a", "t", at, 1) for at in (0, 1)] + [commit("b", "u", at, 1) for at in (0, 1, 2)]
    commits += [commit("c", "t", 3, 5), commit("d", "t", 3, 6), commit("e", None, 0, 1, topic_id="id")]
    commits += [commit("a", None, 0, 1, topic_id="id")]
    ends = [{"topic": "t", "partition": 3, "end": 7}, {"topic": "id", "partition": 0, "end": 9}]
    cells = [("y", "p"), ("x", "q"), ("z", "p"), ("w", None)]
    members = [{"group": "a", "member_id": member, "client_id": of} for member, of in cells]
    members += [{"group": None, "member_id": "v", "client_id": "a"}]
    times = {"one": WHEN, "two": WHEN.replace(hour=13), "three": None}
    states = {
        "a": "Ongoing",
        "b": "Dead",
        "c": "PrepareAbort",
        "d": "PrepareCommit",
        "e": "Empty",
        "f": "CompleteAbort",
    }
    transactions = [
        {"transactional_id": f"{name}-{of}", "state": state, "updated": time}
        for name, state in states.items()
        for of, time in times.items()
    ]
    reasons = [("t", "k", "r", 2), ("t", "k", "s", 2), ("s", "l", "s", 2), ("t", None, "s", 2), ("z", "z", "z", 3)]
    names = ("topic", "kind", "reason", "records")
    failed = [dict(zip(names, cells_of, strict=True)) for cells_of in reasons]
    for step in (1, -1):
        state = Tables(
            table_of(columns.COMMITTED, *commits[::step]),
            table_of(columns.GROUPS, {"group": "f", "members": 0}),
            table_of(columns.MEMBERS, *members[::step]),
            table_of(columns.TRANSACTIONS, *transactions[::step]),
            table_of(ENDS, *ends[::step]),
            table_of(FAILED, *failed[::step]),
        )
        groups, committed, in_groups, pending, undecodable = report_on(state).tables
        assert [(row[0], *row[4:7]) for row in groups.rows] == [
            *(("c", 2, 1, 1), ("d", 1, 1, 1)),
            *(("a", None, 2, 3), ("b", None, 1, 3), ("e", None, 1, 1), ("f", None, None, None)),
        ]
        assert [(*row[:3], row[5]) for row in committed.rows] == [
            *(("c", "t", 3, 2), ("d", "t", 3, 1)),
            *(("a", "id", 0, None), ("a", "t", 0, None), ("a", "t", 1, None)),
            *(("b", "u", 0, None), ("b", "u", 1, None), ("b", "u", 2, None), ("e", "id", 0, None)),
        ]
        assert in_groups.column("member_id") == ["y", "z", "x", "w", "v"]
        order = [f"{name}-{of}" for of in ("two", "one", "three") for name in "abcd"]
        assert pending.column("transactional_id") == [
            *order,
            "e-two",
            "f-two",
            "e-one",
            "f-one",
            "e-three",
            "f-three",
        ]
        assert [row[:4] for row in undecodable.rows] == [
            *(("z", "z", 3, "z"), ("s", "l", 2, "s"), ("t", "k", 2, "r"), ("t", "k", 2, "s"), ("t", None, 2, "s")),
        ]
        assert report_on(state).summary == (
            "Found 6 groups (none with members) and 9 committed offsets.",
            "The largest lag is 2, of group c in partition 3 of t.",
            "9 transactions are not finished.",
            "11 records of internal topics cannot be decoded and are not included.",
        )
        least = report_on(state, top=2)
        assert [(table.name, len(table.rows), table.more) for table in least.tables] == [
            *(
                ("groups", 2, 4),
                ("committed", 2, 7),
                ("members", 2, 3),
                ("transactions", 2, 16),
                ("undecodable", 2, 3),
            ),
        ]
        assert least.summary[0] == "Found 6 groups (none with members) and 9 committed offsets."
        assert least.summary[-1] == "At least 5 records of internal topics cannot be decoded and are not included."


@pytest.mark.parametrize(
    ("topics", "text"),
    [
        (None, None),
        ([], None),
        ([("orders", None, [5, 0, 1, 2]), (None, "id", [0]), ("empty", "x", []), ("none", "x", None)],
         "orders 0-2, 5; id 0; empty; none"),
    ],
)  # fmt: skip
def test_assignments_as_text(topics: list[tuple[Any, ...]] | None, text: str | None) -> None:
    names = ("topic", "topic_id", "partitions")
    given_topics = None if topics is None else [dict(zip(names, one, strict=True)) for one in topics]
    assert assigned(given_topics) == text


def test_ends_of_several_logs() -> None:
    """The last record of each partition, or the base of its last segment, whichever is later."""
    schema = pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())])
    places = [("a", 0, 4), ("a", 0, 9), ("a", 1, 0), ("b", 0, 2), ("b", None, None), (None, 0, 5)]
    records = table_of(schema, *(dict(zip(schema.names, one, strict=True)) for one in places))
    bases = [("a", 0, 10), ("a", 1, 3), ("b", 0, 3), ("c", 7, 0)]
    found = sorted(tuple(row.values()) for row in log_ends(records, bases).rows())
    assert found == [("a", 0, 10), ("a", 1, 3), ("b", 0, 3), ("c", 7, 0)]
    without = sorted(tuple(row.values()) for row in log_ends(records).rows())
    assert without == [("a", 0, 10), ("a", 1, 1), ("b", 0, 3)]


def test_ends_of_logs() -> None:
    rows: list[dict[str, Any]] = [
        {"topic": "a", "partition": 0, "offset": 41},
        {"topic": "a", "partition": 0, "offset": 7},
        {"topic": None, "partition": None, "offset": None},
    ]
    schema = pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())])
    bases = [("a", 0, 40), ("expired", 3, 1000)]
    ends = log_ends(table_of(schema, *rows), bases).rows()
    assert sorted(tuple(row.values()) for row in ends) == [("a", 0, 42), ("expired", 3, 1000)]


def test_the_end_of_a_log_is_in_its_last_segment(tmp_path: Path) -> None:
    for folder, offsets_of_segments in {"a-0": (0, 500, 70), "b-1": (9,), "__consumer_offsets-0": (0, 3)}.items():
        (tmp_path / folder).mkdir()
        for offset in offsets_of_segments:
            (tmp_path / folder / f"{offset:020}.log").touch()
    found = last_segments((str(tmp_path),))
    assert sorted((file.topic, file.partition, file.base_offset) for file in found) == [("a", 0, 500), ("b", 1, 9)]


def test_what_cannot_be_read_is_told() -> None:
    broken = {"topic": "__consumer_offsets", "partition": 7, "key": b"\x7f\xffwhat", "value": b"", "control": False}
    report = offsets(table_of(RECORDS, *(broken | {"offset": offset} for offset in (9, 3))))
    assert report.table("undecodable").column("records") == [2]
    assert report.table("undecodable").column("offset") == [3], "the first"
    assert report.summary[-1].startswith("2 records of internal topics cannot be decoded")


def test_records_that_were_left_out_for_their_size_say_so(tmp_path: Path) -> None:
    path = segment(tmp_path, encode_batch([Record(b"\0\1", bytes(3 << 20))]), name="__consumer_offsets-7")
    report = offsets(table_of(RECORDS, *rows(path)))
    assert report.table("undecodable").column("reason") == [
        "a record of 3,145,730 bytes is left out: see the option maxRecord"
    ]


def test_partitions_as_text() -> None:
    assert ranges([5, 8, 0, 1, 2, 7, 2]) == "0-2, 5, 7-8"
    assert ranges([]) == ""


def test_from_a_data_directory_to_the_page(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["offsets", str(DATA / "logs" / "4.1.1" / "__consumer_offsets-0"), "--out", str(tmp_path), "-q"]) == 0
    told = capfd.readouterr().out
    assert "Groups and their offsets" in told
    assert "Engine: local." in told
    assert (tmp_path / "offsets.html").exists()
    assert parquet.read_table(tmp_path / "offsets-committed.parquet").num_rows


def test_of_other_topics_the_last_segments_alone_are_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    segment(tmp_path / "in", encode_batch([Record(b"\0\1", b"")]), name="__consumer_offsets-7")
    for base in (0, 500):
        segment(tmp_path / "in", b"broken" * 20 if not base else encode_batch([Record(b"k", b"v")]), base=base)
    assert run(["offsets", str(tmp_path / "in"), "--mode", "failfast", "--out", str(tmp_path / "out"), "-q"]) == 0
    segment(tmp_path / "in", b"broken" * 20, base=501)
    capfd.readouterr()
    assert run(["offsets", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "-q"]) == 0
    assert "The last table lists 1 reason" in capfd.readouterr().out


def test_of_many_groups_the_first_are_shown_and_the_others_counted() -> None:
    commits = [commit(f"g{number}", "t", number, 100 - number) for number in range(26)]
    ends = [{"topic": "t", "partition": number, "end": 100} for number in range(26)]
    nothing = table_of(columns.GROUPS), table_of(columns.MEMBERS), table_of(columns.TRANSACTIONS)
    tables = Tables(table_of(columns.COMMITTED, *commits), *nothing, table_of(ENDS, *ends))
    few, all_of_them = report_on(tables, top=3), report_on(tables, top=26)
    for name, column in (("groups", "group"), ("committed", "partition")):
        assert (len(few.table(name).rows), few.table(name).more, all_of_them.table(name).more) == (3, 23, 0)
        assert few.table(name).column(column) == all_of_them.table(name).column(column)[:3]
    assert few.summary[0] == "Found 26 groups (none with members) and 26 committed offsets."
    assert few.charts[0].title == "Lag by group"
    assert all_of_them.charts[0].title == "The 25 groups with the largest lag"
    assert all_of_them.charts[0].figure["data"][0]["x"] == [*range(25, 0, -1)]
    without = report_on(Tables(table_of(columns.COMMITTED, *commits[:1]), *nothing))
    assert without.summary[1:] == (
        "The lag is unknown. Add the data directories of the partitions that these groups consume.",
    )
    assert not without.charts
    at_its_end = table_of(columns.COMMITTED, commits[0] | {"offset": 100})
    assert not report_on(Tables(at_its_end, *nothing, table_of(ENDS, *ends))).charts


FAILED = columns.UNDECODABLE.append(pa.field("records", pa.int64()))
PAIRS = st.tuples(st.sampled_from("abc"), st.sampled_from([("orders", 0), ("orders", 1), ("gone", 0), (None, 0)]))
LATER = [None, WHEN, WHEN.replace(hour=13)]


def unique(**facts: Any) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows of which no two have the same first fact."""
    first = next(iter(facts))
    return st.lists(st.fixed_dictionaries(facts), max_size=8, unique_by=lambda row: row[first])


@pytest.mark.slow
@examples(0.2)
@given(
    unique(key=PAIRS, offset=st.integers(0, 3), committed=st.sampled_from(LATER)),
    unique(group=st.sampled_from("abcde"), state=st.sampled_from(["Stable", "Empty"]), members=st.integers(0, 2)),
    unique(
        member_id=st.text("xyz", max_size=2), group=st.sampled_from("ab"), client_id=st.sampled_from([None, *"pq"])
    ),
    unique(
        transactional_id=st.text("xyz", max_size=2),
        state=st.sampled_from(["Ongoing", "PrepareCommit", "PrepareAbort", "Dead", "Empty"]),
        updated=st.sampled_from(LATER),
    ),
    unique(key=st.tuples(*map(st.sampled_from, ("st", "kl", "rs"))), records=st.integers(1, 3)),
    st.sampled_from([1, 2, 50]),
)
def test_the_whole_report_on_any_state(
    commits: list[dict[str, Any]],
    groups: list[dict[str, Any]],
    members: list[dict[str, Any]],
    transactions: list[dict[str, Any]],
    failed: list[dict[str, Any]],
    top: int,
) -> None:
    ends = {("orders", 0): 2, ("orders", 1): 0}
    committed = [
        commit(group, topic, partition, row["offset"], committed=row["committed"], topic_id="id")
        for row in commits
        for group, (topic, partition) in [row["key"]]
    ]
    broken = [dict(zip(("topic", "kind", "reason"), row["key"], strict=True)) | row for row in failed]
    report = report_on(
        Tables(
            table_of(columns.COMMITTED, *committed),
            table_of(columns.GROUPS, *groups),
            table_of(columns.MEMBERS, *members),
            table_of(columns.TRANSACTIONS, *transactions),
            table_of(ENDS, *({"topic": topic, "partition": at, "end": end} for (topic, at), end in ends.items())),
            table_of(FAILED, *broken),
        ),
        top=top,
    )

    def least(*cells: Any) -> list[Any]:
        """A key for rows, those without a value last."""
        return [(cell is None, cell) for cell in cells]

    def most(number: Any) -> Any:
        return None if number is None else -(number.timestamp() if isinstance(number, datetime) else number)

    expected: dict[str, list[tuple[Any, ...]]] = {"committed": [], "groups": []}
    for row in committed:
        end = ends.get((row["topic"], row["partition"]))
        lag = None if end is None else max(end - row["offset"], 0)
        place = row["group"], row["topic"] or "id", row["partition"]
        expected["committed"].append((*place, row["offset"], end, lag, row["committed"]))
    expected["committed"].sort(key=lambda row: least(most(row[5]), *row[:3]))
    for name in sorted({row["group"] for row in (*committed, *groups)}):
        (known,) = [row for row in groups if row["group"] == name] or [{}]
        own = [row for row in expected["committed"] if row[0] == name]
        lags, times = [row[5] for row in own if row[5] is not None], [row[6] for row in own if row[6]]
        counts = (len({row[1] for row in own}), len(own)) if own else (None, None)
        cells = known.get("state"), known.get("members"), sum(lags) if lags else None
        expected["groups"].append((name, *cells, *counts, max(times, default=None)))
    expected["groups"].sort(key=lambda row: least(most(row[3]), most(row[5]), row[0]))
    members.sort(key=lambda row: least(row["group"], row["client_id"], row["member_id"]))
    expected["members"] = [(row["group"], row["client_id"], row["member_id"]) for row in members]
    unfinished = ("Ongoing", "PrepareCommit", "PrepareAbort")
    expected["transactions"] = sorted(
        ((row["transactional_id"], row["state"], row["updated"]) for row in transactions),
        key=lambda row: [row[1] not in (*unfinished, "Dead"), *least(most(row[2]), row[0])],
    )
    if broken:
        found = [(*row["key"], row["records"]) for row in broken]
        expected["undecodable"] = sorted(found, key=lambda row: (-row[3], *row[:3]))
    names = {
        "committed": ("group", "topic", "partition", "offset", "end", "lag", "committed"),
        "groups": ("group", "state", "members", "lag", "topics", "partitions", "committed"),
        "members": ("group", "client_id", "member_id"),
        "transactions": ("transactional_id", "state", "updated"),
        "undecodable": ("topic", "kind", "reason", "records"),
    }
    assert [table.name for table in report.tables] == [name for name in (*COMMON, "undecodable") if name in expected]
    for table in report.tables:
        rows = expected[table.name]
        assert [*zip(*map(table.column, names[table.name]), strict=True)] == rows[:top]
        assert table.more == max(len(rows) - top, 0)

    said = ["No groups found."]
    if expected["groups"]:
        joined = sum(bool(row[2]) for row in expected["groups"][:top])
        lag = expected["committed"][0][5] if committed else None
        pending = sum(row[1] in unfinished for row in expected["transactions"][:top])
        first, offsets_of = counted(len(expected["groups"]), "group"), counted(len(committed), "committed offset")
        said = [f"Found {first} ({joined or 'none'} with members) and {offsets_of}."]
        if committed and lag is None:
            said.append("The lag is unknown. Add the data directories of the partitions that these groups consume.")
        if lag:
            group, topic, at, *_ = expected["committed"][0]
            said.append(f"The largest lag is {lag}, of group {group} in partition {at} of {topic}.")
        if pending:
            said.append(f"{counted(pending, 'transaction')} {'is' if pending == 1 else 'are'} not finished.")
    if broken:
        number, least_of = sum(row[3] for row in expected["undecodable"][:top]), "At least " * (len(broken) > top)
        are = "is" if number == 1 else "are"
        records = counted(number, "record")
        said.append(f"{least_of}{records} of internal topics cannot be decoded and {are} not included.")
    assert report.summary == tuple(said)


COMMON = ("groups", "committed", "members", "transactions")
