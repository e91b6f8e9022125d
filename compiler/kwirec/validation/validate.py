"""The rules in the order in which they are listed everywhere, and the loop that applies them.

Takes a ``Schema``, gives findings into the report. Rules do not depend on each other: each is silent where
another one has to speak first, so that one mistake is one finding.
"""

from __future__ import annotations

from kwirec.diagnostics.diagnostic import Report
from kwirec.ir import Schema
from kwirec.validation import defaults, messages, names, tags, types, versions
from kwirec.validation.rule import Rule
from kwirec.validation.sites import Sites

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
            report.add(
                rule.code,
                finding.text,
                finding.span,
                label=finding.label,
                others=finding.others,
                notes=finding.notes,
                helps=finding.helps,
                message_name=finding.message_name,
                field_path=finding.field_path,
            )
