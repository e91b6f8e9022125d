"""Reports as JSON, Markdown and JUnit XML, for scripts, pull requests and CI.

Texts may come from the wire, so they are untrusted. JSON is ASCII. Markdown shows texts literally, without links,
mentions or HTML, except for links to the guide. Characters that XML cannot contain are escaped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from xml.etree import ElementTree

from kwire_inspect.reports.report import FAILED, SKIPPED, Cell, Report, Table
from kwire_inspect.reports.text import in_utc, shown_in, visible
from kwire_rules.markdown import escaped, link

MARKDOWN_ROWS = 200
"""Maximum number of rows in a Markdown table, because the size of pull request pages is limited. The report's JSON
and page contain all rows."""


def json_text(report: Report) -> str:
    """Return the whole report as a JSON object with ``report``, ``title``, ``exit_code``, ``summary`` (sentences) and
    ``tables``. Each table has ``title``, ``more`` (the number of omitted rows) and ``rows`` (objects by column name).

    Times are in UTC, in ISO 8601 format. NaN and infinity become ``null``. If the report has a guide, ``guide`` in a
    row contains the address of the guide's page on the row's API or error.
    """
    tables = {table.name: _json_table(report, table) for table in report.tables}
    head = {"report": report.name, "title": report.title, "exit_code": report.exit_code, "summary": report.summary}
    return json.dumps(head | {"tables": tables}, indent=1, allow_nan=False) + "\n"


def _json_table(report: Report, table: Table) -> dict[str, Any]:
    names = [column.name for column in table.columns]
    rows = [
        dict(zip(names, map(_json_cell, row), strict=True)) | _json_link(report, table, row) for row in table.rows
    ]
    return {"title": table.title, "more": table.more, "rows": rows}


def _json_link(report: Report, table: Table, row: Sequence[Cell]) -> dict[str, str]:
    found = filter(None, (report.link(table, row, place) for place in range(len(row))))
    address = next(found, "")
    return {"guide": address} if address else {}


def _json_cell(cell: Cell) -> Any:
    if isinstance(cell, datetime):
        return in_utc(cell).isoformat()
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def markdown(report: Report) -> str:
    """Return the report for a pull request or issue, with up to :data:`MARKDOWN_ROWS` rows of each table."""
    lines = [f"## {escaped(visible(report.title))}", ""]
    lines += [f"- {escaped(visible(sentence, 1000))}" for sentence in report.summary]
    for table in report.tables:
        lines += ["", f"### {escaped(visible(table.title))}", "", *_markdown_table(report, table)]
    return "\n".join(lines) + "\n"


def _markdown_table(report: Report, table: Table) -> Iterator[str]:
    if table.note:
        yield from (escaped(visible(table.note, 1000)), "")
    if not table.rows:
        yield escaped(visible(table.empty, 1000))
        return
    places = table.filled()
    headings = [escaped(visible(table.columns[place].heading)) for place in places]
    yield f"| {' | '.join(headings)} |"
    yield "|---" * len(places) + "|"
    for row in table.rows[:MARKDOWN_ROWS]:
        yield f"| {' | '.join(_markdown_cell(report, table, row, place) for place in places)} |"
    if more := table.more + max(len(table.rows) - MARKDOWN_ROWS, 0):
        yield from ("", f"and {more:,} more")


def _markdown_cell(report: Report, table: Table, row: Sequence[Cell], place: int) -> str:
    text, address = escaped(shown_in(table.columns[place], row[place])), report.link(table, row, place)
    return link(text, address) if address else text


def junit(report: Report) -> str:
    """Return the checks of a report as JUnit XML, which CI systems display.

    Each group is a test suite, and each check is a test case. The summary becomes the output of each test suite.
    """
    root = ElementTree.Element("testsuites", name=visible(report.title))
    groups = dict.fromkeys(check.group for check in report.checks)
    for group in groups:
        checks = [check for check in report.checks if check.group == group]
        counts = {state: str(sum(check.state == state for check in checks)) for state in (FAILED, SKIPPED)}
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=visible(group),
            tests=str(len(checks)),
            failures=counts[FAILED],
            skipped=counts[SKIPPED],
            errors="0",
        )
        for check in checks:
            case = ElementTree.SubElement(suite, "testcase", classname=visible(group), name=visible(check.name))
            if check.state == FAILED:
                ElementTree.SubElement(case, "failure", message=visible(check.message, 1000))
            elif check.state == SKIPPED:
                ElementTree.SubElement(case, "skipped", message=visible(check.message, 1000))
        ElementTree.SubElement(suite, "system-out").text = "\n".join(visible(line, 1000) for line in report.summary)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


JSON, MARKDOWN, JUNIT = "json", "markdown", "junit"
FORMATS = {JSON: json_text, MARKDOWN: markdown, JUNIT: junit}
"""Maps each report format to the function that returns the report's text."""
ENDINGS = {JSON: "json", MARKDOWN: "md", JUNIT: "junit.xml"}


def formats_of(report: Report) -> list[str]:
    """Return the formats that have content for a report. JUnit contains only checks."""
    return [JSON, MARKDOWN, *([JUNIT] if report.checks else [])]
