"""Renders a judgement in one of ``FORMATS``. ``markdown`` is a separate module.

Text, GitHub annotations and JUnit have the same form as for diagnostics. JSON has additional attributes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kwirec.diagnostics.diagnostic import Diagnostic, Label
from kwirec.diagnostics.render import render
from kwirec.diagnostics.render_text import summary
from kwirec.diff.addresses import address_of
from kwirec.diff.changes import AnyMessageChange
from kwirec.diff.judge import JudgedChange, Judgement
from kwirec.diff.markdown import render_markdown
from kwirec.diff.rule import Level, Rule
from kwirec.diff.rules import RULES
from kwirec.diff.sides import Side
from kwirec.json_text import json_line

FORMATS = ("text", "markdown", "json", "github", "junit")
WIDTH = 100


def render_diff(
    judgement: Judgement, old: Side, new: Side, form: str = "text", *, color: bool = False, guide: str = ""
) -> str:
    """Return the report of a diff. Findings link to ``guide``, which is the address of a guide to the new side."""
    if form == "markdown":
        return render_markdown(judgement, old, new, guide)
    if form == "json":
        return "".join(
            json_line(_as_dict(judged, guide)) + "\n" for judged in (*judgement.findings, *judgement.waived)
        )
    return render([_linked(judged, guide) for judged in judgement.findings], form, color=color)


def _linked(judged: JudgedChange, guide: str) -> Diagnostic:
    address = address_of(judged.change) if guide else ""
    return replace(judged.diagnostic, guide=f"{guide}{address}") if address else judged.diagnostic


def diff_summary(judgement: Judgement, level: Level) -> str:
    """Return a summary such as ``2 errors, 1 note at level wire; 1 waived``."""
    waived = f"; {len(judgement.waived)} waived" if judgement.waived else ""
    return f"{summary(judged.diagnostic for judged in judgement.findings)} at level {level.word}{waived}"


def _as_dict(judged: JudgedChange, guide: str) -> dict[str, Any]:
    """Return a finding as a JSON object. The first of ``places`` is the primary place."""
    diagnostic, change = _linked(judged, guide), judged.change
    return {
        "rule": judged.rule.name,
        "level": judged.rule.level.word,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "message_name": diagnostic.message_name,
        "api_key": change.message.api_key if isinstance(change, AnyMessageChange) else None,
        "field": diagnostic.field_path,
        "versions": sorted(judged.change.versions),
        "places": [_place(label) for label in (diagnostic.primary, *diagnostic.others)],
        "notes": list(diagnostic.notes),
        "helps": list(diagnostic.helps),
        "waived": judged.waiver.reason if judged.waiver else None,
        **({"guide": diagnostic.guide} if diagnostic.guide else {}),
    }


def _place(label: Label) -> dict[str, str | int]:
    line, column = label.span.source.line_and_column(label.span.start)
    return {"file": label.span.source.name, "line": line, "column": column, "text": label.text}


def explain_rule(rule: Rule) -> str:
    """Return the explanation of a rule as plain text."""
    code = rule.code
    waiver = f'[[tool.kwirec.diff.waivers]]\nrule = "{rule.name}"\nmessage = "ClockRequest"\nreason = "…"'
    paragraphs = [
        f"{rule.name} ({rule.level.word}, {code.severity.value})",
        textwrap.fill(rule.purpose, WIDTH),
        textwrap.fill(code.why, WIDTH),
        f"Before:\n\n{textwrap.indent(code.offending, '    ')}",
        f"After:\n\n{textwrap.indent(code.corrected, '    ')}",
        "A project can waive single findings with a reason, in `pyproject.toml`:",
        textwrap.indent(waiver, "    "),
    ]
    return "\n\n".join(paragraphs) + "\n"


RULES_PAGE = """\
# Rules of `kwirec diff`

This reference lists all rules by level. `kwirec explain FIELD_REORDERED` explains a rule. [Comparing
definitions](../diff.md) describes the levels.

"""


def rules_page() -> str:
    """Return the documentation page that lists all rules."""
    return RULES_PAGE + list_rules(RULES, "markdown")


def list_rules(rules: Iterable[Rule], form: str = "text") -> str:
    """Return rules as a text table, as one line of JSON per rule, or as a Markdown table."""
    rows = [
        {
            "rule": rule.name,
            "level": rule.level.word,
            "severity": rule.code.severity.value,
            "purpose": rule.purpose,
            "why": rule.code.why,
        }
        for rule in rules
    ]
    if form == "json":
        lines = [json_line(row) for row in rows]
    elif form == "markdown":
        lines = ["| rule | level | severity | purpose |", "| -- | -- | -- | -- |"]
        lines += ["| `{rule}` | {level} | {severity} | {purpose} |".format(**row) for row in rows]
    else:
        width = max(len(row["rule"]) for row in rows)
        lines = [f"{'RULE':<{width}}  LEVEL   SEVERITY  PURPOSE"]
        lines += [
            f"{row['rule']:<{width}}  {row['level']:<6}  {row['severity']:<8}  {row['purpose']}" for row in rows
        ]
    return "\n".join(lines) + "\n"
