"""The ``kwirec`` command. Other packages add subcommands through entry points in the group ``kwirec.commands``.

The exit code is 0 on success, 1 if there are findings, or 2 for usage and I/O errors.
"""

from __future__ import annotations

import click

from kwire_rules.commands import Commands

MODULES = {
    "definitions": ("check", "fmt", "dump", "convert", "schema"),
    "output": ("generate", "emit", "new"),
    "codes": ("explain", "rule_pages"),
    "comparison": ("merge", "diff", "lint_rules"),
}
OWN = {
    name.replace("_", "-"): f"kwirec.command.{module}:{name}" for module, names in MODULES.items() for name in names
}


@click.command(
    cls=Commands, own=OWN, others="kwirec.commands", context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="kwire", prog_name="kwirec", message="%(prog)s %(version)s")
def main() -> None:
    """Compile Kafka-style message definitions."""
