"""The evaluations room in the admin: agents are edited as text, what was measured is only looked at."""

from evaluations.admin import agents, cases, comparisons, sessions

__all__ = ["agents", "cases", "comparisons", "sessions"]
