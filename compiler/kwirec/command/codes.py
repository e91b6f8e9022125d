"""Commands about diagnostic codes: ``explain``, and ``rule-pages`` for the documentation."""

from __future__ import annotations

from pathlib import Path

import click

from kwirec import catalogue
from kwirec.command.printing import echo
from kwirec.diagnostics.diagnostic import did_you_mean


@click.command()
@click.argument("code")
def explain(code: str) -> None:
    """Explain a diagnostic code such as K304, or a diff rule such as FIELD_REORDERED."""
    from kwirec.diff.report import explain_rule
    from kwirec.diff.rules import BY_NAME

    name = code.strip().upper().replace("-", "_")
    if found := catalogue.find(code):
        echo(catalogue.explain_text(found), nl=False)
    elif name in BY_NAME:
        echo(explain_rule(BY_NAME[name]), nl=False)
    else:
        hint = catalogue.suggestion(code) or did_you_mean(name, BY_NAME)
        raise click.UsageError(f"unknown code {code!r}. {hint}".strip())


@click.command("rule-pages", hidden=True)
@click.argument("folder", type=click.Path(path_type=Path))
def rule_pages(folder: Path) -> None:
    """Write a documentation page for every code, and a page that lists the diff rules."""
    from kwirec.diff.report import rules_page

    catalogue.write_pages(folder)
    (folder / "changes.md").write_text(rules_page(), encoding="utf-8", newline="\n")
