"""The command ``kwirec``. Exit codes: 0 clean or written, 1 findings, 2 wrong usage or I/O."""

from __future__ import annotations

import click

from kwirec.command.codes import explain, rule_pages
from kwirec.command.comparison import diff, lint_rules, merge
from kwirec.command.definitions import check, convert, dump, fmt
from kwirec.command.output import generate, guide, new


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kwire", prog_name="kwirec", message="%(prog)s %(version)s")
def main() -> None:
    """Compile Kafka-style message definitions."""


for _command in (check, fmt, generate, guide, dump, convert, explain, rule_pages, merge, new, diff, lint_rules):
    main.add_command(_command)
