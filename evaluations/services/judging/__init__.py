"""Judging what has run: apart from simulation, within a budget and the provider's limit, safe to do twice.

A case whose semantic expectations are still open is stored in the state JUDGING. Whoever judges claims it
with a lease, asks outside of any transaction, and writes results, verdicts and the merged grade in one.
Manual sessions go the same way.
"""

from evaluations.services.judging.running import JudgingReport, judge_cases, judge_session, judge_sessions

__all__ = ["JudgingReport", "judge_cases", "judge_session", "judge_sessions"]
