"""All rules, ordered by level."""

from __future__ import annotations

from collections.abc import Mapping

from kwirec.diff import rules_fields, rules_messages, rules_tags, rules_versions
from kwirec.diff.rule import Rule

_MODULES = (rules_versions, rules_messages, rules_fields, rules_tags)

RULES: tuple[Rule, ...] = tuple(
    sorted(
        (rule for module in _MODULES for rule in vars(module).values() if isinstance(rule, Rule)),
        key=lambda rule: rule.level,
    )
)
"""All rules that the modules define, ordered by level."""

BY_NAME: Mapping[str, Rule] = {rule.name: rule for rule in RULES}
