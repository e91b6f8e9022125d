"""Adds the basis to a report, so that every report states its basis, however it was created."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kwire_inspect.reports.basis import Basis, Problem, with_basis, with_problems
from kwire_inspect.reports.encrypted import with_encrypted
from kwire_inspect.reports.newer import newer_than_known
from kwire_inspect.tables.clients import Clients, versions_seen

if TYPE_CHECKING:
    from kwire.protocol import MessageRegistry
    from kwire_inspect.reports.report import Report
    from kwire_inspect.stored import Origin
    from kwire_inspect.tables.relations import Relation


def completed(
    report: Report,
    basis: Basis | Sequence[Problem],
    origin: Origin,
    min_coverage: float,
    protocol: MessageRegistry,
    requests: Relation | None = None,
) -> Report:
    """Return the report with its basis and the skipped files. If ``basis`` is a list of problems, the report contains
    only these problems instead of a basis.

    The summary names the versions in ``requests`` (CLIENTS or EXCHANGES) that are newer than the known releases.
    """
    if requests is not None:
        report = replace(report, summary=(*report.summary, *newer_than_known(versions_seen(requests), protocol)))
    if isinstance(basis, Basis):
        report = with_encrypted(report, basis.encrypted)
        report = with_basis(report, basis, origin.inputs, min_coverage)
        basis = basis.problems
    return with_problems(report, basis, origin.skipped)


def checked(clients: object) -> None:
    """Raise ``TypeError`` unless ``clients`` was returned by ``tables.clients``."""
    if not isinstance(clients, Clients):
        raise TypeError("expected a table of clients: pass clients(exchanges) or read_clients(folder)")
