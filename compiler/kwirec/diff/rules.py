"""The rules of all kinds of changes, ordered by level."""

from __future__ import annotations

from collections.abc import Mapping

from kwirec.diff.changes import enums, fields, messages, tags, versions
from kwirec.diff.rule import Rule

_KINDS = (kind for module in (versions, messages, fields, tags, enums) for kind in vars(module).values())
_FOUND = dict.fromkeys(rule for kind in _KINDS if isinstance(rule := getattr(kind, "rule", None), Rule))
RULES: tuple[Rule, ...] = tuple(sorted(_FOUND, key=lambda rule: rule.level))
BY_NAME: Mapping[str, Rule] = {rule.name: rule for rule in RULES}
