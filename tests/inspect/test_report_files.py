"""Reports as files and on the terminal."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv, parquet
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from kwire.guide import Guide
from kwire_inspect.options import OptionError
from kwire_inspect.reports import charts, text
from kwire_inspect.reports.report import Cell, Column, Report, Table
from kwire_inspect.reports.report_files import arrow_table, write_report, write_text
from kwire_inspect.reports.terminal import print_report
from kwire_inspect.reports.text import csv_cell
from kwire_kafka import PROTOCOL
from kwire_rules import printable
from tests.support.effort import examples
from tests.support.report_samples import ACTED_ON, HOSTILE, INVISIBLE, START, report


def printed(given_report: Report, rows: int = 20, width: int = 110, colours: bool = False) -> str:
    told = io.StringIO()
    print_report(given_report, Console(file=told, width=width, color_system="standard" if colours else None), rows)
    return told.getvalue()


def test_a_page_json_markdown_and_two_files_for_each_table(tmp_path: Path) -> None:
    written = write_report(report(), tmp_path / "new" / "folder")
    assert [path.name for path in written] == [
        "sample.html",
        "sample-clients.csv",
        "sample-clients.parquet",
        "sample-nothing.csv",
        "sample-nothing.parquet",
        "sample.json",
        "sample.md",
    ]
    names = sorted(path.name for path in written)
    assert sorted(path.name for path in written[0].parent.iterdir()) == sorted([*names, "_kwire"])
    assert (tmp_path / "new" / "folder" / "_kwire").read_text().splitlines() == names


def test_parquet_has_cells_as_they_are(tmp_path: Path) -> None:
    _, _, exact, *_ = write_report(report(), tmp_path)
    rows = [tuple(row.values()) for row in parquet.read_table(exact).to_pylist()]
    assert rows == [
        tuple(list(cell) if isinstance(cell, tuple) else cell for cell in row) for row in report().tables[0].rows
    ]


def test_no_cell_of_csv_is_a_formula(tmp_path: Path) -> None:
    _, flat, *_ = write_report(report(), tmp_path)
    texts = csv.read_csv(flat).column("client").to_pylist()
    assert texts == [printable(f"'{text}" if text.startswith("=") else text) for text in HOSTILE]


@pytest.mark.parametrize(
    "start", ["", "\n", "\r\n ", "\t", "\0", "\x0b", "\x85", "\u00a0", "\u2028", "\u202e", *INVISIBLE]
)
@pytest.mark.parametrize("sign", "=+-@\uff0b\uff0d\uff1d\uff20\u2212\u207c\ufe62")
def test_a_formula_is_one_after_any_space(start: str, sign: str) -> None:
    formula = f"{start}{sign}cmd|' /C calc'!A0"
    assert csv_cell(formula) == printable(f"'{formula}")
    assert csv_cell(f"a{formula}") == printable(f"a{formula}")
    assert [csv_cell(f"{first}a")[0] for first in "\t\r\n"] == [
        "'"
    ] * 3  # which some programs take for an end of a cell


@pytest.mark.parametrize("text", ACTED_ON)
def test_a_terminal_does_nothing_with_csv(tmp_path: Path, text: str) -> None:
    """Whoever prints a table with ``cat`` reads what a client wrote, and nothing else happens."""
    table = Table("t", "T", rows=((f"a{text}b", (text, "c")),)).with_columns("one", "list")
    _, flat, *_ = write_report(Report("r", "R", (), (table,)), tmp_path)
    line = flat.read_text(encoding="utf-8").splitlines()[1]
    assert line.isprintable()
    assert printable(text) in line


def test_writing_again_changes_nothing(tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in write_report(report(), tmp_path)}
    assert {path: path.read_bytes() for path in write_report(report(), tmp_path)} == before


def test_only_the_user_can_read_them(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        written = write_report(report(), tmp_path / "new")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in [*written, tmp_path / "new" / "_kwire"]} == {0o600}
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_files_of_others_are_not_replaced_and_links_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for name in ("sample.html", "sample-nothing.csv"):
        for number, target in enumerate((None, "", "mine.txt", "missing")):
            folder = tmp_path / "out" / f"{name}-{number}"
            folder.mkdir(parents=True)
            if target:
                (folder / name).symlink_to(tmp_path / target)
            else:
                (folder / name).touch() if target is None else (folder / name).mkdir()
            with pytest.raises(OptionError, match=f"{name} was not written by kwire: move it"):
                write_report(report(), folder)
            assert [path.name for path in folder.iterdir()] == [name]
    written = write_report(report(), tmp_path / "ours")
    for path in (written[0], written[0].with_name(".sample.html.part")):
        path.unlink(missing_ok=True)
        path.symlink_to(tmp_path / "mine.txt")
    write_report(report(), tmp_path / "ours")
    assert not written[0].is_symlink()
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_link_that_appears_while_a_file_is_written_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replaced(path: Path, missing_ok: bool = False) -> None:
        if not path.is_symlink():
            path.symlink_to(tmp_path / "mine.txt")

    monkeypatch.setattr(Path, "unlink", replaced)
    with pytest.raises(FileExistsError):
        write_report(report(), tmp_path / "out")
    assert not (tmp_path / "mine.txt").exists()


def test_a_list_of_files_that_is_a_device_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "_kwire").symlink_to("/dev/null")
    with pytest.raises(OSError, match="not a regular file"):
        write_report(report(), tmp_path)


@pytest.mark.slow
def test_on_a_full_disk_files_stay_whole_and_the_next_run_completes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = {path.name: path.read_bytes() for path in write_report(report(), tmp_path / "whole")}
    real = Path.replace
    for step in range(len(whole) + 1):
        folder = tmp_path / str(step)
        left = [step]

        def replace(path: Path, target: Path, left: list[int] = left) -> Path:
            left[0] -= 1
            if left[0] < 0:
                raise OSError("No space left on device")
            return real(path, target)

        with monkeypatch.context() as patched:
            patched.setattr(Path, "replace", replace)
            with pytest.raises(OSError, match="No space"):
                write_report(report(), folder)
        found = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "_kwire"}
        assert found.items() <= whole.items()
        write_report(report(), folder)
        assert {path.name for path in folder.iterdir()} == {*whole, "_kwire"}


CELLS = st.none() | st.text() | st.lists(st.text(), max_size=3).map(tuple)


@examples(0.5)
@given(st.lists(st.tuples(CELLS.filter(lambda cell: not isinstance(cell, tuple)), st.integers(-(2**63), 2**63 - 1))))
def test_any_text_can_be_stored(rows: list[tuple[Cell, ...]]) -> None:
    table = arrow_table(Table("t", "T", rows=tuple(rows)).with_columns("a", "b"))
    assert table.num_rows == len(rows)
    assert table.column_names == ["a", "b"]


def test_lone_surrogates_can_be_stored() -> None:
    table = arrow_table(Table("t", "T", rows=(("\ud800", ("\udfff",)),)).with_columns("a", "b"))
    assert table.to_pylist() == [{"a": "\\ud800", "b": ["\\udfff"]}]


def test_columns_without_values_are_texts() -> None:
    empty = arrow_table(Table("t", "T", rows=((None, ()), (None, ()))).with_columns("a", "b"))
    assert [field.type for field in empty.schema] == [pa.string(), pa.string()]


def test_what_is_printed(snapshot: SnapshotAssertion) -> None:
    assert printed(report(), rows=7) == snapshot


def test_a_narrow_terminal_gets_the_first_columns() -> None:
    told = printed(report(), width=60)
    assert "not shown here: versions, verdict, known" in told
    assert max(map(len, told.splitlines())) <= 60


def test_words_and_numbers_are_not_cut_in_pieces() -> None:
    name = "kafka-python-as-of-0.10"
    rows = tuple(
        (f"{name} {number}", "of 4 words each", 10**9, START, "/a/long/path/x.pcap:1") for number in range(3)
    )
    shape = ("client", "note", "count", "time", Column("place", brief=text.file_name))
    for width in (60, 80, 100, 140):
        told = printed(Report("r", "R", (), (Table("t", "T", rows=rows).with_columns(*shape),)), width=width)
        assert told.count(name) == 3
        assert told.count(str(10**9)) == (3 if "not shown here: count" not in told else 0)
        assert told.count("2026-01-02 12:00:00") in (0, 3)
        assert "/a/long" not in told
        assert max(map(len, told.splitlines())) <= width


def test_of_a_long_list_the_first_are_shown_and_how_many_more() -> None:
    table = Table("t", "T", rows=((tuple(f"Describe{number}" for number in range(20)),),)).with_columns("apis")
    assert "Describe4 and 15 more" in printed(Report("r", "R", (), (table,)))


def test_columns_without_values_are_not_printed() -> None:
    table = Table("t", "T", rows=((1, None, ()), (0, "", ()))).with_columns("one", "two", "three")
    assert "two" not in printed(Report("r", "R", (), (table,)))
    assert "one" in printed(Report("r", "R", (), (table,)))


def test_marks_are_coloured() -> None:
    told = printed(report(), colours=True)
    assert "\x1b[1;31mrefused" in told
    assert "\x1b[32mok" in told


def test_only_our_own_escapes_reach_the_terminal() -> None:
    told = printed(report(), colours=True)
    assert "\x1b[31mred" not in told
    assert "\\x1b[31mred" in told
    assert "[bold red]b[/]" in told
    assert "\x00" not in told
    assert "\u202e" not in told


def test_times_are_printed_in_utc() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
    table = Table("t", "T", rows=((moment,),)).with_columns("a")
    assert "2026-01-02 03:04:05" in printed(Report("r", "R", (), (table,)))


@pytest.fixture
def _in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("_in_berlin")
def test_charts_over_time_are_in_utc() -> None:
    figure = charts.over_time([datetime(2026, 7, 2, 3, tzinfo=UTC)], timedelta(hours=1), {"a": [1]}, unit="requests")
    (bars,) = figure["data"]
    assert (bars["x"], bars["text"]) == (["2026-07-02 03:30:00"], ["2026-07-02 03:00:00 UTC"])
    assert figure["layout"]["xaxis"]["range"] == ["2026-07-02 03:00:00", "2026-07-02 04:00:00"]


@pytest.mark.usefixtures("_in_berlin")
def test_local_times_as_spark_gives_them_become_utc() -> None:
    table = Table("t", "T", rows=((datetime(2026, 7, 2, 3, 4, 5),),)).with_columns("a")
    assert "2026-07-02 01:04:05" in printed(Report("r", "R", (), (table,)))
    assert arrow_table(table).to_pylist() == [{"a": datetime(2026, 7, 2, 1, 4, 5, tzinfo=UTC)}]


def test_more_rows_are_left_out_than_before() -> None:
    table = Table("t", "T", rows=((1,), (2,), (3,)), more=5).with_columns("a")
    assert [(table.limited(top).rows, table.limited(top).more) for top in (2, 3, 4)] == [
        (((1,), (2,)), 6),
        (table.rows, 5),
        (table.rows, 5),
    ]


def test_texts_are_cut_where_they_are_too_long() -> None:
    whole, cut = "x" * 200, "x" * 200 + "… (201 characters)"
    assert [text.visible("x" * size) for size in (200, 201)] == [whole, cut]
    column, wide = Column("a"), Column("a", whole=True)
    assert [text.shown_in(one, "x" * 201) for one in (column, wide)] == [cut, "x" * 201]
    assert text.label("x" * 14 + "y" * 14) == "x" * 14 + "y" * 14
    assert text.label("x" * 15 + "y" * 14) == "x" * 15 + "y" * 4 + "…" + "y" * 8
    assert text.number(-1234.5) == "-1234"
    assert text.number(1000.4) == "1000"
    assert text.number(999.96) == "1000"
    assert text.listed(["x" * 30], 20) == "x" * 30
    assert text.file_name("C:\\captures\\a.pcap:17") == "a.pcap:17"


def test_a_list_from_an_engine_is_a_tuple() -> None:
    table = Table("t", "T").with_columns("a", "b").with_rows([{"a": [1], "b": "x", "c": 2}], more=3)
    assert (table.rows, table.more, table.column("a")) == ((((1,), "x"),), 3, [(1,)])
    assert table.with_rows([{"a": [], "b": None}]).rows == (((), None),)
    with pytest.raises(KeyError):
        table.with_rows([{"a": 1}])


def test_csv_has_lists_as_text_and_empty_cells(tmp_path: Path) -> None:
    rows: tuple[tuple[Cell, ...], ...] = (
        (("a", "b"), (1, 2), "x", 1.5, True, START),
        (None, None, None, None, None, None),
        ((), (), "", 0.0, False, None),
    )
    table = Table("t", "T", rows=rows).with_columns("names", "numbers", "text", "share", "flag", "time")
    _, flat, *_ = write_report(Report("r", "R", (), (table,)), tmp_path)
    assert flat.read_text().splitlines() == [
        '"names","numbers","text","share","flag","time"',
        '"a, b","1, 2","x",1.5,true,2026-01-02 12:00:00.000000Z',
        ",,,,,",
        '"","","",0,false,',
    ]


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        (None, ""),
        (True, "yes"),
        (False, "no"),
        (0, "0"),
        (12345, "12345"),
        (0.5, "0.5"),
        (999.94, "999.9"),
        (-1000.6, "-1001"),
        (-123456.7, "-123457"),
        (float("nan"), ""),
        (float("inf"), "inf"),
        (START, "2026-01-02 12:00:00"),
        (START + timedelta(milliseconds=5), "2026-01-02 12:00:00.005"),
        ((), ""),
        (("a\x1b", "b"), "a\\x1b, b"),
        ((3, 12), "3, 12"),
        (("x" * 201, "y"), f"{'x' * 200}… (201 characters) and 1 more"),
        (("x" * 198, "y", "z"), f"{'x' * 198} and 2 more"),
        (("x" * 197, "y"), f"{'x' * 197}, y"),
        ("a\tb\u00a0c\u2003\ud800d", "a\\tb\\xa0c\\u2003\\ud800d"),
        ("x" * 201, f"{'x' * 200}… (201 characters)"),
    ],
)
def test_cells_as_text(cell: Cell, told: str) -> None:
    assert text.shown(cell) == told


@pytest.mark.parametrize(
    ("numbers", "ranges"),
    [
        ([], []),
        ([4], [range(4, 5)]),
        ([4, 3, 4, 3], [range(3, 5)]),
        ([1, 3, 5], [range(1, 2), range(3, 4), range(5, 6)]),
        ([-1, 0, 7, 1, 8], [range(-1, 2), range(7, 9)]),
    ],
)
def test_adjacent_numbers_are_one_range(numbers: list[int], ranges: list[range]) -> None:
    assert text.runs(iter(numbers)) == ranges


def test_columns_are_shown_in_brief_and_whole_if_they_are_to_be() -> None:
    brief, whole = Column("a", brief=text.file_name), Column("a", brief=text.file_name, whole=True)
    path = f"/captures/{'x' * 60}:7"
    assert [text.shown_in(one, path, 10) for one in (brief, whole)] == [
        "x" * 10 + "… (62 characters)",
        "x" * 60 + ":7",
    ]
    assert [text.shown_in(brief, cell, 10) for cell in (None, 7, (path,))] == ["", "7", "/captures/… (72 characters)"]
    names = ["a_b_c", "a"], ["A b", "a_b"]
    assert [Column(*one).heading for one in ((names[0][0],), (names[0][1], names[1][1]))] == ["a b c", "a_b"]


def test_columns_with_nothing_but_zero_or_false_have_values() -> None:
    table = Table("t", "T", rows=((0, None, False, "", ()), (0.0, None, False, "", ()))).with_columns(*"abcde")
    assert table.filled() == [0, 2]
    assert Report("r", "R", (), ()).made.microsecond == 0
    report_of_two = Report("r", "R", (), (table, Table("u", "U")))
    assert report_of_two.table("u").title == "U"


def test_links_of_cells_to_the_guide() -> None:
    """Of an API the newest version, of an error its code."""
    guide = Guide("g/", PROTOCOL)
    cells: list[tuple[dict[str, Cell], dict[str, str]]] = [
        ({"api": "Fetch"}, {"api": "g/api/fetch.html#request"}),
        ({"api": "Fetch", "version": 4}, {"api": "g/api/fetch.html#request-v4"}),
        ({"versions": (4, 12, 5), "api": "Fetch"}, {"api": "g/api/fetch.html#request-v12"}),
        ({"api": "Fetch", "version": None}, {"api": "g/api/fetch.html#request"}),
        ({"api": "Fetch", "error": "X", "code": 0}, {"api": "g/api/fetch.html#request", "error": "g/errors.html#0"}),
        ({"error": "X", "code": None}, {}),
        ({"error": "X"}, {}),
        ({"error": None, "code": 3}, {}),
        ({"name": "Fetch", "code": 3}, {}),
        ({"api": None, "version": 3}, {}),
        ({"api": 1, "version": 3}, {}),
    ]
    for facts, links in cells:
        table, row = Table("t", "T").with_columns(*facts), tuple(facts.values())
        for found, expected in ((Report("r", "R", (), (), guide=guide), links), (Report("r", "R", (), ()), {})):
            assert [found.link(table, row, at) for at in range(len(row))] == [
                expected.get(name, "") for name in facts
            ]


def test_two_reports_share_a_folder_and_each_can_be_written_again(tmp_path: Path) -> None:
    one = Report("one", "One", (), (Table("t", "T", rows=((1,),)).with_columns("a"),), made=START)
    two, more = replace(one, name="two"), replace(one, tables=(*one.tables, replace(one.tables[0], name="u")))
    names = [f"one{end}" for end in ("-t.csv", "-t.parquet", ".html", ".json", ".md")]
    for given_report, added in ((one, names), (two, [name.replace("one", "two") for name in names]), (one, [])):
        before = (tmp_path / "_kwire").read_text().splitlines() if (tmp_path / "_kwire").exists() else []
        write_report(given_report, tmp_path)
        assert (tmp_path / "_kwire").read_text().splitlines() == sorted([*before, *added])
    (tmp_path / "one-u.csv").write_text("mine")
    with pytest.raises(OptionError, match=r"one-u\.csv was not written by kwire: move it, or choose another folder"):
        write_report(more, tmp_path)
    assert (tmp_path / "one-u.csv").read_text() == "mine"
    (tmp_path / "one-u.csv").unlink()
    write_report(more, tmp_path)
    found = sorted(path.name for path in tmp_path.iterdir())
    assert found == sorted([*(tmp_path / "_kwire").read_text().splitlines(), "_kwire"])


def test_a_text_is_a_file_under_the_same_rules(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    for content in ("one\n", "zwö\n"):
        path = write_text(folder, "a.prom", content)
        assert (path, path.read_text("utf-8"), path.stat().st_mode & 0o777) == (folder / "a.prom", content, 0o600)
    (folder / "b.prom").write_text("mine")
    with pytest.raises(OptionError, match=r"b\.prom was not written by kwire"):
        write_text(folder, "b.prom", "x")
    assert sorted(path.name for path in folder.iterdir()) == ["_kwire", "a.prom", "b.prom"]
    assert (folder / "_kwire").read_text() == "a.prom"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_parquet_has_types_times_and_comments(tmp_path: Path) -> None:
    noon = datetime(2026, 1, 2, 12, tzinfo=timezone(timedelta(hours=2)))
    shape = Column("at", comment="When."), "n", "names", Column("numbers"), "nothing", "flag", "share"
    rows: tuple[tuple[Cell, ...], ...] = (
        (noon, 1, ("a",), (1, 2), None, True, 0.5),
        (None,) * 7,
        (noon, 0, (), (), None, False, 2.0),
    )
    table = arrow_table(Table("t", "T", rows=rows).with_columns(*shape))
    assert [str(field.type) for field in table.schema] == [
        *("timestamp[us, tz=UTC]", "int64", "list<item: string>", "list<item: int64>", "string", "bool", "double")
    ]
    assert [field.metadata for field in table.schema][:2] == [{b"comment": b"When."}, None]
    ten = datetime(2026, 1, 2, 10, tzinfo=UTC)
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        (ten, 1, ["a"], [1, 2], None, True, 0.5),
        (None,) * 7,
        (ten, 0, [], [], None, False, 2.0),
    ]


@pytest.mark.parametrize("width", [24, 40, 56, 100])
def test_the_whole_text_on_terminals_of_all_widths(width: int, snapshot: SnapshotAssertion) -> None:
    """Numbers and times are whole, texts are folded between words, and what has no room is named."""
    wide = "of many words that have to be folded if the line is too short for all of them"
    rows: tuple[tuple[Cell, ...], ...] = (
        (
            "kafka-python-as-of-0.10.2.1-and-newer",
            5,
            wide,
            START + timedelta(milliseconds=7),
            None,
            "refused",
            ("a", "b"),
        ),
        ("b", None, "short", START, None, "ok", ()),
        ("c" * 61, 10**7, "[b]x[/b]", None, None, "?", ("c",)),
    )
    shape = (
        "client",
        Column("n", "number of\x1b"),
        "note",
        "seen",
        "empty",
        Column("verdict", mark={"ok": "good"}),
        "apis",
    )
    one = Table("one", "One\x1b", rows=rows, more=3).with_columns(*shape)
    two, three = Table("two", "Two", empty="Nothing\x1b."), replace(one, title="Three", more=0)
    shown = Report("r", "Title [b]\x1b", ("Said [b]it[/b]\x1b.", "x" * 300), (one, two, three))
    assert [line.rstrip() for line in printed(shown, rows=2, width=width).splitlines()] == snapshot
    assert "and 4 more" in printed(shown, rows=2, width=width)
    assert "and 1 more" in printed(shown, rows=2, width=width)
    times = Table("t", "T", rows=((START, 1), (START, 2))).with_columns("seen", "n")
    narrow = printed(Report("r", "R", (), (times,)), width=width // 2)
    assert max(map(len, narrow.splitlines())) <= width // 2, "whatever does not fit"
    few = printed(replace(shown, tables=(three,)), rows=3, width=width)
    assert " more" not in few
