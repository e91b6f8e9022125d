"""Validates schemas. ``validate(schema, report)`` applies all rules without changing the schema."""

from kwirec.validation.rule import Rule
from kwirec.validation.validate import RULES, validate, validate_before

__all__ = ["RULES", "Rule", "validate", "validate_before"]
