"""The rules in the order in which they are listed everywhere, and the loop that applies them.

Takes a ``Schema``, gives findings into the report. Rules do not depend on each other: each stays silent where
another applies first, so that one mistake is one finding.
"""

from __future__ import annotations

from kwirec.diagnostics.diagnostic import Report
from kwirec.ir import Schema
from kwirec.ir.sites import Sites
from kwirec.validation import defaults, messages, names, tags, types, versions
from kwirec.validation.rule import Rule

RULES: tuple[Rule, ...] = (
    *names.RULES,
    *versions.RULES,
    *types.RULES,
    *defaults.RULES,
    *tags.RULES,
    *messages.RULES,
)


def validate(schema: Schema, report: Report) -> None:
    """Apply every rule to ``schema``."""
    sites = Sites(schema)
    for rule in RULES:
        for finding in rule.check(sites):
            report.record(rule.code, finding)
