"""Lists all rules in order. ``validate`` applies them to a schema.

Rules do not depend on each other. A rule ignores mistakes that another rule reports, so that each mistake is reported
only once.
"""

from __future__ import annotations

from collections.abc import Collection

from kwirec.diagnostics.diagnostic import Code, Report, Severity
from kwirec.ir import Schema
from kwirec.validation import defaults, enums, messages, names, tags, types, versions
from kwirec.validation.rule import Rule, Subjects
from kwirec.validation.wording import in_krammar

RULES = tuple(
    rule
    for module in (names, versions, types, defaults, tags, messages, enums)
    for rule in vars(module).values()
    if isinstance(rule, Rule)
)
"""All rules, in the order in which the modules define them."""


def validate(schema: Schema, report: Report) -> None:
    """Apply every rule to ``schema``."""
    subjects = Subjects(schema)
    indented = {one.decl.span.source for one in schema.messages if one.decl.dialect != "json"}
    for rule in report.until_full(RULES):
        for finding in report.until_full(rule.check(subjects)):
            is_json = finding.primary.span.source not in indented
            report.record(rule.code, finding if is_json else in_krammar(finding))


def validate_before(block: str, schema: Schema, report: Report, *, also: Collection[Code] = ()) -> None:
    """Apply the rules whose numbers precede a block such as ``K7``, and the rules whose codes are in ``also``. Report
    only errors. The definitions can be incomplete.
    """
    findings = Report()
    validate(schema, findings)
    for diagnostic in findings.diagnostics:
        code = diagnostic.code
        applies = code.number < block or code in also
        if applies and diagnostic.severity is Severity.ERROR and not code.relaxable:
            report.merge(diagnostic)
