"""Judging a schema: ``validate(schema, report)`` applies every rule; the schema itself is not changed."""

from kwirec.validation.rule import Rule
from kwirec.validation.validate import RULES, validate

__all__ = ["RULES", "Rule", "validate"]
