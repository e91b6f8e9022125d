"""Reports as JSON, Markdown and JUnit's XML, with hostile texts in every place."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from kwire.command import main as run
from kwire.guide import Guide
from kwire_inspect.reports.formats import FORMATS, MARKDOWN_ROWS, formats_of, json_text, junit, markdown
from kwire_inspect.reports.page import page
from kwire_inspect.reports.report import FAILED, PASSED, SKIPPED, Cell, Check, Column, Report, Table
from kwire_inspect.reports.report_files import write_report
from kwire_inspect.reports.terminal import print_report
from kwire_inspect.reports.text import file_name
from kwire_kafka import PROTOCOL
from kwire_rules.markdown import escaped
from kwirec.markdown import prose
from tests.support.report_samples import HOSTILE, report

LOG = Path(__file__).parents[1] / "data" / "request_logs" / "3.9.1.log.gz"


def checked(*checks: Check) -> Report:
    return replace(report(), checks=checks)


def test_json_has_all_cells() -> None:
    found = json.loads(json_text(report()))
    table, nothing = report().tables
    assert found["exit_code"] == 1
    assert found["tables"]["nothing"] == {"title": nothing.title, "more": 0, "rows": []}
    assert found["tables"]["clients"]["more"] == table.more
    rows = found["tables"]["clients"]["rows"]
    assert [row["client"] for row in rows] == list(HOSTILE)
    assert [row["versions"] for row in rows] == [list(cell) for cell in table.column("versions")]  # type: ignore[arg-type]
    assert rows[0]["seen"] == "2026-01-02T12:00:00+00:00"
    assert json_text(report()).isascii()


def test_json_has_no_number_that_json_lacks() -> None:
    given_report = replace(report(), tables=(Table("t", "T", rows=((float("nan"),),)).with_columns("n"),))
    assert json.loads(json_text(given_report))["tables"]["t"]["rows"] == [{"n": None}]


@given(st.text(max_size=40) | st.sampled_from([text[:200] for text in HOSTILE]))
def test_markdown_shows_a_text_as_it_is(text: str) -> None:
    shown = " ".join(text.split())
    if not shown.isprintable():
        return
    html = MarkdownIt("gfm-like", {"linkify": False}).enable("table").render(f"| h |\n|---|\n| {escaped(shown)} |")
    cell = html.split("<td>")[1].split("</td>")[0]
    plain = cell.replace("<code>", "").replace("</code>", "")
    assert "<" not in plain.replace("&lt;", "")
    for entity, char in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        plain = plain.replace(entity, char)
    assert plain == shown


@given(st.lists(st.sampled_from(["www.", "WWW.", "a:", "//", "&#", *" é@#$&*<>[]\\_{|}~"])).map("".join))
def test_the_compiler_which_imports_nothing_of_this_escapes_alike(text: str) -> None:
    assert escaped(text) == prose(text)


def test_apis_link_to_the_guide_where_there_is_one() -> None:
    rows = (("Fetch", 12), (HOSTILE[2], 1))
    table = Table("t", "T", rows=rows).with_columns("api", "version")
    found = Report("r", "R", (), (table,), guide=Guide("https://a.example/?'\"<>&|", PROTOCOL))
    address = "https://a.example/?'\"<>&|api/fetch.html#request-v12"
    linked, other = json.loads(json_text(found))["tables"]["t"]["rows"]
    assert (linked["guide"], "guide" in other) == (address, False)
    cells = MarkdownIt().enable("table").render(markdown(found)).split("<td>")
    assert cells[1].startswith('<a href="https://a.example/?\'%22%3C%3E&amp;%7Capi/fetch.html#request-v12">Fetch</a>')
    assert sum("<a " in cell for cell in cells) == 1


def test_markdown_names_nobody_and_links_nowhere() -> None:
    text = markdown(report())
    assert "https://" not in text
    assert "<script" not in text
    assert "[link" not in text
    assert escaped("@team #12 www.a.example").startswith("<code>@</code>team <code>#</code>12 www&#46;a")


def test_markdown_is_limited() -> None:
    long = Table("t", "T", rows=tuple((number,) for number in range(MARKDOWN_ROWS + 5))).with_columns("n")
    assert markdown(replace(report(), tables=(long,))).endswith(f"| {MARKDOWN_ROWS - 1} |\n\nand 5 more\n")
    more = replace(long, more=1000)
    assert markdown(replace(report(), tables=(more,))).endswith("\n\nand 1,005 more\n")
    whole = replace(long, rows=long.rows[:MARKDOWN_ROWS])
    assert markdown(replace(report(), tables=(whole,))).endswith(f"| {MARKDOWN_ROWS - 1} |\n")


@given(st.text(), st.text())
def test_junit_is_xml_whatever_clients_are_called(name: str, message: str) -> None:
    text = junit(checked(Check(name, message, FAILED, message))).encode()
    assert len(ElementTree.fromstring(text).findall("testsuite/testcase/failure")) == 1


def test_junit_is_written_if_there_are_checks(tmp_path: Path) -> None:
    assert "sample.junit.xml" not in {path.name for path in write_report(report(), tmp_path / "a")}
    assert "sample.junit.xml" in {
        path.name for path in write_report(checked(Check("a", "b", PASSED)), tmp_path / "b")
    }


@pytest.mark.parametrize("form", FORMATS)
def test_a_command_prints_what_it_writes(tmp_path: Path, capfd: pytest.CaptureFixture[str], form: str) -> None:
    code = run(["readiness", str(LOG), "--target", "4.1.1", "--out", str(tmp_path), "--format", form])
    ending = {"json": "json", "markdown": "md", "junit": "junit.xml"}[form]
    told = capfd.readouterr()
    assert code in (0, 1, 4)
    assert told.out == (tmp_path / f"readiness.{ending}").read_text()
    assert "Report:" in told.err


def test_times_in_json_are_in_utc() -> None:
    noon = datetime(2026, 1, 2, 12, tzinfo=timezone(timedelta(hours=2)))
    given_report = Report("r", "R", (), (Table("t", "T", rows=((noon,),)).with_columns("at"),))
    assert json.loads(json_text(given_report))["tables"]["t"]["rows"] == [{"at": "2026-01-02T10:00:00+00:00"}]


def test_the_whole_text_of_each_format(snapshot: SnapshotAssertion) -> None:
    """With each kind of cell, links to the guide, and checks of two groups with each state."""
    noon = datetime(2026, 1, 2, 12, 0, 0, 5000, tzinfo=timezone(timedelta(hours=2)))
    rows: tuple[tuple[Cell, ...], ...] = (
        ("<b>", noon, 1.5, True, ("x", "|"), "Fetch", (3, 12), None, "/a/c.pcap:7"),
        ("x" * 201, None, float("inf"), False, (), "?", (), None, None),
        (None,) * 9,
    )
    shape = (Column("client", "client <i>"), "at_time", "share", "known", "names", "api", "versions", "nothing")
    tables = (
        Table("one", "One *1*", rows=rows, note="See `x`.", more=2).with_columns(
            *shape, Column("place", brief=file_name)
        ),
        Table("two", "Two", empty="No <row>.").with_columns("error", "code"),
        Table("three", "Three", rows=(("NOT_LEADER", 6), ("A\x1b", None))).with_columns("error", "code"),
    )
    checks = (
        Check("a", "T 1", FAILED, "why <1>"),
        Check("a", "T\x1b 2", PASSED),
        Check("b", "T 1", SKIPPED, "perhaps"),
        Check("c", "T 1", PASSED),
        Check("d", "T 1", FAILED, "m" * 1001),
        Check("d", "T\x1b 2", SKIPPED, ""),
    )
    summary = ("s" * 201, "Two <s>\x1b.")
    guide = Guide("https://a.example/", PROTOCOL)
    found = Report("r", "The *report*\x1b", summary, tables, exit_code=4, guide=guide, checks=checks)
    for write in FORMATS.values():
        assert re.sub(r"(s|m|x)\1{99,}", r"\1...", write(found)) == snapshot
    assert formats_of(found) == ["json", "markdown", "junit"]
    assert formats_of(replace(found, checks=())) == ["json", "markdown"]


@pytest.mark.parametrize(("size", "cut"), [(1000, 0), (1001, 1)])
def test_a_sentence_is_cut_after_a_thousand_characters(size: int, cut: int) -> None:
    long = "y" * size
    tables = (Table("t", "T", note=long, empty=long).with_columns("a"),)
    found = Report("r", "R", (long,), tables, checks=(Check("a", "b", FAILED, long), Check("c", "b", SKIPPED, long)))
    print_report(found, Console(file=(printed := io.StringIO()), width=2000))
    texts = markdown(found), junit(found), printed.getvalue(), page(found)
    assert [text.count(f"{'y' * 1000}…") for text in texts] == [3 * cut, 3 * cut, 2 * cut, 3 * cut]
