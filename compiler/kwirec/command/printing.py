"""Functions for the output and exit codes of commands."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from kwirec.diagnostics.columns import printable
from kwirec.diagnostics.diagnostic import Report, Severity, Waiver
from kwirec.diagnostics.render import render
from kwirec.diagnostics.render_text import folded, summary

if TYPE_CHECKING:
    from kwirec.driver import Loaded
    from kwirec.ir.schema import Schema

CLEAN, FINDINGS, USAGE = 0, 1, 2


def echo(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Print text that may come from definitions, with terminal control characters escaped."""
    click.echo("\n".join(map(printable, text.split("\n"))), nl=nl, err=err)


def show(report: Report, form: str, schema: Schema | None = None, guide: str = "") -> None:
    """Print findings as text to standard error, or in a machine-readable format to standard output.

    Text output lists errors last. Findings link to the guide if the schema and the address ``guide`` are given.
    """
    text = form == "text"
    found = folded(report.diagnostics) if text else report.diagnostics
    if schema and guide:
        from kwirec.guide import linked

        found = list(linked(found, schema, guide))
    click.echo(render(found, form, color=text and sys.stderr.isatty()), nl=False, err=text)


def counts(report: Report, loaded: Loaded, left: str = "") -> str:
    """Return a summary with the number of findings per severity, and a note if later checks were not run."""
    return summary(report.diagnostics) + left + ("" if loaded.validated else "; later checks were not run")


def show_unused(waivers: Iterable[Waiver]) -> None:
    """Print the waivers that do not match any finding."""
    for waiver in waivers:
        place = f"{waiver.message}.{waiver.field}".removesuffix(".*")
        echo(f"the waiver of {waiver.code} for `{place}` matches no finding: remove it", err=True)


def status(report: Report) -> int:
    """Return the exit code for the findings in ``report``."""
    if any(d.code.number in ("K001", "K002", "K009") for d in report.diagnostics):
        return USAGE
    serious = report.count(Severity.ERROR) + report.count(Severity.WARNING)
    return FINDINGS if serious else CLEAN
