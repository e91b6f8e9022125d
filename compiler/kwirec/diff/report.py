"""A judgement → text in one of ``FORMATS``; Markdown has a module of its own.

Text, GitHub annotations and JUnit are those of all findings of the compiler. A line of JSON says more than theirs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kwirec.diagnostics.diagnostic import Label
from kwirec.diagnostics.render import render, summary
from kwirec.diff.judge import JudgedChange, Judgement
from kwirec.diff.markdown import render_markdown
from kwirec.diff.rule import Level, Rule
from kwirec.diff.sides import Side

FORMATS = ("text", "markdown", "json", "github", "junit")


def render_diff(judgement: Judgement, old: Side, new: Side, form: str = "text", *, color: bool = False) -> str:
    """The whole report of a diff."""
    if form == "markdown":
        return render_markdown(judgement, old, new)
    if form == "json":
        return "".join(json.dumps(_as_dict(one)) + "\n" for one in (*judgement.findings, *judgement.waived))
    return render([one.diagnostic for one in judgement.findings], form, color=color)


def diff_summary(judgement: Judgement, level: Level) -> str:
    """``2 errors, 1 note at level wire; 1 waived``"""
    waived = f"; {len(judgement.waived)} waived" if judgement.waived else ""
    return f"{summary(one.diagnostic for one in judgement.findings)} at level {level.word}{waived}"


def _as_dict(one: JudgedChange) -> dict[str, Any]:
    """All that is known of a finding; ``places`` begins with the one that the finding is about."""
    said, message = one.diagnostic, one.change.message
    return {
        "rule": one.rule.name,
        "level": one.rule.level.word,
        "severity": said.severity.value,
        "message": said.message,
        "message_name": message.name,
        "api_key": message.api_key,
        "field": said.field_path,
        "versions": sorted(one.change.versions),
        "places": [_place(label) for label in (said.primary, *said.others)],
        "notes": list(said.notes),
        "helps": list(said.helps),
        "waived": one.waiver.reason if one.waiver else None,
    }


def _place(label: Label) -> dict[str, str | int]:
    line, column = label.span.source.line_and_column(label.span.start)
    return {"file": label.span.source.name, "line": line, "column": column, "text": label.text}


def list_rules(rules: Iterable[Rule], form: str = "text") -> str:
    """The catalogue: as a table for people, as a line of JSON for each rule, or as a table in Markdown."""
    return _LISTS[form](list(rules))


def _text(rules: list[Rule]) -> str:
    width = max(len(rule.name) for rule in rules)
    row = "{:<" + str(width) + "}  {:<6}  {:<8}  {}"
    lines = [row.format("RULE", "LEVEL", "SEVERITY", "PURPOSE")]
    lines += [row.format(rule.name, rule.level.word, rule.code.severity.value, rule.purpose) for rule in rules]
    return "\n".join(lines) + "\n"


def _json(rules: list[Rule]) -> str:
    return "".join(
        json.dumps(
            {
                "rule": rule.name,
                "level": rule.level.word,
                "severity": rule.code.severity.value,
                "purpose": rule.purpose,
                "why": rule.code.why,
            }
        )
        + "\n"
        for rule in rules
    )


def _markdown(rules: list[Rule]) -> str:
    lines = ["| rule | level | severity | purpose |", "|---|---|---|---|"]
    for rule in rules:
        purpose = rule.purpose.replace("|", "\\|")
        lines.append(f"| `{rule.name}` | {rule.level.word} | {rule.code.severity.value} | {purpose} |")
    return "\n".join(lines) + "\n"


_LISTS: Mapping[str, Callable[[list[Rule]], str]] = {"text": _text, "json": _json, "markdown": _markdown}
