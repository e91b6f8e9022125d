"""Commands about diagnostic codes: ``explain``, and the pages of the documentation."""

from __future__ import annotations

from pathlib import Path

import click

from kwirec import catalogue
from kwirec.command.printing import echo


@click.command()
@click.argument("code")
def explain(code: str) -> None:
    """Explain a diagnostic code such as K304."""
    found = catalogue.find(code)
    if found is None:
        raise click.UsageError(f"unknown code {code!r}. {catalogue.suggestion(code)}".strip())
    echo(catalogue.explain_text(found), nl=False)


@click.command("rule-pages", hidden=True)
@click.argument("folder", type=click.Path(path_type=Path))
def rule_pages(folder: Path) -> None:
    """Write a documentation page for every code."""
    catalogue.write_pages(folder)
