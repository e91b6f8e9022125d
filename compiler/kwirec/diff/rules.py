"""All rules, ordered by level."""

from __future__ import annotations

from collections.abc import Mapping

from kwirec.diff import rules_enums, rules_fields, rules_messages, rules_tags, rules_versions
from kwirec.diff.rule import Rule

RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            rule
            for module in (rules_versions, rules_messages, rules_fields, rules_tags, rules_enums)
            for rule in vars(module).values()
            if isinstance(rule, Rule)
        ),
        key=lambda rule: rule.level,
    )
)
BY_NAME: Mapping[str, Rule] = {rule.name: rule for rule in RULES}
