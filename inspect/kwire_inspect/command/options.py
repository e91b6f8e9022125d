"""Click options shared by several commands."""

from __future__ import annotations

import click

from kwire_inspect.command.engines import AUTO, ENGINES, PARQUET
from kwire_inspect.reasons import MIN_COVERAGE
from kwire_inspect.reports.formats import FORMATS
from kwire_inspect.reports.text import visible

TABLE_FORMAT = click.option(
    "--table-format",
    default=PARQUET,
    show_default=True,
    help="Format of the tables. Accepts any format that Spark can write.",
)
MASTER = click.option("--master", metavar="URL", help="URL of the Spark master. [default: all cores of this machine]")
ENGINE = click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=AUTO,
    show_default=True,
    help="Engine that reads the inputs. auto chooses local, which needs no Java, unless an option needs Spark.",
)
PROCESSES = click.option(
    "--processes",
    type=click.IntRange(1),
    metavar="NUMBER",
    help="Number of processes of --engine local. [default: up to one per processor, depending on the input size]",
)
PORTS = click.option(
    "--ports", metavar="PORTS", help="Broker ports, such as 9092,19092. Traffic on other ports is ignored."
)
KEY_LOG = click.option(
    "--key-log",
    metavar="FILE",
    help="Key log (SSLKEYLOGFILE) with secrets for decrypting TLS connections in captures.",
)
PROTOCOL = click.option(
    "--protocol",
    metavar="PACKAGE",
    help="Generated package that defines the messages, for example of a fork. [default: kwire_kafka]",
)
RELEASES = click.option(
    "--releases", metavar="PACKAGE", help="Package with the known releases. [default: the package of --protocol]"
)


def _guide_base(context: click.Context, parameter: click.Parameter, url: str) -> str:
    from kwire_rules.guide import guide_base

    try:
        return guide_base(url) if url else ""
    except ValueError as problem:
        raise click.BadParameter(visible(str(problem), 1000)) from problem


GUIDE = click.option(
    "--guide-url",
    metavar="URL",
    default="",
    callback=_guide_base,
    help="Address of the protocol guide (`kwirec guide`) to which the report page links.",
)
FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(("text", *FORMATS)),
    default="text",
    show_default=True,
    help="Format of the terminal output. Does not affect the files in --out.",
)
OWNERS = click.option(
    "--owners",
    metavar="FILE",
    help="CSV file of client owners, with the column owner and any of client_id, address, software and principal.",
)
COVERAGE = click.option(
    "--min-coverage",
    type=click.FloatRange(0, 100),
    default=MIN_COVERAGE,
    show_default=True,
    metavar="PERCENT",
    help="Minimum percentage of captured bytes and connections to read. If less is read, exit code 0 becomes 4.",
)
QUIET = click.option("--quiet", "-q", is_flag=True, help="Do not show progress.")
