"""What changes between two schemas: ``compare(old, new)`` finds facts, ``judge(changes, level)`` weighs them."""

from kwirec.diff.compare import compare
from kwirec.diff.judge import JudgedChange, Judgement, judge
from kwirec.diff.rule import Level, Rule
from kwirec.diff.rules import RULES

__all__ = ["RULES", "JudgedChange", "Judgement", "Level", "Rule", "compare", "judge"]
