"""Turns a Kafka cluster's packet captures, log segments, broker logs and metrics into tables and reports.

Requires neither Java nor Spark. This package provides the commands ``kwire tables``, ``clients``, ``readiness``,
``census``, ``latency`` and ``offsets``. ``kwire_spark`` provides the same tables as DataFrames, which the functions
of this package also accept.

Names are imported on first access, so that importing the package does not load Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_rules.lazy import lazily

if TYPE_CHECKING:
    from kwire_inspect.inputs import find as find
    from kwire_inspect.reports.census import census as census
    from kwire_inspect.reports.latency import latency as latency
    from kwire_inspect.reports.offsets import log_ends as log_ends
    from kwire_inspect.reports.offsets import offsets as offsets
    from kwire_inspect.reports.readiness import readiness as readiness
    from kwire_inspect.reports.report_files import write_report as write_report
    from kwire_inspect.reports.terminal import print_report as print_report
    from kwire_inspect.tables.clients import clients as clients

_MODULES = {
    "census": "kwire_inspect.reports.census",
    "clients": "kwire_inspect.tables.clients",
    "find": "kwire_inspect.inputs",
    "latency": "kwire_inspect.reports.latency",
    "log_ends": "kwire_inspect.reports.offsets",
    "offsets": "kwire_inspect.reports.offsets",
    "print_report": "kwire_inspect.reports.terminal",
    "readiness": "kwire_inspect.reports.readiness",
    "write_report": "kwire_inspect.reports.report_files",
}

__all__ = list(_MODULES)
__getattr__, __dir__ = lazily(__name__, _MODULES)
