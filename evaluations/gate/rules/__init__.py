"""The rules of the gate, one function each, registered in the order in which they are read."""

from evaluations.gate.rules import facts, suite, bars, change, trust  # noqa: F401, I001 - this order is read
from evaluations.gate.rules.registry import RULES, Found, Observation, Rule, rule

__all__ = ["RULES", "Found", "Observation", "Rule", "rule"]
