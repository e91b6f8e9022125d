"""Validation: ``validate(schema, report)`` applies all rules without changing the schema."""

from kwirec.validation.rule import Rule
from kwirec.validation.validate import RULES, validate

__all__ = ["RULES", "Rule", "validate"]
