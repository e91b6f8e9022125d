"""Compares schemas. ``compare(old, new)`` finds changes, and ``judge(changes, level)`` applies rules to them."""

from kwirec.diff.compare import compare
from kwirec.diff.judge import JudgedChange, Judgement, judge
from kwirec.diff.rule import Level, Rule
from kwirec.diff.rules import RULES

__all__ = ["RULES", "JudgedChange", "Judgement", "Level", "Rule", "compare", "judge"]
