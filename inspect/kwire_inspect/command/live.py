"""The output of a running ``watch``: the readiness page, Prometheus metrics and newly refused clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kwire_inspect.command.engines import PARQUET, LocalEngine
from kwire_inspect.options import BrokenInputError, OptionError
from kwire_inspect.reasons import MIN_COVERAGE
from kwire_inspect.reports.client_usage import collected, uses_of
from kwire_inspect.reports.judgement import Judgement
from kwire_inspect.reports.release_support import REFUSED
from kwire_inspect.reports.text import listed

if TYPE_CHECKING:
    from rich.console import Console

    from kwire.protocol import MessageRegistry
    from kwire.releases import Release, Releases
    from kwire_inspect.reports.client_usage import Use
    from kwire_inspect.reports.owners import Owners
    from kwire_inspect.reports.report import Report
    from kwire_inspect.stored import StoredTable

METRICS = "kwire.prom"
REFRESH = 30
"""Seconds between reloads of the page in a browser."""


@dataclass
class LiveReport:
    """The report that ``watch`` updates after each batch, based on the table ``out/clients``."""

    out: str
    targets: list[Release]
    releases: Releases
    protocol: MessageRegistry
    owners: Owners | None
    console: Console
    _told: set[tuple[str, str, str]] = field(default_factory=set)
    """Target, client and APIs of each refusal that was already printed."""

    def update(self) -> bool:
        """Write the page, tables and metrics, and print newly refused clients.

        Return ``False`` if the table does not exist yet or is currently being replaced.
        """
        from pyarrow import ArrowException

        from kwire_inspect.reports.prometheus import exposition
        from kwire_inspect.reports.report_files import write_report, write_text

        try:
            found = self._report()
        except (OSError, ArrowException, BrokenInputError):
            return False
        if found is None:
            return False
        report, uses, judgements = found
        write_report(report, self.out)
        write_text(self.out, METRICS, exposition(uses, judgements))
        for judgement in judgements:
            self._tell(judgement)
        return True

    def _report(self) -> tuple[Report, list[Use], list[Judgement]] | None:
        from kwire_inspect.inputs import Inputs
        from kwire_inspect.reports.basis import basis_of
        from kwire_inspect.reports.completed import completed
        from kwire_inspect.reports.readiness import report_on
        from kwire_inspect.stored import Origin, are_complete
        from kwire_inspect.tables.clients import clients

        tables, files = self._stored()
        if not files:
            return None
        inputs = Inputs(tables=tables)
        engine, origin = LocalEngine(), Origin(str(inputs))
        seen = clients(*(engine.read(name, inputs, (), {}) for name in ("clients", "problems")), origin=origin)
        seen = replace(seen, complete=are_complete(tables))
        rows, more = collected(seen.table, "api_key, version")
        uses, basis = uses_of(rows), basis_of(seen)
        uses = self.owners.named(uses) if self.owners else uses
        unjudged = sum(row["refused"] for row in rows if row["version"] is None)
        report = report_on(uses, self.targets, more, unjudged, self.releases, owners=self.owners)
        report = completed(report, basis, seen.origin, MIN_COVERAGE, self.protocol, seen.table)
        report = replace(report, refresh=REFRESH)
        judgements = [Judgement.of(uses, target, self.releases) for target in self.targets]
        return (report, uses, judgements) if self._stored() == (tables, files) else None

    def _stored(self) -> tuple[tuple[StoredTable, ...], list[tuple[str, int]]]:
        """Return the stored tables, and their files with modification times."""
        from kwire_inspect.stored import stored_tables

        tables = tuple(stored_tables(str(Path(self.out, "clients"))))
        return tables, [(str(file), file.stat().st_mtime_ns) for table in tables for file in table.files]

    def _tell(self, judgement: Judgement) -> None:
        from rich.text import Text

        for client, verdicts in judgement.rolled_up().by_client().items():
            uses = [use for use, verdict in verdicts if verdict.state == REFUSED]
            what = listed(sorted({f"{use.api} {use.version}" for use in uses}))
            told = (judgement.target.name, str(client), what)
            if uses and told not in self._told:
                self._told.add(told)
                line = Text(f"refused by {told[0]} ", style="red")
                self.console.print(line.append(f"{client}: {what}", style="default"), highlight=False)


def live_report(
    out: str,
    table_format: str,
    targets: Sequence[str],
    owners: str | None,
    protocol: MessageRegistry,
    console: Console,
) -> LiveReport:
    """Return the live report on the table that ``watch`` updates.

    Raises :class:`OptionError` if a target is unknown, or if this process cannot read the table.
    """
    from kwire_inspect.reports.owners import Owners
    from kwire_inspect.reports.release_support import releases_of
    from kwire_inspect.reports.targets import find_targets

    if "://" in out or table_format != PARQUET:
        raise OptionError(
            "--target needs a local Parquet table: omit --table-format, or choose a local folder with --out"
        )
    releases = releases_of(protocol.package)
    whose = Owners.read(owners) if owners else None
    return LiveReport(out, find_targets(targets, None, releases), releases, protocol, whose, console)
